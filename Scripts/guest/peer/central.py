"""Remote centrals: devices in the air that look for the host's advertisements, connect, and use its attributes and
channels.

They use the Attribute Protocol request by request, so that a test sees each answer of the host. From bumble's own
client they use only the function that sends a request and waits for the response.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from bumble import att, hci
from bumble.core import UUID
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.host import Host
from bumble.l2cap import L2capError, LeCreditBasedChannelSpec
from bumble.transport.common import AsyncPipeSink

from air import Air, LowEnergyController
from channels import PART, PacketSink
from host import ADDRESS as HOST_ADDRESS
from pairing import Pairing
from strap import while_connected

ADDRESSES = ['F8:F9:FA:FB:FC:01', 'F8:F9:FA:FB:FC:02']
"""The centrals' addresses, static random, in the order of their numbers, from 1."""

PACKET_LENGTH = 517
"""The longest packet of the Attribute Protocol that a central takes, unless another length is given for a link."""

CHANNEL_LENGTH = 2048
"""The longest packet of a channel that a central takes, unless another length is given for the channel."""

CONNECTING, READY = 20.0, 5.0
"""How long a link and the host's first request on it may take, in seconds. (An answer may take 30 s: bumble's
limit.)"""

PRIMARY, SECONDARY, INCLUDE, DECLARATION, CONFIGURATION = 0x2800, 0x2801, 0x2802, 0x2803, 0x2902

T = TypeVar('T')


class Refused(Exception):
    """An error response of the Attribute Protocol."""

    def __init__(self, code: int, handle: int) -> None:
        super().__init__(f'ATT 0x{code:02x} {att.ErrorCode(code).name} handle {handle}')
        self.code = code


class NoLink(Exception):
    """The central is not connected."""


class ChannelRefused(Exception):
    """The host refused a channel."""


class NoChannel(Exception):
    """There is no open channel with that number."""


@dataclass
class Attributes:
    """The attributes of the host, as discovered."""

    services: list[dict[str, object]] = field(default_factory=list)
    configurations: dict[int, int] = field(default_factory=dict)
    """The handles of client characteristic configurations, by the handle of the characteristic's value."""


async def is_connected(path: str) -> bool:
    """Whether bluetoothd says that a device is connected. False if it does not know it."""
    asking = await asyncio.create_subprocess_exec(
        'dbus-send', '--system', '--print-reply=literal', '--dest=org.bluez', path, 'org.freedesktop.DBus.Properties.Get',
        'string:org.bluez.Device1', 'string:Connected',
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )
    return b'true' in (await asking.communicate())[0]


