"""scan-bleak DEVICES [SERVICE]: the Python client bleak, with BleakScanner on the bus at DBUS_SYSTEM_BUS_ADDRESS.

With SERVICE, it reports only devices that advertise that service. The checks are those of scan.h.
"""

import asyncio
import sys
import time

from bleak import BleakScanner

COMPANY = 0x0499
STRIDE = 10
MARKER = 0xFFFFFFFF


class Scan:
    def __init__(self, devices, stride):
        self.devices = devices
        self.stride = stride
        self.next = 0
        self.in_order = True
        self.done = asyncio.Event()

    def receive(self, device, advertisement):
        data = advertisement.manufacturer_data[COMPANY]
        data_round = int.from_bytes(data[:4], "little")
        if data_round == MARKER:
            self.report(int.from_bytes(data[4:8], "little"))
            return
        if self.next == self.devices:
            self.cpu, self.wall = time.process_time(), time.monotonic()
        round, number = divmod(self.next, self.devices)
        if (
            int(device.address[-5:-3] + device.address[-2:], 16) != number
            or advertisement.rssi != -40 - round % 50
            or data_round != max(0, round - (number + round) % 4)
        ):
            self.in_order = False
        self.next += self.stride

    def report(self, total):
        count = self.next - self.devices
        cpu = (time.process_time() - self.cpu) / count * 1e6
        wall = (time.monotonic() - self.wall) / count * 1e6
        complete = self.in_order and count == total
        print(count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
        self.done.set()


async def main():
    services = sys.argv[2:]
    scan = Scan(int(sys.argv[1]), STRIDE if services else 1)
    async with BleakScanner(scan.receive, service_uuids=services or None):
        await scan.done.wait()


asyncio.run(main())
