"""The common base of the peripherals: a device in the air, its advertising, its links."""

from __future__ import annotations

import asyncio

from bumble import hci
from bumble.core import AdvertisingData
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.gatt import Characteristic
from bumble.host import Host
from bumble.transport.common import AsyncPipeSink
from bumble.utils import AsyncRunner

from air import Air, LowEnergyController
from pairing import Pairing

COMPANY = 0xFFFF
"""The company identifier that the specification sets aside for tests."""

PACKET_LENGTH = 247
"""The longest packet of the Attribute Protocol that a peripheral takes."""

SHORTEST_PACKET_LENGTH = 23
"""The smallest value of that length on LE links (Core Specification, volume 3, part G, section 5.2.1)."""


class NoSubscriber(Exception):
    """There is no subscribed central."""


class Peripheral:
    """A connectable device in the air, with a controller of its own. Advertising pauses while there is a link."""

    def __init__(
        self, air: Air, kind: str, name: str, public_address: str, address: str, advertising_interval: float
    ) -> None:
        """`kind` is its name in the log, `address` its address in the air, static random."""
        self.name = name
        self._wants_to_advertise = False
        self._advertising_lock = asyncio.Lock()
        self.controller = LowEnergyController(kind, link=air, public_address=public_address)
        self.device = Device(
            config=DeviceConfiguration(
                name=name,
                address=hci.Address(address),
                advertising_interval_min=advertising_interval,
                advertising_interval_max=advertising_interval,
            ),
            host=Host(self.controller, AsyncPipeSink(self.controller)),
        )
        self.device.gatt_server.max_mtu = PACKET_LENGTH
        self.pairing = Pairing()
        self.device.pairing_config_factory = lambda _: self.pairing.config()
        self.device.on(Device.EVENT_CONNECTION, self._on_connection)

    async def start(self) -> None:
        """Turns the device on: it advertises."""
        await self.device.power_on()
        await self.advertise()

    # --- advertising ---

    def advertisement(self) -> tuple[AdvertisingData, AdvertisingData]:
        """The advertising data and the scan response."""
        raise NotImplementedError

    async def advertise(self) -> None:
        """Advertises from now on, whenever there is no link."""
        self._wants_to_advertise = True
        await self.resume_advertising()

    async def stop_advertising(self) -> None:
        """Stops advertising, until `advertise` is called."""
        self._wants_to_advertise = False
        await self.pause_advertising()

    async def pause_advertising(self) -> None:
        async with self._advertising_lock:
            await self.device.stop_advertising()

    async def resume_advertising(self) -> None:
        """Advertises, with the present name, if it should and there is no link."""
        async with self._advertising_lock:
            if self._wants_to_advertise and not self.connections:
                data, response = self.advertisement()
                await self.device.start_advertising(advertising_data=bytes(data), scan_response_data=bytes(response))

    # --- links ---

    def _on_connection(self, connection: Connection) -> None:
        # When the next pairing begins, bumble would continue the session of one that has failed.
        connection.on(Connection.EVENT_PAIRING_FAILURE, lambda _: self._end_session(connection))
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: AsyncRunner.spawn(self.resume_advertising()))

    def _end_session(self, connection: Connection) -> None:
        self.device.smp_manager.sessions.pop(connection.handle, None)

    @property
    def connections(self) -> list[Connection]:
        return list(self.device.connections.values())

    def subscribers(self, characteristic: Characteristic) -> list[Connection]:
        """The links on which notifications or indications of a characteristic are switched on."""
        return [
            connection
            for connection, switches in self.device.gatt_server.subscribers.items()
            if isinstance(connection, Connection) and any(switches.get(characteristic.handle, b''))
        ]
