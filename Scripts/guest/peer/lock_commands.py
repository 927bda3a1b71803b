"""The lock's commands, after the word "lock"."""

from __future__ import annotations

from command_set import CommandError, CommandSet
from lock import Lock
from lock_cipher import MODES
from peripheral import SHORTEST_PACKET_LENGTH


class LockCommands(CommandSet):
    """The commands of the lock."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock

    async def do_on(self) -> None:
        """lock on: it advertises from now on, whenever there is no link."""
        await self.lock.advertise()

    async def do_off(self) -> None:
        """lock off: it is silent, and has no link. This is the state at the start, without the option --lock."""
        await self.lock.switch_off()

    async def do_mode(self, mode: str) -> None:
        """lock mode bound|firmware: the mode in which it seals, until the command reset; keys are forgotten."""
        if mode not in MODES:
            raise CommandError(f'the modes are {", ".join(MODES)}')
        self.lock.set_mode(mode)

    async def do_mtu(self, length: str) -> None:
        """lock mtu N: the longest packet of the Attribute Protocol that it takes on links from now on, until the
        command reset."""
        if self._number(length) < SHORTEST_PACKET_LENGTH:
            raise CommandError(f'{SHORTEST_PACKET_LENGTH} at least')
        self.lock.set_packet_length(int(length))

    async def do_connections(self) -> int:
        """lock connections: the number of its links."""
        return len(self.lock.connections)

    async def do_drop(self) -> None:
        """lock drop: ends its links, as a remote user would (reason 0x13)."""
        if not self.lock.connections:
            raise CommandError('there is no link')
        for connection in self.lock.connections:
            await connection.disconnect()

    async def do_state(self) -> str:
        """lock state: locked or unlocked."""
        return 'unlocked' if self.lock.unlocked else 'locked'

    async def do_user(self) -> str:
        """lock user: the user that was set, in hex; "-" if there is none."""
        return self.lock.user.hex() or '-'

    async def do_network(self) -> str:
        """lock network: the network that the lock last connected to; "-" if there is none."""
        return self.lock.network or '-'

    async def do_ssid(self, *words: str) -> None:
        """lock ssid NAME: finds a network, whose name may have spaces, and notifies the links that listen; an error if
        none does. The network is known from now on."""
        await self.lock.find_network(' '.join(words))

    async def do_mute(self, count: str) -> None:
        """lock mute N: carries out the next N requests without answering. Requests that have no answer anyway do not
        count."""
        self.lock.muted = self._number(count)

    async def do_dropafter(self, count: str) -> None:
        """lock dropafter N: drops the link instead of answering the Nth request from now, which it carries out; 0:
        never. Requests that have no answer anyway, or none because of "lock mute", do not count."""
        self.lock.drops_after = self._number(count)

    async def do_counts(self) -> str:
        """lock counts: the number of requests that were written, and of those that were malformed or refused:
        "requests N malformed N refused N"."""
        lock = self.lock
        return f'requests {lock.requests} malformed {lock.malformed} refused {lock.refused}'

    async def do_sessions(self) -> str:
        """lock sessions: how many confirmed key exchanges were pairings and how many resumptions since the keys were
        last forgotten, and the number of pairing keys: "paired N resumed N known N"."""
        keys = self.lock.keys
        return f'paired {keys.pairings} resumed {keys.resumptions} known {keys.known}'

    @staticmethod
    def _number(text: str) -> int:
        if not text.isdecimal():
            raise CommandError(f'{text} is not a number')
        return int(text)
