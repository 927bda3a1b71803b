"""The peripheral: a heart rate strap with an echo service, for the tests of a central."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bumble.att import ATT_Error, ErrorCode
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import (
    GATT_CHARACTERISTIC_EXTENDED_PROPERTIES_DESCRIPTOR,
    GATT_CHARACTERISTIC_PRESENTATION_FORMAT_DESCRIPTOR,
    GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR,
    GATT_DEVICE_INFORMATION_SERVICE,
    GATT_DEVICE_NAME_CHARACTERISTIC,
    GATT_FIRMWARE_REVISION_STRING_CHARACTERISTIC,
    GATT_GENERIC_ACCESS_SERVICE,
    GATT_HARDWARE_REVISION_STRING_CHARACTERISTIC,
    GATT_MANUFACTURER_NAME_STRING_CHARACTERISTIC,
    GATT_MODEL_NUMBER_STRING_CHARACTERISTIC,
    GATT_PNP_ID_CHARACTERISTIC,
    GATT_SERIAL_NUMBER_STRING_CHARACTERISTIC,
    GATT_SOFTWARE_REVISION_STRING_CHARACTERISTIC,
    GATT_SYSTEM_ID_CHARACTERISTIC,
    Characteristic,
    CharacteristicValue,
    Descriptor,
    Service,
)
from bumble.profiles.battery_service import BatteryService
from bumble.profiles.heart_rate_service import HeartRateService
from bumble.utils import AsyncRunner

from air import Air
from channels import accept_channels
from peripheral import COMPANY, NoSubscriber, Peripheral

ADDRESS = 'F0:F1:F2:F3:F4:F5'
"""The strap's address, static random."""

BATTERY_LEVEL = 87
FIRST_BEATS, LAST_BEATS = 72, 180
NAME_LIMIT = 26
"""Bytes of a name for which a scan response has room, beside the transmit power."""

DESCRIPTION = {
    GATT_MANUFACTURER_NAME_STRING_CHARACTERISTIC: b'ACME',
    GATT_MODEL_NUMBER_STRING_CHARACTERISTIC: b'HR-1',
    GATT_SERIAL_NUMBER_STRING_CHARACTERISTIC: b'0001',
    GATT_HARDWARE_REVISION_STRING_CHARACTERISTIC: b'B',
    GATT_FIRMWARE_REVISION_STRING_CHARACTERISTIC: b'1.2',
    GATT_SOFTWARE_REVISION_STRING_CHARACTERISTIC: b'3.4.5',
    # manufacturer-defined identifier 0x5678 (40 bits), organizationally unique identifier 0x1234 (24 bits)
    GATT_SYSTEM_ID_CHARACTERISTIC: struct.pack('<Q', 0x1234 << 40 | 0x5678),
    # vendor of the Bluetooth SIG's list, product 0x0042, version 1.0.3
    GATT_PNP_ID_CHARACTERISTIC: struct.pack('<BHHH', 1, COMPANY, 0x0042, 0x0103),
}
"""The device information service: characteristics and their values."""

READ = Characteristic.Properties.READ
WRITE = Characteristic.Properties.WRITE
WRITE_WITHOUT_RESPONSE = Characteristic.Properties.WRITE_WITHOUT_RESPONSE
NOTIFY = Characteristic.Properties.NOTIFY
INDICATE = Characteristic.Properties.INDICATE
EXTENDED = Characteristic.Properties.EXTENDED_PROPERTIES
READABLE = Characteristic.READABLE
WRITEABLE = Characteristic.WRITEABLE

T = TypeVar('T')


class LinkEnded(Exception):
    """The link ended before the awaited event."""


async def while_connected(connection: Connection, waited_for: Awaitable[T]) -> T:
    """The awaited result. Raises LinkEnded if the link ends first."""
    task = asyncio.ensure_future(waited_for)

    def give_up(_: object) -> None:
        task.cancel()

    connection.on(Connection.EVENT_DISCONNECTION, give_up)
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
        connection.remove_listener(Connection.EVENT_DISCONNECTION, give_up)
    if task.cancelled():
        raise LinkEnded('the link ended first')
    return task.result()


class Gate:
    """Holds requests until it is opened, or until the link of a waiting request ends."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.waiting = 0  # (requests that are held now)

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def passed(self, connection: Connection) -> None:
        """Returns when the gate is open. When the link ends first, the request ends without an answer: at a later time,
        its connection handle might be another link's."""
        self.waiting += 1
        try:
            await while_connected(connection, self._open.wait())
        except LinkEnded:
            raise asyncio.CancelledError from None
        finally:
            self.waiting -= 1


