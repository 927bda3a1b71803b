"""A session of smpclient (PyPI, with bleak) with a device that BLEFirmware serves under the given name, through the
bluetoothd of DBUS_SYSTEM_BUS_ADDRESS: all its groups, and an upload that is interrupted once and goes on.

    pip install smpclient bleak
    ble fake --empty --adapters 2 -- sh -c 'serve-a-device-on-hci1 & python smpclient_session.py Device'

The device has a running image, a shell that answers with the arguments and the return code 3, and can be reset. Prints
"ok" at the end.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
import sys
import time

from bleak.backends.bluezdbus.manager import BlueZManager
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


async def check(client: SMPClient, request):  # type: ignore[no-untyped-def]
    response = await client.request(request)
    assert success(response), response
    return response


# bleak chooses any adapter, but the one that serves the device does not receive it.
BlueZManager.get_default_adapter = lambda self: '/org/bluez/hci0'  # type: ignore[method-assign]


async def main(name: str) -> None:
    image, digest = make_image(40_000)
    client = SMPClient(SMPBLETransport(), name)
    await client.connect()
    assert (await check(client, EchoWrite(d='hällo'))).r == 'hällo'
    parameters = await check(client, MCUMgrParametersRead())
    print('parameters', parameters.buf_size, parameters.buf_count)
    assert (await check(client, BootloaderInformationRead())).bootloader == 'MCUboot'
    print('info', (await check(client, OSApplicationInfoRead())).output)
    result = await check(client, Execute(argv=['a', 'b']))
    assert (result.o, result.ret) == ('a b', 3), result
    print('slots', [(s.slot, s.version, s.active) for s in (await check(client, ImageStatesRead())).images])
    begin = time.monotonic()
    offset = 0
    async for offset in client.upload(image):
        if offset > 15_000:
            break
    await client.disconnect()
    await asyncio.sleep(1)
    await client.connect()
    first = None
    async for resumed in client.upload(image):
        first = first or resumed
    assert first == offset, (first, offset)
    print('uploaded', len(image), 'bytes, resumed at', first, f'in {time.monotonic() - begin:.1f} s')
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


asyncio.run(main(sys.argv[1]))