class RemoteCentral:
    """A central with a controller and an address of its own. Its events are kept in `events`, in order, as
    dictionaries:

    ====================================================== ======================================================
    {"event": "notification", "handle": N, "value": HEX}   a notification
    {"event": "indication", "handle": N, "value": HEX}     an indication, confirmed unless "confirms off"
    {"event": "disconnected", "reason": N}                 the link has ended; then its channels are closed
    {"event": "mtu", "mtu": N}                             another packet length was agreed upon
    {"event": "packet", "channel": N, "value": HEX}        a packet on a channel
    {"event": "closed", "channel": N}                      the host has closed a channel, or the link has ended
    ====================================================== ======================================================
    """

    def __init__(self, air: Air, number: int) -> None:
        self.events: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self.connection: Connection | None = None
        self.confirms = True
        self.attributes = Attributes()
        self.pairing = Pairing()
        self.channels: dict[int, PacketSink] = {}
        self._channel_numbers = itertools.count(1)
        self.controller = LowEnergyController(f'central {number}', link=air, public_address=f'F0:0D:00:00:01:{number:02X}')
        self.device = Device(
            config=DeviceConfiguration(name=f'Bumble Central {number}', address=hci.Address(ADDRESSES[number - 1])),
            host=Host(self.controller, AsyncPipeSink(self.controller)),
        )
        self.device.pairing_config_factory = lambda _: self.pairing.config()
        self._asked = asyncio.Event()  # (the host has sent a request)
        self._watch_requests()

    def _watch_requests(self) -> None:
        answer = self.device.gatt_server.on_gatt_pdu

        def note(bearer: Connection, pdu: att.ATT_PDU) -> None:
            answer(bearer, pdu)
            self._asked.set()

        self.device.gatt_server.on_gatt_pdu = note

    def tell(self, event: str, **values: object) -> None:
        self.events.put_nowait({'event': event, **values})

    # --- scanning ---

    async def scan(self, seconds: float, active: bool, address: str | None) -> list[dict[str, object]]:
        """The reports that are received in that time, each different one once, in the order of arrival; of one sender
        only, if `address` is given. The data are as in the air."""
        reports: list[dict[str, object]] = []

        def note(report: hci.HCI_LE_Advertising_Report_Event.Report) -> None:
            heard = {
                'address': str(report.address).removesuffix('/P'),
                'random': report.address_type in (1, 3),
                'type': hci.HCI_LE_Advertising_Report_Event.EventType(report.event_type).name,
                'data': bytes(report.data).hex(),
            }
            if heard not in reports and (address is None or heard['address'] == address):
                reports.append(heard)

        self.device.host.on('advertising_report', note)
        try:
            await self.device.start_scanning(active=active, filter_duplicates=False)
            await asyncio.sleep(seconds)
            await self.device.stop_scanning()
        finally:
            self.device.host.remove_listener('advertising_report', note)
        return reports

    # --- advertising ---

    async def advertise(self) -> None:
        """Advertises, connectable, beside the link if there is one, as a phone does."""
        name = bytes([len(self.device.name) + 1, 0x09]) + self.device.name.encode()
        await self.device.start_advertising(advertising_data=bytes([2, 1, 6]) + name)

    # --- the link ---

    async def connect(self, packet_length: int = PACKET_LENGTH) -> None:
        """Connects to the host, which must advertise, and waits until its Attribute Protocol is up.

        BlueZ drops earlier packets. It begins with requests of its own (the packet length, and the central's services),
        which show that it is ready, unless its configuration forbids them; then this waits for a moment.

        `packet_length` is the longest packet that the central takes, whichever side asks for it. (If a central asks for
        a shorter length than it answers, notifications get stuck in BlueZ 5.66.)
        """
        if self.connection:
            raise ValueError('the central is already connected')
        await self._until_former_link_is_over()
        self._asked.clear()
        self.attributes = Attributes()
        self.device.gatt_server.max_mtu = packet_length
        peer = hci.Address(HOST_ADDRESS, hci.AddressType.PUBLIC_DEVICE)
        connection = await self.device.connect(peer, timeout=CONNECTING)
        self.connection = connection
        connection.gatt_client.on_att_handle_value_notification = self._on_notification
        connection.gatt_client.on_att_handle_value_indication = self._on_indication
        connection.on(Connection.EVENT_DISCONNECTION, self._on_disconnection)
        connection.on(Connection.EVENT_CONNECTION_ATT_MTU_UPDATE, lambda: self.tell('mtu', mtu=connection.att_mtu))
        # BlueZ holds its Attribute Protocol back until a bonded link is encrypted.
        keys = self.device.keystore
        if keys and await keys.get(str(connection.peer_address)):
            await self._while_connected(connection.encrypt())
        with contextlib.suppress(TimeoutError):
            await self._while_connected(asyncio.wait_for(self._asked.wait(), READY))

    async def _until_former_link_is_over(self) -> None:
        """Waits until bluetoothd knows that this central's former link has ended.

        bluetoothd may see a link that begins at once before the end of the former one: the kernel tells it of both on
        different sockets. It then ends the new link, or forgets the device and answers what needs it with "unlikely
        error" (seen with 5.82: 12 of 60 links).
        """
        device = self.device.random_address.to_string(False).replace(':', '_')
        try:
            async with asyncio.timeout(CONNECTING):
                while any([await is_connected(f'/org/bluez/hci{number}/dev_{device}') for number in range(2)]):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise NoLink(f'after {CONNECTING} s, bluetoothd still says that the former link is up') from None

    def _on_disconnection(self, reason: int) -> None:
        self.connection = None
        self.tell('disconnected', reason=int(reason))
        for number, channel in list(self.channels.items()):
            if channel.is_open:
                self._on_close(number)
        # Bumble refuses to ask again under the number of a request that was never answered.
        self.device.l2cap_channel_manager.le_coc_requests.clear()

    def link(self) -> Connection:
        if not self.connection:
            raise NoLink('the central is not connected')
        return self.connection

    async def _while_connected(self, waited_for: Awaitable[T]) -> T:
        return await while_connected(self.link(), waited_for)

    def _on_notification(self, packet: att.ATT_Handle_Value_Notification) -> None:
        self.tell('notification', handle=packet.attribute_handle, value=packet.attribute_value.hex())

    def _on_indication(self, packet: att.ATT_Handle_Value_Indication) -> None:
        self.tell('indication', handle=packet.attribute_handle, value=packet.attribute_value.hex())
        if self.confirms:
            self.confirm()

    def confirm(self) -> None:
        """Confirms the last indication."""
        self.link().gatt_client.send_confirmation(att.ATT_Handle_Value_Confirmation())

    # --- requests ---

    async def request(self, request: att.ATT_PDU) -> bytes:
        """The response to a request, from its second byte on. Refused if it is an error."""
        client = self.link().gatt_client
        response = await self._while_connected(client.send_request(request))
        if isinstance(response, att.ATT_Error_Response):
            raise Refused(int(response.error_code), response.attribute_handle_in_error)
        return bytes(response)[1:]

    async def negotiate(self) -> int:
        """Asks for the longest packet length, as the host does itself. Returns the length that then holds."""
        length = self.device.gatt_server.max_mtu
        answer = await self.request(att.ATT_Exchange_MTU_Request(client_rx_mtu=length))
        agreed = max(att.ATT_DEFAULT_MTU, min(length, *struct.unpack('<H', answer)))
        self.link().on_att_mtu_update(agreed)
        return agreed

    async def read(self, handle: int) -> bytes:
        """As much of a value as one response has room for."""
        return await self.request(att.ATT_Read_Request(attribute_handle=handle))

    async def read_part(self, handle: int, offset: int) -> bytes:
        """As much of a value, from an offset on, as one response has room for."""
        return await self.request(att.ATT_Read_Blob_Request(attribute_handle=handle, value_offset=offset))

    async def read_long(self, handle: int) -> bytes:
        """A whole value."""
        value = part = await self.read(handle)
        while len(part) == self.link().att_mtu - 1:
            part = await self.read_part(handle, len(value))
            value += part
        return value

    async def write(self, handle: int, value: bytes) -> None:
        """Writes, in one request, whether it fits or not."""
        await self.request(att.ATT_Write_Request(attribute_handle=handle, attribute_value=value))

    def write_without_response(self, handle: int, value: bytes) -> None:
        link = self.link()
        link.gatt_client.send_gatt_pdu(bytes(att.ATT_Write_Command(attribute_handle=handle, attribute_value=value)))

    async def prepare(self, handle: int, offset: int, part: bytes) -> None:
        """Prepares a write. ValueError if the host does not echo it."""
        echo = await self.request(
            att.ATT_Prepare_Write_Request(attribute_handle=handle, value_offset=offset, part_attribute_value=part)
        )
        if echo != struct.pack('<HH', handle, offset) + part:
            raise ValueError(f'prepared {part.hex()} at {offset}, but the host echoes {echo.hex()}')

    async def execute(self, writes: bool) -> None:
        """Executes or drops the prepared writes."""
        await self.request(att.ATT_Execute_Write_Request(flags=int(writes)))

    async def write_long(self, handle: int, value: bytes, offset: int = 0) -> None:
        """Writes in parts, prepared and executed; if a part is refused, drops all of them."""
        room = self.link().att_mtu - 5
        try:
            for start in range(0, max(len(value), 1), room):
                await self.prepare(handle, offset + start, value[start : start + room])
        except Refused:
            await self.execute(False)
            raise
        await self.execute(True)

    # --- discovery ---

    async def discover(self) -> list[dict[str, object]]:
        """All services, characteristics and descriptors, with their handles."""
        found = Attributes()
        for kind in (PRIMARY, SECONDARY):
            async for handle, end, uuid in self._services(kind):
                found.services.append(
                    {
                        'uuid': uuid,
                        'handle': handle,
                        'end': end,
                        'primary': kind == PRIMARY,
                        'includes': await self._included(handle, end),
                        'characteristics': await self._characteristics(handle, end, found),
                    }
                )
        found.services.sort(key=lambda service: int(str(service['handle'])))
        self.attributes = found
        return found.services

    async def _services(self, kind: int) -> AsyncIterator[tuple[int, int, str]]:
        """The services of a kind: their handles, the handles of their last attributes, their UUIDs."""
        start = 1
        while start <= 0xFFFF:
            try:
                answer = await self.request(
                    att.ATT_Read_By_Group_Type_Request(
                        starting_handle=start, ending_handle=0xFFFF, attribute_group_type=UUID.from_16_bits(kind)
                    )
                )
            except Refused as refusal:
                # A server need not group by secondary services (BlueZ does).
                if refusal.code in (att.ErrorCode.ATTRIBUTE_NOT_FOUND, att.ErrorCode.UNSUPPORTED_GROUP_TYPE):
                    return
                raise
            for entry in entries(answer):
                handle, end = struct.unpack_from('<HH', entry)
                yield handle, end, name(entry[4:])
            start = end + 1

    async def _declarations(self, first: int, last: int, kind: int) -> list[tuple[int, bytes]]:
        """The attributes of a type between two handles."""
        found: list[tuple[int, bytes]] = []
        while first <= last:
            try:
                answer = await self.request(
                    att.ATT_Read_By_Type_Request(
                        starting_handle=first, ending_handle=last, attribute_type=UUID.from_16_bits(kind)
                    )
                )
            except Refused as refusal:
                if refusal.code == att.ErrorCode.ATTRIBUTE_NOT_FOUND:
                    break
                raise
            found += [(struct.unpack_from('<H', entry)[0], entry[2:]) for entry in entries(answer)]
            first = found[-1][0] + 1
        return found

    async def _included(self, first: int, last: int) -> list[dict[str, object]]:
        return [
            {'handle': struct.unpack_from('<H', value)[0], 'uuid': name(value[4:]) if value[4:] else None}
            for _, value in await self._declarations(first, last, INCLUDE)
        ]

    async def _characteristics(self, first: int, last: int, found: Attributes) -> list[dict[str, object]]:
        declarations = await self._declarations(first, last, DECLARATION)
        if not declarations:
            return []
        ends = [handle - 1 for handle, _ in declarations[1:]] + [last]
        characteristics: list[dict[str, object]] = []
        for (declaration, value), end in zip(declarations, ends, strict=True):
            properties, handle = struct.unpack_from('<BH', value)
            descriptors = await self._descriptors(handle + 1, end)
            for descriptor in descriptors:
                if descriptor['uuid'] == f'{CONFIGURATION:04x}':
                    found.configurations[handle] = int(str(descriptor['handle']))
            characteristics.append(
                {
                    'uuid': name(value[3:]),
                    'declaration': declaration,
                    'handle': handle,
                    'properties': properties,
                    'descriptors': descriptors,
                }
            )
        return characteristics

    async def _descriptors(self, first: int, last: int) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        while first <= last:
            try:
                answer = await self.request(
                    att.ATT_Find_Information_Request(starting_handle=first, ending_handle=last)
                )
            except Refused as refusal:
                if refusal.code == att.ErrorCode.ATTRIBUTE_NOT_FOUND:
                    break
                raise
            size = 2 + (2 if answer[0] == 1 else 16)
            for at in range(1, len(answer), size):
                (handle,) = struct.unpack_from('<H', answer, at)
                found.append({'uuid': name(answer[at + 2 : at + size]), 'handle': handle})
                first = handle + 1
        return found

    # --- subscriptions ---

    async def configure(self, handle: int, bits: int) -> None:
        """Writes the client characteristic configuration of the characteristic whose value has the handle."""
        if not self.attributes.services:
            await self.discover()
        configuration = self.attributes.configurations.get(handle)
        if configuration is None:
            raise ValueError(f'the characteristic {handle} has no client characteristic configuration')
        await self.write(configuration, struct.pack('<H', bits))

    # --- channels ---

    async def open_channel(self, psm: int, length: int) -> tuple[int, int]:
        """Opens a channel to the host. Returns its number, which no later channel gets, and the longest packet that the
        host takes. `length` is the longest that the central takes. Packets from the host may become events before this
        returns."""
        link = self.link()
        number = next(self._channel_numbers)
        channel = PacketSink.unopened(
            link,
            LeCreditBasedChannelSpec(psm=psm, mtu=length, mps=PART),
            lambda packet: self.tell('packet', channel=number, value=packet.hex()),
            lambda: self._on_close(number),
        )
        self.channels[number] = channel
        try:
            await self._while_connected(channel.open())
        except L2capError as refusal:
            raise ChannelRefused(f'refused {refusal.error_name}') from None
        finally:
            if not channel.is_open:
                self.channels.pop(number, None)
        return number, channel.length

    def _on_close(self, number: int) -> None:
        if self.channels.pop(number, None):
            self.tell('closed', channel=number)

    def _channel(self, number: int) -> PacketSink:
        self.link()
        if number not in self.channels:
            raise NoChannel(f'there is no channel {number}')
        return self.channels[number]

    async def send(self, number: int, packet: bytes) -> None:
        """Sends a packet on a channel. Returns when it has been given to the link, which takes the host's credits."""
        await self._while_connected(self._channel(number).send(packet))

    async def close(self, number: int) -> None:
        """Closes a channel, which then has no more events."""
        channel = self._channel(number)
        del self.channels[number]
        await self._while_connected(channel.close())

    # --- reset ---

    async def reset(self) -> None:
        """Ends the link, and with it the channels, forgets bonds and events."""
        if self.connection:
            await self.connection.disconnect()
        await self.device.stop_advertising()
        while not self.events.empty():
            self.events.get_nowait()
        self.confirms = True
        self.pairing.set_method('just-works')
        if self.device.keystore:
            await self.device.keystore.delete_all()


def entries(answer: bytes) -> Iterator[bytes]:
    """The entries of a response that begins with their length."""
    return (answer[at : at + answer[0]] for at in range(1, len(answer), answer[0]))


def name(uuid: bytes) -> str:
    """A UUID as BlueZ writes it, or four digits."""
    digits = uuid[::-1].hex()
    return digits if len(uuid) == 2 else '-'.join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
