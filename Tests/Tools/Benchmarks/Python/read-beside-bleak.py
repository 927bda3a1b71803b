"""read-beside-bleak COUNT DEVICES: the Python client bleak, with BleakClient.read_gatt_char beside a BleakScanner.

On the bus at DBUS_SYSTEM_BUS_ADDRESS. It reads a characteristic of fake-busy COUNT times, one after the other, after a
scan has found DEVICES devices and while it goes on; with 0, there is no scan. It measures how long each read takes.
"""

import asyncio
import contextlib
import sys
import time

from bleak import BleakClient, BleakScanner
from measurement import Measurement, peripheral

HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"
VALUE_LENGTH = 20


class Scan:
    def __init__(self, devices):
        self.devices = devices
        self.addresses = set()
        self.changes = 0
        self.found = asyncio.Event()

    def receive(self, device, advertisement):
        self.changes += 1
        if len(self.addresses) < self.devices:
            self.addresses.add(device.address)
        else:
            self.found.set()


async def main():
    total, devices = int(sys.argv[1]), int(sys.argv[2])
    measurement = Measurement(measures_latency=True)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(BleakClient(peripheral()))
        characteristic = client.services.get_characteristic(HEART_RATE)
        scan = Scan(devices)
        if devices > 0:
            await stack.enter_async_context(BleakScanner(scan.receive))
            await scan.found.wait()
        before = scan.changes
        measurement.start()
        for _ in range(total):
            start = time.monotonic_ns()
            value = await client.read_gatt_char(characteristic)
            measurement.latencies.append((time.monotonic_ns() - start) / 1000)
            measurement.count += 1
            if len(value) != VALUE_LENGTH:
                measurement.in_order = False
        # Whether there was a scan beside them.
        if devices > 0 and scan.changes == before:
            measurement.in_order = False
        measurement.report(total)


asyncio.run(main())
