#!/usr/bin/env python3
"""Prints the constants of BLEFeaturesTests/CipherVectors.swift, computed independently of the module.

Needs Python's `cryptography` (pip install cryptography).
"""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# The keys of RFC 7748, section 6.1, for the pairing; counting bytes for the resumption.
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
SALT, INFO = b"9iac7i7zikocotce9gn3ji7lztz8rltn", b"smartlockperipheral"


def derive(secret, salt, info):
    return HKDF(hashes.SHA256(), 32, salt, info).derive(secret)


def agree(central, peripheral):
    return X25519PrivateKey.from_private_bytes(central).exchange(
        X25519PrivateKey.from_private_bytes(peripheral).public_key()
    )


def frame(key, nonce, kind, command, payload, bound):
    header = bytes([5 + 12 + len(payload) + 16, kind, command >> 8, command & 0xFF, 1])
    return header + nonce + AESGCM(key).encrypt(nonce, payload, header if bound else None)


def counting(direction, counter):
    return bytes([direction, 0, 0, 0]) + counter.to_bytes(8, "big")


def show(name, value):
    print(f'{name} = "{value.hex()}"')


secret = agree(ALICE, BOB)
pairing = derive(secret, SALT, INFO)
session = derive(secret, pairing, b"swift-ble session")
digest = hashes.Hash(hashes.SHA256())
digest.update(pairing)
again = derive(agree(bytes(range(1, 33)), bytes(range(33, 65))), pairing, b"swift-ble session")

show("sharedSecret", secret)
show("pairingKey", pairing)
show("identifier", digest.finalize()[:8])
show("sessionKey", session)
show("resumedSessionKey", again)
show("boundRequest", frame(session, counting(1, 0), 1, 0x0204, b"\x01", True))
show("secondBoundRequest", frame(session, counting(1, 1), 1, 0x0301, b"", True))
show("boundReply", frame(session, counting(2, 0), 2, 0x0204, b"", True))
show("longestBoundReply", frame(session, counting(2, 258), 2, 0x0201, bytes(range(222)), True))
show("firmwareRequest", frame(pairing, bytes(range(0xA0, 0xAC)), 1, 0x0204, b"\x01", False))
show("firmwareReply", frame(pairing, bytes(range(0xB0, 0xBC)), 2, 0x0204, b"", False))
