"""write-bleak COUNT: the Python client bleak, with BleakClient.write_gatt_char on the bus at DBUS_SYSTEM_BUS_ADDRESS.

It writes COUNT packets of 20 bytes without a response: the number from 0, little-endian, in the first 4 bytes. bleak
calls WriteValue for each and awaits the reply; it has no socket for writing. The program ends when the third
characteristic has returned the number of packets that came in order.
"""

import asyncio
import sys

from bleak import BleakClient
from measurement import Measurement, peripheral

WRITABLE = "0000ff02-0000-1000-8000-00805f9b34fb"
RECEIVED = "0000ff03-0000-1000-8000-00805f9b34fb"


async def main():
    measurement = Measurement()
    measurement.count = int(sys.argv[1])
    async with BleakClient(peripheral()) as client:
        # Looked up once: a UUID would be looked up for each packet.
        characteristic = client.services.get_characteristic(WRITABLE)
        measurement.start()
        for number in range(measurement.count):
            await client.write_gatt_char(characteristic, number.to_bytes(4, "little") + bytes(16), response=False)
        received = int.from_bytes(await client.read_gatt_char(RECEIVED), "little")
        measurement.in_order = received == measurement.count
        measurement.report(measurement.count)


asyncio.run(main())
