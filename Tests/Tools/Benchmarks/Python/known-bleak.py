"""known-bleak DEVICES: the Python client bleak, which starts a BleakScanner and so gets the objects of fake-known.

On the bus at DBUS_SYSTEM_BUS_ADDRESS. The processor time is that since the process started, and the time that since
this script did, both until the scanner has started: then its manager has all devices. So both have the imports, and the
processor time has the start of the interpreter, too. A fifth number is by how many bytes the resident memory has grown
from before the scanner to after its start. All are for each device. A run with 0 devices prints them whole: what a
start costs without any, about 80 ms of processor time, nearly all of it the interpreter and the imports, and 0.5 MB.
"""

import time

WALL = time.monotonic()

import asyncio
import ctypes
import gc
import sys

from bleak import BleakScanner
from bleak.backends.bluezdbus.manager import get_global_bluez_manager

COMPANY = 0x0499
DATA_LENGTH = 24


def resident_memory():
    """In bytes. On an older Linux VmRSS is off by up to some 100 kB, and this is exact."""
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


async def count_devices():
    """How many devices the manager has that are as fake-known says, without the marker. No public function tells it."""
    manager = await get_global_bluez_manager()
    return sum(
        properties["Name"].startswith("Sensor ")
        and len(properties["Address"]) == 17
        and properties["RSSI"] == -40
        and len(properties["ManufacturerData"][COMPANY]) == DATA_LENGTH
        for _, properties in manager._iter_device_props()
    )


async def main():
    devices = int(sys.argv[1])
    libc = ctypes.CDLL(None)
    memory = resident_memory()
    async with BleakScanner():
        cpu, wall = time.process_time(), time.monotonic() - WALL
        gc.collect()
        libc.malloc_trim(0)
        memory = resident_memory() - memory
        count = await count_devices()
    complete = count == devices
    divisor = max(1, devices)
    figures = f"{cpu / divisor * 1e6:.2f} {wall / divisor * 1e6:.2f} {memory / divisor:.1f}"
    print(count, "complete" if complete else "incomplete", figures, flush=True)
    return complete


sys.exit(not asyncio.run(main()))
