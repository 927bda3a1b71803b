"""The remote centrals' commands, after the word "central" and a number, 1 or 2. Handles are decimal
numbers, values are in hex ("-" for an empty one), answers that have parts are JSON in one line. If the host refuses a
request, the answer is "error ATT 0x.. NAME handle N"; if it refuses a channel, "error refused NAME".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import TypeVar

from bumble import att

from central import CHANNEL_LENGTH, PACKET_LENGTH, ChannelRefused, Refused, RemoteCentral
from command_set import CommandError, CommandSet
from pairing import METHODS

T = TypeVar('T')

SWITCHES = {'notify': 1, 'indicate': 2, 'both': 3}


class CentralCommands(CommandSet):
    """The commands of a central."""

    def __init__(self, central: RemoteCentral) -> None:
        self.central = central

    # --- scanning ---

    async def do_scan(self, seconds: str, mode: str = 'active', address: str | None = None) -> str:
        """central N scan S [active|passive [ADDRESS]]: scans for S seconds. The answer is a list of the reports, every
        different one once: {"address", "random", "type": ADV_IND (connectable) | ADV_SCAN_IND | ADV_NONCONN_IND |
        SCAN_RSP, "data": HEX}."""
        return json.dumps(await self.central.scan(float(seconds), mode == 'active', address))

    async def do_adv(self, switch: str) -> None:
        """central N adv on|off: starts or stops advertising, beside the link if there is one."""
        if switch not in ('on', 'off'):
            raise CommandError('adv on or adv off')
        await (self.central.advertise() if switch == 'on' else self.central.device.stop_advertising())

    # --- the link ---

    async def do_connect(self, packet_length: str = str(PACKET_LENGTH)) -> None:
        """central N connect [LENGTH]: connects to the host, as soon as it advertises, and waits until it takes
        requests. LENGTH is the longest packet that the central takes (517)."""
        await self.central.connect(int(packet_length))

    async def do_disconnect(self) -> None:
        """central N disconnect: ends the link (reason 0x13)."""
        await self.central.link().disconnect()

    async def do_connected(self) -> int:
        """central N connected: 1 if there is a link, otherwise 0."""
        return int(self.central.connection is not None)

    async def do_mtu(self, ask: str | None = None) -> int:
        """central N mtu [ask]: the packet length of the link; with ask, the central asks for it first (as BlueZ does
        itself)."""
        if ask:
            await self._answered(self.central.negotiate())
        return self.central.link().att_mtu

    async def do_pair(self) -> None:
        """central N pair: pairs, and waits until that is done."""
        await self.central.link().pair()

    async def do_pairing(self, method: str) -> None:
        """central N pairing METHOD: how it pairs from now on; the methods are the strap's (just-works, display,
        keyboard…)."""
        if method not in METHODS:
            raise CommandError(f'the methods are {", ".join(METHODS)}')
        self.central.pairing.set_method(method)

    async def do_type(self, passkey: str) -> None:
        """central N type P: types a number in, for the method keyboard."""
        self.central.pairing.type(int(passkey))

    async def do_reset(self) -> None:
        """central N reset: ends the link, and with it the channels, forgets bonds and events, confirms indications."""
        await self.central.reset()

    # --- attributes ---

    async def do_discover(self) -> str:
        """central N discover: a list of services: {"uuid", "handle", "end", "primary", "includes": [{"uuid",
        "handle"}], "characteristics": [{"uuid", "declaration", "handle", "properties", "descriptors": [{"uuid",
        "handle"}]}]}."""
        return json.dumps(await self._answered(self.central.discover()))

    async def do_read(self, handle: str, offset: str | None = None) -> str:
        """central N read HANDLE [OFFSET]: as much of a value, from an offset on, as fits into one packet."""
        if offset is None:
            return spell(await self._answered(self.central.read(int(handle))))
        return spell(await self._answered(self.central.read_part(int(handle), int(offset))))

    async def do_readlong(self, handle: str) -> str:
        """central N readlong HANDLE: a value, read in as many parts as it takes."""
        return spell(await self._answered(self.central.read_long(int(handle))))

    async def do_write(self, handle: str, value: str) -> None:
        """central N write HANDLE HEX: writes, with a response, in one packet."""
        await self._answered(self.central.write(int(handle), parse(value)))

    async def do_command(self, handle: str, value: str) -> None:
        """central N command HANDLE HEX: writes without a response."""
        self.central.write_without_response(int(handle), parse(value))

    async def do_writelong(self, handle: str, value: str, offset: str = '0') -> None:
        """central N writelong HANDLE HEX [OFFSET]: writes in prepared parts, however short it is."""
        await self._answered(self.central.write_long(int(handle), parse(value), int(offset)))

    async def do_prepare(self, handle: str, offset: str, value: str) -> None:
        """central N prepare HANDLE OFFSET HEX: prepares a part of a write."""
        await self._answered(self.central.prepare(int(handle), int(offset), parse(value)))

    async def do_execute(self, flag: str) -> None:
        """central N execute 0|1: drops or writes the prepared parts."""
        await self._answered(self.central.execute(flag == '1'))

    async def do_request(self, packet: str) -> str:
        """central N request HEX: any request of the Attribute Protocol; its response, from the second byte on."""
        return spell(await self._answered(self.central.request(att.ATT_PDU.from_bytes(bytes.fromhex(packet)))))

    # --- channels ---

    async def do_channel(self, psm: str, length: str = str(CHANNEL_LENGTH)) -> str:
        """central N channel PSM [LENGTH]: opens a channel to the host at a number (128 or 0x80). LENGTH is the longest
        packet that the central takes (2048). The answer is {"channel": the channel's number in later commands, "mtu":
        the longest packet that the host takes}. Packets that arrive are events (see RemoteCentral), possibly before
        this answer."""
        number, longest = await self._answered(self.central.open_channel(int(psm, 0), int(length)))
        return json.dumps({'channel': number, 'mtu': longest})

    async def do_send(self, channel: str, packet: str) -> None:
        """central N send CHANNEL HEX: sends a packet, and waits until it has been given to the link, for which the host
        has to give credits."""
        await self.central.send(int(channel), parse(packet))

    async def do_close(self, channel: str) -> None:
        """central N close CHANNEL: closes a channel. Packets that wait for credits are dropped: their commands fail."""
        await self.central.close(int(channel))

    # --- notifications ---

    async def do_subscribe(self, handle: str, kind: str) -> None:
        """central N subscribe HANDLE notify|indicate|both: switches notifications, indications or both on for the
        characteristic with that value handle."""
        if kind not in SWITCHES:
            raise CommandError('notify, indicate or both')
        await self._answered(self.central.configure(int(handle), SWITCHES[kind]))

    async def do_unsubscribe(self, handle: str) -> None:
        """central N unsubscribe HANDLE: switches them off."""
        await self._answered(self.central.configure(int(handle), 0))

    async def do_confirms(self, switch: str) -> None:
        """central N confirms on|off|now: whether it confirms indications by itself; now: confirms one."""
        if switch == 'now':
            self.central.confirm()
        else:
            self.central.confirms = switch == 'on'

    async def do_next(self, seconds: str = '30') -> str:
        """central N next [S]: waits S seconds at most for the next event that was not fetched yet (see RemoteCentral);
        "-" if there is none."""
        try:
            event = await asyncio.wait_for(self.central.events.get(), float(seconds))
        except TimeoutError:
            return '-'
        return json.dumps(event)

    async def do_events(self) -> str:
        """central N events: the list of all events that were not fetched yet."""
        events = []
        while not self.central.events.empty():
            events.append(self.central.events.get_nowait())
        return json.dumps(events)

    async def _answered(self, waited_for: Awaitable[T]) -> T:
        """The result of an operation. If the host refuses it, the command fails."""
        try:
            return await waited_for
        except (Refused, ChannelRefused) as refusal:
            raise CommandError(str(refusal)) from None


def parse(value: str) -> bytes:
    return b'' if value == '-' else bytes.fromhex(value)


def spell(value: bytes) -> str:
    return value.hex() or '-'
