"""The lock's keys, and the sealing of frames: X25519, HKDF-SHA256, AES-256-GCM.

This is an independent implementation of the protocol in Docs/MessageEncryption.md. A sealed payload is a nonce of 12
bytes, the ciphertext, and a tag of 16 bytes. The contents of a key exchange, and the keys that it makes, depend on the
mode.

============ ========================================== ==============================================
mode         bound                                      firmware
============ ========================================== ==============================================
request      the central's public key C: a new pairing; a public key: a new pairing
             or C and an identifier, 8 bytes of
             HKDF(pairing key, C, IDENTIFIER_INFO):
             a resumption
reply        a fresh public key D, and a proof, 16      a fresh public key
             bytes of HKDF(secret, pairing key,
             PROOF_INFO + C + D); nothing, if the
             identifier is of no pairing key
confirmation a sealed request of the same command,      –
             with nothing in it, and such a reply
pairing key  HKDF(secret, SALT, INFO + C + D); kept     HKDF(secret, SALT, INFO)
             from the confirmation on
key          HKDF(secret, pairing key, SESSION_INFO +   the pairing key, the last one only
             C + D), from the confirmation on
lasts        for the connection, or until the next      until a reset or the next exchange, on every
             exchange is confirmed, or a reset          connection
nonce        the direction (01 to the lock, 02 from     random; none is taken twice
             it), 00 00 00, and a counter of 64 bits,
             big-endian, from 0; only higher ones than
             the last are taken
also         the five bytes of the frame's header; of a nothing
signed       reply, then the counter of its request,
             64 bits, big-endian
============ ========================================== ==============================================
"""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bumble.device import Connection
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SALT = b'9iac7i7zikocotce9gn3ji7lztz8rltn'
INFO = b'smartlockperipheral'
SESSION_INFO = b'swift-ble session'
PROOF_INFO = b'swift-ble confirmation'
IDENTIFIER_INFO = b'swift-ble identifier'

KEY_LENGTH = 32
IDENTIFIER_LENGTH = 8
PROOF_LENGTH = 16
NONCE_LENGTH = 12
OVERHEAD = NONCE_LENGTH + 16
"""The number of bytes by which sealing makes a payload longer."""


class Refused(Exception):
    """The lock refuses a frame for reasons of security."""


class Session(Protocol):
    """A cipher that seals and opens payloads, and knows the frame's header."""

    def seal(self, header: bytes, text: bytes) -> bytes: ...

    def open(self, header: bytes, payload: bytes) -> bytes: ...


def _derive(material: bytes, salt: bytes, info: bytes, length: int = KEY_LENGTH) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(material)


def _agree(public_key: bytes) -> tuple[bytes, bytes]:
    """A fresh public key, and the secret that it shares with the given one."""
    private_key = X25519PrivateKey.generate()
    try:
        secret = private_key.exchange(X25519PublicKey.from_public_bytes(public_key))
    except ValueError:  # (a point of low order: the shared secret would be known to everyone)
        raise Refused('the public key is weak') from None
    return private_key.public_key().public_bytes_raw(), secret


def _decrypt(cipher: AESGCM, nonce: bytes, sealed: bytes, header: bytes | None) -> bytes:
    try:
        return cipher.decrypt(nonce, sealed, header)
    except InvalidTag:
        raise Refused('the tag is wrong') from None


