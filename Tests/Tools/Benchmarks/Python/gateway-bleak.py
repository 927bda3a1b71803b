"""gateway-bleak DEVICES: the Python client bleak with bthome-ble, on the bus at DBUS_SYSTEM_BUS_ADDRESS.

bthome-ble is Home Assistant's decoder. It decodes the reports of the sensors of fake-scan. Each sensor has a decoder of
its own, as the library requires, and each report is passed on in Home Assistant's way. The checks are those of scan.h.
"""

import asyncio
import sys
import time

from bleak import BleakScanner
from bthome_ble import BTHomeBluetoothDeviceData
from habluetooth import BluetoothServiceInfoBleak
from measurement import Measurement
from sensor_state_data import DeviceKey

BATTERY, COUNT = DeviceKey("battery", None), DeviceKey("count", None)
HUMIDITY, TEMPERATURE = DeviceKey("humidity", None), DeviceKey("temperature", None)


class Gateway:
    def __init__(self, devices):
        self.devices = devices
        self.decoders = {}
        self.next = 0
        self.measurement = Measurement()

    def receive(self, device, advertisement):
        if device.address not in self.decoders:
            self.decoders[device.address] = BTHomeBluetoothDeviceData()
        info = BluetoothServiceInfoBleak.from_scan("hci0", device, advertisement, time.monotonic(), True)
        values = self.decoders[device.address].update(info).entity_values
        if COUNT in values:
            self.measurement.count = self.next - self.devices
            self.measurement.report(int(values[COUNT].native_value))
            return
        if self.next == self.devices:
            self.measurement.start()
        round, number = divmod(self.next, self.devices)
        if (
            int(device.address[-5:-3] + device.address[-2:], 16) != number
            or advertisement.rssi != -40 - round % 50
            or values[BATTERY].native_value != 100 - (number + round) % 101
            or values[TEMPERATURE].native_value != ((number * 7 + round * 13) % 6000 - 2000) / 100
            or values[HUMIDITY].native_value != (number * 11 + round * 17) % 10001 / 100
        ):
            self.measurement.in_order = False
        self.next += 1


async def main():
    gateway = Gateway(int(sys.argv[1]))
    async with BleakScanner(gateway.receive):
        await gateway.measurement.done.wait()


asyncio.run(main())
