"""LE credit-based channels, packet by packet, and the channels that the strap accepts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bumble.core import InvalidStateError, OutOfResourcesError
from bumble.device import Connection, Device
from bumble.l2cap import LeCreditBasedChannel, LeCreditBasedChannelSpec

PART = 247
"""The longest part of a packet that one credit allows; it fits into one data packet of a controller (air.py)."""

STRAP_LENGTH = 512
"""The longest packet that the strap takes."""

ECHO, BURST, STALLED = 0x0080, 0x0082, 0x0083
"""The numbers (PSM) at which the strap accepts channels."""

STALLED_CREDITS = 4
CLOSE = b'\xff'

logger = logging.getLogger(__name__)


class ChannelClosed(Exception):
    """The channel was closed before the awaited event."""


@dataclass
class Outgoing:
    """A packet that is being sent: the bytes that have not left yet, with the packet's length before them, and whether
    the whole packet has left; False if the channel was closed first."""

    rest: bytes
    sent: asyncio.Future[bool]


class PacketSink:
    """An end of a channel, over bumble's.

    It corrects bumble 0.0.236, which sends a stream: it joins packets that wait for credits, and cuts the result to the
    length that the other side takes. bumble also keeps the other side's number of a closed channel and refuses the next
    channel with that number, and it drops packets that arrive before `create_le_credit_based_channel` has returned.
    """

    def __init__(
        self, channel: LeCreditBasedChannel, on_packet: Callable[[bytes], None], on_close: Callable[[], object]
    ) -> None:
        """`on_packet` receives every packet. `on_close` is called when the channel has ended, whichever side has closed
        it, and when the link has ended."""
        self._channel = channel
        self._on_close = on_close
        self._outgoing: deque[Outgoing] = deque()
        channel.sink = on_packet
        channel.process_output = self._send_what_can_be
        channel.on(channel.EVENT_CLOSE, self._closed)

    @classmethod
    def unopened(
        cls,
        connection: Connection,
        spec: LeCreditBasedChannelSpec,
        on_packet: Callable[[bytes], None],
        on_close: Callable[[], object],
    ) -> PacketSink:
        """A channel that the other side has yet to be asked for."""
        manager = connection.device.l2cap_channel_manager
        channels = manager.channels.setdefault(connection.handle, {})
        number = manager.find_free_le_cid(channels)
        if number is None:
            raise OutOfResourcesError('the link has no room for another channel')
        assert spec.psm is not None
        channel = LeCreditBasedChannel(
            manager=manager,
            connection=connection,
            psm=spec.psm,
            source_cid=number,
            destination_cid=0,
            mtu=spec.mtu,
            mps=spec.mps,
            credits=0,
            peer_mtu=0,
            peer_mps=0,
            peer_credits=spec.max_credits,
            connected=False,
        )
        channels[number] = channel
        return cls(channel, on_packet, on_close)

    async def open(self) -> None:
        """Asks the other side for the channel. L2capError if it refuses."""
        channel = self._channel
        manager, handle = channel.manager, channel.connection.handle

        def register() -> None:
            manager.le_coc_channels.setdefault(handle, {})[channel.destination_cid] = channel

        channel.on(channel.EVENT_OPEN, register)
        try:
            await channel.connect()
        except BaseException:
            manager.channels.get(handle, {}).pop(channel.source_cid, None)
            raise

    @property
    def is_open(self) -> bool:
        return self._channel.state == LeCreditBasedChannel.State.CONNECTED

    @property
    def length(self) -> int:
        """The longest packet that the other side takes."""
        return self._channel.peer_mtu

    async def send(self, packet: bytes) -> None:
        """Sends a packet, after those before it. Returns when all of it has been given to the link, which takes
        credits."""
        if not self.is_open:
            raise ChannelClosed('the channel is closed')
        if len(packet) > self.length:
            raise ValueError(f'the packet has {len(packet)} bytes, the channel takes {self.length}')
        sent = asyncio.get_running_loop().create_future()
        self._outgoing.append(Outgoing(struct.pack('<H', len(packet)) + packet, sent))
        self._send_what_can_be()
        if not await sent:
            raise ChannelClosed('the channel was closed first')

    def _send_what_can_be(self) -> None:
        """Sends as much as there are credits for."""
        channel = self._channel
        while self.is_open and channel.credits > 0 and self._outgoing:
            packet = self._outgoing[0]
            channel.send_pdu(packet.rest[: channel.peer_mps])
            channel.credits -= 1
            packet.rest = packet.rest[channel.peer_mps :]
            if not packet.rest:
                self._outgoing.popleft()
                self._end(packet, True)

    @staticmethod
    def _end(packet: Outgoing, is_sent: bool) -> None:
        if not packet.sent.done():  # (the waiting task may have been canceled)
            packet.sent.set_result(is_sent)

    async def close(self) -> None:
        """Closes the channel; packets that wait for credits are dropped. Returns when the other side has confirmed
        it."""
        if self.is_open:
            # bumble fails at the end of the link or the channel if the future that it waits for was canceled.
            with contextlib.suppress(InvalidStateError):  # (the other side has closed it first)
                await asyncio.shield(self._channel.disconnect())

    def _closed(self) -> None:
        channel = self._channel
        channels = channel.manager.le_coc_channels.get(channel.connection.handle, {})
        if channels.get(channel.destination_cid) is channel:
            del channels[channel.destination_cid]
        for packet in self._outgoing:
            self._end(packet, False)
        self._outgoing.clear()
        self._on_close()


# --- the strap's ---


def accept_channels(device: Device) -> None:
    """Accepts channels from now on, for packets of up to 512 bytes:

    ====== ======= ==============================================================================================
    PSM    name    what it does
    ====== ======= ==============================================================================================
    0x0080 echo    sends every packet back
    0x0082 burst   takes orders, one after the other: 6 bytes, a count (32 bits, little-endian) and a length (16 bits,
                   little-endian): sends that many packets of that length, each with its number from 0 (32 bits,
                   little-endian) and zeros; the byte 0xFF: closes the channel
    0x0083 stalled gives 4 credits and never another one, and reads nothing
    ====== ======= ==============================================================================================

    The strap refuses all other numbers. An invalid order closes the channel, and so does an echo that is too long for
    the other side.
    """
    for psm, answer in ((ECHO, echo), (BURST, take_order)):
        spec = LeCreditBasedChannelSpec(psm=psm, mtu=STRAP_LENGTH, mps=PART)
        device.create_l2cap_server(spec, partial(serve, answer=answer))
    spec = LeCreditBasedChannelSpec(psm=STALLED, mtu=STRAP_LENGTH, mps=PART, max_credits=STALLED_CREDITS)
    device.create_l2cap_server(spec, stall)


def serve(opened: LeCreditBasedChannel, answer: Callable[[PacketSink, bytes], Awaitable[None]]) -> None:
    """Has every packet of a channel answered, one after the other, until it is closed."""
    packets: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer_all() -> None:
        try:
            while True:
                await answer(channel, await packets.get())
        except ChannelClosed:
            pass
        except ValueError as error:
            logger.warning('channel 0x%04x: %s', opened.psm, error)
            await channel.close()

    channel = PacketSink(opened, packets.put_nowait, lambda: answering.cancel())
    answering = asyncio.ensure_future(answer_all())


async def echo(channel: PacketSink, packet: bytes) -> None:
    await channel.send(packet)


async def take_order(channel: PacketSink, order: bytes) -> None:
    if order == CLOSE:
        await channel.close()
        return
    if len(order) != 6:
        raise ValueError(f'an order has 6 bytes: {order.hex()}')
    count, length = struct.unpack('<IH', order)
    if length < 4:
        raise ValueError('a packet of a burst has 4 bytes at least')
    for number in range(count):
        await channel.send(struct.pack('<I', number) + bytes(length - 4))


def stall(opened: LeCreditBasedChannel) -> None:
    def ignore(_: bytes) -> None:
        pass

    PacketSink(opened, ignore, lambda: None)
    # Before a packet reaches its sink, bumble gives credits back.
    opened.on_pdu = ignore
