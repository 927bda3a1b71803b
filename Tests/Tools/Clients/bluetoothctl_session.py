"""A session of bluetoothctl with the strap F0:F1:F2:F3:F4:F5 through the bluetoothd of DBUS_SYSTEM_BUS_ADDRESS.

Types commands on a terminal, waits for what each must show, and writes what was shown there. The same for the real
bluetoothd and the fake one.
"""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time

STRAP = 'F0:F1:F2:F3:F4:F5'
LIMIT = 60.0
"""Seconds in which a command must show what it must show."""

HEART_RATE = '00002a37-0000-1000-8000-00805f9b34fb'
# Its rate is shown as it happens to be, and left out here.
MEASUREMENT = r'1e (?=[0-9a-f]{2} 0a 00 00 03 33 03 )'
ECHO = '6e40{:04x}-b5a3-f393-e0a9-e50e24dcca9e'

# A command, and what it must show: the words that are written.
STEPS = [
    ('show', r'Powered: yes'),
    ('scan on', rf'NEW.* Device {STRAP} .*Bumble HR'),
    ('scan off', r'Discovery stopped'),
    (f'info {STRAP}', r'ManufacturerData Value:\s+01 02 03'),
    (f'connect {STRAP}', r'Connection successful'),
    ('', r'ServicesResolved: yes'),
    (f'info {STRAP}', r'Battery Percentage: 0x57 \(87\)'),
    ('menu gatt', r'select-attribute'),
    ('list-attributes', ECHO.format(3)),
    (f'select-attribute {ECHO.format(2)}', r'char[0-9a-f]{4}'),
    ('write "0x41 0x42"', r'Attempting to write'),
    (f'select-attribute {ECHO.format(3)}', r'char[0-9a-f]{4}'),
    ('read', r'41 42 +AB'),
    ('attribute-info', r'Flags: indicate'),
    (f'select-attribute {HEART_RATE}', r'char[0-9a-f]{4}'),
    ('notify on', r'Notify started'),
    ('', r'Value:'),
    ('', MEASUREMENT),
    ('notify off', r'Notify stopped'),
    ('acquire-notify', r'AcquireNotify success'),
    ('', r'Notification:'),
    ('', MEASUREMENT),
    ('release-notify', r'NotifyAcquired: no'),
    (f'select-attribute {ECHO.format(1)}', r'service[0-9a-f]{4}'),
    ('back', r'Menu main'),
    (f'trust {STRAP}', r'trust succeeded'),
    (f'disconnect {STRAP}', r'Successful disconnected'),
    (f'remove {STRAP}', r'Device has been removed'),
]

ESCAPES = re.compile(r'\x1b\[[0-9;?]*[A-Za-z]|\x01|\x02|\r')


class Terminal:
    """bluetoothctl on a terminal."""

    def __init__(self) -> None:
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.environ['TERM'] = 'dumb'
            os.execvp('bluetoothctl', ['bluetoothctl'])
        self.text = ''

    def until(self, pattern: str, again: str | None = None) -> str:
        """What matches first, in what was not matched before. With `again`, this is typed every few seconds: bluetoothd reads
        a battery after it has resolved the services."""
        begin = last = time.monotonic()
        while True:
            match = re.search(pattern, self.text)
            if match:
                self.text = self.text[match.end() :]
                return match.group()
            if time.monotonic() - begin > LIMIT:
                print(f'not shown: {pattern}\n--- but:\n{self.text}', flush=True)
                sys.exit(1)
            if again and time.monotonic() - last > 3:
                last = time.monotonic()
                self.type(again)
            if not select.select([self.descriptor], [], [], 1)[0]:
                continue
            try:
                arrived = os.read(self.descriptor, 4096)
            except OSError:
                arrived = b''
            if not arrived:
                print(f'ended before: {pattern}\n--- with:\n{self.text}', flush=True)
                sys.exit(1)
            self.text += ESCAPES.sub('', arrived.decode(errors='replace'))

    def type(self, line: str) -> None:
        os.write(self.descriptor, (line + '\n').encode())


terminal = Terminal()
terminal.until('Agent registered')
# It may be known from before.
terminal.type(f'remove {STRAP}')
terminal.until('not available|has been removed')
for command, pattern in STEPS:
    if command:
        terminal.type(command)
    shown = re.sub(r'(char|service)[0-9a-f]{4}', r'\1…', terminal.until(pattern, command if 'Battery' in pattern else None))
    print(f'{command}: {" ".join(shown.split())}', flush=True)
terminal.type('quit')
