"""start-bleak: a small program with the Python client bleak, which scans until it discovers a device.

It has a callback, because BleakScanner.advertisement_data() misses a device that is announced as soon as discovery
starts.
"""

import asyncio

from bleak import BleakScanner


async def main():
    discovered = asyncio.Event()
    async with BleakScanner(lambda device, advertisement: discovered.set()):
        await discovered.wait()


asyncio.run(main())
