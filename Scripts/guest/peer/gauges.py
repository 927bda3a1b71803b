"""The gauges: a peripheral with services of many profiles, one of each, for a central's profile layer to read.

bumble's implementation of a service is used if there is one; the others (gauge_services.py) are written from their
specifications.
"""

from __future__ import annotations

import secrets
import struct

from bumble import hci
from bumble.core import AdvertisingData
from bumble.device import Connection
from bumble.gatt import (
    GATT_CHARACTERISTIC_PRESENTATION_FORMAT_DESCRIPTOR,
    Characteristic,
    Descriptor,
)
from bumble.profiles.battery_service import BatteryService
from bumble.profiles.device_information_service import DeviceInformationService
from bumble.profiles.heart_rate_service import HeartRateService
from bumble.profiles.vcs import VolumeControlService

from air import Air
from gauge_services import EnvironmentalSensing, FitnessMachine, Glucose, HealthThermometer, SerialPort
from peripheral import NoSubscriber, Peripheral

NAME = 'Bumble Gauges'
ADDRESS = 'F2:F3:F4:F5:F6:F7'
"""The gauges' identity address, static random. They advertise under it, until they are told to rotate private ones."""

BATTERIES = {0x010D: 80, 0x010E: 20}
"""Two batteries: where they are (left and right, in the SIG's namespace of descriptions) and their levels."""


class Gauges(Peripheral):
    """A peripheral with many services. It has one link at a time, and advertises only on command."""

    def __init__(self, air: Air, advertising_interval: float) -> None:
        super().__init__(air, 'gauges', NAME, 'F0:0D:00:00:00:04', ADDRESS, advertising_interval)
        # Resolves its private addresses. (bumble's own is zero, which Linux refuses.)
        self.device.irk = secrets.token_bytes(16)
        self.beats = 61
        self.energy = 500
        self.thermometer = HealthThermometer()
        self.glucose = Glucose(self.tell)
        self.environment = EnvironmentalSensing()
        self.machine = FitnessMachine(self.tell)
        self.serial_port = SerialPort(self.tell)
        self.heart = HeartRateService(
            read_heart_rate_measurement=lambda _: HeartRateService.HeartRateMeasurement(
                heart_rate=self.beats, sensor_contact_detected=None, energy_expended=self.energy, rr_intervals=None
            ),
            body_sensor_location=HeartRateService.BodySensorLocation.EAR_LOBE,
            reset_energy_expended=self._reset_energy,
        )
        self.volume = VolumeControlService(step_size=10, volume_setting=100)
        information = DeviceInformationService(
            manufacturer_name='ACME',
            model_number='Gauges',
            serial_number='G-1',
            hardware_revision='A',
            firmware_revision='0.1',
            software_revision='0.2',
            system_id=(0x123456, 0x9ABCDEF012),
            ieee_regulatory_certification_data_list=bytes([0, 2, 0, 0]),
        )
        self.device.add_services(
            [
                self.heart,
                information,
                *(self._battery(position, level) for position, level in BATTERIES.items()),
                self.thermometer,
                self.glucose,
                self.environment,
                self.machine,
                self.serial_port,
                self.volume,
            ]
        )

    @staticmethod
    def _battery(position: int, level: int) -> BatteryService:
        service = BatteryService(lambda _: level)
        # uint8, no exponent, percent, of the Bluetooth SIG's descriptions the position
        format_value = struct.pack('<BbHBH', 0x04, 0, 0x27AD, 1, position)
        service.battery_level_characteristic.descriptors = (
            Descriptor(GATT_CHARACTERISTIC_PRESENTATION_FORMAT_DESCRIPTOR, Descriptor.READABLE, format_value),
        )
        return service

    def _reset_energy(self, _: Connection) -> None:
        self.energy = 0

    def advertisement(self) -> tuple[AdvertisingData, AdvertisingData]:
        kind = AdvertisingData.Type
        services = struct.pack('<HHH', 0x1809, 0x1808, 0x181A)
        data = AdvertisingData(
            [
                (kind.FLAGS, bytes([0x06])),  # general discoverable, no BR/EDR
                (kind.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, services),
            ]
        )
        return data, AdvertisingData([(kind.COMPLETE_LOCAL_NAME, NAME.encode())])

    @property
    def is_private(self) -> bool:
        """Whether they advertise under a private address."""
        return self.device.random_address != self.device.static_address

    async def rotate(self, is_private: bool) -> str:
        """Advertises from now on under a new resolvable private address, or under ADDRESS again. Returns the address.
        There must be no link."""
        await self.pause_advertising()
        address = hci.Address.generate_private_address(self.device.irk) if is_private else self.device.static_address
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        await self.resume_advertising()
        return str(address).removesuffix('/P')

    async def tell(self, characteristic: Characteristic, value: bytes) -> None:
        """Notifies or indicates a value, whichever the characteristic allows, to all that are subscribed."""
        subscribers = self.subscribers(characteristic)
        if not subscribers:
            raise NoSubscriber('there is no subscriber')
        for connection in subscribers:
            if characteristic.properties & Characteristic.Properties.INDICATE:
                await self.device.indicate_subscriber(connection, characteristic, value)
            else:
                await self.device.notify_subscriber(connection, characteristic, value)

    async def beat(self) -> None:
        """Notifies a heart rate measurement."""
        if not self.subscribers(self.heart.heart_rate_measurement_characteristic):
            raise NoSubscriber('there is no subscriber')
        await self.device.notify_subscribers(self.heart.heart_rate_measurement_characteristic)
