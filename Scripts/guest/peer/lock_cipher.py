"""The lock's keys, and the sealing of frames: X25519, HKDF-SHA256, AES-256-GCM.

A sealed payload is a nonce of 12 bytes, the ciphertext, and a tag of 16 bytes. What a key exchange carries and leaves
behind depends on the mode. In both, the pairing key is HKDF(shared secret, SALT, INFO), of 32 bytes.

========= ==================================== ================================================
mode      bound                                firmware
========= ==================================== ================================================
request   a public key: a new pairing; or a    a public key: a new pairing
          public key and the identifier of a
          pairing key, which is the first 8
          bytes of its SHA-256: a resumption
reply     a fresh public key; nothing, if the  a fresh public key
          identifier is unknown
key       HKDF(shared secret, pairing key,     the pairing key, the last one only
          SESSION_INFO)
lasts     for the connection, or until the     until a reset or the next exchange, on every
          next exchange or a reset             connection
nonce     the direction (01 to the lock, 02    random; none is taken twice
          from it), 00 00 00, and a counter of
          64 bits, big-endian, from 0; only
          higher ones than the last are taken
also      the five bytes of the frame's header nothing
signed
========= ==================================== ================================================
"""

from __future__ import annotations

import os
import struct
from typing import ClassVar, Protocol

from bumble.device import Connection
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SALT = b'9iac7i7zikocotce9gn3ji7lztz8rltn'
INFO = b'smartlockperipheral'
SESSION_INFO = b'swift-ble session'

KEY_LENGTH = 32
IDENTIFIER_LENGTH = 8
NONCE_LENGTH = 12
OVERHEAD = NONCE_LENGTH + 16
"""By how many bytes a sealed payload is longer."""


class Refused(Exception):
    """A frame that fails for reasons of security."""


class Session(Protocol):
    """What seals and opens payloads, with the frame's header at hand."""

    def seal(self, header: bytes, text: bytes) -> bytes: ...

    def open(self, header: bytes, payload: bytes) -> bytes: ...


def _derive(material: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(SHA256(), KEY_LENGTH, salt, info).derive(material)


def _agree(public_key: bytes) -> tuple[bytes, bytes]:
    """A fresh public key, and the secret that it shares with the one given."""
    private_key = X25519PrivateKey.generate()
    try:
        secret = private_key.exchange(X25519PublicKey.from_public_bytes(public_key))
    except ValueError:  # (a point of low order, whose secret is no secret)
        raise Refused('the public key is weak') from None
    return private_key.public_key().public_bytes_raw(), secret


def _decrypt(cipher: AESGCM, nonce: bytes, sealed: bytes, header: bytes | None) -> bytes:
    try:
        return cipher.decrypt(nonce, sealed, header)
    except InvalidTag:
        raise Refused('the tag is wrong') from None


class BoundSession:
    """One connection's cipher in the mode "bound"."""

    NONCE = struct.Struct('>B3sQ')
    TO_PERIPHERAL, TO_CENTRAL = 1, 2

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._next = 0
        self._last_taken = -1

    def seal(self, header: bytes, text: bytes) -> bytes:
        nonce = self.NONCE.pack(self.TO_CENTRAL, bytes(3), self._next)
        self._next += 1
        return nonce + self._cipher.encrypt(nonce, text, header)

    def open(self, header: bytes, payload: bytes) -> bytes:
        if len(payload) < OVERHEAD:
            raise Refused('there is no room for nonce and tag')
        direction, zeros, counter = self.NONCE.unpack_from(payload)
        if direction != self.TO_PERIPHERAL or any(zeros):
            raise Refused('the nonce is not of this direction')
        if counter <= self._last_taken:
            raise Refused('the nonce is an old one')
        text = _decrypt(self._cipher, payload[:NONCE_LENGTH], payload[NONCE_LENGTH:], header)
        self._last_taken = counter
        return text


class FirmwareSession:
    """The cipher in the mode "firmware"."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._seen: set[bytes] = set()

    def seal(self, header: bytes, text: bytes) -> bytes:
        nonce = os.urandom(NONCE_LENGTH)
        self._seen.add(nonce)
        return nonce + self._cipher.encrypt(nonce, text, None)

    def open(self, header: bytes, payload: bytes) -> bytes:
        if len(payload) < OVERHEAD:
            raise Refused('there is no room for nonce and tag')
        nonce = payload[:NONCE_LENGTH]
        if nonce in self._seen:
            raise Refused('the nonce is an old one')
        text = _decrypt(self._cipher, nonce, payload[NONCE_LENGTH:], None)
        self._seen.add(nonce)
        return text


class BoundKeys:
    """The keys in the mode "bound": the pairing keys by their identifiers, and a session for each connection."""

    REQUEST_LENGTHS: ClassVar = (KEY_LENGTH, KEY_LENGTH + IDENTIFIER_LENGTH)

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets all keys, and how many exchanges there were."""
        self._pairing_keys: dict[bytes, bytes] = {}
        self._sessions: dict[Connection, BoundSession] = {}
        self.pairings = self.resumptions = 0

    @property
    def known(self) -> int:
        """The number of pairing keys."""
        return len(self._pairing_keys)

    def exchange(self, connection: Connection, payload: bytes) -> bytes:
        """The reply to a key exchange. One that fails leaves the session as it was."""
        identifier = payload[KEY_LENGTH:]
        if identifier and identifier not in self._pairing_keys:
            return b''
        public_key, secret = _agree(payload[:KEY_LENGTH])
        if identifier:
            pairing_key = self._pairing_keys[identifier]
            self.resumptions += 1
        else:
            pairing_key = _derive(secret, SALT, INFO)
            self._pairing_keys[self._identifier(pairing_key)] = pairing_key
            self.pairings += 1
        self._sessions[connection] = BoundSession(_derive(secret, pairing_key, SESSION_INFO))
        return public_key

    def session(self, connection: Connection) -> Session | None:
        return self._sessions.get(connection)

    def end(self, connection: Connection) -> None:
        """The connection has ended."""
        self._sessions.pop(connection, None)

    @staticmethod
    def _identifier(pairing_key: bytes) -> bytes:
        digest = Hash(SHA256())
        digest.update(pairing_key)
        return digest.finalize()[:IDENTIFIER_LENGTH]


class FirmwareKeys:
    """The key in the mode "firmware"."""

    REQUEST_LENGTHS: ClassVar = (KEY_LENGTH,)

    resumptions = 0

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets the key, and how many exchanges there were."""
        self._session: FirmwareSession | None = None
        self.pairings = 0

    @property
    def known(self) -> int:
        """The number of pairing keys."""
        return 0 if self._session is None else 1

    def exchange(self, connection: Connection, payload: bytes) -> bytes:
        """The reply to a key exchange."""
        public_key, secret = _agree(payload)
        self._session = FirmwareSession(_derive(secret, SALT, INFO))
        self.pairings += 1
        return public_key

    def session(self, connection: Connection) -> Session | None:
        return self._session

    def end(self, connection: Connection) -> None:
        """The connection has ended; the key outlasts it."""


MODES = {'bound': BoundKeys, 'firmware': FirmwareKeys}
"""The ways to seal, by the names that the option --lock-mode takes."""
