r"""Summaries as bytes: a versioned header in JSON, then the arrays as they lie in memory.

Layout: ``b"CALIBRANT\x00"``, version (uint16), length of the header (uint32), CRC-32 of all that follows (uint32), the
header in UTF-8, the arrays one after another. All numbers are little-endian. Nothing in it can run.
"""

from __future__ import annotations

import json
import struct
import zlib
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.errors import SummaryError

MAGIC = b"CALIBRANT\x00"
VERSION = 1
PREFIX = struct.Struct("<HII")
DTYPES = {"<f8", "<i8"}


def encode(name: str, values: dict[str, Any]) -> bytes:
    """Return the bytes of a named set of numbers, texts, arrays and nested bytes."""
    header: dict[str, Any] = {"name": name, "values": {}}
    buffers: list[bytes] = []
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            array = array.astype("<i8" if array.dtype.kind == "i" else array.dtype.newbyteorder("<"), copy=False)
            header["values"][key] = {"dtype": array.dtype.str, "shape": list(array.shape)}
            buffers.append(array.tobytes())
        elif isinstance(value, tuple) and value and hasattr(value[0], "to_bytes") and not isinstance(value[0], int):
            parts = [part.to_bytes() for part in value]
            header["values"][key] = {"parts": [len(part) for part in parts]}
            buffers.extend(parts)
        else:
            header["values"][key] = {"plain": value}
    text = json.dumps(header).encode()
    body = text + b"".join(buffers)
    return MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(body)) + body


def decode(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return name and values; nested summaries come back as a tuple of bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise SummaryError(f"expected the bytes of a summary; got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(MAGIC):
        raise SummaryError("these bytes are not a calibrant summary; expected what to_bytes() wrote")
    start = len(MAGIC) + PREFIX.size
    if len(data) < start:
        raise SummaryError(f"these bytes are truncated: {len(data)} of at least {start}")
    version, length, crc = PREFIX.unpack(data[len(MAGIC) : start])
    if version != VERSION:
        raise SummaryError(
            f"these bytes have format version {version}; this calibrant reads version {VERSION}. "
            "Read them with the calibrant that wrote them"
        )
    if zlib.crc32(data[start:]) != crc:
        raise SummaryError("these bytes are truncated or damaged: their checksum does not match")
    try:
        header = json.loads(data[start : start + length])
        return str(header["name"]), _values(header["values"], data[start + length :])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise SummaryError(f"these bytes are damaged: their header cannot be read ({problem})") from None


def _values(described: dict[str, Any], body: bytes) -> dict[str, Any]:
    values: dict[str, Any] = {}
    offset = 0
    for key, item in described.items():
        if "plain" in item:
            plain = item["plain"]
            values[key] = tuple(plain) if isinstance(plain, list) else plain
        elif "parts" in item:
            ends = [offset, *(offset := offset + length for length in item["parts"])]
            values[key] = tuple(body[a:b] for a, b in pairwise(ends))
        else:
            if item["dtype"] not in DTYPES:
                raise SummaryError(f"these bytes hold an array of type {item['dtype']}, which no summary has")
            count = int(np.prod(item["shape"], dtype=np.int64))
            array = np.frombuffer(body, item["dtype"], count, offset).reshape(item["shape"])
            values[key] = array.astype(array.dtype.newbyteorder("="), copy=False)
            offset += array.nbytes
    return values
