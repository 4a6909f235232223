"""Frames on a socket pair: one JSON header, raw blobs, and file descriptors by SCM_RIGHTS. No pickle from a worker.

A worker runs third-party kernels, so its messages are untrusted: every length is bounded before memory is allocated for it, and
an invalid frame raises `BadFrame`. `jobs` defines the headers.
"""

from __future__ import annotations

import array
import os
import socket
import struct
import time
from dataclasses import dataclass

MAX_HEADER_BYTES = 16 << 20
MAX_BLOB_BYTES = 1 << 30
MAX_BLOBS = 1024
MAX_FDS = 16

_MAGIC = b"WSF1"
_PREFIX = struct.Struct("<4sIII")  # magic, header bytes, blobs, descriptors
_FD_BYTES = array.array("i").itemsize


class BadFrame(Exception):  # noqa: N818 - reads as the fact it states
    """The other side sent something that is not a frame."""


class Disconnected(Exception):  # noqa: N818
    """The other side is gone."""


class DeadlinePassed(Exception):  # noqa: N818
    """The deadline passed before the frame arrived."""


@dataclass(frozen=True, slots=True)
class Frame:
    header: bytes
    blobs: tuple[bytes, ...] = ()
    fds: tuple[int, ...] = ()


class Channel:
    """One end of the socket pair. `deadline` is a `time.monotonic()` instant, or None to wait indefinitely."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def close(self) -> None:
        self._sock.close()

    def send(self, frame: Frame, deadline: float | None = None) -> None:
        lengths = struct.pack(f"<{len(frame.blobs)}Q", *map(len, frame.blobs))
        head = _PREFIX.pack(_MAGIC, len(frame.header), len(frame.blobs), len(frame.fds)) + lengths + frame.header
        try:
            self._arm(deadline)
            sent = socket.send_fds(self._sock, [head], list(frame.fds)) if frame.fds else self._sock.send(head)
            for part in (head[sent:], *frame.blobs):
                self._arm(deadline)
                self._sock.sendall(part)
        except TimeoutError as error:
            raise DeadlinePassed from error
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Disconnected from error

    def receive(self, deadline: float | None = None) -> Frame:
        fds: list[int] = []
        try:
            frame = self._receive(deadline, fds)
        except BaseException as error:
            for fd in fds:
                os.close(fd)
            if isinstance(error, TimeoutError):
                raise DeadlinePassed from error
            if isinstance(error, ConnectionResetError):
                raise Disconnected from error
            raise
        return frame

    def _receive(self, deadline: float | None, fds: list[int]) -> Frame:
        prefix = self._receive_prefix(deadline, fds)
        magic, header_bytes, blob_count, fd_count = _PREFIX.unpack(prefix)
        if magic != _MAGIC or header_bytes > MAX_HEADER_BYTES or blob_count > MAX_BLOBS or fd_count != len(fds):
            raise BadFrame(f"prefix {prefix.hex()} with {len(fds)} descriptors")
        lengths = struct.unpack(f"<{blob_count}Q", self._exactly(8 * blob_count, deadline))
        if sum(lengths) > MAX_BLOB_BYTES:
            raise BadFrame(f"{sum(lengths)} bytes of blobs; at most {MAX_BLOB_BYTES}")
        header = self._exactly(header_bytes, deadline)
        blobs = tuple(bytes(self._exactly(n, deadline)) for n in lengths)
        return Frame(bytes(header), blobs, tuple(fds))

    def _receive_prefix(self, deadline: float | None, fds: list[int]) -> bytes:
        """Descriptors arrive with the first byte of a frame, so only the prefix is read with `recvmsg`."""
        data = b""
        while len(data) < _PREFIX.size:
            self._arm(deadline)
            part, ancillary, _, _ = self._sock.recvmsg(_PREFIX.size - len(data), socket.CMSG_SPACE(MAX_FDS * _FD_BYTES))
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    received = array.array("i")
                    received.frombytes(payload[: len(payload) - len(payload) % _FD_BYTES])
                    fds.extend(received)
            if not part:
                raise Disconnected
            data += part
        return data

    def _exactly(self, count: int, deadline: float | None) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            self._arm(deadline)
            received = self._sock.recv_into(view)
            if not received:
                raise Disconnected
            view = view[received:]
        return data

    def _arm(self, deadline: float | None) -> None:
        if deadline is None:
            self._sock.settimeout(None)
            return
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._sock.settimeout(remaining)
