"""scan-bleak DEVICES [SERVICE]: the Python client bleak, with BleakScanner on the bus at DBUS_SYSTEM_BUS_ADDRESS.

With SERVICE, it reports only devices that advertise that service.
"""

import asyncio
import sys

from bleak import BleakScanner
from scan import Scan

COMPANY = 0x0499
STRIDE = 10


async def main():
    services = sys.argv[2:]
    scan = Scan(int(sys.argv[1]), STRIDE if services else 1)

    def receive(device, advertisement):
        number = int(device.address[-5:-3] + device.address[-2:], 16)
        scan.take(number, advertisement.rssi, advertisement.manufacturer_data[COMPANY])

    async with BleakScanner(receive, service_uuids=services or None):
        await scan.done.wait()


asyncio.run(main())
