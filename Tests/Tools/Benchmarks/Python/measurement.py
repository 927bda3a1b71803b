"""Common code of the clients of the connected peripheral: the peripheral, and the measurement.

It measures whether all values came in order, and the processor time from the first value to the marker.
"""

import asyncio
import time

from bleak.backends.device import BLEDevice

ADDRESS = "F0:F1:F2:F3:F4:F5"
ADAPTER = "/org/bluez/hci0"
MARKER = 0xFFFFFFFF


def peripheral():
    path = f"{ADAPTER}/dev_{ADDRESS.replace(':', '_')}"
    return BLEDevice(ADDRESS, "Benchmark", {"path": path, "props": {"Adapter": ADAPTER, "Alias": "Benchmark"}})


class Measurement:
    def __init__(self):
        self.count = 0
        self.in_order = True
        self.done = asyncio.Event()

    def receive(self, _, value: bytearray):
        counter = int.from_bytes(value[:4], "little")
        if counter == MARKER:
            self.report(int.from_bytes(value[4:8], "little"))
            return
        if self.count == 0:
            self.start()
        if counter != self.count:
            self.in_order = False
        self.count += 1

    def start(self):
        self.cpu, self.wall = time.process_time(), time.monotonic()

    def report(self, total):
        cpu = (time.process_time() - self.cpu) / self.count * 1e6
        wall = (time.monotonic() - self.wall) / self.count * 1e6
        complete = self.in_order and self.count == total
        print(self.count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
        self.done.set()
