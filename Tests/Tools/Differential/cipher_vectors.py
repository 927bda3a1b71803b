#!/usr/bin/env python3
"""Computes the constants of BLEFeaturesTests/CipherVectors.swift from Docs/MessageEncryption.md alone.

Usage: cipher_vectors.py [--check FILE]. Without an option the constants are printed; with it, FILE must have each of
them. Exit status: 0, or 1 if FILE lacks a constant or has another value for it.

Needs Python's `cryptography` (pip install cryptography).
"""

import re
import struct
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# The keys of RFC 7748, section 6.1, for the pairing (Alice is the central); counting bytes for the resumption.
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
SALT, INFO = b"9iac7i7zikocotce9gn3ji7lztz8rltn", b"smartlockperipheral"
EXCHANGE = 0x0103
REQUEST, REPLY, NOTIFICATION = 1, 2, 3
FROM_CENTRAL, FROM_DEVICE = 1, 2


def hkdf(secret, salt, info, length=32):
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


class Exchange:
    """Both sides of an exchange: the payloads of frames 1 and 2, and the keys."""

    def __init__(self, central, device, resumed=None):
        central, device = map(X25519PrivateKey.from_private_bytes, (central, device))
        c, d = (key.public_key().public_bytes_raw() for key in (central, device))
        self.secret = central.exchange(device.public_key())
        assert self.secret == device.exchange(central.public_key())
        self.pairing_key = resumed or hkdf(self.secret, SALT, INFO + c + d)
        self.request = c + (hkdf(resumed, c, b"swift-ble identifier", 8) if resumed else b"")
        self.reply = d + hkdf(self.secret, self.pairing_key, b"swift-ble confirmation" + c + d, 16)
        self.session_key = hkdf(self.secret, self.pairing_key, b"swift-ble session" + c + d)


def header(kind, command, text):
    return struct.pack(">BBHB", 5 + 12 + len(text) + 16, kind, command, 1)


def bound(key, counter, kind, command, text=b"", answers=None):
    """A sealed frame. For a reply, the peer's counter identifies the request."""
    assert (kind == REPLY) == (answers is not None)
    nonce = struct.pack(">B3xQ", FROM_CENTRAL if kind == REQUEST else FROM_DEVICE, counter)
    start = header(kind, command, text)
    authenticated = start + (struct.pack(">Q", answers) if kind == REPLY else b"")
    return start + nonce + AESGCM(key).encrypt(nonce, text, authenticated)


def firmware(key, nonce, kind, command, text=b""):
    return header(kind, command, text) + nonce + AESGCM(key).encrypt(nonce, text, None)


pairing = Exchange(ALICE, BOB)
resumption = Exchange(bytes(range(1, 33)), bytes(range(33, 65)), pairing.pairing_key)
key = pairing.session_key
firmware_key = hkdf(pairing.secret, SALT, INFO)

VECTORS = {
    "sharedSecret": pairing.secret,
    "firmwareKey": firmware_key,
    "pairingKey": pairing.pairing_key,
    "sessionKey": key,
    "exchangeRequest": pairing.request,
    "exchangeReply": pairing.reply,
    "confirmation": bound(key, 0, REQUEST, EXCHANGE),
    "confirmationReply": bound(key, 0, REPLY, EXCHANGE, answers=0),
    "resumptionRequest": resumption.request,
    "resumptionReply": resumption.reply,
    "resumedSessionKey": resumption.session_key,
    "boundRequest": bound(key, 0, REQUEST, 0x0204, b"\x01"),
    "secondBoundRequest": bound(key, 1, REQUEST, 0x0301),
    "boundReply": bound(key, 0, REPLY, 0x0204, answers=0),
    "otherBoundReply": bound(key, 0, REPLY, 0x0204, answers=1),
    "boundNotification": bound(key, 0, NOTIFICATION, 0x0204),
    "longestBoundReply": bound(key, 258, REPLY, 0x0201, bytes(range(222)), answers=300),
    "firmwareRequest": firmware(firmware_key, bytes(range(0xA0, 0xAC)), REQUEST, 0x0204, b"\x01"),
    "firmwareReply": firmware(firmware_key, bytes(range(0xB0, 0xBC)), REPLY, 0x0204),
}


def constants(path):
    """The hexadecimal constants of a Swift file, parts of a sum joined."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r'"\s*\+\s*"', "", file.read())
    return dict(re.findall(r'static let (\w+) =\s*"([0-9a-f]+)"', text))


if sys.argv[1:2] == ["--check"]:
    found = constants(sys.argv[2])
    wrong = [name for name, value in VECTORS.items() if found.get(name) != value.hex()]
    for name in wrong:
        print(f"{sys.argv[2]}: {name} is not {VECTORS[name].hex()}", file=sys.stderr)
    sys.exit(bool(wrong))
for name, value in VECTORS.items():
    print(f'{name} = "{value.hex()}"')
