"""The fixture `bluetooth` of the wheel, and the class behind it."""

from __future__ import annotations

import asyncio
import os

import pytest
from ble_fake import Fake, Refused
from bleak import BleakClient, BleakScanner
from bleak.backends.device import BLEDevice

BATTERY_LEVEL = '00002a19-0000-1000-8000-00805f9b34fb'


async def find(name: str) -> BLEDevice:
    device = await BleakScanner.find_device_by_name(name, timeout=60)
    assert device
    return device


def test_begins_without_peripherals(bluetooth: Fake) -> None:
    assert bluetooth.do('state')['peripherals'] == []
    assert os.environ['DBUS_SYSTEM_BUS_ADDRESS'] == bluetooth.address


async def test_a_program_finds_what_is_added_and_reads_what_is_set(bluetooth: Fake) -> None:
    address = bluetooth.add('battery', name='Cell', rssi=-70)
    cell = await find('Cell')
    assert cell.address == address
    bluetooth.do('value', peripheral='Cell', uuid='battery-level', value='2a')
    async with BleakClient(cell) as client:
        assert await client.read_gatt_char(BATTERY_LEVEL) == b'\x2a'
        assert [one['isConnected'] for one in bluetooth.do('state')['peripherals']] == [True]


async def test_values_arrive(bluetooth: Fake) -> None:
    bluetooth.add('battery', name='Cell')
    values: asyncio.Queue[bytes] = asyncio.Queue()
    async with BleakClient(await find('Cell')) as client:
        await client.start_notify(BATTERY_LEVEL, lambda _, value: values.put_nowait(bytes(value)))
        bluetooth.do('value', peripheral='Cell', uuid='battery-level', value='07')
        while await asyncio.wait_for(values.get(), 60) != b'\x07':
            pass


async def test_a_definition_is_added(bluetooth: Fake) -> None:
    service = {'uuid': 'FFE0', 'characteristics': [{'uuid': 'FFE1', 'properties': ['read'], 'value': '0102'}]}
    bluetooth.add(definition={'name': 'Own', 'services': [service]})
    async with BleakClient(await find('Own')) as client:
        assert await client.read_gatt_char('ffe1') == b'\1\2'


def test_a_wrong_command_is_refused_and_the_next_is_carried_out(bluetooth: Fake) -> None:
    with pytest.raises(Refused, match='dropp'):
        bluetooth.do('dropp')
    with pytest.raises(Refused, match='hci1'):
        bluetooth.do('power', on=False, adapter='hci1')
    assert bluetooth.do('state')['isRunning']


@pytest.mark.parametrize('bluetooth', [{'daemon': '5.82', 'adapters': 2}], indirect=True)
async def test_the_bluetoothd_is_chosen(bluetooth: Fake) -> None:
    bluetooth.do('power', on=False, adapter='hci1')
    bluetooth.add('battery', name='Cell')
    async with BleakClient(await find('Cell')) as client:
        level = client.services.get_characteristic(BATTERY_LEVEL)
        assert level
        # A property that 5.66 does not have.
        assert 'Handle' in level.obj[1]


def test_without_pytest_it_is_an_object_that_ends() -> None:
    with Fake('--peripheral', 'battery,name=Cell') as fake:
        assert [one['name'] for one in fake.do('state')['peripherals']] == ['Cell']
    with pytest.raises((OSError, ValueError, RuntimeError)):
        fake.do('state')


def test_a_program_that_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('BLE_FAKE_BINARY', '/bin/false')
    with pytest.raises(RuntimeError, match='has ended'):
        Fake()
