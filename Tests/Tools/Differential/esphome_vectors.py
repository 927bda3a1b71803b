"""Encodes messages of ESPHome's native API with the Python package `aioesphomeapi`.

    python3 -m venv venv && venv/bin/pip install aioesphomeapi==46.23.0
    venv/bin/python esphome_vectors.py >MessageVectors.swift
    venv/bin/python esphome_vectors.py --check MessageVectors.swift
"""

import sys

from aioesphomeapi import api_pb2 as api
from aioesphomeapi.core import MESSAGE_TYPE_TO_PROTO

NUMBERS = {proto: number for number, proto in MESSAGE_TYPE_TO_PROTO.items()}
ADDRESS = 0xF0F1F2F3F4F5
BASE = 0x0000000000001000, 0x800000805F9B34FB
LONG = 0x6E400001B5A3F393, 0xE0A9E50E24DCCA9E

uuid = api.BluetoothGATTDescriptor(uuid=[0x2902 << 32 | BASE[0], BASE[1]], handle=44)
characteristic = api.BluetoothGATTCharacteristic(uuid=LONG, handle=43, properties=0x1A, descriptors=[uuid])
short = api.BluetoothGATTCharacteristic(short_uuid=0x2A37, handle=12, properties=0x10,
    descriptors=[api.BluetoothGATTDescriptor(short_uuid=0x2902, handle=13)])
services = [
    api.BluetoothGATTService(uuid=LONG, handle=40, characteristics=[characteristic]),
    api.BluetoothGATTService(short_uuid=0x180D, handle=10, characteristics=[short]),
]
raw = [
    api.BluetoothLERawAdvertisement(address=ADDRESS, rssi=-61, address_type=1, data=bytes.fromhex("020106")),
    api.BluetoothLERawAdvertisement(address=0x010203, rssi=4, data=b""),
]

