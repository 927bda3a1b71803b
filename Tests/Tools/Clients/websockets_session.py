"""A page of `ble web` on websockets (PyPI): websockets_session.py PORT TOKEN STRAP LAMP.

It asks for files and commands as a browser would, and as one must not. Each line of its output is JSON: the status of a
request, or what came on a socket, without times.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus


def show(**entry: object) -> None:
    print(json.dumps(entry, sort_keys=True), flush=True)


def get(port: int, path: str, **headers: str) -> None:
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request('GET', path, headers=headers)
    response = connection.getresponse()
    response.read()
    show(get=path, status=response.status, type=response.headers['Content-Type'])
    connection.close()


async def command(port: int, *arguments: str, token: str | None = None, count: int | None = None) -> None:
    """Shows the lines of a command, all of them or `count`, and then how the socket was closed."""
    async with connect(f'ws://127.0.0.1:{port}/command') as socket:
        await socket.send(json.dumps({'arguments': arguments, 'token': token}))
        lines = []
        async for text in socket:
            line = json.loads(text)
            line.pop('time', None)
            lines.append(line)
            if len(lines) == count:
                break
    show(command=arguments[0], lines=lines)


async def find(port: int, wanted: set[str]) -> None:
    """Scans until these peripherals are found."""
    async with connect(f'ws://127.0.0.1:{port}/command') as socket:
        await socket.send(json.dumps({'arguments': ['scan']}))
        async for text in socket:
            wanted.discard(json.loads(text).get('id'))
            if not wanted:
                break
    show(command='scan', missing=sorted(wanted))


async def refused(port: int, **options: object) -> None:
    try:
        async with connect(f'ws://127.0.0.1:{port}/command', **options):
            show(socket=sorted(options), status=101)
    except InvalidStatus as error:
        show(socket=sorted(options), status=error.response.status_code)


async def main(port: int, token: str, strap: str, lamp: str) -> None:
    for path in ['/', '/page.css', '/page.js', '/about', '/metrics', '/none']:
        get(port, path)
    get(port, '/about', Host='evil.example')
    await refused(port, origin='http://evil.example')
    await refused(port, additional_headers={'Host': 'evil.example'})
    await find(port, {strap, lamp})
    await command(port, 'read', strap, '2a19')
    await command(port, 'write', lamp, 'ff01', '07')
    await command(port, 'write', lamp, 'ff01', '07', token=token)
    await command(port, 'read', lamp, 'ff01')
    await command(port, 'notify', strap, '2a37', token=token, count=2)


asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
