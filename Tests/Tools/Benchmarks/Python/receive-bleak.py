"""receive-bleak [latency]: the Python client bleak, with BleakClient.start_notify on the bus at DBUS_SYSTEM_BUS_ADDRESS."""

import asyncio
import sys

from bleak import BleakClient
from measurement import Measurement, peripheral

HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"


async def main():
    measurement = Measurement("latency" in sys.argv)
    async with BleakClient(peripheral()) as client:
        await client.start_notify(HEART_RATE, measurement.receive)
        await measurement.done.wait()


asyncio.run(main())
