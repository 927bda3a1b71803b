"""A crowd: devices that only advertise, at random times, together as often as is asked for. They are no controllers in
the air: their reports go straight to the adapter's host, which makes a thousand a second affordable."""

from __future__ import annotations

import asyncio
import random
import struct

from host import Adapter
from peripheral import COMPANY

MARKER = 0xFFFFFFFF
"""The number of the advertisement that `mark` sends."""

NOT_CONNECTABLE, RANDOM_ADDRESS = 3, 1


class Crowd:
    """Devices with static random addresses from C0:FF:00:00:00:00, which send ADV_NONCONN_IND: flags (bluetoothd ignores
    what is not discoverable), a name, and manufacturer data of 14 bytes, the first 4 of which are the number of the advertisement, from 0, little-endian."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._task: asyncio.Task[None] | None = None
        self.sent = 0
        """How many advertisements the adapter has received while it scanned."""

    def start(self, devices: int, rate: float) -> None:
        """Begins to advertise, `rate` times a second. The times and the strengths are the same ones each time."""
        self.stop()
        self.sent = 0
        self._task = asyncio.create_task(self._advertise(devices, rate))

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    def mark(self) -> bool:
        """Sends one advertisement, of the first device, with the number `MARKER`. False if the adapter does not scan."""
        return self._report(0, MARKER, -40)

    async def _advertise(self, devices: int, rate: float) -> None:
        chance = random.Random(1)
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due += chance.expovariate(rate)
            # A sleep for each, also when it is late: other tasks run meanwhile.
            await asyncio.sleep(max(0, due - loop.time()))
            self.sent += self._report(chance.randrange(devices), self.sent, chance.randrange(-90, -40))

    def _report(self, device: int, number: int, strength: int) -> bool:
        """Gives the host a report of a device's advertisement, if it scans."""
        if not self._adapter.is_plugged or not self._adapter.controller.le_scan_enable:
            return False
        name = f'C{device}'.encode()
        data = struct.pack('<BBBBB', 2, 0x01, 0x06, len(name) + 1, 0x09) + name
        data += struct.pack('<BBHI10x', 17, 0xFF, COMPANY, number)
        report = struct.pack('<BBBB', 2, 1, NOT_CONNECTABLE, RANDOM_ADDRESS) + struct.pack('<IH', device, 0xC0FF)
        report += struct.pack('<B', len(data)) + data + struct.pack('<b', strength)
        host = self._adapter.controller.host
        assert host
        host.on_packet(struct.pack('<BBB', 0x04, 0x3E, len(report)) + report)
        return True
