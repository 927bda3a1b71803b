"""A second peripheral, silent until it is switched on: a smart lock that takes commands in frames, some only in sealed
ones.

Its one service, 00000000-9f34-11ee-8c90-0242ac120002:

====== ============ =====================================================================
UUID   properties
====== ============ =====================================================================
…0001  write        requests: one frame a write, long writes too
…0002  notify       replies and notifications; a frame that is longer than the link's
                    packets comes in several, in order; dropped without a subscriber
====== ============ =====================================================================

lock_frame.py describes the frames, lock_cipher.py how they are sealed, that is, encrypted. A reply has its request's
command, and is sealed if the request was. Text is UTF-8.

==== ================== =========================== ==========================================
code command            request's payload           reply's payload
==== ================== =========================== ==========================================
0101 setName            the name; the lock keeps    –
                        its first 20 characters
0201 getName            –                           the name
0301 setAutoLock        seconds, one byte; or –,    – (the lock only remembers it)
                        which is off
0401 getAutoLock        –                           seconds, one byte; or –, which is off
0501 setUserID          the user, 1 byte or more    –
0601 reset              –                           – (name, autolock, user, network, password
                                                    and keys are forgotten; the lock's state
                                                    and the link stay)
0102 startNetworkListen –                           the known SSIDs, joined by 1F
0202 stop               –                           –
0302 SSID update        (a notification to those    one SSID
                        that listen, sealed if the
                        request to listen was)
0402 connectToNetwork   SSID, 1F, password          01 if the SSID is known, or 00; no
                                                    password is wrong
0103 keyExchange        (see lock_cipher.py)        (see there)
0203 setDevicePassword  the password, 1 byte or     –
                        more; only sealed
0104 getLockState       –                           00 locked, 01 unlocked
0204 setLockState       00 or 01; only sealed       –
0105 guestUnlock        the password; only sealed   01 and the lock is unlocked; 00 if the
                                                    password is wrong, or none is set
==== ================== =========================== ==========================================

A write that the lock cannot take has no reply, is counted, and changes nothing. It counts as "malformed" if it is not a
frame, not a request, not a command of the table, or has a payload of another form than the command's; as "refused" if
it is unsealed and has to be sealed or the other way round, cannot be opened, or has a weak public key.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import struct
from collections.abc import Callable

from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.utils import AsyncRunner

from air import Air
from lock_cipher import MODES, OVERHEAD, Refused, Session
from lock_frame import Command, Frame, Kind, Malformed
from peripheral import COMPANY, NoSubscriber, Peripheral

logger = logging.getLogger(__name__)

ADDRESS = 'F0:F1:F2:F3:F4:F6'
"""The lock's address, static random."""

NAME = 'Bumble Lock'
SERIAL = bytes([1, 2, 3, 4, 5, 6])
UUID_FORMAT = '0000000{}-9f34-11ee-8c90-0242ac120002'

NAME_LIMIT = 20
"""Characters of a name that the lock keeps."""

NETWORKS = ('Home', 'Office', 'Café')
SSID_LIMIT = 32
SEPARATOR = b'\x1f'

DROP_DELAY = 0.1
"""Seconds from a write to the drop of the link: without a delay, BlueZ would lose the write's response, too."""

SEALED_ONLY = {Command.SET_DEVICE_PASSWORD, Command.SET_LOCK_STATE, Command.GUEST_UNLOCK}
"""The commands that the lock takes only sealed."""


