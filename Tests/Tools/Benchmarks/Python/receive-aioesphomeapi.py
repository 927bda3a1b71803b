"""receive-aioesphomeapi {values|raw|decoded}: the Python client aioesphomeapi, with the proxy that FAKE names.

With `values`, the notifications of the one peripheral. With `raw`, advertisements as their messages have them: their
bytes. With `decoded`, they are also decoded with bluetooth-data-tools, as Home Assistant does.
"""

import asyncio
import os
import sys

from aioesphomeapi import APIClient
from bluetooth_data_tools import parse_advertisement_data_bytes
from measurement import Measurement
from scan import Scan

ADDRESS = 0xF0F1F2F3F4F5
DEVICES = 1000
COMPANY = 0x0499
# Where the manufacturer data begins in the advertisements of fake-proxy, after the company.
DATA_START = 29


async def receive_values(client):
    measurement = Measurement()
    heard = asyncio.Event()
    client.subscribe_bluetooth_le_raw_advertisements(lambda _: heard.set())
    await heard.wait()
    info = await client.device_info()
    await client.bluetooth_device_connect(
        ADDRESS, lambda *_: None, feature_flags=info.bluetooth_proxy_feature_flags, address_type=1)
    services = await client.bluetooth_gatt_get_services(ADDRESS)
    characteristic = services.services[0].characteristics[0]
    await client.bluetooth_gatt_start_notify(ADDRESS, characteristic.handle, measurement.receive)
    await client.bluetooth_gatt_write_descriptor(ADDRESS, characteristic.descriptors[0].handle, b"\x01\x00")
    await measurement.done.wait()


async def receive_advertisements(client, is_decoded):
    scan = Scan(DEVICES, 1)

    def receive(message):
        for advertisement in message.advertisements:
            if is_decoded:
                name, services, service_data, manufacturer_data, power = parse_advertisement_data_bytes(
                    advertisement.data)
                data = manufacturer_data[COMPANY]
            else:
                data = advertisement.data[DATA_START:]
            scan.take(advertisement.address & 0xFFFF, advertisement.rssi, data)

    client.subscribe_bluetooth_le_raw_advertisements(receive)
    await scan.done.wait()


async def main():
    port, key = os.environ["FAKE"].split()
    client = APIClient("127.0.0.1", int(port), noise_psk=key)
    await client.connect()
    if sys.argv[1] == "values":
        await receive_values(client)
    else:
        await receive_advertisements(client, sys.argv[1] == "decoded")
    await client.disconnect(force=True)


asyncio.run(main())
