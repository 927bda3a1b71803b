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
    def __init__(self, measures_latency=False):
        self.count = 0
        # The time of each value from its sender to this program, in microseconds.
        self.latencies = [] if measures_latency else None
        self.in_order = True
        self.done = asyncio.Event()

    def receive(self, _, value: bytearray):
        counter = int.from_bytes(value[:4], "little")
        if counter == MARKER:
            self.report(int.from_bytes(value[4:8], "little"))
            return
        if self.count == 0:
            self.start()
        if self.latencies is not None:
            self.latencies.append((time.monotonic_ns() - int.from_bytes(value[8:16], "little")) / 1000)
        if counter != self.count:
            self.in_order = False
        self.count += 1

    def start(self):
        self.cpu, self.wall = time.process_time(), time.monotonic()

    def report(self, total):
        cpu = (time.process_time() - self.cpu) / self.count * 1e6
        wall = (time.monotonic() - self.wall) / self.count * 1e6
        complete = self.in_order and self.count == total
        numbers = [f"{cpu:.2f}", f"{wall:.2f}"]
        if self.latencies:
            # What half, 99 % and 99.9 % of the latencies do not exceed.
            ordered = sorted(self.latencies)
            numbers += [f"{ordered[int(part * (len(ordered) - 1))]:.1f}" for part in (0.5, 0.99, 0.999)]
        print(self.count, "complete" if complete else "incomplete", *numbers, flush=True)
        self.done.set()
