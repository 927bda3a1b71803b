"""A session of bleak with the strap F0:F1:F2:F3:F4:F5 through the bluetoothd of DBUS_SYSTEM_BUS_ADDRESS.

Writes what bleak returned, and with --messages what it and bluetoothd said to each other. Both are the same for the real
bluetoothd and the fake one, apart from what conversation.py leaves out.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError
from conversation import Conversation

STRAP = 'F0:F1:F2:F3:F4:F5'
ABSENT = 'F0:F1:F2:F3:F4:00'
BATTERY_LEVEL = '00002a19-0000-1000-8000-00805f9b34fb'
HEART_RATE = '00002a37-0000-1000-8000-00805f9b34fb'
CONTROL_POINT = '00002a39-0000-1000-8000-00805f9b34fb'
MANUFACTURER = '00002a29-0000-1000-8000-00805f9b34fb'


def echo(number: int) -> str:
    return f'6e40{number:04x}-b5a3-f393-e0a9-e50e24dcca9e'


class Session:
    def __init__(self, shows_messages: bool) -> None:
        self.conversation = Conversation()
        self.shows_messages = shows_messages

    async def step(self, title: str) -> None:
        """The end of a step: what was said in it."""
        lines = await self.conversation.part()
        print(f'## {title}')
        if self.shows_messages:
            for line in lines:
                print(f'    {line}')

    async def attempt(self, title: str, work: Awaitable[object]) -> None:
        try:
            result = await work
            shown = bytes(result).hex() if isinstance(result, (bytes, bytearray)) else result
            print(f'{title}: {shown}')
        except BleakError as error:
            print(f'{title}: {type(error).__name__}: {error}')
        await self.step(title)

    async def run(self) -> None:
        await self.conversation.begin()
        device = None
        found = asyncio.Event()
        data = None

        def seen(one: object, advertisement: object) -> None:
            nonlocal device, data
            if one.address == STRAP and advertisement.local_name:  # type: ignore[attr-defined]
                device, data = one, advertisement
                found.set()

        async with BleakScanner(seen):
            await asyncio.wait_for(found.wait(), 30)
            print('found:', device.name, sorted(data.service_uuids), data.manufacturer_data, data.service_data, data.tx_power)
            await self.step('scan')
        await self.step('end of the scan')
        ended = asyncio.Event()
        client = BleakClient(device, disconnected_callback=lambda _: ended.set())
        await self.attempt('connect', client.connect())
        for service in client.services:
            print('service', service.uuid)
            for characteristic in service.characteristics:
                print('  characteristic', characteristic.uuid, sorted(characteristic.properties))
                for descriptor in characteristic.descriptors:
                    print('    descriptor', descriptor.uuid)
        await self.attempt('read', client.read_gatt_char(BATTERY_LEVEL))
        await self.attempt('read a text', client.read_gatt_char(MANUFACTURER))
        await self.attempt('write', client.write_gatt_char(echo(2), b'\1\2\3', response=True))
        await self.attempt('read what was written', client.read_gatt_char(echo(3)))
        await self.attempt('write without response', client.write_gatt_char(echo(2), b'\4\5', response=False))
        await self.attempt('read what was written without response', client.read_gatt_char(echo(3)))
        described = client.services.get_characteristic(echo(3)).get_descriptor('00002901-0000-1000-8000-00805f9b34fb')
        await self.attempt('read a descriptor', client.read_gatt_descriptor(described.handle))
        await self.attempt('read what cannot be read', client.read_gatt_char(CONTROL_POINT))
        await self.attempt('write what cannot be written', client.write_gatt_char(BATTERY_LEVEL, b'\1', response=True))
        await self.attempt('subscribe to what has no values', client.start_notify(MANUFACTURER, lambda *_: None))
        indicated: asyncio.Queue[bytes] = asyncio.Queue()
        await self.attempt('subscribe', client.start_notify(echo(8), lambda _, value: indicated.put_nowait(bytes(value))))
        await self.attempt('ask', client.write_gatt_char(echo(8), b'\x07', response=True))
        print('answer:', (await asyncio.wait_for(indicated.get(), 30)).hex())
        await self.attempt('unsubscribe', client.stop_notify(echo(8)))
        with_socket = client.start_notify(
            echo(3), lambda _, value: indicated.put_nowait(bytes(value)), bluez={'use_start_notify': False}
        )
        await self.attempt('subscribe with a socket', with_socket)
        await self.attempt('unsubscribe with a socket', client.stop_notify(echo(3)))
        await self.attempt('read what needs a pairing', client.read_gatt_char(echo(4)))
        await self.attempt('pair', client.pair())
        await self.attempt('read what needed a pairing', client.read_gatt_char(echo(4)))
        await self.attempt('unpair', client.unpair())
        print('disconnected:', await asyncio.wait_for(ended.wait(), 30))
        await self.attempt('a stranger', BleakClient(ABSENT).connect(timeout=3))
        self.conversation.end()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--messages', action='store_true', help='write the messages of each step, too')
asyncio.run(Session(parser.parse_args().messages).run())
