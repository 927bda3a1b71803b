"""Services of the gauges, written from their specifications."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Awaitable, Callable, Sequence

from bumble.att import ATT_Error
from bumble.core import UUID
from bumble.device import Connection
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.utils import AsyncRunner

from peripheral import NoSubscriber

READ = Characteristic.Properties.READ
WRITE = Characteristic.Properties.WRITE
WRITE_WITHOUT_RESPONSE = Characteristic.Properties.WRITE_WITHOUT_RESPONSE
NOTIFY = Characteristic.Properties.NOTIFY
INDICATE = Characteristic.Properties.INDICATE
READABLE = Characteristic.READABLE
WRITEABLE = Characteristic.WRITEABLE

Tell = Callable[[Characteristic, bytes], Awaitable[None]]


def uuid16(number: int) -> UUID:
    return UUID.from_16_bits(number)


def float32(mantissa: int, exponent: int) -> bytes:
    """The FLOAT of IEEE 11073-20601."""
    return struct.pack('<I', (exponent & 0xFF) << 24 | mantissa & 0xFFFFFF)


def float16(mantissa: int, exponent: int) -> bytes:
    """The SFLOAT of IEEE 11073-20601."""
    return struct.pack('<H', (exponent & 0xF) << 12 | mantissa & 0xFFF)


def date_time(year: int, month: int, day: int, hours: int, minutes: int, seconds: int) -> bytes:
    return struct.pack('<HBBBBB', year, month, day, hours, minutes, seconds)


class HealthThermometer(Service):
    """Health Thermometer Service 1.0: indicates measurements of a body's temperature."""

    BODY = 2

    def __init__(self) -> None:
        self.measurement: Characteristic[bytes] = Characteristic(
            uuid16(0x2A1C), INDICATE, Characteristic.Permissions(0), b''
        )
        super().__init__(
            uuid16(0x1809),
            [self.measurement, Characteristic(uuid16(0x2A1D), READ, READABLE, bytes([self.BODY]))],
        )

    @staticmethod
    def spell(tenths: int) -> bytes:
        """A measurement in tenths of a degree Celsius, on 21 November 2026 at 15:30:00, with its type."""
        return bytes([0x06]) + float32(tenths, -1) + date_time(2026, 11, 21, 15, 30, 0) + bytes([HealthThermometer.BODY])


