"""known-bleak DEVICES: the Python client bleak, which starts a BleakScanner and so gets the objects of fake-known.

On the bus at DBUS_SYSTEM_BUS_ADDRESS. The processor time counts from the start of the process, the time from that of
this script, both until the scanner has started: then its manager has all devices. So both include the imports, and the
processor time also includes the start of the interpreter. A fifth number is the growth of the resident memory in bytes,
from before the scanner to after its start. All numbers are for each device. A run with 0 devices prints totals: a start
without devices costs about 80 ms of processor time, nearly all of it for the interpreter and the imports, and 0.5 MB.
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
    """In bytes. (On an older Linux, VmRSS is off by up to some 100 kB; this number is exact.)"""
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


async def count_devices():
    """The number of the manager's devices that match fake-known, without the marker. No public function returns it."""
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
