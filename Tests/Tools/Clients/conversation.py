"""What programs and bluetoothd say to each other, in a form in which two bluetoothds can be compared.

A monitor writes down the messages of the bus. `Conversation.part` puts them into a form that is the same for two runs with
the same course: without serial numbers, bus names, times and handles, without what is of the machine (the adapter's address
and name, bluetoothd's profiles), and without what differs from run to run by nature (signal strengths, how often something
is advertised).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

BLUEZ = 'org.bluez'
BUS = 'org.freedesktop.DBus'

# Properties whose values are of the machine, the adapter, the link or the moment: they must be there, whatever they are.
UNSTABLE = {
    'ActiveInstances',
    'Address',
    'Alias',
    'Class',
    'Discoverable',
    'DiscoverableTimeout',
    'Handle',
    'MTU',
    'Name',
    'Pairable',
    'PairableTimeout',
    'RSSI',
    'Roles',
    'SupportedIncludes',
    'SupportedInstances',
    'mtu',
}
# What a fake bluetoothd does not have: other profiles, and what the real one knows from device information, from the
# advertised flags, and of adapters of later versions.
LEFT_OUT = {
    '/org/bluez/test',
    'Connectable',
    'AdvertisingFlags',
    'CablePairing',
    'ExperimentalFeatures',
    'Manufacturer',
    'Modalias',
    'PowerState',
    'SupportedCapabilities',
    'SupportedFeatures',
    'SupportedSecondaryChannels',
    'Version',
    'WakeAllowed',
    'org.bluez.BatteryProviderManager1',
    'org.bluez.HealthManager1',
    'org.bluez.Media1',
    'org.bluez.NetworkServer1',
    'org.bluez.ProfileManager1',
    'org.bluez.SimAccess1',
}
# What an advertisement changes.
ADVERTISED = {'RSSI', 'TxPower', 'Name', 'Alias', 'UUIDs', 'ManufacturerData', 'ServiceData', 'AdvertisingFlags'}
# What bluetoothd knows besides the strap, from earlier programs.
OTHERS = re.compile(r'/org/bluez/(hci[1-9]|hci0/dev_(?!F0_F1_F2_F3_F4_F5))')
# The services of the Attribute Protocol itself, which definitions need not have.
GENERIC = {'00001800', '00001801'}


class Conversation:
    """The messages between bluetoothd and others, from `begin` on."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._bluetoothd = ''
        # The name of the program whose conversation it is; None for all programs.
        self._program: str | None = None
        # The calls of a program for descriptions of objects, by their names and serial numbers.
        self._introspections: set[tuple[str | None, int | None]] = set()
        # The type of a characteristic whose values are left out.
        self._silenced: str | None = None
        self.reset()

    def reset(self) -> None:
        """Forgets what was said."""
        self._messages.clear()
        self._names: dict[str, str] = {}
        # The names of attributes, by their paths; None for what is left out.
        self._labels: dict[str, str | None] = {}

    @contextlib.contextmanager
    def without_values_of(self, uuid: str) -> Iterator[None]:
        """Leaves out the values that signals announce of characteristics of a type, which come by themselves and often."""
        self._silenced = uuid
        yield
        self._silenced = None

    async def begin(self, of: str | None = None) -> None:
        """Begins.

        of: the name of the only program whose conversation it is. Its own signals count, too.
        """
        self._program = of
        asking = await MessageBus(bus_type=BusType.SYSTEM).connect()
        reply = await asking.call(
            Message(destination=BUS, path='/', interface=BUS, member='GetNameOwner', signature='s', body=[BLUEZ])
        )
        assert reply is not None
        self._bluetoothd = reply.body[0]
        asking.disconnect()
        self._monitor = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
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
        self._monitor.add_message_handler(self._take)

    def _take(self, message: Message) -> bool:
        for descriptor in message.unix_fds:
            os.close(descriptor)
        if self._concerns(message) and not self._is_advertisement(message) and not self._is_silenced(message):
            self._messages.append(message)
        return True

    def _concerns(self, message: Message) -> bool:
        """Whether it is between bluetoothd and the programs, or a signal."""
        ends = (message.sender, message.destination)
        if BUS in ends:
            return False
        if self._program and message.sender == self._program and message.member == 'PropertiesChanged':
            return True
        if self._bluetoothd not in ends and message.destination != BLUEZ:
            return False
        return not self._program or self._program in ends or message.message_type == MessageType.SIGNAL

    def _is_silenced(self, message: Message) -> bool:
        """Whether it only announces a value that is left out. Removes that value if the message announces something else, too."""
        if self._silenced is None or message.message_type != MessageType.SIGNAL or message.member != 'PropertiesChanged':
            return False
        label = self._labels.get(message.path or '') or ''
        if not label.endswith(f"/char({self._silenced.split('-')[0]})") or message.body[1].pop('Value', None) is None:
            return False
        return not message.body[1] and not message.body[2]

    @staticmethod
    def _is_advertisement(message: Message) -> bool:
        """Whether it says only that something was received again, which depends on the time."""
        if message.message_type != MessageType.SIGNAL or message.member != 'PropertiesChanged':
            return False
        interface, changed, invalidated = message.body
        return interface == 'org.bluez.Device1' and bool(changed) and not invalidated and set(changed) <= ADVERTISED

    async def part(self) -> list[str]:
        """The messages since the last part, a line each, once no message has come for a time."""
        seen = -1
        while seen != len(self._messages):
            seen = len(self._messages)
            await asyncio.sleep(1)
        messages, self._messages = self._messages, []
        # What the program says, what it is answered, and what all are told: each in its order. How they follow each other
        # depends on the kernel and the peripheral.
        signals = [message for message in messages if message.message_type == MessageType.SIGNAL]
        others = [message for message in messages if message.message_type != MessageType.SIGNAL]
        kinds: dict[int, list[str]] = {0: [], 1: [], 2: []}
        for message in others + self._merged(signals):
            line, kind = self._line(message), kinds[self._kind(message)]
            # bluetoothd may signal a change of the adapter's services for each part of it.
            if line and not (kind and line == kind[-1] and 'org.bluez.Adapter1 {UUIDs: <as …>}' in line):
                kind.append(line)
        # The battery's level is read while attributes are shown.
        batteries = [line for line in kinds[2] if 'org.bluez.Battery1: ' in line]
        rest = [line for line in kinds[2] if 'org.bluez.Battery1: ' not in line]
        return kinds[0] + kinds[1] + batteries + self._by_name(rest)

    @staticmethod
    def _merged(messages: list[Message]) -> list[Message]:
        """Changes of an object that follow each other in one: bluetoothd joins those that happen before its loop turns."""
        result: list[Message] = []
        for message in messages:
            last = result[-1] if result else None
            if (
                last
                and message.member == last.member == 'PropertiesChanged'
                and (message.path, message.body[0]) == (last.path, last.body[0])
                and not set(message.body[1]) & set(last.body[1])
            ):
                last.body = [last.body[0], last.body[1] | message.body[1], last.body[2] + message.body[2]]
            else:
                result.append(message)
        return result

    def _kind(self, message: Message) -> int:
        if message.message_type == MessageType.SIGNAL:
            return 2
        return 0 if message.message_type == MessageType.METHOD_CALL else 1

    @staticmethod
    def _by_name(lines: list[str]) -> list[str]:
        """Objects that appear or go one after the other by their names, because their handles are the peripheral's choice."""
        result: list[str] = []
        run: list[str] = []
        for line in lines:
            member = line.split('(')[0].rsplit('.')[-1]
            if run and member != run[0].split('(')[0].rsplit('.')[-1]:
                result += sorted(run)
                run = []
            if member in ('InterfacesAdded', 'InterfacesRemoved'):
                run.append(line)
            else:
                result.append(line)
        return result + sorted(run)

    def end(self) -> None:
        self._monitor.disconnect()

    # --- a message as text ---

    def _who(self, name: str | None) -> str:
        if name in (self._bluetoothd, BLUEZ):
            return 'bluetoothd'
        if name is None:
            return 'all'
        return self._names.setdefault(name, f'client{len(self._names) + 1}')

    def _learn(self, path: str, interfaces: dict[str, Any]) -> None:
        """Names an attribute after its type."""
        for kind in ('Service', 'Characteristic', 'Descriptor'):
            found = interfaces.get(f'org.bluez.Gatt{kind}1')
            if found is None:
                continue
            parent, _, own = path.rpartition('/')
            kind = re.sub('[0-9a-f]{4}$', '', own)
            uuid = found['UUID'].value.split('-')[0]
            if uuid in GENERIC or parent in self._labels and self._labels[parent] is None:
                self._labels[path] = None
                return
            base = f'{self._labels.get(parent, parent)}/{kind}({uuid})'
            taken = set(self._labels.values()) if path not in self._labels else set()
            number, label = 1, base
            while label in taken:
                number += 1
                label = f'{base}#{number}'
            self._labels.setdefault(path, label)

    def _path(self, path: str) -> str | None:
        return None if OTHERS.match(path) else self._labels.get(path, path)

    def _value(self, value: Any, name: str | None = None, of: str | None = None) -> str:
        if isinstance(value, Variant):
            return f'<{value.signature} {self._value(value.value, name, of)}>'
        if name in UNSTABLE or (name, of) == ('UUIDs', 'org.bluez.Adapter1'):
            return '…'
        if name == 'UUIDs':
            value = [uuid for uuid in value if uuid[:8] not in GENERIC]
        if isinstance(value, dict):
            pairs = [
                f'{self._value(key)}: {self._value(entry, key if isinstance(key, str) else None, name)}'
                for key, entry in value.items()
                if key not in LEFT_OUT and not (isinstance(key, str) and self._path(key) is None)
            ]
            return '{' + ', '.join(sorted(pairs)) + '}'
        if isinstance(value, (bytes, bytearray)):
            return 'x' + bytes(value).hex()
        if isinstance(value, (list, tuple)):
            entries = [self._value(entry) for entry in value]
            return '[' + ', '.join(sorted(entries) if name in ('UUIDs', 'Flags') else entries) + ']'
        if isinstance(value, str):
            return self._path(value) or '…'
        return str(value)

    def _line(self, message: Message) -> str | None:
        who = f'{self._who(message.sender)} → {self._who(message.destination)}'
        kind = message.message_type
        if kind == MessageType.SIGNAL and message.member == 'InterfacesAdded':
            self._learn(*message.body)
        paths = [message.path] if message.path else []
        if message.member in ('InterfacesAdded', 'InterfacesRemoved'):
            paths.append(message.body[0])
        if any(self._path(path) is None for path in paths):
            return None
        # A set in the order in which bluetoothd's tables have it.
        body = [sorted(value) if message.member == 'PropertiesChanged' and isinstance(value, list) else value for value in message.body]
        # The name of the interface whose properties have changed.
        interface = body[0] if message.member == 'PropertiesChanged' else None
        text = ' '.join(self._value(value, interface) for value in body)
        path = self._path(message.path or '')
        if kind == MessageType.METHOD_CALL and message.member == 'Introspect':
            self._introspections.add((message.sender, message.serial))
        if kind == MessageType.METHOD_RETURN and (message.destination, message.reply_serial) in self._introspections:
            text = '…'
        if kind == MessageType.METHOD_CALL:
            return f'{who}: {path} {message.interface}.{message.member}({message.signature}) {text}'.rstrip()
        if kind == MessageType.METHOD_RETURN:
            return f'{who}: ({message.signature}) {text}'.rstrip()
        if kind == MessageType.ERROR:
            return f'{who}: {message.error_name}({message.signature}) {text}'
        if message.member == 'PropertiesChanged' and message.body[1] and not set(message.body[1]) - LEFT_OUT:
            return None
        return f'{who}: {path} signal {message.interface}.{message.member}({message.signature}) {text}'