class EchoService(Service):
    """A value that is written to the first characteristic can be read from the second.

    ====== ===================== =======================================================
    UUID   properties
    ====== ===================== =======================================================
    …0002  write, write without  what is written is kept
    …0003  read, notify,         reads what was last written to …0002; notified by
           indicate              command; user description "Echo out"
    …0004  read                  "secret", only on an encrypted link
    …0005  read, write           answers when the gate opens: "slow"
    …0006  read                  "first"
    …0006  read                  "second"
    …0007  read, write,          reads what was last written to it; user description
           reliable write        "Note", presentation format UTF-8
    …0008  write, indicate       a control point: indicates 0x20 and the written bytes;
                                 first EE alone if they begin with 0xEE; nothing if
                                 they begin with 0xFF
    …0009  read                  "sealed", only on an authenticated link
    ====== ===================== =======================================================

    It includes a secondary service, …0010, with the characteristic …0011, which reads as "included". A service of its
    own, …0020, which the strap has only in some arrangements, has the characteristic …0021, which reads as "added".
    """

    UUID_FORMAT = '6E40{:04X}-B5A3-F393-E0A9-E50E24DCCA9E'

    def __init__(self) -> None:
        self.written = b''
        self.noted = b''
        self.gate = Gate()
        self.indicate: Callable[[Connection, Characteristic, bytes], Awaitable[None]] | None = None
        self.included = Service(
            self._uuid(0x10), [Characteristic(self._uuid(0x11), READ, READABLE, b'included')], primary=False
        )
        self.addition = Service(self._uuid(0x20), [Characteristic(self._uuid(0x21), READ, READABLE, b'added')])
        self.note: Characteristic[bytes] = Characteristic(
            self._uuid(7),
            READ | WRITE | EXTENDED,
            READABLE | WRITEABLE,
            CharacteristicValue(read=lambda _: self.noted, write=self._take_note),
            [
                Descriptor(GATT_CHARACTERISTIC_EXTENDED_PROPERTIES_DESCRIPTOR, READABLE, bytes([1, 0])),
                Descriptor(GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR, READABLE, b'Note'),
                Descriptor(
                    GATT_CHARACTERISTIC_PRESENTATION_FORMAT_DESCRIPTOR,
                    READABLE,
                    # UTF-8, no exponent, unitless, of the Bluetooth SIG's list the third
                    struct.pack('<BbHBH', 0x19, 0, 0x2700, 1, 3),
                ),
            ],
        )
        self.control_point: Characteristic[bytes] = Characteristic(
            self._uuid(8), WRITE | INDICATE, WRITEABLE, CharacteristicValue(write=self._control)
        )
        self.output: Characteristic[bytes] = Characteristic(
            self._uuid(3),
            READ | NOTIFY | INDICATE,
            READABLE,
            CharacteristicValue(read=lambda _: self.written),
            [Descriptor(GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR, READABLE, b'Echo out')],
        )
        super().__init__(
            self._uuid(1),
            [
                Characteristic(
                    self._uuid(2), WRITE | WRITE_WITHOUT_RESPONSE, WRITEABLE, CharacteristicValue(write=self._write)
                ),
                self.output,
                Characteristic(self._uuid(4), READ, READABLE | Characteristic.READ_REQUIRES_ENCRYPTION, b'secret'),
                Characteristic(
                    self._uuid(5),
                    READ | WRITE,
                    READABLE | WRITEABLE,
                    CharacteristicValue(read=self._read_slowly, write=self._write_slowly),
                ),
                Characteristic(self._uuid(6), READ, READABLE, b'first'),
                Characteristic(self._uuid(6), READ, READABLE, b'second'),
                self.note,
                self.control_point,
                Characteristic(self._uuid(9), READ, READABLE, CharacteristicValue(read=self._read_sealed)),
            ],
            included_services=[self.included],
        )

    @classmethod
    def _uuid(cls, number: int) -> UUID:
        return UUID(cls.UUID_FORMAT.format(number))

    def _write(self, _: Connection, value: bytes) -> None:
        self.written = bytes(value)

    def _take_note(self, _: Connection, value: bytes) -> None:
        self.noted = bytes(value)

    def _control(self, connection: Connection, value: bytes) -> None:
        if not value or not self.indicate:
            return
        answers = ([b'\xee'] if value[0] == 0xEE else []) + ([b'\x20' + value] if value[0] != 0xFF else [])
        AsyncRunner.spawn(self._answer(connection, answers))

    async def _answer(self, connection: Connection, answers: list[bytes]) -> None:
        assert self.indicate
        for answer in answers:
            await self.indicate(connection, self.control_point, answer)

    async def _read_sealed(self, connection: Connection) -> bytes:
        # bumble takes every encrypted link for an authenticated one.
        keys = connection.device.keystore and await connection.device.keystore.get(str(connection.peer_address))
        if not (keys and keys.ltk and keys.ltk.authenticated and connection.is_encrypted):
            raise ATT_Error(ErrorCode.INSUFFICIENT_AUTHENTICATION)
        return b'sealed'

    async def _read_slowly(self, connection: Connection) -> bytes:
        await self.gate.passed(connection)
        return b'slow'

    async def _write_slowly(self, connection: Connection, value: bytes) -> None:
        await self.gate.passed(connection)


