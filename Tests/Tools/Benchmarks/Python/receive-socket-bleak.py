"""receive-socket-bleak: like receive-bleak, but through the socket of AcquireNotify."""

import asyncio

from bleak import BleakClient
from measurement import Measurement, peripheral

HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"


async def main():
    measurement = Measurement()
    async with BleakClient(peripheral()) as client:
        await client.start_notify(HEART_RATE, measurement.receive, bluez={"use_start_notify": False})
        await measurement.done.wait()


asyncio.run(main())
