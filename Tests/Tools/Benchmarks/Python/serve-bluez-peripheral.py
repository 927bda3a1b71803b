"""serve-bluez-peripheral COUNT RATE: the Python library bluez-peripheral, on the bus at DBUS_SYSTEM_BUS_ADDRESS.

It serves one characteristic. From StartNotify on it signals COUNT values of 20 bytes: the number from 0, little-endian,
in the first 4 bytes. RATE is the number of values a second; 0 is as fast as the bus takes them. StopNotify, which
fake-central calls after the last value, ends the measurement.
"""

import asyncio
import sys
import time

from bluez_peripheral.gatt import CharacteristicFlags, Service, characteristic
from bluez_peripheral.util import get_message_bus
from dbus_fast import Message

# The maximum number of pending signals in a flood. The number of seconds that StopNotify may come late.
BATCH = 100
PATIENCE = 60
PADDING = bytes(16)


class HeartRateService(Service):
    def __init__(self):
        super().__init__("180D", True)

    @characteristic("2A37", CharacteristicFlags.READ | CharacteristicFlags.NOTIFY)
    def measurement(self, _):
        return bytes(4) + PADDING


def bus_call(member, signature="", *body):
    """A call of the bus itself."""
    name, path = "org.freedesktop.DBus", "/org/freedesktop/DBus"
    return Message(destination=name, path=path, interface=name, member=member, signature=signature, body=list(body))


class Server:
    def __init__(self, bus, total, rate):
        self.bus = bus
        self.total = total
        self.rate = rate
        self.count = 0
        self.service = HeartRateService()
        self.ended = asyncio.get_running_loop().create_future()
        self.cpu, self.wall = time.process_time(), time.monotonic()

    async def run(self):
        # The library has no hook for StartNotify and StopNotify. This sees their calls before the library handles them.
        self.bus.add_message_handler(self.handle)
        await self.bus.call(bus_call("AddMatch", "s", "type='signal',member='NameOwnerChanged',arg0='org.bluez'"))
        self.set_deadline(PATIENCE)
        await self.service.register(self.bus)
        return await self.ended

    def handle(self, message):
        if message.member == "StartNotify":
            self.cpu, self.wall = time.process_time(), time.monotonic()
            self.deadline.cancel()
            self.set_deadline(PATIENCE + (self.total / self.rate if self.rate else 0))
            self.sending = asyncio.create_task(self.send())
            self.sending.add_done_callback(self.check)
        elif message.member == "StopNotify":
            self.end(True)
        elif message.member == "NameOwnerChanged" and message.body[0] == "org.bluez" and not message.body[2]:
            self.end(False)

    def set_deadline(self, seconds):
        self.deadline = asyncio.get_running_loop().call_later(seconds, self.end, False)

    def check(self, sending):
        if not sending.cancelled() and sending.exception():
            self.end(False)

    async def send(self):
        begin = time.monotonic()
        while self.count < self.total:
            if self.rate:
                await asyncio.sleep(max(0, begin + self.count / self.rate - time.monotonic()))
            self.service.measurement.changed(self.count.to_bytes(4, "little") + PADDING)
            self.count += 1
            # A round trip, after which the bus has read the batch. The library does not report that a value is
            # sent, and when the socket is full, dbus-fast closes the connection.
            if not self.rate and self.count % BATCH == 0:
                await self.bus.call(bus_call("GetId"))

    def end(self, is_complete):
        if self.ended.done():
            return
        complete = is_complete and self.count == self.total
        cpu = (time.process_time() - self.cpu) / max(1, self.count) * 1e6
        wall = (time.monotonic() - self.wall) / max(1, self.count) * 1e6
        print(self.count, "complete" if complete else "incomplete", f"{cpu:.2f} {wall:.2f}", flush=True)
        self.ended.set_result(complete)


async def main():
    return await Server(await get_message_bus(), int(sys.argv[1]), int(sys.argv[2])).run()


sys.exit(not asyncio.run(main()))