class Strap(Peripheral):
    """A heart rate strap in the air.

    While a central is subscribed, the heart rate measurement is notified every `heart_rate_interval` seconds (never, if
    that is 0), each time with one beat more. Advertising pauses while there is a link, as with a real strap. Centrals
    can open channels, too (channels.py).
    """

    def __init__(self, air: Air, name: str, advertising_interval: float, heart_rate_interval: float) -> None:
        super().__init__(air, 'strap', name, 'F0:0D:00:00:00:02', ADDRESS, advertising_interval)
        self.original_name = name
        self.heart_rate_interval = heart_rate_interval
        self.beats = FIRST_BEATS
        self.echo = EchoService()
        self.heart = HeartRateService(
            read_heart_rate_measurement=lambda _: self.measurement,
            body_sensor_location=HeartRateService.BodySensorLocation.WRIST,
            reset_energy_expended=lambda _: None,
        )
        self.echo.indicate = self._indicate
        battery = BatteryService(lambda _: BATTERY_LEVEL)
        # The included service first: otherwise bumble would put it between the attributes of the service that includes
        # it.
        self.arrangements: dict[str, list[Service]] = {
            'original': [self.echo.included, self.echo],
            'added': [self.echo.included, self.echo, self.echo.addition],
            'removed': [],
            'moved': [self.echo.addition, self.echo.included, self.echo],
        }
        self.device.add_services([self.heart, battery, self._information()])
        self._lasting = len(self.device.gatt_server.services)
        self.device.add_services(self.arrangements['original'])
        self._take_parts()
        accept_channels(self.device)

    async def _indicate(self, connection: Connection, characteristic: Characteristic, value: bytes) -> None:
        with contextlib.suppress(LinkEnded):
            indication = self.device.indicate_subscriber(connection, characteristic, value)
            await while_connected(connection, indication)

    def _take_parts(self) -> None:
        """Makes a write at an offset change the note's present value. bumble takes the prepared parts for a whole
        value."""
        server = self.device.gatt_server
        execute = server.on_att_execute_write_request

        def execute_with_parts(bearer: Connection, request: object) -> None:
            queue = server.prepared_writes.get(bearer, [])
            if queue and queue[0][0] == self.echo.note.handle and queue[0][1] > 0:
                queue.insert(0, (queue[0][0], 0, self.echo.noted))
            execute(bearer, request)

        server.on_att_execute_write_request = execute_with_parts

    @staticmethod
    def _information() -> Service:
        return Service(
            GATT_DEVICE_INFORMATION_SERVICE,
            [Characteristic(uuid, READ, READABLE, value) for uuid, value in DESCRIPTION.items()],
        )

    # --- services ---

    async def arrange(self, arrangement: str) -> None:
        """Changes the services, as an update of the firmware does: `original`; `added` has another service after the
        others; `removed` lacks the echo service; in `moved`, the other service comes before the echo service, whose
        handles change. Then indicates Service Changed to the centrals that have switched it on, and waits until they
        have confirmed it (Core Specification, volume 3, part G, section 7.1). The database hash follows by itself."""
        server = self.device.gatt_server
        present, wanted = server.services[self._lasting :], self.arrangements[arrangement]
        kept = 0
        while kept < min(len(present), len(wanted)) and present[kept] is wanted[kept]:
            kept += 1
        if kept == len(present) == len(wanted):
            return
        first = present[kept].handle if kept < len(present) else server.next_handle()
        last = len(server.attributes)
        # bumble gives a new attribute the handle after the number of attributes, so only the last ones can go.
        del server.attributes[first - 1 :]
        del server.services[self._lasting + kept :]
        server.attributes_by_handle.clear()
        for switches in server.subscribers.values():
            for handle in [handle for handle in switches if handle >= first]:
                del switches[handle]
        self.device.add_services(wanted[kept:])
        affected = struct.pack('<HH', first, max(last, len(server.attributes)))
        generic = self.device.gatt_service
        assert generic and generic.service_changed_characteristic
        for connection in self.subscribers(generic.service_changed_characteristic):
            await self._indicate(connection, generic.service_changed_characteristic, affected)

    async def start(self) -> None:
        """Turns the strap on: it advertises, and measures a heart rate."""
        await super().start()
        if self.heart_rate_interval > 0:
            self._beating = asyncio.ensure_future(self._beat())

    # --- advertising ---

    def advertisement(self) -> tuple[AdvertisingData, AdvertisingData]:
        kind = AdvertisingData.Type
        data = AdvertisingData(
            [
                (kind.FLAGS, bytes([0x06])),  # general discoverable, no BR/EDR
                (kind.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, struct.pack('<HH', 0x180D, 0x180F)),
                (kind.MANUFACTURER_SPECIFIC_DATA, struct.pack('<H', COMPANY) + b'\x01\x02\x03'),
                (kind.SERVICE_DATA_16_BIT_UUID, struct.pack('<HB', 0x180F, BATTERY_LEVEL)),
            ]
        )
        response = AdvertisingData([(kind.COMPLETE_LOCAL_NAME, self.name.encode()), (kind.TX_POWER_LEVEL, bytes([4]))])
        return data, response

    async def rename(self, name: str) -> None:
        """Changes the name, in the air and in the generic access service."""
        if not 0 < len(name.encode()) <= NAME_LIMIT:
            raise ValueError(f'a name has 1 to {NAME_LIMIT} bytes')
        self.name = name
        attributes = self.device.gatt_server.get_characteristic_attributes(
            GATT_GENERIC_ACCESS_SERVICE, GATT_DEVICE_NAME_CHARACTERISTIC
        )
        assert attributes
        attributes[1].value = name.encode()
        await self.resume_advertising()

    # --- values ---

    @property
    def measurement(self) -> HeartRateService.HeartRateMeasurement:
        return HeartRateService.HeartRateMeasurement(
            heart_rate=self.beats, sensor_contact_detected=True, energy_expended=10, rr_intervals=[0.75, 0.8]
        )

    async def notify_heart_rate(self) -> None:
        """Notifies the heart rate and raises it."""
        await self.device.notify_subscribers(self.heart.heart_rate_measurement_characteristic)
        self.beats = self.beats + 1 if self.beats < LAST_BEATS else FIRST_BEATS

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.heart_rate_interval)
            if self.subscribers(self.heart.heart_rate_measurement_characteristic):
                await self.notify_heart_rate()

    async def notify_output(self, value: bytes) -> None:
        """Notifies a value on the echo service's output to all subscribers."""
        for connection in self._receivers(value):
            await self.device.notify_subscriber(connection, self.echo.output, value)

    async def indicate_output(self, value: bytes) -> None:
        """Indicates a value on the echo service's output and returns when all subscribers have confirmed it.

        Subscribers to notifications get it, too: if a characteristic offers both, BlueZ subscribes to notifications
        only, but confirms indications.
        """
        for connection in self._receivers(value):
            indication = self.device.indicate_subscriber(connection, self.echo.output, value, force=True)
            await while_connected(connection, indication)

    def _receivers(self, value: bytes) -> list[Connection]:
        """The subscribers of the echo service's output, if there are any and all can receive the value whole."""
        subscribers = self.subscribers(self.echo.output)
        if not subscribers:
            raise NoSubscriber('the output has no subscriber')
        limit = min(connection.att_mtu for connection in subscribers) - 3
        if len(value) > limit:
            raise ValueError(f'the value has {len(value)} bytes, the link takes {limit}')
        return subscribers

    async def burst(self, count: int, length: int, rate: float = 0) -> float:
        """Notifies `count` values of `length` bytes, `rate` a second, or as fast as possible, and returns how many
        seconds that took. Each value begins with its number, 32 bits, little-endian."""
        if length < 4:
            raise ValueError('a value of a burst has 4 bytes at least')
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number in range(count):
            if rate:
                await asyncio.sleep(max(0, start + number / rate - loop.time()))
            await self.notify_output(struct.pack('<I', number) + bytes(length - 4))
            await self._flow(number)
        return loop.time() - start

    async def _flow(self, number: int) -> None:
        """Waits while the controller's queue is full, as firmware would, and lets other tasks run now and then."""
        queue = self.device.host.le_acl_packet_queue
        while queue and self.connections and queue.pending > 32:
            await asyncio.sleep(0)
        if number % 16 == 15:
            await asyncio.sleep(0)

    # --- bonds ---

    async def bonds(self) -> int:
        """How many centrals the strap is bonded with."""
        keys = self.device.keystore
        return len(await keys.get_all()) if keys else 0

    async def forget(self) -> None:
        """Forgets all bonds."""
        if self.device.keystore:
            await self.device.keystore.delete_all()

    async def reset(self) -> None:
        """Restores the strap's state at the start: nothing written, no bond, the first heart rate, name and services,
        advertising. Held requests are answered, later ones are held. Links stay."""
        await self.arrange('original')
        self.pairing.set_method('just-works')
        await self.forget()
        self.echo.written = self.echo.noted = b''
        self.echo.gate.release()
        self.echo.gate.hold()
        self.beats = FIRST_BEATS
        self._wants_to_advertise = True
        await self.rename(self.original_name)