MESSAGES = {
    "hello": api.HelloRequest(client_info="swift-ble", api_version_major=1, api_version_minor=14),
    "helloAnswer": api.HelloResponse(api_version_major=1, api_version_minor=14, server_info="proxy é", name="kitchen"),
    "disconnect": api.DisconnectRequest(reason=1),
    "disconnectAnswer": api.DisconnectResponse(),
    "ping": api.PingRequest(),
    "pingAnswer": api.PingResponse(),
    "deviceInfoRequest": api.DeviceInfoRequest(),
    "deviceInfo": api.DeviceInfoResponse(
        name="kitchen", mac_address="AA:BB:CC:DD:EE:FF", esphome_version="2026.6.0", model="esp32",
        project_name="a.b", project_version="1", manufacturer="Espressif", friendly_name="Kitchen",
        bluetooth_proxy_feature_flags=255, bluetooth_mac_address="AA:BB:CC:DD:EE:01", api_encryption_supported=True),
    "listEntities": api.ListEntitiesRequest(),
    "listEntitiesDone": api.ListEntitiesDoneResponse(),
    "subscribeAdvertisements": api.SubscribeBluetoothLEAdvertisementsRequest(flags=1),
    "unsubscribeAdvertisements": api.UnsubscribeBluetoothLEAdvertisementsRequest(),
    "advertisements": api.BluetoothLERawAdvertisementsResponse(advertisements=raw),
    "scannerState": api.BluetoothScannerStateResponse(state=2, mode=1, configured_mode=1),
    "setScannerMode": api.BluetoothScannerSetModeRequest(mode=1),
    "connect": api.BluetoothDeviceRequest(address=ADDRESS, request_type=5, has_address_type=True, address_type=1),
    "disconnectPeripheral": api.BluetoothDeviceRequest(address=ADDRESS, request_type=1),
    "connected": api.BluetoothDeviceConnectionResponse(address=ADDRESS, connected=True, mtu=247),
    "connectionEnded": api.BluetoothDeviceConnectionResponse(address=ADDRESS, error=0x13),
    "notConnected": api.BluetoothDeviceConnectionResponse(address=ADDRESS, error=-1),
    "servicesRequest": api.BluetoothGATTGetServicesRequest(address=ADDRESS),
    "services": api.BluetoothGATTGetServicesResponse(address=ADDRESS, services=services),
    "servicesDone": api.BluetoothGATTGetServicesDoneResponse(address=ADDRESS),
    "read": api.BluetoothGATTReadRequest(address=ADDRESS, handle=300),
    "readAnswer": api.BluetoothGATTReadResponse(address=ADDRESS, handle=300, data=b"\x00\x01"),
    "write": api.BluetoothGATTWriteRequest(address=ADDRESS, handle=300, response=True, data=bytes(200)),
    "command": api.BluetoothGATTWriteRequest(address=ADDRESS, handle=300, data=b"a"),
    "writeAnswer": api.BluetoothGATTWriteResponse(address=ADDRESS, handle=300),
    "readDescriptor": api.BluetoothGATTReadDescriptorRequest(address=ADDRESS, handle=13),
    "writeDescriptor": api.BluetoothGATTWriteDescriptorRequest(address=ADDRESS, handle=13, data=b"\x01\x00"),
    "notify": api.BluetoothGATTNotifyRequest(address=ADDRESS, handle=12, enable=True),
    "stopNotifying": api.BluetoothGATTNotifyRequest(address=ADDRESS, handle=12),
    "notifyAnswer": api.BluetoothGATTNotifyResponse(address=ADDRESS, handle=12),
    "notification": api.BluetoothGATTNotifyDataResponse(address=ADDRESS, handle=12, data=b"\x06\x48"),
    "attributeError": api.BluetoothGATTErrorResponse(address=ADDRESS, handle=12, error=14),
    "attributeWithoutLink": api.BluetoothGATTErrorResponse(address=ADDRESS, handle=12, error=-1),
    "subscribeSlots": api.SubscribeBluetoothConnectionsFreeRequest(),
    "slots": api.BluetoothConnectionsFreeResponse(free=1, limit=3, allocated=[ADDRESS, 1]),
    "paired": api.BluetoothDevicePairingResponse(address=ADDRESS, paired=True),
    "unpaired": api.BluetoothDeviceUnpairingResponse(address=ADDRESS, success=True),
    "cacheCleared": api.BluetoothDeviceClearCacheResponse(address=ADDRESS, error=0x101),
    "setConnectionParameters": api.BluetoothSetConnectionParamsRequest(
        address=ADDRESS, min_interval=6, max_interval=12, latency=1, timeout=400),
    "connectionParameters": api.BluetoothSetConnectionParamsResponse(address=ADDRESS, error=-1),
    "capabilitiesRequest": api.DeviceCapabilitiesRequest(),
    "capabilities": api.DeviceCapabilitiesResponse(
        bluetooth_proxy=api.BluetoothProxyCapabilities(feature_flags=47, mac_address="AA:BB:CC:DD:EE:01")),
}


def literal(data):
    digits = data.hex()
    parts = [digits[start : start + 96] for start in range(0, len(digits), 96)] or [""]
    return "\n            + ".join(f'"{part}"' for part in parts)


def table():
    entries = "".join(
        f'        "{name}": ({NUMBERS[type(message)]},\n            {literal(message.SerializeToString())}),\n'
        for name, message in MESSAGES.items()
    )
    return (
        "// Generated by Tests/Tools/Differential/esphome_vectors.py with aioesphomeapi 46.23.0. Do not edit.\n\n"
        "/// Messages as aioesphomeapi encodes them: the number, and the body in hexadecimal digits.\n"
        "enum MessageVectors {\n"
        f"    static let all: [String: (type: UInt64, body: String)] = [\n{entries}    ]\n}}\n"
    )


if len(sys.argv) == 3 and sys.argv[1] == "--check":
    same = "".join(open(sys.argv[2]).read().split()) == "".join(table().split())
    sys.exit(0 if same else "the vectors differ")
print(table(), end="")
