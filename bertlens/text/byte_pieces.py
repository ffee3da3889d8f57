"""Pieces that stand for bytes, as the characters they spell together with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def bytes_of(pieces: Sequence[str | bytes | None]) -> list[bytes | None] | None:
    """The bytes behind a tokenizer's pieces, None for pieces that are None.

    Pieces may be bytes themselves (Qwen), spelled in byte-level BPE's alphabet (GPT-2, Llama 3),
    single characters for bytes (ByT5), or "<0xE2>" among text (SentencePiece's byte fallback).
    Returns None where the pieces are plain text.
    """
    known = [piece for piece in pieces if piece is not None]
    if any(isinstance(piece, bytes) for piece in known):
        return [p.encode() if isinstance(p, str) else p for p in pieces]
    texts = [str(piece) for piece in known]
    for spell in (_byte_level, _single_bytes, _byte_fallback):
        if (spelled := spell(texts)) is not None:
            made = iter(spelled)
            return [None if piece is None else next(made) for piece in pieces]
    return None


def characters_of(spelled: Sequence[bytes | None]) -> list[str | None]:
    """The characters that begin in each piece; "" for a further piece of a character.

    What is no character is U+FFFD. None parts the pieces, and stays None.
    """
    found: list[str | None] = []
    start = 0
    while start < len(spelled):
        if spelled[start] is None:
            found.append(None)
            start += 1
            continue
        end = start
        run: list[bytes] = []
        while end < len(spelled) and (piece := spelled[end]) is not None:
            run.append(piece)
            end += 1
        found += _characters(run)
        start = end
    return found


def _characters(run: Sequence[bytes]) -> list[str]:
    data = b"".join(run)
    owners = [i for i, piece in enumerate(run) for _ in piece]
    found = [""] * len(run)
    at = 0
    while at < len(data):
        n = _length(data[at])
        try:
            character = data[at : at + n].decode()
        except UnicodeDecodeError:
            character, n = "\N{REPLACEMENT CHARACTER}", 1
        found[owners[at]] += character
        at += n
    return found


def _length(lead: int) -> int:
    """How many bytes a character has by its first."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@cache
def _alphabet() -> dict[str, int]:
    """Byte-level BPE's characters for the 256 bytes (Radford et al. 2019)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


def _byte_level(pieces: Sequence[str]) -> list[bytes] | None:
    alphabet = _alphabet()
    if not all(character in alphabet for piece in pieces for character in piece):
        return None
    if not any(ord(character) > 255 for piece in pieces for character in piece):
        return None
    spelled = [bytes(alphabet[character] for character in piece) for piece in pieces]
    # Latvian has letters of this alphabet too, which spell no characters.
    return spelled if _is_text(spelled) else None


def _single_bytes(pieces: Sequence[str]) -> list[bytes] | None:
    if not all(len(piece) == 1 and ord(piece) < 256 for piece in pieces):
        return None
    if all(ord(piece) < 128 for piece in pieces):
        return None  # single letters, which are themselves
    spelled = [bytes([ord(piece)]) for piece in pieces]
    return spelled if _is_text(spelled) else None


def _byte_fallback(pieces: Sequence[str]) -> list[bytes] | None:
    matches = [_BYTE.fullmatch(piece) for piece in pieces]
    if not any(matches):
        return None
    return [
        bytes([int(match[1], 16)]) if match else piece.encode()
        for piece, match in zip(pieces, matches, strict=True)
    ]


def _is_text(spelled: Sequence[bytes]) -> bool:
    """Whether bytes are characters, but for one that is cut at either end."""
    data = b"".join(spelled)
    whole = any(len(c.encode()) > 1 for c in data.decode(errors="ignore"))
    if not whole and not any(mark in data for mark in (b" ", b"\n", b"\t")):
        return False
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    for cut in range(4):
        try:
            data[start : len(data) - cut].decode()
        except UnicodeDecodeError:
            continue
        return True
    return False
