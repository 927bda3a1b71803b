"""receive-bleak: the Python client bleak, with BleakClient.start_notify on the bus at DBUS_SYSTEM_BUS_ADDRESS."""

import asyncio
import time

from bleak import BleakClient
from bleak.backends.device import BLEDevice

ADDRESS = "F0:F1:F2:F3:F4:F5"
ADAPTER = "/org/bluez/hci0"
MEASUREMENT = "00002a37-0000-1000-8000-00805f9b34fb"
MARKER = 0xFFFFFFFF


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
            self.cpu, self.wall = time.process_time(), time.monotonic()
        if counter != self.count:
            self.in_order = False
        self.count += 1

    def report(self, total):
        cpu = (time.process_time() - self.cpu) / self.count * 1e6
        wall = (time.monotonic() - self.wall) / self.count * 1e6
        complete = self.in_order and self.count == total
        print(self.count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
        self.done.set()


async def main():
    measurement = Measurement()
    path = f"{ADAPTER}/dev_{ADDRESS.replace(':', '_')}"
    device = BLEDevice(ADDRESS, "Benchmark", {"path": path, "props": {"Adapter": ADAPTER, "Alias": "Benchmark"}})
    async with BleakClient(device) as client:
        await client.start_notify(MEASUREMENT, measurement.receive)
        await measurement.done.wait()


asyncio.run(main())
