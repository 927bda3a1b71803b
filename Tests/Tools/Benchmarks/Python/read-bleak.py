"""read-bleak COUNT PARALLEL: the Python client bleak, with BleakClient.read_gatt_char.

On the bus at DBUS_SYSTEM_BUS_ADDRESS. It reads characteristics of fake-bluez COUNT times, with PARALLEL pending calls,
each for another characteristic as bluetoothd requires, and measures from the first call to the last reply.
"""

import asyncio
import sys

from bleak import BleakClient
from measurement import Measurement, peripheral

HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"
VALUE_LENGTH = 20


class Reader:
    def __init__(self, client, total):
        self.client = client
        self.total = total
        self.called = 0
        self.measurement = Measurement()

    async def read(self, number):
        # Looked up once: a UUID would be looked up for each call.
        uuid = HEART_RATE if number == 0 else f"0000ff{20 + number}-0000-1000-8000-00805f9b34fb"
        characteristic = self.client.services.get_characteristic(uuid)
        while self.called < self.total:
            self.called += 1
            value = await self.client.read_gatt_char(characteristic)
            if len(value) != VALUE_LENGTH:
                self.measurement.in_order = False
            self.measurement.count += 1


async def main():
    total, parallel = int(sys.argv[1]), int(sys.argv[2])
    async with BleakClient(peripheral()) as client:
        reader = Reader(client, total)
        reader.measurement.start()
        await asyncio.gather(*(reader.read(number) for number in range(parallel)))
        reader.measurement.report(total)


asyncio.run(main())