class BoundSession:
    """One connection's cipher in the mode "bound". A reply belongs to the request that was opened last."""

    NONCE = struct.Struct('>B3sQ')
    COUNTER = struct.Struct('>Q')
    TO_PERIPHERAL, TO_CENTRAL = 1, 2
    REPLY = 2
    """The second byte of a reply's header."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._next = 0
        self._last_taken = -1

    def seal(self, header: bytes, text: bytes) -> bytes:
        signed = header
        if header[1] == self.REPLY:
            signed += self.COUNTER.pack(self._last_taken)
        nonce = self.NONCE.pack(self.TO_CENTRAL, bytes(3), self._next)
        self._next += 1
        return nonce + self._cipher.encrypt(nonce, text, signed)

    def open(self, header: bytes, payload: bytes) -> bytes:
        if len(payload) < OVERHEAD:
            raise Refused('the payload has no room for nonce and tag')
        direction, zeros, counter = self.NONCE.unpack_from(payload)
        if direction != self.TO_PERIPHERAL or any(zeros):
            raise Refused('the nonce has the wrong direction')
        if counter <= self._last_taken:
            raise Refused('the nonce was used before')
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
            raise Refused('the payload has no room for nonce and tag')
        nonce = payload[:NONCE_LENGTH]
        if nonce in self._seen:
            raise Refused('the nonce was used before')
        text = _decrypt(self._cipher, nonce, payload[NONCE_LENGTH:], None)
        self._seen.add(nonce)
        return text


@dataclass
class Exchange:
    """An exchange that the central has yet to confirm."""

    pairing_key: bytes
    session: BoundSession
    resumes: bool


class BoundKeys:
    """The keys in the mode "bound": the pairing keys, and for each connection a session and the exchange under way."""

    REQUEST_LENGTHS: ClassVar = (KEY_LENGTH, KEY_LENGTH + IDENTIFIER_LENGTH)

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets all keys, and resets the number of exchanges."""
        self._pairing_keys: list[bytes] = []
        self._sessions: dict[Connection, BoundSession] = {}
        self._exchanges: dict[Connection, Exchange] = {}
        self.pairings = self.resumptions = 0

    @property
    def known(self) -> int:
        """The number of pairing keys."""
        return len(self._pairing_keys)

    def exchange(self, connection: Connection, payload: bytes) -> bytes:
        """The reply to a key exchange. The session stays as it was until the central confirms the keys."""
        central, identifier = payload[:KEY_LENGTH], payload[KEY_LENGTH:]
        pairing_key = self._identified(central, identifier)
        if identifier and pairing_key is None:
            return b''
        own, secret = _agree(central)
        keys = central + own
        exchange_key = pairing_key or _derive(secret, SALT, INFO + keys)
        session = BoundSession(_derive(secret, exchange_key, SESSION_INFO + keys))
        self._exchanges[connection] = Exchange(exchange_key, session, pairing_key is not None)
        return own + _derive(secret, exchange_key, PROOF_INFO + keys, PROOF_LENGTH)

    def confirm(self, connection: Connection) -> None:
        """Handles the central's confirmation of the keys of the exchange under way."""
        exchange = self._exchanges.pop(connection)
        self._sessions[connection] = exchange.session
        if exchange.resumes:
            self.resumptions += 1
        else:
            self._pairing_keys.append(exchange.pairing_key)
            self.pairings += 1

    def session(self, connection: Connection) -> Session | None:
        return self._sessions.get(connection)

    def exchange_session(self, connection: Connection) -> Session | None:
        """The cipher for the frames of the exchange under way."""
        exchange = self._exchanges.get(connection)
        return exchange and exchange.session

    def end(self, connection: Connection) -> None:
        """Handles the end of the connection."""
        self._sessions.pop(connection, None)
        self._exchanges.pop(connection, None)

    def _identified(self, central: bytes, identifier: bytes) -> bytes | None:
        for key in self._pairing_keys:
            if hmac.compare_digest(_derive(key, central, IDENTIFIER_INFO, IDENTIFIER_LENGTH), identifier):
                return key
        return None


class FirmwareKeys:
    """The key in the mode "firmware"."""

    REQUEST_LENGTHS: ClassVar = (KEY_LENGTH,)

    resumptions = 0

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets the key, and resets the number of exchanges."""
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

    def exchange_session(self, connection: Connection) -> Session | None:
        """None: exchanges have no sealed frames in this mode."""
        return None

    def confirm(self, connection: Connection) -> None:
        raise NotImplementedError('there is nothing to confirm in this mode')

    def end(self, connection: Connection) -> None:
        """Handles the end of the connection; the key stays."""


MODES = {'bound': BoundKeys, 'firmware': FirmwareKeys}
"""The modes of sealing, by the names that the option --lock-mode takes."""
