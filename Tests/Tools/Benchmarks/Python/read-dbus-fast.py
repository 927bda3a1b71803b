"""read-dbus-fast COUNT PARALLEL: the Python library dbus-fast, with MessageBus.call.

On the bus at DBUS_SYSTEM_BUS_ADDRESS. It reads characteristics of fake-bluez COUNT times, with PARALLEL pending calls,
each for another characteristic as bluetoothd requires, and measures from the first call to the last reply.
"""

import asyncio
import sys
import time

from dbus_fast import BusType, Message, MessageType
from dbus_fast.aio import MessageBus

SERVICE = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010"
VALUE_LENGTH = 20


class Reader:
    def __init__(self, bus, total):
        self.bus = bus
        self.total = total
        self.called = 0
        self.count = 0
        self.is_right = True

    async def read(self, number):
        path = f"{SERVICE}/char00{11 if number == 0 else 20 + number}"
        while self.called < self.total:
            self.called += 1
            reply = await self.bus.call(
                Message(
                    destination="org.bluez",
                    path=path,
                    interface="org.bluez.GattCharacteristic1",
                    member="ReadValue",
                    signature="a{sv}",
                    body=[{}],
                )
            )
            if reply.message_type != MessageType.METHOD_RETURN or len(reply.body[0]) != VALUE_LENGTH:
                self.is_right = False
            self.count += 1


async def main():
    total, parallel = int(sys.argv[1]), int(sys.argv[2])
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    reader = Reader(bus, total)
    cpu, wall = time.process_time(), time.monotonic()
    await asyncio.gather(*(reader.read(number) for number in range(parallel)))
    cpu = (time.process_time() - cpu) / reader.count * 1e6
    wall = (time.monotonic() - wall) / reader.count * 1e6
    complete = reader.is_right and reader.count == total
    print(reader.count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
    bus.disconnect()
    return complete


sys.exit(not asyncio.run(main()))
