"""The simulated radio: bumble's virtual link and software controller, corrected where the Linux kernel fails with them.

The corrections are for bumble 0.0.236; look here first when the pinned version changes.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from bumble import hci, ll
from bumble.controller import Controller, LegacyAdvertiser
from bumble.core import InvalidArgumentError, PhysicalTransport
from bumble.link import LocalLink

SIGNAL_STRENGTH = -50
"""The signal strength that every receiver reports for every advertisement, in dBm."""

ACTIVE_SCAN = 1

CONNECTABLE, SCANNABLE, NOT_CONNECTABLE = 0, 2, 3
"""The kinds of undirected advertisements: ADV_IND, ADV_SCAN_IND, ADV_NONCONN_IND; with the same numbers in commands and
reports."""


class Air(LocalLink):
    """A link that joins controllers.

    bumble labels LE data with the sender's random address, but a Linux host connects from its public one; the right
    address comes from the connection.
    """

    def send_acl_data(
        self, sender_controller: Controller, destination_address: hci.Address, transport: PhysicalTransport, data: bytes
    ) -> None:
        if transport != PhysicalTransport.LE:
            super().send_acl_data(sender_controller, destination_address, transport, data)
            return
        connection = sender_controller.le_connections.get(destination_address)
        receiver = self.find_le_controller(destination_address)
        if connection and receiver:
            loop = asyncio.get_running_loop()
            loop.call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_advertising_pdu(self, sender_controller: Controller, packet: ll.AdvertisingPdu) -> None:
        """A request to connect arrives at once, so that of two requests after the same advertisement only one succeeds.
        (With bumble's own, both requests succeed.)"""
        if isinstance(packet, ll.ConnectInd):
            for controller in self.controllers - {sender_controller}:
                controller.on_ll_advertising_pdu(packet)
        else:
            super().send_advertising_pdu(sender_controller, packet)

    def is_connectable(self, address: hci.Address) -> bool:
        """Whether a device advertises with that address and can be connected to."""
        advertisers = [controller.le_legacy_advertiser for controller in self.controllers]
        return any(
            advertiser.enabled and advertiser.address == address and advertiser.advertising_type == CONNECTABLE
            for advertiser in advertisers
        )


class Advertisement(ll.AdvInd):
    """An advertisement with its kind (connectable, scannable) and its scan response, both of which bumble's lacks."""

    kind: int = CONNECTABLE
    scan_response: bytes = b''


class Advertiser(LegacyAdvertiser):
    """An advertiser of all undirected kinds, at the interval that the host sets, in units of 0.625 ms. (bumble's
    advertises only if it is connectable, and takes the unit for a millisecond.)"""

    def _on_timer_fired(self) -> None:
        self.send_advertising_data()
        interval = self.advertising_interval_min * 0.625 / 1000
        self.timer_handle = asyncio.get_running_loop().call_later(interval, self._on_timer_fired)

    def send_advertising_data(self) -> None:
        if self.enabled and self.advertising_type in (CONNECTABLE, SCANNABLE, NOT_CONNECTABLE):
            advertisement = Advertisement(advertiser_address=self.address, data=self.advertising_data)
            advertisement.kind = self.advertising_type
            advertisement.scan_response = self.scan_response_data
            self.controller.send_advertising_pdu(advertisement)


class LowEnergyController(Controller):
    """An LE controller.

    Extended advertising and link layer privacy are not offered, since bumble's are incomplete. Data packets have room
    for 251 bytes, as with data length extension, so that large values are not cut up.
    """

    le_features = Controller.le_features & ~(
        hci.LeFeatureMask.LE_EXTENDED_ADVERTISING
        | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
        | hci.LeFeatureMask.LL_PRIVACY
    )
    le_acl_data_packet_length = 251
    supported_max_tx_octets = 251
    supported_max_rx_octets = 251

    signal_strength = SIGNAL_STRENGTH
    """The signal strength that this receiver reports for every advertisement, in dBm; 127 for an unknown one."""

    # --- advertising and scanning ---

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.le_legacy_advertiser = Advertiser(self)

    def on_advertising_pdu(self, pdu: ll.AdvInd | ll.AdvExtInd) -> None:
        if not isinstance(pdu, Advertisement):
            super().on_advertising_pdu(pdu)
            return
        scan_response = hci.HCI_LE_Advertising_Report_Event.EventType.SCAN_RSP
        if self.le_scan_enable:
            self._report(pdu.advertiser_address, pdu.kind, pdu.data)
            if self.le_scan_type == ACTIVE_SCAN and pdu.kind != NOT_CONNECTABLE:
                self._report(pdu.advertiser_address, scan_response, pdu.scan_response)
        pending = self.pending_le_connection
        # (Another central may have connected to it since.)
        if pending and pending.peer_address == pdu.advertiser_address and self.link.is_connectable(pdu.advertiser_address):
            self.create_le_connection(pdu.advertiser_address)

    def _report(self, address: hci.Address, event_type: int, data: bytes) -> None:
        event = hci.HCI_LE_Advertising_Report_Event
        report = event.Report(
            event_type=event_type, address_type=address.address_type, address=address, data=data, rssi=self.signal_strength
        )
        self.send_hci_packet(event([report]))

    # --- connections ---

    def on_hci_le_create_connection_cancel_command(
        self, command: hci.HCI_LE_Create_Connection_Cancel_Command
    ) -> hci.HCI_StatusReturnParameters:
        """Ends the pending connection with the event that the host waits for. (bumble leaves it pending forever.)"""
        pending = self.pending_le_connection
        if not pending:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        self.pending_le_connection = None
        cancelled = hci.HCI_LE_Connection_Complete_Event(
            status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
            connection_handle=0,
            role=hci.Role.CENTRAL,
            peer_address_type=pending.peer_address.address_type,
            peer_address=pending.peer_address,
            connection_interval=0,
            peripheral_latency=0,
            supervision_timeout=0,
            central_clock_accuracy=0,
        )
        asyncio.get_running_loop().call_soon(self.send_hci_packet, cancelled)
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    def on_hci_disconnect_command(self, command: hci.HCI_Disconnect_Command) -> None:
        """Ends a link, also if the other controller is gone. If there is no such link, the status is an error. (bumble
        answers that the end is pending, but never reports it, so that its host waits forever.)"""
        connection = self.find_le_connection_by_handle(command.connection_handle)
        if not connection:
            self._send_hci_command_status(hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR, command.op_code)
            return
        self._send_hci_command_status(hci.HCI_COMMAND_STATUS_PENDING, command.op_code)
        with contextlib.suppress(InvalidArgumentError):
            connection.send_ll_control_pdu(ll.TerminateInd(command.reason))
        self.on_le_disconnected(connection, command.reason)

    def on_hci_reset_command(self, command: hci.HCI_Reset_Command) -> hci.HCI_StatusReturnParameters:
        """Forgets everything, as a reset does. (bumble keeps links and advertising.)"""
        self.fall_silent()
        return super().on_hci_reset_command(command)

    def fall_silent(self) -> None:
        """Stops sending and receiving. The other ends of its links see them time out; its own host gets no event."""
        for connection in list(self.le_connections.values()):
            with contextlib.suppress(InvalidArgumentError):  # (the other controller is gone already)
                connection.send_ll_control_pdu(ll.TerminateInd(hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR))
        self.le_connections.clear()
        self.le_legacy_advertiser.stop()
        self.le_legacy_advertiser = Advertiser(self)
        self.le_scan_enable = False
        self.pending_le_connection = None

    def lose_links(self) -> int:
        """Reports to its host that every link has timed out; returns the number of links. The other end has to do the
        same."""
        connections = list(self.le_connections.values())
        for connection in connections:
            self.on_le_disconnected(connection, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)
        return len(connections)
