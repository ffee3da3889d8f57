"""A small PNG of at most sixteen colours."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def data_uri(pixels: NDArray[np.uint8], palette: Sequence[tuple[int, int, int]]) -> str:
    """A picture as an address that can stand in an <image>.

    Args:
        pixels: [rows, columns], indices into the palette.
        palette: at most 16 colours, red, green and blue of 0 to 255.
    """
    return "data:image/png;base64," + base64.b64encode(png(pixels, palette)).decode()


def png(pixels: NDArray[np.uint8], palette: Sequence[tuple[int, int, int]]) -> bytes:
    """The bytes of the PNG; arguments as in `data_uri`."""
    height, width = pixels.shape
    even = np.pad(pixels, ((0, 0), (0, width % 2)))
    packed = even[:, 0::2] << 4 | even[:, 1::2]
    # Each row begins with its filter type, 0 for none.
    rows = np.pad(packed, ((0, 0), (1, 0))).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    return (
        SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", bytes(value for colour in palette for value in colour))
        + _chunk(b"IDAT", zlib.compress(rows, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
