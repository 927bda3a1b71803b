"""A session of bleak with the strap F0:F1:F2:F3:F4:F5 through the bluetoothd of DBUS_SYSTEM_BUS_ADDRESS.

Writes what bleak returned, and with --messages what it and bluetoothd said to each other. Both are the same for the real
bluetoothd and the fake one, apart from what conversation.py leaves out.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable
from typing import Any

from bleak import BleakClient, BleakScanner
from bleak.backends.bluezdbus.manager import get_global_bluez_manager
from bleak.exc import BleakError
from conversation import BLUEZ, GENERIC, Conversation
from dbus_fast import BusType, Message
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, method

STRAP = 'F0:F1:F2:F3:F4:F5'
ABSENT = 'F0:F1:F2:F3:F4:00'
BATTERY_LEVEL = '00002a19-0000-1000-8000-00805f9b34fb'
HEART_RATE = '00002a37-0000-1000-8000-00805f9b34fb'
MANUFACTURER = '00002a29-0000-1000-8000-00805f9b34fb'


def echo(number: int) -> str:
    return f'6e40{number:04x}-b5a3-f393-e0a9-e50e24dcca9e'


async def call(bus: MessageBus, path: str, interface: str, member: str, signature: str, *body: object) -> None:
    message = Message(
        destination=BLUEZ, path=path, interface=f'org.bluez.{interface}', member=member, signature=signature, body=list(body)
    )
    await bus.call(message)


async def forget() -> None:
    """Has bluetoothd forget the strap."""
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    await call(bus, '/org/bluez/hci0', 'Adapter1', 'RemoveDevice', 'o', '/org/bluez/hci0/dev_' + STRAP.replace(':', '_'))
    bus.disconnect()


class Agent(ServiceInterface):
    """Agrees to each pairing, without numbers."""

    PATH = '/agent'

    def __init__(self) -> None:
        super().__init__('org.bluez.Agent1')

    @method()
    def Release(self):  # type: ignore[no-untyped-def]  # noqa: N802 (BlueZ's name)
        pass

    @method()
    def RequestAuthorization(self, device: 'o'):  # type: ignore  # noqa: N802, F821
        pass

    @method()
    def Cancel(self):  # type: ignore[no-untyped-def]  # noqa: N802
        pass

    async def register(self) -> MessageBus:
        bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
        bus.export(self.PATH, self)
        await call(bus, '/org/bluez', 'AgentManager1', 'RegisterAgent', 'os', self.PATH, 'NoInputNoOutput')
        await call(bus, '/org/bluez', 'AgentManager1', 'RequestDefaultAgent', 'o', self.PATH)
        return bus


class Session:
    def __init__(self, shows_messages: bool) -> None:
        self.conversation = Conversation()
        self.shows_messages = shows_messages
        self.lines: list[str] = []

    def say(self, *words: object) -> None:
        self.lines.append(' '.join(str(word) for word in words))

    async def step(self, title: str) -> None:
        """The end of a step: what was said in it."""
        lines = await self.conversation.part()
        self.say(f'## {title}')
        if self.shows_messages:
            self.lines += [f'    {line}' for line in lines]

    async def attempt(self, title: str, work: Awaitable[object]) -> None:
        try:
            result = await work
            self.say(f'{title}:', bytes(result).hex() if isinstance(result, (bytes, bytearray)) else result)
        except BleakError as error:
            self.say(f'{title}: {type(error).__name__}: {error}')
        await self.step(title)

    async def find(self) -> Any:
        device = data = None
        found = asyncio.Event()

        def seen(one: Any, advertisement: Any) -> None:
            nonlocal device, data
            if one.address == STRAP and advertisement.local_name:
                device, data = one, advertisement
                found.set()

        async with BleakScanner(seen):
            await asyncio.wait_for(found.wait(), 60)
            assert device and data
            self.say('found:', sorted(data.service_uuids), data.manufacturer_data, data.service_data, data.tx_power)
            await self.step('scan')
        await self.step('end of the scan')
        return device

    async def reach(self) -> tuple[BleakClient, asyncio.Event]:
        """A strap with a link. In a slow machine, bluetoothd may report a link later than it answers `Connect`, which is more
        than bleak bears: then everything begins again."""
        started = list(self.lines)
        while True:
            await forget()
            await self.conversation.part()
            self.conversation.reset()
            self.lines = list(started)
            ended = asyncio.Event()
            client = BleakClient(await self.find(), disconnected_callback=lambda _: ended.set())
            try:
                await client.connect()
            except BleakError:
                continue
            await self.step('connect')
            return client, ended

    async def hear(self, values: asyncio.Queue[bytes]) -> None:
        """Two heart rates from now on, which follow each other. The strap counts them, and bleak may have begun with any."""
        while not values.empty():
            values.get_nowait()
        first, second = [await asyncio.wait_for(values.get(), 60) for _ in range(2)]
        self.say('heart rate:', first[:1].hex(), '…', first[2:].hex())
        self.say('the next one:', second[:1].hex(), f'+{second[1] - first[1]}', second[2:].hex())

    def show(self, client: BleakClient) -> None:
        for service in sorted(client.services, key=lambda one: one.uuid):
            if service.uuid[:8] in GENERIC:
                continue
            self.say('service', service.uuid)
            for characteristic in sorted(service.characteristics, key=lambda one: (one.uuid, one.handle)):
                self.say('  characteristic', characteristic.uuid, sorted(characteristic.properties))
                for descriptor in sorted(characteristic.descriptors, key=lambda one: one.uuid):
                    self.say('    descriptor', descriptor.uuid)

    async def run(self) -> None:
        try:
            await self.use()
        finally:
            print('\n'.join(self.lines), flush=True)

    async def use(self) -> None:
        await self.conversation.begin()
        agent = await Agent().register()
        await forget()
        await self.conversation.part()
        self.conversation.reset()
        await get_global_bluez_manager()
        await self.step('start')
        client, ended = await self.reach()
        self.show(client)
        await self.attempt('read', client.read_gatt_char(BATTERY_LEVEL))
        await self.attempt('read a text', client.read_gatt_char(MANUFACTURER))
        await self.attempt('write', client.write_gatt_char(echo(2), b'\1\2\3', response=True))
        await self.attempt('read what was written', client.read_gatt_char(echo(3)))
        await self.attempt('write without response', client.write_gatt_char(echo(2), b'\4\5', response=False))
        await self.attempt('read what was written without response', client.read_gatt_char(echo(3)))
        output = client.services.get_characteristic(echo(3))
        assert output
        described = output.get_descriptor('00002901-0000-1000-8000-00805f9b34fb')
        assert described
        await self.attempt('read a descriptor', client.read_gatt_descriptor(described.handle))
        await self.attempt('subscribe to what has no values', client.start_notify(MANUFACTURER, lambda *_: None))
        values: asyncio.Queue[bytes] = asyncio.Queue()

        def arrived(_: object, value: bytearray) -> None:
            values.put_nowait(bytes(value))

        await self.attempt('subscribe', client.start_notify(echo(8), arrived))
        await self.attempt('ask', client.write_gatt_char(echo(8), b'\x07', response=True))
        self.say('answer:', (await asyncio.wait_for(values.get(), 60)).hex())
        await self.attempt('unsubscribe', client.stop_notify(echo(8)))
        with self.conversation.without_values_of(HEART_RATE):
            await self.attempt('subscribe to heart rates', client.start_notify(HEART_RATE, arrived))
            await self.hear(values)
            await self.attempt('unsubscribe from heart rates', client.stop_notify(HEART_RATE))
        await self.attempt(
            'subscribe with a socket', client.start_notify(HEART_RATE, arrived, bluez={'use_start_notify': False})
        )
        await self.hear(values)
        await self.attempt('unsubscribe with a socket', client.stop_notify(HEART_RATE))
        await self.attempt('pair', client.pair())
        await self.attempt('read what needs a pairing', client.read_gatt_char(echo(4)))
        await self.attempt('disconnect', client.disconnect())
        await asyncio.wait_for(ended.wait(), 60)
        await self.attempt('forget', forget())
        await self.attempt('a stranger', BleakClient(ABSENT).connect(timeout=3))
        agent.disconnect()
        self.conversation.end()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--messages', action='store_true', help='write the messages of each step, too')
asyncio.run(Session(parser.parse_args().messages).run())
