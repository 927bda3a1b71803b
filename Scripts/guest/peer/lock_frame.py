"""The lock's messages on the wire: [length][type][command][namespace][encrypted][payload].

The length is that of the whole message, the type is 1 for a request, 2 for a reply, 3 for a notification, encrypted is
0 or 1. In this program, a command's number has its namespace as the low byte.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from lock_cipher import OVERHEAD, Refused, Session


class Malformed(Exception):
    """The bytes are not a frame, or the frame is not a valid request."""


class Kind(IntEnum):
    REQUEST = 1
    REPLY = 2
    NOTIFICATION = 3


class Command(IntEnum):
    SET_NAME = 0x0101
    GET_NAME = 0x0201
    SET_AUTO_LOCK = 0x0301
    GET_AUTO_LOCK = 0x0401
    SET_USER_ID = 0x0501
    RESET = 0x0601
    START_NETWORK_LISTEN = 0x0102
    STOP_NETWORK_LISTEN = 0x0202
    SSID_UPDATE = 0x0302
    CONNECT_TO_NETWORK = 0x0402
    KEY_EXCHANGE = 0x0103
    SET_DEVICE_PASSWORD = 0x0203
    GET_LOCK_STATE = 0x0104
    SET_LOCK_STATE = 0x0204
    GUEST_UNLOCK = 0x0105


@dataclass(frozen=True)
class Frame:
    """A message."""

    HEADER: ClassVar = struct.Struct('>BBHB')
    PAYLOAD_LIMIT: ClassVar = 250

    kind: int
    command: int
    payload: bytes = b''
    encrypted: bool = False

    @classmethod
    def decode(cls, data: bytes) -> Frame:
        if len(data) < cls.HEADER.size:
            raise Malformed('too short')
        length, kind, command, encrypted = cls.HEADER.unpack_from(data)
        if length != len(data):
            raise Malformed(f'length {length} of {len(data)} bytes')
        if kind not in list(Kind):
            raise Malformed(f'type {kind}')
        if encrypted > 1:
            raise Malformed(f'encrypted {encrypted}')
        return cls(kind, command, data[cls.HEADER.size :], bool(encrypted))

    def header(self, payload_length: int) -> bytes:
        if payload_length > self.PAYLOAD_LIMIT:
            raise ValueError(f'a payload of {payload_length} bytes')
        return self.HEADER.pack(self.HEADER.size + payload_length, self.kind, self.command, self.encrypted)

    def encode(self, session: Session | None) -> bytes:
        """The bytes on the wire, sealed by the session if the frame is to be encrypted."""
        if not self.encrypted:
            return self.header(len(self.payload)) + self.payload
        assert session
        header = self.header(len(self.payload) + OVERHEAD)
        return header + session.seal(header, self.payload)

    def opened(self, session: Session | None) -> Frame:
        """The frame with its payload as plain text."""
        if not self.encrypted:
            return self
        if session is None:
            raise Refused('there is no key')
        text = session.open(self.header(len(self.payload)), self.payload)
        return Frame(self.kind, self.command, text, encrypted=True)
