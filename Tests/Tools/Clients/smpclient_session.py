"""A session of smpclient (PyPI, with bleak) with a device that BLEFirmware serves under the given name, through the
bluetoothd of DBUS_SYSTEM_BUS_ADDRESS: all its groups, and an upload that is interrupted three times and goes on.

    pip install smpclient bleak
    ble fake --empty --adapters 2 -- sh -c 'serve-a-device-on-hci1 & python smpclient_session.py Device'

The device has a running image, a shell that answers with the arguments and the return code 3, and can be reset. Prints
"ok" at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import struct
import time

from bleak.backends.bluezdbus.manager import BlueZManager
from bleak.exc import BleakError
from smpclient import SMPClient
from smpclient.generics import error, success
from smpclient.requests.file_management import FileHashChecksum, FileStatus
from smpclient.requests.image_management import ImageErase, ImageStatesRead, ImageStatesWrite
from smpclient.requests.os_management import (BootloaderInformationRead, EchoWrite, MCUMgrParametersRead,
                                              OSApplicationInfoRead, ResetWrite)
from smpclient.requests.shell_management import Execute
from smpclient.transport.ble import SMPBLETransport


def make_image(count: int) -> tuple[bytes, bytes]:
    """An unsigned image of version 3.2.1, and its hash."""
    body = struct.pack('<LLHHLLBBHL4x', 0x96F3B83D, 0, 32, 0, count, 0, 3, 2, 1, 0)
    body += bytes(i * 7 % 251 for i in range(count))
    digest = hashlib.sha256(body).digest()
    return body + struct.pack('<HHHH', 0x6907, 40, 0x10, 32) + digest, digest


async def connect(client: SMPClient, transport: SMPBLETransport) -> None:
    for remaining in reversed(range(5)):
        try:
            await client.connect(connect_timeout_s=30)
            break
        except BleakError:  # (a link between two adapters of bluetoothd may end at once, which bleak leaves to its users)
            if not remaining:
                raise
            # smpclient leaves the link of a failed first request, and the next client would hear each value twice. The
            # request fails if bluetoothd does not know yet that bleak has closed the socket that told it the MTU.
            with contextlib.suppress(BleakError):
                await transport.disconnect()
            await asyncio.sleep(3)
    # smpclient fills the link's packets, and bluetoothd, which serves the device, drops values of more than 512 bytes.
    transport._max_write_without_response_size = min(512, transport._max_write_without_response_size)


async def check(client: SMPClient, request):  # type: ignore[no-untyped-def]
    response = await client.request(request)
    assert success(response), response
    return response


async def main(name: str, length: int) -> None:
    image, digest = make_image(length)
    transport = SMPBLETransport()
    # A busy machine takes longer than the 2.5 s for which smpclient waits for an answer.
    client = SMPClient(transport, name, timeout_s=60)
    await connect(client, transport)
    assert (await check(client, EchoWrite(d='hällo'))).r == 'hällo'
    parameters = await check(client, MCUMgrParametersRead())
    print('parameters', parameters.buf_size, parameters.buf_count)
    assert (await check(client, BootloaderInformationRead())).bootloader == 'MCUboot'
    print('info', (await check(client, OSApplicationInfoRead())).output)
    result = await check(client, Execute(argv=['a', 'b']))
    assert (result.o, result.ret) == ('a b', 3), result
    print('slots', [(s.slot, s.version, s.active) for s in (await check(client, ImageStatesRead())).images])
    offset = 0
    for cut in range(3):
        async for offset in client.upload(image):
            if offset > length * (cut + 1) // 5:
                break
        await client.disconnect()
        # bluetoothd 5.82 may take a link that follows at once for the former one.
        await asyncio.sleep(3)
        await connect(client, transport)
    begin, first = time.monotonic(), None
    async for resumed in client.upload(image):
        first = first or resumed
    assert first == offset, (first, offset)
    rate = (len(image) - offset) / (time.monotonic() - begin)
    print(f'uploaded {len(image)} bytes, resumed at {first}, {rate:.0f} bytes/s')
    response = await check(client, ImageStatesWrite(hash=digest))
    assert [s.pending for s in response.images] == [False, True], response
    assert error(await client.request(ImageErase(slot=1)))
    await check(client, ResetWrite())
    await asyncio.sleep(0.5)
    states = (await check(client, ImageStatesRead())).images
    assert (states[0].version, states[0].hash, states[0].confirmed) == ('3.2.1', digest, False), states
    await check(client, ImageStatesWrite(confirm=True))
    await check(client, ImageErase(slot=1))
    data = bytes(i % 256 for i in range(20_000))
    async for _ in client.upload_file(data, '/a'):
        pass
    assert await client.download_file('/a') == data
    assert (await check(client, FileStatus(name='/a'))).len == len(data)
    found = await check(client, FileHashChecksum(name='/a', type='sha256'))
    assert found.output == hashlib.sha256(data).digest()
    missing = await client.request(FileStatus(name='/b'))
    assert error(missing) and missing.err.rc == 3, missing
    await client.disconnect()
    print('ok')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('name')
    parser.add_argument('--adapter', help='such as hci1; the default adapter if missing')
    parser.add_argument('--length', type=int, default=40_000, help='of the image, in bytes')
    arguments = parser.parse_args()
    if arguments.adapter:
        # smpclient does not pass an adapter on to bleak.
        BlueZManager.get_default_adapter = lambda self: f'/org/bluez/{arguments.adapter}'  # type: ignore[method-assign]
    asyncio.run(main(arguments.name, arguments.length))
