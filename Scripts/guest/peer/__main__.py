"""peer [options]: a simulated Bluetooth LE radio with the kernel on one side and a heart rate strap on the other.

The kernel's hci0 (/dev/vhci) is a software controller, joined by a virtual link to the controller of an independent
stack, bumble, which is a heart rate strap (strap.py) and takes commands (commands.py). A third controller is a smart
lock (lock.py), silent until it is switched on by --lock or by the command "lock on"; a fourth has services of many
profiles (gauges.py), with --gauges or by "gauges on". Two centrals (central.py) connect to the host on command. Needs
root and a kernel with hci_vhci.

  python3 Scripts/guest/peer --help
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from air import Air
from central import ADDRESSES, RemoteCentral
from classic import Headset
from commands import Commands, serve
from gauges import Gauges
from host import SECOND_ADDRESS, Adapter
from lock import Lock
from lock_cipher import MODES
from peripheral import PACKET_LENGTH, SHORTEST_PACKET_LENGTH
from strap import Strap


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='peer', description='Peripherals in reach of a virtual controller.')
    parser.add_argument('--name', default='Bumble HR', help="the strap's name (%(default)s)")
    parser.add_argument(
        '--advertising-interval', type=float, default=200, metavar='MS', help='between advertisements (%(default)s)'
    )
    parser.add_argument(
        '--heart-rate-interval',
        type=float,
        default=1,
        metavar='S',
        help='between heart rate notifications; 0: only by the command hr (%(default)s)',
    )
    parser.add_argument('--lock', action='store_true', help='switch the smart lock on')
    parser.add_argument(
        '--lock-mode', choices=MODES, default='bound', help='how the lock seals: lock_cipher.py (%(default)s)'
    )
    parser.add_argument(
        '--lock-mtu',
        type=int,
        default=PACKET_LENGTH,
        metavar='BYTES',
        help='the longest packet of the Attribute Protocol that the lock takes (%(default)s)',
    )
    parser.add_argument('--gauges', action='store_true', help='switch the gauges on')
    parser.add_argument('--control', default='/run/peer.sock', help='the socket that takes commands (%(default)s)')
    parser.add_argument('--ready', type=Path, metavar='FILE', help='a file to make when the peer is ready')
    parser.add_argument('--debug', action='store_true', help='log every packet')
    arguments = parser.parse_args()
    if arguments.lock_mtu < SHORTEST_PACKET_LENGTH:
        parser.error(f'--lock-mtu {arguments.lock_mtu}: {SHORTEST_PACKET_LENGTH} at least')
    return arguments


async def main() -> None:
    arguments = parse_arguments()
    level = logging.DEBUG if arguments.debug else logging.INFO
    logging.basicConfig(level=level, stream=sys.stdout, format='%(asctime)s %(name)s %(levelname)s %(message)s')
    air = Air()
    adapter = Adapter(air)
    await adapter.plug()
    strap = Strap(air, arguments.name, arguments.advertising_interval, arguments.heart_rate_interval)
    await strap.start()
    lock = Lock(air, arguments.lock_mode, arguments.lock_mtu, arguments.advertising_interval)
    await lock.device.power_on()
    if arguments.lock:
        await lock.advertise()
    gauges = Gauges(air, arguments.advertising_interval)
    await gauges.device.power_on()
    if arguments.gauges:
        await gauges.advertise()
    centrals = [RemoteCentral(air, number + 1) for number in range(len(ADDRESSES))]
    for central in centrals:
        await central.device.power_on()
    second = Adapter(air, 'hci1', SECOND_ADDRESS)
    await serve(Commands(strap, adapter, second, lock, gauges, Headset(air), centrals), arguments.control)
    if arguments.ready:
        arguments.ready.touch()
    await asyncio.get_running_loop().create_future()


asyncio.run(main())
