"""count-bleak advertisements | notifications UUID | socket UUID: the Python client bleak on the real
bluetoothd.

It counts advertisements, or the values of a characteristic, and prints the number at each marker: the number 0xFFFFFFFF
at the beginning of the manufacturer data, or of the value.
"""

import asyncio
import sys

from bleak import BleakClient, BleakScanner
from measurement import peripheral

COMPANY = 0xFFFF
MARKER = b"\xff\xff\xff\xff"


class Counter:
    def __init__(self):
        self.count = 0

    def take(self, data):
        if data[:4] == MARKER:
            print(self.count, flush=True)
        else:
            self.count += 1


async def main(kind, uuid=""):
    counter = Counter()
    if kind == "advertisements":

        def receive(_, advertisement):
            if data := advertisement.manufacturer_data.get(COMPANY):
                counter.take(data)

        async with BleakScanner(receive):
            await asyncio.get_running_loop().create_future()
    async with BleakClient(peripheral()) as client:
        options = {"use_start_notify": kind == "notifications"}
        await client.start_notify(uuid, lambda _, value: counter.take(value), bluez=options)
        await asyncio.get_running_loop().create_future()


asyncio.run(main(*sys.argv[1:]))
