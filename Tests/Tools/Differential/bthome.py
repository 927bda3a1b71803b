"""Writes BTHome v2 packets with the results of the package bthome-ble, one a line.

Run by Scripts/test --differential, in a Python that has bthome-ble 3.25. Each line: the service data in hexadecimal,
the key or "-", the address, and for each object in order what the package reported:

    n:NUMBER  f:0|1  e:BUTTON  d:DIRECTION:STEPS  c:COMMAND:ARGUMENTS  t:TEXT  r:BYTES  v:VERSION

(texts and bytes in hexadecimal; a button or dimmer that was not used, which the package does not report, is "none").

Every object id that the package knows comes alone, with values at the ends of its range and in between; then come
packets of several objects, some with an address, some encrypted. The numbers are random, but the same in every run.
"""

import logging
import random
import sys

from bthome_ble.const import MEAS_TYPES
from bthome_ble.event import BUTTON_EVENTS, COMMAND_EVENTS, DIMMER_EVENTS
from bthome_ble.parser import BTHomeBluetoothDeviceData
from cryptography.hazmat.primitives.ciphers.aead import AESCCM
from habluetooth import BluetoothServiceInfoBleak
from sensor_state_data.description import BaseBinarySensorDescription

SERVICE = "0000fcd2-0000-1000-8000-00805f9b34fb"
rng = random.Random(20)


def bodies(kind):
    """Valid bodies of an object: the ends of its range, and some in between."""
    meas = MEAS_TYPES[kind]
    length, form = meas.data_length, meas.data_format
    name = str(meas.meas_format)
    if isinstance(meas.meas_format, BaseBinarySensorDescription):
        return [b"\0", b"\1"]
    if form == "command":
        arguments = [b"", b"\1", rng.randbytes(31)]
        return [bytes([len(a), code]) + a for code in COMMAND_EVENTS for a in arguments]
    if name == "button":
        return [bytes([event]) for event in BUTTON_EVENTS]
    if name == "dimmer":
        return [bytes([event, steps]) for event in DIMMER_EVENTS for steps in (0, 3, 255)]
    if form == "string":
        texts = ["a", "Hello World!", "Größe 23 °C", "ä" * 100]
        return [bytes([len(t.encode())]) + t.encode() for t in texts]
    if form == "raw":
        return [bytes([n]) + rng.randbytes(n) for n in (1, 12, 255)]
    ends = [b"\0" * length, b"\xff" * length, b"\xff" * (length - 1) + b"\x7f", b"\0" * (length - 1) + b"\x80"]
    return ends + [rng.randbytes(length) for _ in range(12)]


def key_of(kind):
    """The key under which the package reports the object; kinds that differ only in the unit overwrite each other."""
    meas_format = MEAS_TYPES[kind].meas_format
    return type(meas_format).__name__, str(getattr(meas_format, "device_class", meas_format))


class Report:
    """The package's result for one packet."""

    def __init__(self, data, key, address):
        self.device = BTHomeBluetoothDeviceData(bindkey=key)
        info = BluetoothServiceInfoBleak(
            name="sensor", address=address, rssi=-60, manufacturer_data={}, service_data={SERVICE: data},
            service_uuids=[], source="", device=None, advertisement=None, connectable=False, time=1.0, tx_power=None)
        self.update = self.device.update(info)

    def of(self, kind, body, postfix):
        """The object's field in a line."""
        meas = MEAS_TYPES[kind]
        if meas.data_format == "device_type_id":
            return f"n:{self.device.device_type_id}"
        if meas.meas_format is None:
            return f"v:{self.update.devices[None].sw_version}"
        name = key_of(kind)[1] + postfix
        if isinstance(meas.meas_format, BaseBinarySensorDescription):
            values = {k.key: v.native_value for k, v in self.update.binary_entity_values.items()}
            return f"f:{int(values[name])}"
        events = {k.key: v for k, v in self.update.events.items()}
        if meas.data_format == "command":
            return f"c:{events[name].event_type}:{events[name].event_properties['args']}"
        if key_of(kind)[1] == "dimmer":
            if name not in events:
                return f"d:none:{body[1]}"
            return f"d:{events[name].event_type}:{events[name].event_properties['steps']}"
        if key_of(kind)[1] == "button":
            return f"e:{events[name].event_type if name in events else 'none'}"
        value = {k.key: v.native_value for k, v in self.update.entity_values.items()}[name]
        if meas.data_format == "string":
            return f"t:{value.encode().hex()}"
        if meas.data_format == "raw":
            return f"r:{value}"
        if meas.data_format == "timestamp":
            return f"n:{int(value.timestamp())}"
        return f"n:{value!r}"


def line(objects, encrypted=False, with_address=False, triggered=False):
    """The line of a packet of these objects."""
    address = rng.randbytes(6)
    key = rng.randbytes(16) if encrypted else None
    information = 0x40 | encrypted | with_address << 1 | triggered << 2
    payload = b"".join(bytes([kind]) + body for kind, body in objects)
    if encrypted:
        counter = rng.randbytes(4)
        nonce = address + b"\xd2\xfc" + bytes([information]) + counter
        sealed = AESCCM(key, tag_length=4).encrypt(nonce, payload, None)
        payload = sealed[:-4] + counter + sealed[-4:]
    data = bytes([information]) + (address[::-1] if with_address else b"") + payload
    report = Report(data, key, ":".join(f"{byte:02X}" for byte in address))

    keys = [key_of(kind) for kind, _ in objects]
    fields, seen = [], {}
    for (kind, body), name in zip(objects, keys):
        seen[name] = seen.get(name, 0) + 1
        fields.append(report.of(kind, body, f"_{seen[name]}" if keys.count(name) > 1 else ""))
    return " ".join([data.hex(), key.hex() if key else "-", address.hex(), *fields])


def collide(objects):
    """Whether the package would report two of the objects at one place."""
    formats, once = {}, [kind for kind, _ in objects if kind in (0, 0xF0, 0xF1, 0xF2)]
    for kind, _ in objects:
        formats.setdefault(key_of(kind), set()).add(str(MEAS_TYPES[kind].meas_format))
    return len(set(once)) < len(once) or {0xF1, 0xF2} <= set(once) or any(len(f) > 1 for f in formats.values())


def main(count):
    logging.disable()
    all_bodies = {kind: bodies(kind) for kind in MEAS_TYPES}
    for kind, some in all_bodies.items():
        for body in some:
            print(line([(kind, body)]))
    printed = 0
    while printed < count:
        kinds = sorted(rng.choices(list(MEAS_TYPES), k=rng.randint(1, 6)))
        if rng.random() < 0.5:
            kinds = sorted(kinds + [kinds[0]] * rng.randint(1, 3))
        objects = [(kind, rng.choice(all_bodies[kind])) for kind in kinds]
        if collide(objects):
            continue
        encrypted = rng.random() < 0.4
        if encrypted and sum(len(body) + 1 for _, body in objects) < 2:
            continue
        print(line(objects, encrypted, rng.random() < 0.2, rng.random() < 0.2))
        printed += 1


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
