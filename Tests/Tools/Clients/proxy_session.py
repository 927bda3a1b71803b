"""Sessions of aioesphomeapi, and of bleak-esphome with habluetooth (PyPI), as Home Assistant uses them, with a proxy at
127.0.0.1 through which the strap F0:F1:F2:F3:F4:F5 is reached.

    pip install aioesphomeapi bleak-esphome habluetooth
    ble proxy --port 6053 --key-file key & python proxy_session.py 6053 key

Prints "subscribed" when the strap is to send COUNT numbered values (32 bits, little-endian), and "ok" at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
from pathlib import Path

import bleak_esphome
import habluetooth
from aioesphomeapi import APIClient, BluetoothConnectionDroppedError, InvalidEncryptionKeyAPIError
from aioesphomeapi.model import BluetoothProxyFeature
from bleak import BleakClient
from bluetooth_adapters import BluetoothAdapters

STRAP = 'F0:F1:F2:F3:F4:F5'
NUMBER = int(STRAP.replace(':', ''), 16)
BATTERY_LEVEL = '00002a19-0000-1000-8000-00805f9b34fb'
CCCD = '00002902-0000-1000-8000-00805f9b34fb'
PATIENCE = 120


def echo(number: int) -> str:
    return f'6e40{number:04x}-b5a3-f393-e0a9-e50e24dcca9e'


def client(port: int, key: str | None, name: str) -> APIClient:
    return APIClient('127.0.0.1', port, None, noise_psk=key, client_info=name)


class Proxy:
    """A client of its own, with what it was told."""

    def __init__(self, api: APIClient) -> None:
        self.api = api
        self.slots: tuple[int, int, list[int]] | None = None
        self.told = asyncio.Condition()
        self.link = False
        self.address_type: int | None = None
        self.data = b''
        self.scanner = None

    async def start(self) -> None:
        await self.api.connect(login=True)
        info = await self.api.device_info()
        self.flags = info.bluetooth_proxy_feature_flags_compat(self.api.api_version)
        for flag in (BluetoothProxyFeature.ACTIVE_CONNECTIONS, BluetoothProxyFeature.REMOTE_CACHING,
                     BluetoothProxyFeature.RAW_ADVERTISEMENTS, BluetoothProxyFeature.FEATURE_STATE_AND_MODE):
            assert self.flags & flag, info
        self.api.subscribe_bluetooth_connections_free(self._on_slots)
        await self.until(lambda: self.slots is not None)

    def notify(self) -> None:
        async def wake() -> None:
            async with self.told:
                self.told.notify_all()
        asyncio.get_running_loop().create_task(wake())

    async def until(self, condition) -> None:  # type: ignore[no-untyped-def]
        async with asyncio.timeout(PATIENCE), self.told:
            await self.told.wait_for(condition)

    def _on_slots(self, free: int, limit: int, allocated: list[int]) -> None:
        self.slots = (free, limit, list(allocated))
        self.notify()

    def _on_link(self, connected: bool, mtu: int, error: int) -> None:
        self.link = connected
        self.notify()

    async def scan(self) -> None:
        """Scans until the strap is found."""
        def on_state(state) -> None:  # type: ignore[no-untyped-def]
            self.scanner = state
            self.notify()

        def on_advertisements(message) -> None:  # type: ignore[no-untyped-def]
            for advertisement in message.advertisements:
                if advertisement.address == NUMBER:
                    self.address_type = advertisement.address_type
                    self.data = bytes(advertisement.data)
                    self.notify()
        self.api.subscribe_bluetooth_scanner_state(on_state)
        self.api.subscribe_bluetooth_le_raw_advertisements(on_advertisements)
        await self.until(lambda: self.address_type is not None)
        await self.until(lambda: self.scanner is not None and self.scanner.state.name == 'RUNNING')

    async def connect(self, patience: float = PATIENCE) -> None:
        await self.api.bluetooth_device_connect(
            NUMBER, self._on_link, timeout=patience, feature_flags=self.flags, address_type=1 if self.address_type is None else self.address_type)
        assert self.link


async def wrong_key(port: int) -> None:
    try:
        await client(port, base64.b64encode(bytes(32)).decode(), 'wrong').connect(login=True)
        raise AssertionError('a wrong key was accepted')
    except InvalidEncryptionKeyAPIError:
        print('a wrong key is refused')


async def first(port: int, key: str | None, count: int) -> Proxy:
    """Scans, connects, enumerates, reads, writes, and receives all values in order."""
    proxy = Proxy(client(port, key, 'first'))
    await proxy.start()
    assert proxy.slots is not None and proxy.slots[0] > 0, proxy.slots
    await proxy.scan()
    assert b'Bumble HR' in proxy.data, proxy.data.hex()
    await proxy.connect()
    await proxy.until(lambda: proxy.slots[2] == [NUMBER])  # type: ignore[index]
    services = (await proxy.api.bluetooth_gatt_get_services(NUMBER)).services
    characteristics = {c.uuid: c for s in services for c in s.characteristics}
    print('services', len(services))
    level = await proxy.api.bluetooth_gatt_read(NUMBER, characteristics[BATTERY_LEVEL].handle)
    assert bytes(level) == b'W', level
    written, output = characteristics[echo(2)], characteristics[echo(3)]
    await proxy.api.bluetooth_gatt_write(NUMBER, written.handle, b'hello', True)
    assert bytes(await proxy.api.bluetooth_gatt_read(NUMBER, output.handle)) == b'hello'
    received: list[int] = []

    def on_value(handle: int, data: bytearray) -> None:
        received.append(int.from_bytes(data[:4], 'little'))
        if len(received) % 50 == 0:
            print('got', len(received), flush=True)
        if len(received) == count:
            proxy.notify()
    await proxy.api.bluetooth_gatt_start_notify(NUMBER, output.handle, on_value)
    cccd = next(d for d in output.descriptors if d.uuid == CCCD)
    await proxy.api.bluetooth_gatt_write_descriptor(NUMBER, cccd.handle, b'\x01\x00')
    print('subscribed', flush=True)
    try:
        await proxy.until(lambda: len(received) >= count)
    except TimeoutError:
        raise AssertionError(f'{len(received)} values have arrived, at last {received[-3:]}') from None
    assert received == list(range(count)), received
    await proxy.api.bluetooth_gatt_write_descriptor(NUMBER, cccd.handle, b'\x00\x00')
    proxy.api.bluetooth_gatt_stop_notify(NUMBER, output.handle)
    print('received', len(received))
    return proxy


async def second(port: int, key: str | None, other: Proxy) -> None:
    """Another client sees the same radio, and gets the strap when the first has left it."""
    proxy = Proxy(client(port, key, 'second'))
    await proxy.start()
    await proxy.scan()
    refused: list[tuple[bool, int, int]] = []
    try:
        await proxy.api.bluetooth_device_connect(
            NUMBER, lambda *state: refused.append(state), timeout=PATIENCE, feature_flags=proxy.flags, address_type=1)
    except BluetoothConnectionDroppedError:
        pass
    assert not any(connected for connected, _, _ in refused), refused
    await other.api.bluetooth_device_disconnect(NUMBER, timeout=PATIENCE)
    await other.until(lambda: other.slots[2] == [])  # type: ignore[index]
    await proxy.connect()
    await proxy.until(lambda: proxy.slots[2] == [NUMBER])  # type: ignore[index]
    # It leaves without a word: the proxy ends the link.
    await proxy.api.disconnect(force=True)
    print('two clients')


class NoAdapters(BluetoothAdapters):
    """This machine has no adapters of its own."""

    @property
    def adapters(self):  # type: ignore[no-untyped-def]
        return {}

    @property
    def default_adapter(self) -> str:
        return 'none'

    @property
    def history(self):  # type: ignore[no-untyped-def]
        return {}


async def as_home_assistant(port: int, key: str | None) -> None:
    """Registers the proxy with habluetooth, and uses the strap with bleak."""
    manager = habluetooth.BluetoothManager(NoAdapters())
    habluetooth.set_manager(manager)
    await manager.async_setup()
    api = client(port, key, 'home')
    await api.connect(login=True)
    data = bleak_esphome.connect_scanner(api, await api.device_info(), True)
    unsetup = data.scanner.async_setup()
    unregister = manager.async_register_scanner(data.scanner)
    async with asyncio.timeout(PATIENCE):
        while (info := manager.async_last_service_info(STRAP, True)) is None:
            await asyncio.sleep(0.05)
        assert info.name == 'Bumble HR', info
        async with habluetooth.HaBleakClientWrapper(info.device) as strap:
            assert bytes(await strap.read_gatt_char(BATTERY_LEVEL)) == b'W'
            values: asyncio.Queue[bytes] = asyncio.Queue()
            await strap.start_notify(echo(8), lambda _, value: values.put_nowait(bytes(value)))
            await strap.write_gatt_char(echo(8), b'home', response=True)
            assert await values.get() == b' home'
            await strap.stop_notify(echo(8))
    print('bleak', info.source)
    data.bluetooth_device.async_set_unavailable()
    unregister()
    unsetup()
    await api.disconnect()
    manager.async_stop()


async def main(port: int, key: str | None, count: int) -> None:
    if key:
        await wrong_key(port)
    proxy = await first(port, key, count)
    await second(port, key, proxy)
    await proxy.api.disconnect()
    await as_home_assistant(port, key)
    print('ok')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('port', type=int)
    parser.add_argument('key_file', nargs='?', type=Path, help='none for a proxy without encryption')
    parser.add_argument('--count', type=int, default=1000, help='of the values that the strap sends')
    arguments = parser.parse_args()
    # Not an argument, which others can see.
    key = arguments.key_file.read_text().strip() if arguments.key_file else None
    asyncio.run(main(arguments.port, key, arguments.count))
