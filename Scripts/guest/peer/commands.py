"""The peer's commands: lines on a socket, each answered with one line.

The answer is "ok", a value, or "error" and the reason. A connection's commands are answered in their order; connections
do not wait for each other.
"""

from __future__ import annotations

import asyncio
import logging

from bumble import hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Advertisement, Connection, Peer

from air import SIGNAL_STRENGTH
from central import RemoteCentral
from central_commands import CentralCommands
from classic import DualModeController, Headset
from command_set import CommandError, CommandSet
from crowd import Crowd
from gauge_commands import GaugeCommands
from gauges import Gauges
from host import Adapter
from lock import Lock
from lock_commands import LockCommands
from pairing import METHODS
from peripheral import Peripheral
from strap import Strap

logger = logging.getLogger(__name__)

LIMIT = 90
"""The time limit for a command, in seconds. Commands that wait for the other side, such as for a pairing, take less."""


class Commands(CommandSet):
    """The peer's commands. A command that names no device is for the strap."""

    def __init__(
        self,
        strap: Strap,
        adapter: Adapter,
        second: Adapter,
        lock: Lock,
        gauges: Gauges,
        headset: Headset,
        centrals: list[RemoteCentral],
    ) -> None:
        self.strap = strap
        self.adapter = adapter
        self.second = second
        self.lock = lock
        self.gauges = gauges
        self.headset = headset
        self.centrals = centrals
        self.crowd = Crowd(adapter)

    async def answer(self, line: str) -> str:
        """Executes the command of a line."""
        try:
            async with asyncio.timeout(LIMIT) as limit:
                result = await self.call(line.split())
        except CommandError as error:
            return f'error {error}'
        except Exception as error:  # (any error is sent to the other side)
            logger.info('command %.80s', line.strip(), exc_info=True)
            if limit.expired():
                return f'error the command took longer than {LIMIT} s'
            text = ' '.join(str(error).split())
            return f'error {type(error).__name__} {text}'
        return 'ok' if result is None else str(result)

    # --- links ---

    async def do_connections(self) -> int:
        """connections: the number of links."""
        return len(self.strap.connections)

    async def do_disconnect(self) -> None:
        """disconnect: ends the links, as a remote user would (reason 0x13)."""
        for connection in self._links():
            await connection.disconnect()

    async def do_lost(self) -> None:
        """lost: ends the links of all peripherals and centrals, as when the radio fails: both sides see a supervision
        timeout (0x08)."""
        peripherals: list[Peripheral] = [self.strap, self.lock, self.gauges]
        if not any(peripheral.connections for peripheral in peripherals) and not self._central_links():
            raise CommandError('there is no link')
        self.adapter.controller.lose_links()
        for device in (*peripherals, *self.centrals):
            device.controller.lose_links()
        while any(peripheral.connections for peripheral in peripherals) or self._central_links():
            await asyncio.sleep(0)

    def _central_links(self) -> bool:
        return any(central.connection for central in self.centrals)

    async def do_pair(self) -> None:
        """pair: asks the centrals to pair, and waits until they have."""
        for connection in self._links():
            await connection.pair()

    async def do_pairing(self, method: str) -> None:
        """pairing METHOD: how the strap pairs from now on: just-works (the method at the start), display (it shows
        123456), keyboard (a number has to be typed in), compare, reject, or silent, which does not answer."""
        if method not in METHODS:
            raise CommandError(f'the methods are {", ".join(METHODS)}')
        self.strap.pairing.set_method(method)

    async def do_type(self, passkey: str) -> None:
        """type N: types a number in on the strap, for the method keyboard."""
        self.strap.pairing.type(int(passkey))

    async def do_requests(self) -> int:
        """requests: how often a central has asked to pair since the method was chosen."""
        return self.strap.pairing.requests

    async def do_bonds(self) -> int:
        """bonds: how many centrals the strap is bonded with."""
        return await self.strap.bonds()

    async def do_forget(self) -> None:
        """forget: forgets all bonds. Links stay."""
        await self.strap.forget()

    def _links(self) -> list[Connection]:
        if not self.strap.connections:
            raise CommandError('there is no link')
        return self.strap.connections

    # --- advertising ---

    async def do_adv(self, switch: str) -> None:
        """adv on|off: starts or stops advertising. A link pauses it."""
        if switch == 'on':
            await self.strap.advertise()
        elif switch == 'off':
            await self.strap.stop_advertising()
        else:
            raise CommandError('adv on or adv off')

    async def do_strength(self, strength: str) -> None:
        """strength N: the signal strength that the adapter reports from now on, in dBm; 127 for an unknown one."""
        self.adapter.controller.signal_strength = int(strength)

    async def do_rename(self, *words: str) -> None:
        """rename NAME: changes the name, which may have spaces, in advertisements and in the generic access service."""
        await self.strap.rename(' '.join(words))

    async def do_services(self, arrangement: str) -> None:
        """services original|added|removed|moved: changes the strap's services, and waits until the centrals have
        confirmed the indication: original, as at the start; added, with a service …0020 after the others; removed,
        without the echo service; moved, with …0020 before the echo service, whose handles change."""
        if arrangement not in self.strap.arrangements:
            raise CommandError(f'the arrangements are {", ".join(self.strap.arrangements)}')
        await self.strap.arrange(arrangement)

    # --- values ---

    async def do_hr(self, beats: str) -> None:
        """hr N: sets the heart rate and notifies it. The next measurement has one more."""
        self.strap.beats = int(beats)
        await self.strap.notify_heart_rate()

    async def do_subscribers(self) -> int:
        """subscribers: how many centrals have switched on notifications or indications of the echo service's output."""
        return len(self.strap.subscribers(self.strap.echo.output))

    async def do_notify(self, *value: str) -> None:
        """notify HEX: notifies a value on the echo service's output. An error without a subscriber."""
        await self.strap.notify_output(bytes.fromhex(''.join(value)))

    async def do_indicate(self, *value: str) -> None:
        """indicate HEX: indicates a value on the echo service's output, and waits until it is confirmed."""
        await self.strap.indicate_output(bytes.fromhex(''.join(value)))

    async def do_burst(self, count: str, length: str, rate: str = '0') -> str:
        """burst N LENGTH [RATE]: N notifications of LENGTH bytes on the echo service's output, RATE a second, or as fast
        as they go. Each begins with its number from 0, in 32 bits, little-endian. Answers when the last has left: "N in
        S s"."""
        seconds = await self.strap.burst(int(count), int(length), float(rate))
        return f'{count} in {seconds:.3f} s'

    async def do_written(self) -> str:
        """written: the value last written to the echo service, in hex; "-" if it is empty."""
        return self.strap.echo.written.hex() or '-'

    async def do_hold(self) -> None:
        """hold: from now on, requests for the slow characteristic are not answered. This is the state at the start."""
        self.strap.echo.gate.hold()

    async def do_release(self) -> None:
        """release: answers all held requests, and later ones."""
        self.strap.echo.gate.release()

    async def do_held(self) -> int:
        """held: how many requests wait for their answer."""
        return self.strap.echo.gate.waiting

    async def do_reset(self) -> None:
        """reset: restores the state at the start: nothing written, no bond, heart rate 72, the first name and services,
        advertising, received at -50 dBm, no crowd. Held requests are answered, later ones are held. The lock forgets and
        counts from 0, the gauges have their identity address. Links stay."""
        self.adapter.controller.signal_strength = SIGNAL_STRENGTH
        await self.strap.reset()
        self.lock.reset()
        if self.gauges.is_private:
            await self.gauges.rotate(False)
        self.headset.switch_off()
        self.crowd.stop()
        if self.second.is_plugged:
            await self.second.unplug()
        for central in self.centrals:
            await central.reset()

    async def do_state(self) -> str:
        """state: the state of each device, and where each task of the peer waits, on one line; for the report of a
        hang."""
        devices = [self.strap, self.lock, self.gauges, *self.centrals]
        parts = [f'hci0 plugged {self.adapter.is_plugged}, hci1 plugged {self.second.is_plugged}']
        for device in devices:
            controller = device.controller
            parts.append(
                f'{controller.name}: advertises {controller.le_legacy_advertiser.enabled},'
                f' links {len(controller.le_connections)}, of its host {len(device.device.connections)}'
            )
        for task in asyncio.all_tasks():
            frames = task.get_stack(limit=1)
            place = f'{frames[0].f_code.co_filename}:{frames[0].f_lineno}' if frames else 'nowhere'
            parts.append(f'{task.get_coro()} at {place}')
        return '; '.join(parts).replace('\n', ' ')

    # --- the lock ---

    async def do_lock(self, *words: str) -> object:
        """lock COMMAND: commands the lock (lock_commands.py)."""
        return await LockCommands(self.lock).call(words)

    # --- the gauges ---

    async def do_gauges(self, *words: str) -> object:
        """gauges COMMAND: commands the gauges (gauge_commands.py)."""
        return await GaugeCommands(self.gauges).call(words)

    # --- the headset ---

    async def do_headset(self, switch: str) -> None:
        """headset on|off: switches on a device that has Bluetooth Classic alone (classic.py), or takes it out of reach,
        which is its state at the start. (A connection to it while it is out of reach crashes the guest's kernel:
        Docs/Testing.md.)"""
        if switch == 'on':
            await self.headset.switch_on()
        elif switch == 'off':
            self.headset.switch_off()
        else:
            raise CommandError('headset on or headset off')

    # --- the crowd ---

    async def do_crowd(self, *words: str) -> object:
        """crowd DEVICES RATE|off|sent|mark: devices that only advertise (crowd.py), RATE times a second together; none,
        which is the state at the start; how many advertisements the adapter has received while it scanned; or one more,
        with the number 0xFFFFFFFF, which is an error while the adapter does not scan."""
        match words:
            case [devices, rate]:
                if not 0 < int(devices) <= 0x10000 or not float(rate) > 0:
                    raise CommandError('65536 devices at most, and at least one, at a rate above 0')
                self.crowd.start(int(devices), float(rate))
            case ['off']:
                self.crowd.stop()
            case ['sent']:
                return self.crowd.sent
            case ['mark']:
                if not self.crowd.mark():
                    raise CommandError('the adapter does not scan')
            case _:
                raise CommandError('crowd DEVICES RATE, crowd off, crowd sent or crowd mark')
        return None

    # --- the centrals ---

    async def do_central(self, number: str, *words: str) -> object:
        """central N COMMAND: commands the central with that number, from 1 (central_commands.py)."""
        if number not in (str(index + 1) for index in range(len(self.centrals))):
            raise CommandError(f'there is no central {number}')
        return await CentralCommands(self.centrals[int(number) - 1]).call(words)

    # --- the strap as a central ---

    async def do_scan(self, seconds: str) -> str:
        """scan S: scans for S seconds. The answer is a dictionary in Python's notation, with the names of the devices
        by address."""
        device = self.strap.device
        names: dict[str, object] = {}

        def on_advertisement(advertisement: Advertisement) -> None:
            address = str(advertisement.address)
            name = advertisement.data.get(AdvertisingData.Type.COMPLETE_LOCAL_NAME)
            names[address] = name or names.get(address)

        device.on(device.EVENT_ADVERTISEMENT, on_advertisement)
        try:
            await device.start_scanning(active=True, filter_duplicates=False)
            await asyncio.sleep(float(seconds))
            await device.stop_scanning()
        finally:
            device.remove_listener(device.EVENT_ADVERTISEMENT, on_advertisement)
        return repr(names)

    async def do_read(self, address: str, characteristic: str, address_type: str = '0') -> str:
        """read ADDRESS UUID [ADDRESS-TYPE]: connects (0: a public address, 1: a random one), discovers, reads all
        characteristics with the UUID, disconnects. The answer is a tuple in Python's notation: the services, and (UUID,
        hex) pairs."""
        device = self.strap.device
        await self.strap.pause_advertising()
        try:
            peer_address = hci.Address(address, hci.AddressType(int(address_type)))
            connection = await asyncio.wait_for(device.connect(peer_address), 20)
            try:
                await self._settle(connection)
                return repr(await self._read_all(Peer(connection), UUID(characteristic)))
            finally:
                await connection.disconnect()
        finally:
            await self.strap.resume_advertising()

    async def _settle(self, connection: Connection) -> None:
        """Waits until BlueZ takes requests. It drops requests that arrive before its ATT channel is up, and it opens
        that channel only when a bonded link is encrypted."""
        await asyncio.sleep(0.3)
        keys = self.strap.device.keystore
        if keys and await keys.get(str(connection.peer_address)):
            await connection.encrypt()

    @staticmethod
    async def _read_all(peer: Peer, uuid: UUID) -> tuple[list[str], list[tuple[str, str]]]:
        await peer.discover_services()
        await peer.discover_characteristics()
        values = [
            (str(characteristic.uuid), bytes(await characteristic.read_value()).hex())
            for characteristic in peer.get_characteristics_by_uuid(uuid)
        ]
        return [str(service.uuid) for service in peer.services], values

    # --- the host's controller ---

    async def do_unplug(self) -> None:
        """unplug: takes the host's controller away (hci0 disappears, links time out)."""
        await self.adapter.unplug()

    async def do_plug(self) -> None:
        """plug: puts the host's controller back."""
        await self.adapter.plug()

    async def do_second(self, switch: str) -> None:
        """second on|dual|off: plugs in a second controller, hci1, which is for LE alone or, with dual, for Classic,
        too; or unplugs it. reset also unplugs it."""
        match switch:
            case 'on':
                await self.second.plug()
            case 'dual':
                await self.second.plug(DualModeController)
            case 'off':
                await self.second.unplug()
            case _:
                raise CommandError('second on, second dual or second off')


async def serve(commands: Commands, path: str) -> None:
    """Listens for commands on the Unix socket `path`."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write((await commands.answer(line.decode())).encode() + b'\n')
                await writer.drain()
        except ConnectionError:  # (the client has closed its connection)
            pass
        finally:
            writer.close()

    await asyncio.start_unix_server(converse, path)
