"""A peripheral on bluez-peripheral (PyPI), through the bluetoothd of DBUS_SYSTEM_BUS_ADDRESS, until standard input ends.

It is called "Python" and has the service FFE0: FFE1 reads as what was last written to FFE2, and is notified with it.
"""

from __future__ import annotations

import asyncio
import sys

from bluez_peripheral.advert import Advertisement
from bluez_peripheral.agent import NoIoAgent
from bluez_peripheral.gatt.characteristic import CharacteristicFlags as Flags
from bluez_peripheral.gatt.characteristic import characteristic
from bluez_peripheral.gatt.service import Service
from bluez_peripheral.util import Adapter, get_message_bus


class Echo(Service):
    def __init__(self) -> None:
        self.value = b'first'
        super().__init__('FFE0', True)

    @characteristic('FFE1', Flags.READ | Flags.NOTIFY)
    def output(self, options):  # type: ignore[no-untyped-def]
        return self.value

    @characteristic('FFE2', Flags.WRITE)
    def input(self, options):  # type: ignore[no-untyped-def]
        return b''

    @input.setter
    def input(self, value, options):  # type: ignore[no-untyped-def]
        self.value = bytes(value)
        self.output.changed(self.value)


async def main() -> None:
    bus = await get_message_bus()
    # Not `Adapter.get_first`, which takes every object below /org/bluez for an adapter: from 5.79 on, there is a /org/bluez/test.
    path = '/org/bluez/hci0'
    adapter = Adapter(bus.get_proxy_object('org.bluez', path, await bus.introspect('org.bluez', path)))
    echo = Echo()
    await echo.register(bus, adapter=adapter)
    agent = NoIoAgent()
    await agent.register(bus)
    await Advertisement('Python', ['FFE0'], 0, 0).register(bus, adapter)
    print('advertising', flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
