"""fake-proxy {values|advertisements} COUNT RATE: a Bluetooth proxy of ESPHome for one client, at a port of this machine.

The first line that it prints is its port and its key: it encrypts. All frames are made before the first is sent.

With `values`, a client connects to the one peripheral, which it hears when it subscribes to advertisements. When it has
written the Client Characteristic Configuration, COUNT values of 20 bytes and a marker are sent, RATE a second on an
absolute schedule; 0 is as fast as the client takes them. Their contents are those of fake-bluez.

With `advertisements`, 1,000 devices advertise to the subscriber, 16 advertisements in a message as firmware sends them:
each device once, then COUNT more of them, RATE a second, and a marker. Their contents are those of scan.h.
"""

import base64
import secrets
import socket
import sys
import time

from aioesphomeapi import api_pb2 as pb
from noise.connection import NoiseConnection

ADDRESS = 0xF0F1F2F3F4F5
DEVICES, BATCH, FLOOD_FRAMES = 1000, 16, 64
MARKER = 0xFFFFFFFF
VALUE_HANDLE = 0x12


def number(value):
    return value.to_bytes(4, "little")


# --- what is sent ---


def value_message(counter, total):
    data = number(counter) + number(total) + bytes(12)
    return 79, pb.BluetoothGATTNotifyDataResponse(address=ADDRESS, handle=VALUE_HANDLE, data=data)


def address_of(device):
    # As fake-devices.h.
    code = device * 2654435761 % (1 << 32)
    octets = [0xC0 | code >> 26, code >> 18 & 0xFF, code >> 10 & 0xFF, code >> 2 & 0xFF, device >> 8, device & 0xFF]
    return int.from_bytes(bytes(octets), "big")


def advertisement(device, round, data_round, total=0):
    data = number(data_round) + number(total) + bytes(range(8, 16))
    name = f"Sensor {device:04X}".encode()
    parts = [
        (0x01, b"\x06"), (0x03, b"\x0f\x18\x1a\x18"), (0x09, name), (0x0A, b"\x04"), (0xFF, b"\x99\x04" + data)]
    return pb.BluetoothLERawAdvertisement(
        address=address_of(device), rssi=-40 - round % 50, address_type=1,
        data=b"".join(bytes([len(part) + 1, kind]) + part for kind, part in parts))


def change(index):
    """Of the devices in turn. One in four has new data."""
    round, device = divmod(index, DEVICES)
    return advertisement(device, round, max(0, round - (device + round) % 4))


def messages(kind, count):
    if kind == "values":
        return [value_message(counter, 0) for counter in range(count)] + [value_message(MARKER, count)], 1
    all = [change(index) for index in range(DEVICES + count)] + [advertisement(0, 0, MARKER, count)]
    batches = (all[start:start + BATCH] for start in range(0, len(all), BATCH))
    return [(93, pb.BluetoothLERawAdvertisementsResponse(advertisements=batch)) for batch in batches], BATCH


# --- the proxy ---


class Proxy:
    def __init__(self, connection, key, name):
        self.connection, self.name = connection, name
        self.input = connection.makefile("rb")
        self.noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
        self.noise.set_as_responder()
        self.noise.set_psks(key)

    def read_frame(self):
        head = self.input.read(3)
        return self.input.read(int.from_bytes(head[1:], "big")) if len(head) == 3 else None

    def frame(self, content):
        return b"\x01" + len(content).to_bytes(2, "big") + content

    def sealed(self, message):
        kind, content = message
        body = content.SerializeToString()
        return self.frame(self.noise.encrypt(kind.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body))

    def send(self, kind, content):
        self.connection.sendall(self.sealed((kind, content)))

    def shake_hands(self):
        hello = self.read_frame()
        self.noise.set_prologue(b"NoiseAPIInit" + len(hello).to_bytes(2, "big") + hello)
        self.noise.start_handshake()
        self.connection.sendall(self.frame(b"\x01" + self.name.encode() + b"\0" + b"021122334455\0"))
        self.noise.read_message(self.read_frame()[1:])
        self.connection.sendall(self.frame(b"\x00" + self.noise.write_message()))

    def requests(self):
        while (frame := self.read_frame()) is not None:
            yield int.from_bytes(self.noise.decrypt(frame)[:2], "big")

    def answer(self, kind):
        match kind:
            case 1:
                self.send(2, pb.HelloResponse(api_version_major=1, api_version_minor=14, name=self.name))
            case 5:
                self.send(6, pb.DisconnectResponse())
            case 7:
                self.send(8, pb.PingResponse())
            case 9:
                # Scans, makes links, leaves it to clients to remember services, sends raw advertisements, and says
                # how it scans.
                self.send(10, pb.DeviceInfoResponse(
                    name=self.name, mac_address="02:11:22:33:44:55", esphome_version="2026.6.0",
                    bluetooth_proxy_feature_flags=1 | 2 | 4 | 32 | 64))
            case 66 | 127:
                self.send(126, pb.BluetoothScannerStateResponse(state=2, mode=1, configured_mode=1))
            case 68:
                self.send(69, pb.BluetoothDeviceConnectionResponse(address=ADDRESS, connected=True, mtu=247))
            case 70:
                characteristic = pb.BluetoothGATTCharacteristic(
                    short_uuid=0x2A37, handle=VALUE_HANDLE, properties=0x10,
                    descriptors=[pb.BluetoothGATTDescriptor(short_uuid=0x2902, handle=VALUE_HANDLE + 1)])
                service = pb.BluetoothGATTService(short_uuid=0x180D, handle=0x10, characteristics=[characteristic])
                self.send(71, pb.BluetoothGATTGetServicesResponse(address=ADDRESS, services=[service]))
                self.send(72, pb.BluetoothGATTGetServicesDoneResponse(address=ADDRESS))
            case 78:
                self.send(84, pb.BluetoothGATTNotifyResponse(address=ADDRESS, handle=VALUE_HANDLE))
            case 77:
                self.send(83, pb.BluetoothGATTWriteResponse(address=ADDRESS, handle=VALUE_HANDLE + 1))
            case 80:
                self.send(81, pb.BluetoothConnectionsFreeResponse(free=3, limit=3))

    def flow(self, messages, pause):
        """Sends the messages, with a pause between two of them, in seconds; 0 for as fast as possible."""
        frames = [self.sealed(message) for message in messages]
        if pause == 0:
            frames = [b"".join(frames[start:start + FLOOD_FRAMES]) for start in range(0, len(frames), FLOOD_FRAMES)]
        due = time.monotonic() + 0.1
        for frame in frames:
            if (rest := due - time.monotonic()) > 0:
                time.sleep(rest)
            self.connection.sendall(frame)
            due += pause


def main():
    kind, count, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    key = secrets.token_bytes(32)
    flow, size = messages(kind, count)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], base64.b64encode(key).decode(), flush=True)
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    proxy = Proxy(connection, key, "benchmark")
    proxy.shake_hands()
    for request in proxy.requests():
        proxy.answer(request)
        if request == 66 and kind == "values":
            heard = pb.BluetoothLERawAdvertisement(address=ADDRESS, rssi=-50, address_type=1, data=b"\x02\x01\x06")
            proxy.send(93, pb.BluetoothLERawAdvertisementsResponse(advertisements=[heard]))
        if request == (77 if kind == "values" else 66) and flow:
            proxy.flow(flow, size / rate if rate else 0)
            flow = []


try:
    main()
except ConnectionError:
    # A client may end without a word.
    pass
