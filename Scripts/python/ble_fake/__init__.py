"""A bluetoothd without a radio, for tests: the fixture `bluetooth` of pytest, and the class behind it.

    async def test_battery(bluetooth):
        bluetooth.add('heart-rate-strap', name='Strap')
        strap = await BleakScanner.find_device_by_name('Strap')
        async with BleakClient(strap) as client:
            assert await client.read_gatt_char('2a19') == bytearray([90])

The programs of a test see it through the variable DBUS_SYSTEM_BUS_ADDRESS. It needs `dbus-daemon` and `setpriv`, and
neither privileges nor Bluetooth.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

__all__ = ['Fake', 'Refused']

BINARY = Path(__file__).with_name('ble')


class Refused(Exception):
    """A command that `ble fake` does not carry out; the message says why."""


class Fake:
    """A bluetoothd on a message bus of its own, and its peripherals, until `stop`."""

    def __init__(self, *options: str, daemon: str = '5.66', adapters: int = 1) -> None:
        """Starts it, without peripherals. `options` are further options of `ble fake`, such as --peripheral."""
        start = [] if any(option.startswith('--peripheral') for option in options) else ['--empty']
        self._process = subprocess.Popen(
            [os.environ.get('BLE_FAKE_BINARY', str(BINARY)), 'fake', '--json', '--daemon', daemon]
            + ['--adapters', str(adapters), *start, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.address: str = self._read()['address']
        except Exception:
            self.stop()
            raise

    def do(self, command: str, **values: Any) -> dict[str, Any]:
        """Carries out a command of `ble fake`, and returns its result. Raises `Refused` if it is wrong."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({'do': command, **values}) + '\n')
        self._process.stdin.flush()
        answer = self._read()
        if answer['event'] == 'refused':
            raise Refused(answer['message'])
        return dict(answer['result'])

    def add(self, kind: str | None = None, **values: Any) -> str:
        """Adds a peripheral: a ready-made one, or with `definition=` one's own. Returns its address."""
        return str(self.do('add', **({'kind': kind} if kind else {}), **values)['id'])

    def stop(self) -> None:
        """Ends it, and its bus."""
        self._process.terminate()
        self._process.communicate()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError('ble fake has ended; its errors are above')
        return dict(json.loads(line))
