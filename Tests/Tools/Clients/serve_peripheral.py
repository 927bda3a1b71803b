"""A peripheral on bluez-peripheral (PyPI), through the bluetoothd of DBUS_SYSTEM_BUS_ADDRESS, until standard input ends.

It is called "Python" and has the service FFE0: FFE1 reads as what was last written to FFE2, and is notified with it.

Each line of standard input is the title of a step that has ended: what was said in it is written. It is the same for the real
bluetoothd and the fake one, apart from what conversation.py leaves out.
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
from conversation import Conversation


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
    conversation = Conversation()

    async def step(title: str) -> None:
        lines = await conversation.part()
        print('\n'.join([f'## {title}', *(f'    {line}' for line in lines)]), flush=True)

    bus = await get_message_bus()
    await conversation.begin(of=bus.unique_name)
    # Not `Adapter.get_first`, which takes every object below /org/bluez for an adapter: from 5.79 on, there is a /org/bluez/test.
    path = '/org/bluez/hci0'
    adapter = Adapter(bus.get_proxy_object('org.bluez', path, await bus.introspect('org.bluez', path)))
    echo = Echo()
    await echo.register(bus, adapter=adapter)
    await step('serve')
    agent = NoIoAgent()
    await agent.register(bus)
    await step('register an agent')
    await Advertisement('Python', ['FFE0'], 0, 0).register(bus, adapter)
    await step('advertise')
    print('advertising', flush=True)
    loop = asyncio.get_running_loop()
    while title := await loop.run_in_executor(None, sys.stdin.readline):
        await step(title.rstrip())
    await echo.unregister()
    await step('serve no longer')
    await agent.unregister(bus)
    await step('unregister the agent')
    conversation.end()


asyncio.run(main())