class Lock(Peripheral):
    """The lock in the air. It handles the requests of several links one after the other."""

    def __init__(self, air: Air, mode: str, packet_length: int, advertising_interval: float) -> None:
        super().__init__(air, 'lock', NAME, 'F0:0D:00:00:00:03', ADDRESS, advertising_interval)
        self._mode, self._packet_length = mode, packet_length
        self._sending = asyncio.Lock()
        self._handlers: dict[int, Callable[[Connection, Frame], bytes]] = {
            Command.SET_NAME: self._set_name,
            Command.GET_NAME: self._get_name,
            Command.SET_AUTO_LOCK: self._set_auto_lock,
            Command.GET_AUTO_LOCK: self._get_auto_lock,
            Command.SET_USER_ID: self._set_user_id,
            Command.RESET: self._reset,
            Command.START_NETWORK_LISTEN: self._start_network_listen,
            Command.STOP_NETWORK_LISTEN: self._stop_network_listen,
            Command.CONNECT_TO_NETWORK: self._connect_to_network,
            Command.KEY_EXCHANGE: self._exchange_keys,
            Command.SET_DEVICE_PASSWORD: self._set_device_password,
            Command.GET_LOCK_STATE: self._get_lock_state,
            Command.SET_LOCK_STATE: self._set_lock_state,
            Command.GUEST_UNLOCK: self._guest_unlock,
        }
        self.replies: Characteristic[bytes] = Characteristic(
            UUID(UUID_FORMAT.format(2)), Characteristic.Properties.NOTIFY, Characteristic.READABLE
        )
        requests: Characteristic[bytes] = Characteristic(
            UUID(UUID_FORMAT.format(1)),
            Characteristic.Properties.WRITE,
            Characteristic.WRITEABLE,
            CharacteristicValue(write=self._take),
        )
        self.device.add_service(Service(UUID(UUID_FORMAT.format(0)), [requests, self.replies]))
        self.reset()

    def reset(self) -> None:
        """Restores the lock's state at the start: locked, nothing known, nothing counted. Links stay, and the lock
        stays switched on or off."""
        self.keys = MODES[self._mode]()
        self.set_packet_length(self._packet_length)
        self.unlocked = False
        self.networks = list(NETWORKS)
        self.requests = self.malformed = self.refused = 0
        self.muted = 0  # (the number of requests that will not be answered)
        self.drops_after = 0  # (the number of answers until one is replaced by a drop of the link; 0: never)
        self._forget()

    def set_mode(self, mode: str) -> None:
        """Seals in another mode from now on, and forgets its keys."""
        self.keys = MODES[mode]()

    def set_packet_length(self, length: int) -> None:
        """Takes packets of the Attribute Protocol up to that length on links from now on."""
        self.device.gatt_server.max_mtu = length

    async def switch_off(self) -> None:
        """Stops advertising and ends its links."""
        await self.stop_advertising()
        for connection in self.connections:
            await connection.disconnect()

    def _forget(self) -> None:
        self.name = NAME
        self.auto_lock: int | None = None
        self.user = b''
        self.network = ''
        self._password = b''
        self._listeners: dict[Connection, bool] = {}  # (whether sealed)
        self.keys.forget()

    def advertisement(self) -> tuple[AdvertisingData, AdvertisingData]:
        kind = AdvertisingData.Type
        data = AdvertisingData(
            [
                (kind.FLAGS, bytes([0x06])),  # general discoverable, no BR/EDR
                (kind.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(UUID(UUID_FORMAT.format(0)))),
                (kind.MANUFACTURER_SPECIFIC_DATA, struct.pack('<H', COMPANY) + SERIAL),
            ]
        )
        return data, AdvertisingData([(kind.COMPLETE_LOCAL_NAME, NAME.encode())])

    def _on_connection(self, connection: Connection) -> None:
        super()._on_connection(connection)
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: self._on_disconnection(connection))

    def _on_disconnection(self, connection: Connection) -> None:
        self.keys.end(connection)
        self._listeners.pop(connection, None)

    # --- frames ---

    def _take(self, connection: Connection, value: bytes) -> None:
        """A write to the request characteristic."""
        self.requests += 1
        try:
            request = Frame.decode(bytes(value))
            session = self._session(connection, request)  # (before a reset: its reply is still sealed)
            reply = self._carry_out(connection, request, session)
        except Malformed as problem:
            self.malformed += 1
            logger.info('malformed: %s: %s', problem, bytes(value).hex())
        except Refused as problem:
            self.refused += 1
            logger.info('refused: %s: %s', problem, bytes(value).hex())
        else:
            self._answer(connection, reply.encode(session))

    def _session(self, connection: Connection, request: Frame) -> Session | None:
        """The cipher that opens a request and seals its reply."""
        if request.command == Command.KEY_EXCHANGE:
            return self.keys.exchange_session(connection)
        return self.keys.session(connection)

    def _carry_out(self, connection: Connection, request: Frame, session: Session | None) -> Frame:
        """Carries out a request. Returns the reply."""
        handler = self._handlers.get(request.command)
        if request.kind != Kind.REQUEST or not handler:
            raise Malformed('not a request that the lock knows')
        if request.command in SEALED_ONLY and not request.encrypted:
            raise Refused('the request has to be encrypted')
        payload = handler(connection, request.opened(session))
        return Frame(Kind.REPLY, request.command, payload, request.encrypted)

    def _answer(self, connection: Connection, reply: bytes) -> None:
        if self.muted:
            self.muted -= 1
            return
        if self.drops_after:
            self.drops_after -= 1
            if not self.drops_after:
                AsyncRunner.spawn(self._drop(connection))
                return
        AsyncRunner.spawn(self._send(connection, reply))

    async def _drop(self, connection: Connection) -> None:
        await asyncio.sleep(DROP_DELAY)
        if connection in self.connections:
            await connection.disconnect()

    async def _send(self, connection: Connection, data: bytes) -> None:
        """Notifies a frame, in as many parts as the link's packets require. Frames are sent one after the other."""
        async with self._sending:
            limit = connection.att_mtu - 3
            for start in range(0, len(data), limit):
                if connection not in self.connections:
                    return
                await self.device.notify_subscriber(connection, self.replies, data[start : start + limit])

    # --- requests ---

    @staticmethod
    def _expect(is_expected: bool) -> None:
        if not is_expected:
            raise Malformed("the payload is not the command's")

    @staticmethod
    def _text(payload: bytes) -> str:
        try:
            return payload.decode()
        except UnicodeDecodeError:
            raise Malformed('the text is not UTF-8') from None

    def _set_name(self, _: Connection, request: Frame) -> bytes:
        self.name = self._text(request.payload)[:NAME_LIMIT]
        return b''

    def _get_name(self, _: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        return self.name.encode()

    def _set_auto_lock(self, _: Connection, request: Frame) -> bytes:
        self._expect(len(request.payload) <= 1)
        self.auto_lock = request.payload[0] if request.payload else None
        return b''

    def _get_auto_lock(self, _: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        return b'' if self.auto_lock is None else bytes([self.auto_lock])

    def _set_user_id(self, _: Connection, request: Frame) -> bytes:
        self._expect(len(request.payload) >= 1)
        self.user = request.payload
        return b''

    def _reset(self, _: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        self._forget()
        return b''

    def _start_network_listen(self, connection: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        self._listeners[connection] = request.encrypted
        return SEPARATOR.join(name.encode() for name in self.networks)

    def _stop_network_listen(self, connection: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        self._listeners.pop(connection, None)
        return b''

    def _connect_to_network(self, _: Connection, request: Frame) -> bytes:
        name, separator, password = request.payload.partition(SEPARATOR)
        self._expect(bool(separator))
        network = self._text(name)
        self._text(password)
        is_known = network in self.networks
        if is_known:
            self.network = network
        return bytes([is_known])

    def _exchange_keys(self, connection: Connection, request: Frame) -> bytes:
        if request.encrypted:
            self._expect(not request.payload)
            self.keys.confirm(connection)
            return b''
        self._expect(len(request.payload) in self.keys.REQUEST_LENGTHS)
        return self.keys.exchange(connection, request.payload)

    def _set_device_password(self, _: Connection, request: Frame) -> bytes:
        self._expect(len(request.payload) >= 1)
        self._password = request.payload
        return b''

    def _get_lock_state(self, _: Connection, request: Frame) -> bytes:
        self._expect(not request.payload)
        return bytes([self.unlocked])

    def _set_lock_state(self, _: Connection, request: Frame) -> bytes:
        self._expect(request.payload in (b'\0', b'\1'))
        self.unlocked = request.payload == b'\1'
        return b''

    def _guest_unlock(self, _: Connection, request: Frame) -> bytes:
        is_right = self._password != b'' and hmac.compare_digest(request.payload, self._password)
        self.unlocked = self.unlocked or is_right
        return bytes([is_right])

    # --- networks ---

    async def find_network(self, name: str) -> None:
        """Finds a network: notifies the links that listen, and knows the network from now on."""
        ssid = name.encode()
        if not 0 < len(ssid) <= SSID_LIMIT or SEPARATOR in ssid:
            raise ValueError(f'an SSID has 1 to {SSID_LIMIT} bytes')
        networks = self.networks if name in self.networks else [*self.networks, name]
        if len(SEPARATOR.join(network.encode() for network in networks)) > Frame.PAYLOAD_LIMIT - OVERHEAD:
            raise ValueError('a reply has no room for more networks')
        if not self._listeners:
            raise NoSubscriber('no link listens to networks')
        self.networks = networks
        for connection, encrypted in list(self._listeners.items()):
            frame = Frame(Kind.NOTIFICATION, Command.SSID_UPDATE, ssid, encrypted)
            data = frame.encode(self.keys.session(connection))
            await asyncio.create_task(self._send(connection, data))  # (after replies that wait to be sent)
