"""Common code of the Python clients that scan. The checks are those of scan.h.

It measures the processor time of the changes, from the one after the devices were announced to the marker.
"""

import asyncio
import time

MARKER = 0xFFFFFFFF


class Scan:
    def __init__(self, devices, stride):
        self.devices = devices
        self.stride = stride
        self.next = 0
        self.in_order = True
        self.done = asyncio.Event()

    def take(self, device, rssi, data):
        """Counts a report of the device with that number. `data` is its manufacturer data."""
        data_round = int.from_bytes(data[:4], "little")
        if data_round == MARKER:
            self.report(int.from_bytes(data[4:8], "little"))
            return
        if self.next == self.devices:
            self.cpu, self.wall = time.process_time(), time.monotonic()
        round, number = divmod(self.next, self.devices)
        if device != number or rssi != -40 - round % 50 or data_round != max(0, round - (number + round) % 4):
            self.in_order = False
        self.next += self.stride

    def report(self, total):
        count = self.next - self.devices
        cpu = (time.process_time() - self.cpu) / count * 1e6
        wall = (time.monotonic() - self.wall) / count * 1e6
        complete = self.in_order and count == total
        print(count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
        self.done.set()
