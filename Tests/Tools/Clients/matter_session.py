"""A Matter server on websockets (PyPI), written from the description of the protocol of matter.js's BLE proxy
(docs/ble-proxy-protocol.md of matterjs-server): matter_session.py DEVICE.

    ble proxy --matter ws://127.0.0.1:PORT/ble

It prints the port, and uses the device twice: as a server does that commissions it, with a connection that it closes
while the link is up, and with the proxy's next connection. The device repeats what is written to it. Each line of its
output is JSON; the last one is "ok".
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

SERVICE = '0000fff6-0000-1000-8000-00805f9b34fb'
C1 = '18EE2EF5-263D-4559-959F-4F9C429F9D11'
C2 = '18EE2EF5-263D-4559-959F-4F9C429F9D12'
C3 = '18EE2EF5-263D-4559-959F-4F9C429F9D13'
HANDSHAKE = bytes([0x65, 0x6C, 4, 0, 0, 0, 0xF7, 0, 6])
# Only what hangs takes as long, however busy the machine is.
PATIENCE = 900
# So few that the socket of bluetoothd's notifications holds all of them: it drops those for which there is no room.
COUNT = 100


def show(**entry: object) -> None:
    print(json.dumps(entry, sort_keys=True), flush=True)


class Refused(Exception):
    pass


class Session:
    """One connection of a proxy."""

    def __init__(self, socket: ServerConnection, fragments: bool) -> None:
        self.socket = socket
        self.fragments = fragments
        self.answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.values: asyncio.Queue[bytes] = asyncio.Queue()
        self.last = 0

    async def greet(self) -> None:
        hello = json.loads(await self.socket.recv())
        assert hello == {'type': 'hello', 'version': 1}, hello
        await self.send({'type': 'hello_response', 'version': 1})
        self.reader = asyncio.create_task(self.read())

    async def send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        # The same message in three frames.
        await self.socket.send([text[:5], '', text[5:]] if self.fragments else text)

    async def read(self) -> None:
        async for message in self.socket:
            if isinstance(message, bytes):
                assert message[:1] == b'\x02', message
                self.values.put_nowait(message)
                continue
            entry = json.loads(message)
            if 'id' in entry:
                self.answers.pop(entry['id']).set_result(entry)
            else:
                self.events.put_nowait(entry)

    async def command(self, name: str, **arguments: object) -> dict[str, Any]:
        self.last += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.answers[self.last] = answer
        await self.send({'id': self.last, 'command': name, 'args': arguments})
        entry = await asyncio.wait_for(answer, PATIENCE)
        if not entry['success']:
            raise Refused(entry['error'])
        return entry.get('result', {})

    async def connect(self, device: str) -> int:
        await self.command('start_scan', service_uuids=['fff6'], allow_duplicates=False)
        while True:
            event = await asyncio.wait_for(self.events.get(), PATIENCE)
            assert event['event'] == 'device_discovered', event
            data = event['data']
            if data['address'] == device:
                break
        await self.command('stop_scan')
        advertised = base64.b64decode(data['service_data']['fff6'])
        assert len(advertised) == 8 and data['connectable'] is True, data
        show(found=data['address'], name=data['name'], discriminator=advertised[1] | (advertised[2] & 0xF) << 8)
        link = await self.command('connect', address=device, timeout=55_000)
        assert link['mtu'] >= 23, link
        return int(link['connection_handle'])

    async def commission(self, link: int) -> None:
        offered = await self.command('discover_services', connection_handle=link)
        services = [service['uuid'].lower() for service in offered['services']]
        assert services == ['fff6'], services
        found = await self.command('discover_characteristics', connection_handle=link, service_uuid=SERVICE)
        properties = {c['uuid'].upper(): c['properties'] for c in found['characteristics']}
        assert properties == {C1: ['write'], C2: ['indicate'], C3: ['read']}, properties
        more = await self.command('read_characteristic', connection_handle=link, characteristic_uuid=C3)
        show(more=base64.b64decode(more['value']).hex())
        await self.command(
            'write_and_subscribe', connection_handle=link, write_uuid=C1,
            write_value=base64.b64encode(HANDSHAKE).decode(), write_response=True, subscribe_uuid=C2)
        header = b'\x02' + link.to_bytes(2, 'big')
        answer = await asyncio.wait_for(self.values.get(), PATIENCE)
        assert answer == header + bytes([0x65, 0x6C, 5, 0xF4, 0, 6]), answer
        for number in range(COUNT):
            await self.socket.send(b'\x01' + link.to_bytes(2, 'big') + number.to_bytes(4, 'big') + bytes(200))
        for number in range(COUNT):
            value = await asyncio.wait_for(self.values.get(), PATIENCE)
            assert value == header + number.to_bytes(4, 'big') + bytes(200), value
        show(repeated=COUNT)


async def main(device: str) -> None:
    sessions: asyncio.Queue[Session] = asyncio.Queue()
    count = 0

    async def accept(socket: ServerConnection) -> None:
        nonlocal count
        count += 1
        assert socket.request is not None and socket.request.path == '/ble', socket.request
        session = Session(socket, fragments=count > 1)
        await session.greet()
        sessions.put_nowait(session)
        await socket.wait_closed()
        show(closed=socket.close_code)

    # Without limits of its own, which would depend on how busy the machine is.
    async with serve(accept, '127.0.0.1', 0, open_timeout=None, ping_interval=None) as server:
        show(port=server.sockets[0].getsockname()[1])
        first = await asyncio.wait_for(sessions.get(), PATIENCE)
        link = await first.connect(device)
        await first.commission(link)
        # A server that restarts: the proxy ends the link, and dials again.
        await first.socket.close(1001, 'restart')
        second = await asyncio.wait_for(sessions.get(), PATIENCE)
        await asyncio.wait_for(await second.socket.ping(), PATIENCE)
        try:
            await second.command('discover_services', connection_handle=link)
            raise AssertionError('a link of the former connection is in use')
        except Refused as error:
            show(refused=str(error))
        link = await second.connect(device)
        await second.commission(link)
        await second.command('disconnect', connection_handle=link)
        show(end='disconnected')
        # The test ends the proxy, which says so.
        await asyncio.wait_for(second.socket.wait_closed(), PATIENCE)
        await asyncio.sleep(0)
    print('ok', flush=True)


asyncio.run(main(sys.argv[1]))
