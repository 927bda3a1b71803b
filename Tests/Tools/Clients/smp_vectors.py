"""Management requests and responses as the Python package smp encodes them: the vectors in
Tests/BLEFirmwareTests/Vectors.swift. With --parse, reads lines of a class and a frame in hexadecimal, and checks that
smp parses them.

    pip install smp
    python smp_vectors.py
    python smp_vectors.py --parse < frames
"""
import sys

from smp import file_management as fs
from smp import image_management as image
from smp import os_management as os_
from smp import shell_management as shell
from smp.error import MGMT_ERR
from smp.header import Header, Version

HASH = bytes(range(32))
DATA = bytes(range(0x40, 0x60))

REQUESTS = [
    ("echo", os_.EchoWriteRequest(d="hello", sequence=0)),
    ("parameters", os_.MCUMgrParametersReadRequest(sequence=1)),
    ("reset", os_.ResetWriteRequest(sequence=2)),
    ("forced reset", os_.ResetWriteRequest(force=1, sequence=3)),
    ("date and time", os_.DateTimeReadRequest(sequence=4)),
    ("set date and time", os_.DateTimeWriteRequest(datetime="2026-11-27T06:56:24", sequence=5)),
    ("bootloader", os_.BootloaderInformationReadRequest(sequence=6)),
    ("bootloader mode", os_.BootloaderInformationReadRequest(query="mode", sequence=7)),
    ("application info", os_.OSApplicationInfoReadRequest(format="sv", sequence=8)),
    ("image slots", image.ImageStatesReadRequest(sequence=9)),
    ("test", image.ImageStatesWriteRequest(hash=HASH, confirm=False, sequence=10)),
    ("confirm", image.ImageStatesWriteRequest(confirm=True, sequence=11)),
    ("erase", image.ImageEraseRequest(slot=1, sequence=12)),
    ("execute", shell.ExecuteRequest(argv=["kernel", "uptime"], sequence=13)),
    ("file length", fs.FileStatusRequest(name="/lfs/a", sequence=14)),
    ("file hash", fs.FileHashChecksumRequest(name="/lfs/a", type="crc32", len=300, sequence=15)),
    ("download", fs.FileDownloadRequest(name="/lfs/a", off=0, sequence=16)),
]
OTHERS = [
    ("first chunk", image.ImageUploadWriteRequest(off=0, data=DATA, image=0, len=1000, sha=HASH, sequence=0)),
    ("later chunk", image.ImageUploadWriteRequest(off=300, data=DATA, sequence=1)),
    ("file chunk", fs.FileUploadRequest(off=0, data=DATA, name="/lfs/a", len=300, sequence=2)),
]
RESPONSES = [
    ("echo", os_.EchoWriteResponse(r="hello", sequence=0)),
    ("parameters", os_.MCUMgrParametersReadResponse(buf_size=1024, buf_count=4, sequence=1)),
    ("reset", os_.ResetWriteResponse(sequence=2)),
    ("date and time", os_.DateTimeReadResponse(datetime="2026-11-27T06:56:24", sequence=4)),
    ("bootloader", os_.BootloaderInformationReadResponse(bootloader="MCUboot", sequence=6)),
    ("application info", os_.OSApplicationInfoReadResponse(output="Zephyr", sequence=8)),
    ("image slots", image.ImageStatesReadResponse(images=[
        image.ImageState(slot=0, version="1.2.3", image=0, hash=HASH, bootable=True, pending=False, confirmed=True,
                         active=True, permanent=False)], splitStatus=0, sequence=9)),
    ("upload", image.ImageUploadWriteResponse(off=64, sequence=1)),
    ("last upload", image.ImageUploadWriteResponse(off=1000, match=True, sequence=1)),
    ("erase", image.ImageEraseResponse(sequence=12)),
    ("execute", shell.ExecuteResponse(o="Uptime: 5 ms", ret=-22, sequence=13)),
    ("file length", fs.FileStatusResponse(len=300, sequence=14)),
    ("file hash", fs.FileHashChecksumResponse(type="crc32", len=300, output=0xDEADBEEF, sequence=15)),
    ("download", fs.FileDownloadResponse(off=0, data=DATA, len=32, sequence=16)),
    ("file upload", fs.FileUploadResponse(off=32, sequence=2)),
]


def error(cls, op, command, version, **fields):
    import cbor2
    data = cbor2.dumps(fields, canonical=True)
    header = Header(op, version, 0, len(data), cls._GROUP_ID, 7, command)
    return cls.loads(bytes(header) + data)


ERRORS = [
    ("version 1", error(os_.OSManagementErrorV1, 3, 0, Version.V1, rc=int(MGMT_ERR.ENOMEM), rsn="no")),
    ("version 2", error(image.ImageManagementErrorV2, 3, 1, Version.V2, err={"group": 1, "rc": 30})),
]


def main():
    if "--parse" in sys.argv:
        count = 0
        for line in sys.stdin:
            name, frame = line.split()
            module, cls = name.split(".")
            found = getattr({"os": os_, "image": image, "fs": fs, "shell": shell}[module], cls)
            parsed = found.loads(bytes.fromhex(frame))
            assert bytes(parsed) == bytes.fromhex(frame)
            count += 1
        print(count, "frames parsed")
        return
    for kind, messages in (("request", REQUESTS), ("other", OTHERS), ("response", RESPONSES), ("error", ERRORS)):
        for name, message in messages:
            print(f"{kind}\t{name}\t{bytes(message).hex()}")


main()
