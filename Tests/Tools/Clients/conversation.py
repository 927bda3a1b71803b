"""What a program and bluetoothd say to each other, so that two bluetoothds can be compared.

A monitor writes down the messages of the bus. `Conversation.text` puts them into a form that is the same for two runs
with the same course: without serial numbers, bus names, times, addresses of adapters and handles, and without what differs
from run to run by nature (signal strengths, how often something is advertised).
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

BLUEZ = 'org.bluez'
BUS = 'org.freedesktop.DBus'
PROPERTIES = 'org.freedesktop.DBus.Properties'
ATTRIBUTE = re.compile(r'/(service|char|desc)([0-9a-f]{4})')

# Properties whose values are of the machine, the adapter or the moment.
UNSTABLE = {
    'RSSI',
    'Address',
    'AddressType',
    'Alias',
    'Class',
    'Modalias',
    'Name',
    'Roles',
    'UUIDs',
    'SupportedSecondaryChannels',
    'SupportedInstances',
    'SupportedCapabilities',
    'SupportedFeatures',
    'ExperimentalFeatures',
    'MTU',
}


class Conversation:
    """The messages between bluetoothd and others, from `begin` on."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._bluetoothd = ''
        self._names: dict[str, str] = {}
        self._handles: dict[str, str] = {}

    async def begin(self) -> None:
        asking = await MessageBus(bus_type=BusType.SYSTEM).connect()
        reply = await asking.call(
            Message(destination=BUS, path='/', interface=BUS, member='GetNameOwner', signature='s', body=[BLUEZ])
        )
        assert reply is not None
        self._bluetoothd = reply.body[0]
        asking.disconnect()
        self._monitor = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
        self._monitor.add_message_handler(self._take)
        await self._monitor.call(
            Message(
                destination=BUS,
                path='/org/freedesktop/DBus',
                interface='org.freedesktop.DBus.Monitoring',
                member='BecomeMonitor',
                signature='asu',
                body=[[], 0],
            )
        )

    def _take(self, message: Message) -> bool:
        for descriptor in message.unix_fds:
            os.close(descriptor)
        if self._bluetoothd in (message.sender, message.destination) or message.destination == BLUEZ:
            if BUS not in (message.sender, message.destination):
                self._messages.append(message)
        return True

    async def quiet(self, seconds: float = 0.5) -> None:
        """Returns once no message has come for a time."""
        seen = -1
        while seen != len(self._messages):
            seen = len(self._messages)
            await asyncio.sleep(seconds)

    async def part(self) -> list[str]:
        """The messages since the last part, a line each."""
        await self.quiet()
        messages, self._messages = self._messages, []
        return [line for message in messages if (line := self._line(message))]

    def end(self) -> None:
        self._monitor.disconnect()

    # --- a message as text ---

    def _who(self, name: str | None) -> str:
        if name in (self._bluetoothd, BLUEZ):
            return 'bluetoothd'
        if name is None:
            return 'all'
        return self._names.setdefault(name, f'client{len(self._names) + 1}')

    def _path(self, path: str) -> str:
        def numbered(match: re.Match[str]) -> str:
            key = match.group(2)
            kind = match.group(1)
            number = self._handles.setdefault(key, f'{len(self._handles) + 1:02}')
            return f'/{kind}.{number}'

        return ATTRIBUTE.sub(numbered, path)

    def learn(self, paths: list[str]) -> None:
        """Numbers the handles in the order of their attributes."""
        handles = sorted({match.group(2) for path in paths for match in ATTRIBUTE.finditer(path)})
        for handle in handles:
            self._handles.setdefault(handle, f'{len(self._handles) + 1:02}')

    def _value(self, value: Any, name: str | None = None) -> str:
        if isinstance(value, Variant):
            return f'<{value.signature} {self._value(value.value, name)}>'
        if name in UNSTABLE:
            return '…'
        if isinstance(value, dict):
            pairs = (
                f'{self._value(key)}: {self._value(entry, key if isinstance(key, str) else None)}'
                for key, entry in sorted(value.items(), key=lambda pair: self._path(str(pair[0])))
            )
            return '{' + ', '.join(pairs) + '}'
        if isinstance(value, (bytes, bytearray)):
            return 'x' + bytes(value).hex()
        if isinstance(value, (list, tuple)):
            return '[' + ', '.join(self._value(entry) for entry in value) + ']'
        if isinstance(value, str):
            return self._path(value)
        return str(value)

    def _line(self, message: Message) -> str:
        who = f'{self._who(message.sender)} → {self._who(message.destination)}'
        kind = message.message_type
        if kind == MessageType.SIGNAL and message.member in ('InterfacesAdded', 'PropertiesChanged'):
            self.learn([str(message.path), str(message.body[0])])
        body = ' '.join(self._value(value) for value in message.body)
        if kind == MessageType.METHOD_CALL:
            return f'{who}: {self._path(message.path or "")} {message.interface}.{message.member}({message.signature}) {body}'.rstrip()
        if kind == MessageType.METHOD_RETURN:
            return f'{who}: ({message.signature}) {body}'.rstrip()
        if kind == MessageType.ERROR:
            return f'{who}: {message.error_name}({message.signature}) {body}'
        return f'{who}: {self._path(message.path or "")} signal {message.interface}.{message.member}({message.signature}) {body}'