class Glucose(Service):
    """Glucose Service 1.0 with a few records, and the procedures of its record access control point."""

    REPORT, DELETE, ABORT, COUNT, COUNT_IS, RESPONSE = 1, 2, 3, 4, 5, 6
    ALL, LESS_OR_EQUAL, GREATER_OR_EQUAL, WITHIN, FIRST, LAST = 1, 2, 3, 4, 5, 6
    SUCCESS, BAD_OPCODE, UNKNOWN_OPERATOR, BAD_OPERAND, NONE_FOUND = 1, 2, 4, 5, 6

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.records: dict[int, int] = {}  # (sequence number: mg/dL)
        self.restore()
        self.measurement: Characteristic[bytes] = Characteristic(
            uuid16(0x2A18), NOTIFY, Characteristic.Permissions(0), b''
        )
        self.context: Characteristic[bytes] = Characteristic(uuid16(0x2A34), NOTIFY, Characteristic.Permissions(0), b'')
        self.control_point: Characteristic[bytes] = Characteristic(
            uuid16(0x2A52), WRITE | INDICATE, WRITEABLE, CharacteristicValue(write=self._control)
        )
        super().__init__(
            uuid16(0x1808),
            [
                self.measurement,
                self.context,
                Characteristic(uuid16(0x2A51), READ, READABLE, struct.pack('<H', 0x0401)),
                self.control_point,
            ],
        )

    def restore(self) -> None:
        """Thirty records, as at the start."""
        self.records = {number: 70 + number for number in range(1, 31)}

    def _spell(self, number: int) -> bytes:
        # Flags: concentration in kg/L with type and location, a context follows every tenth; capillary whole blood of a
        # finger.
        flags = 0x02 | (0x10 if number % 10 == 0 else 0)
        time = date_time(2026, 11, 21, 6 + number // 60, number % 60, 0)
        concentration = float16(self.records[number], -5)
        return bytes([flags]) + struct.pack('<H', number) + time + concentration + bytes([0x11])

    @staticmethod
    def _spell_context(number: int) -> bytes:
        """Carbohydrates: 15 g at breakfast."""
        return bytes([0x01]) + struct.pack('<H', number) + bytes([1]) + float16(15, -3)

    def _chosen(self, operator: int, operand: bytes) -> Sequence[int] | int:
        """The sequence numbers that the request selects, or the code of an error."""
        numbers = sorted(self.records)
        if operator in (self.ALL, self.FIRST, self.LAST):
            if operand:
                return self.BAD_OPERAND
            return numbers if operator == self.ALL else numbers[:1] if operator == self.FIRST else numbers[-1:]
        if operator == self.GREATER_OR_EQUAL:
            if len(operand) != 3 or operand[0] != 1:
                return self.BAD_OPERAND
            (least,) = struct.unpack('<H', operand[1:])
            return [number for number in numbers if number >= least]
        return self.UNKNOWN_OPERATOR

    def _control(self, _: Connection, request: bytes) -> None:
        AsyncRunner.spawn(self._answer(bytes(request)))

    async def _answer(self, request: bytes) -> None:
        opcode, operator, operand = request[0], request[1] if len(request) > 1 else 0, request[2:]
        answer = bytes([self.RESPONSE, 0, opcode])
        if opcode not in (self.REPORT, self.DELETE, self.COUNT):
            return await self._tell(self.control_point, answer + bytes([self.BAD_OPCODE]))
        chosen = self._chosen(operator, operand)
        if isinstance(chosen, int):
            return await self._tell(self.control_point, answer + bytes([chosen]))
        if opcode == self.COUNT:
            return await self._tell(self.control_point, bytes([self.COUNT_IS, 0]) + struct.pack('<H', len(chosen)))
        if not chosen:
            return await self._tell(self.control_point, answer + bytes([self.NONE_FOUND]))
        for number in chosen:
            if opcode == self.DELETE:
                del self.records[number]
                continue
            await self._tell(self.measurement, self._spell(number))
            if number % 10 == 0:
                await self._tell(self.context, self._spell_context(number))
        await self._tell(self.control_point, answer + bytes([self.SUCCESS]))


class EnvironmentalSensing(Service):
    """Environmental Sensing Service 1.0: two thermometers, which differ in their descriptions, and a hygrometer."""

    def __init__(self) -> None:
        super().__init__(
            uuid16(0x181A),
            [
                self._thermometer(2137, 'inside'),
                self._thermometer(-512, 'outside'),
                Characteristic(uuid16(0x2A6F), READ, READABLE, struct.pack('<H', 4567)),
                Characteristic(uuid16(0x2A6D), READ, READABLE, struct.pack('<I', 1013251)),
            ],
        )

    @staticmethod
    def _thermometer(hundredths: int, place: str) -> Characteristic:
        return Characteristic(
            uuid16(0x2A6E),
            READ | NOTIFY,
            READABLE,
            struct.pack('<h', hundredths),
            [Descriptor(uuid16(0x2901), Descriptor.READABLE, place.encode())],
        )


class FitnessMachine(Service):
    """Fitness Machine Service 1.0: an indoor bike whose target power can be set after a request for control."""

    REQUEST_CONTROL, RESET, SET_TARGET_POWER, RESPONSE = 0x00, 0x01, 0x05, 0x80
    SUCCESS, NOT_SUPPORTED, INVALID_PARAMETER, NOT_PERMITTED = 1, 2, 3, 5
    POWER_RANGE = range(0, 401)

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._is_controlled = False
        self.target = 0
        self.bike: Characteristic[bytes] = Characteristic(uuid16(0x2AD2), NOTIFY, Characteristic.Permissions(0), b'')
        self.status: Characteristic[bytes] = Characteristic(uuid16(0x2ADA), NOTIFY, Characteristic.Permissions(0), b'')
        self.control_point: Characteristic[bytes] = Characteristic(
            uuid16(0x2AD9), WRITE | INDICATE, WRITEABLE, CharacteristicValue(write=self._control)
        )
        limits = struct.pack('<hhH', self.POWER_RANGE.start, self.POWER_RANGE.stop - 1, 1)
        super().__init__(
            uuid16(0x1826),
            [
                # Cadence, power measurement; power target setting.
                Characteristic(uuid16(0x2ACC), READ, READABLE, struct.pack('<II', 0x4002, 0x0008)),
                self.bike,
                self.status,
                Characteristic(uuid16(0x2AD8), READ, READABLE, limits),
                self.control_point,
            ],
        )

    @staticmethod
    def spell_bike(speed: int, cadence: int, power: int) -> bytes:
        """Hundredths of km/h, halves of a revolution a minute, watts."""
        return struct.pack('<HHHh', 0x0044, speed, cadence, power)

    def _control(self, _: Connection, request: bytes) -> None:
        AsyncRunner.spawn(self._answer(bytes(request)))

    async def _answer(self, request: bytes) -> None:
        result = self._do(request)
        await self._tell(self.control_point, bytes([self.RESPONSE, request[0], result]))
        if result == self.SUCCESS and request[0] == self.SET_TARGET_POWER:
            with contextlib.suppress(NoSubscriber):
                await self._tell(self.status, bytes([0x08]) + struct.pack('<h', self.target))

    def _do(self, request: bytes) -> int:
        opcode, parameter = request[0], request[1:]
        if opcode == self.REQUEST_CONTROL:
            self._is_controlled = True
            return self.SUCCESS
        if opcode not in (self.RESET, self.SET_TARGET_POWER):
            return self.NOT_SUPPORTED
        if not self._is_controlled:
            return self.NOT_PERMITTED
        if opcode == self.RESET:
            self._is_controlled = False
            self.target = 0
            return self.SUCCESS
        (power,) = struct.unpack('<h', parameter)
        if power not in self.POWER_RANGE:
            return self.INVALID_PARAMETER
        self.target = power
        return self.SUCCESS


class SerialPort(Service):
    """Nordic's UART service: returns written text in capitals."""

    UUID_FORMAT = '6E40000{}-B5A3-F393-E0A9-E50E24DCCA9E'

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.output: Characteristic[bytes] = Characteristic(
            UUID(self.UUID_FORMAT.format(3)), NOTIFY, Characteristic.Permissions(0), b''
        )
        receiver: Characteristic[bytes] = Characteristic(
            UUID(self.UUID_FORMAT.format(2)),
            WRITE | WRITE_WITHOUT_RESPONSE,
            WRITEABLE,
            CharacteristicValue(write=self._write),
        )
        super().__init__(UUID(self.UUID_FORMAT.format(1)), [receiver, self.output])

    def _write(self, _: Connection, value: bytes) -> None:
        if not value:
            raise ATT_Error(0x0D)  # (an invalid length)
        AsyncRunner.spawn(self._tell(self.output, bytes(value).upper()))
