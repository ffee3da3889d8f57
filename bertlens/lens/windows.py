"""A text longer than the model takes, as overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

import numpy as np

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.attention.sources import DerivedWeights, Weights
from bertlens.lens.forward import attention_of_encodings
from bertlens.text.encoding import Encoding, encode, encode_windows
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens

MOST_STITCHED = 2**28
"""A stitched layer holds at most so many numbers (1 GB of float32)."""


class Windows(Sequence[Attention]):
    """Overlapping parts of a long text, each an Attention; made when looked at, or all at once.

    All windows show the model as it was when the lens was called. One that would have to be made
    after the model has changed raises ModelChangedError, unless they were made with `keep=True`.

    Attributes:
        encodings: of the parts; give these to `lens.scan` to score a long text.
        starts: where each part begins, in tokens of the whole text without special tokens.
        tokens, words: of the whole text, without special tokens.
    """

    def __init__(
        self,
        lens: Lens,
        text: str | Sequence[str],
        *,
        size: int | None = None,
        overlap: int | None = None,
        exact: bool = False,
        keep: bool = False,
    ) -> None:
        limit = lens.max_tokens
        size = limit if size is None else size
        if size is None:
            raise ValueError("This model takes any length: say how many tokens a window has.")
        if limit is not None and size > limit:
            raise ValueError(f"A window of {size} tokens is more than the model takes: {limit}.")
        overlap = size // 4 if overlap is None else overlap
        specials = sum(token.special for token in lens.encode("a").tokens)
        if size <= specials:
            raise ValueError(
                f"A window of {size} tokens has no room for text: {specials} of them are special. "
                f"Take at least {specials + 1}."
            )
        if not 0 <= overlap < size - specials:
            raise ValueError(
                f"The overlap must be from 0 to {size - specials - 1} tokens for windows of "
                f"{size}, {specials} of them special; it is {overlap}."
            )
        self._lens = lens
        self._exact = exact
        parts = encode_windows(lens.tokenizer, text, size=size, overlap=overlap)
        step = size - specials - overlap
        self.starts = tuple(i * step for i in range(len(parts)))
        self.encodings = tuple(
            _noted(part, i, len(parts), start)
            for i, (part, start) in enumerate(zip(parts, self.starts, strict=True))
        )
        self._keep = keep
        self._since = capture.fingerprint(lens.model)
        self._made: dict[int, Attention] = {}
        self.tokens, self.words = _text_only(encode(lens.tokenizer, text))
        if keep:
            for i in range(len(self)):
                self[i]

    def __len__(self) -> int:
        return len(self.encodings)

    @overload
    def __getitem__(self, index: int) -> Attention: ...
    @overload
    def __getitem__(self, index: slice) -> list[Attention]: ...
    def __getitem__(self, index: int | slice) -> Attention | list[Attention]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"There is no window {index}: there are {len(self)}.")
        index %= len(self)
        if index not in self._made:
            (self._made[index],) = attention_of_encodings(
                self._lens,
                [self.encodings[index]],
                exact=self._exact,
                keep=self._keep,
                since=self._since,
            )
        return self._made[index]

    def owner(self, token: int) -> int:
        """The window in which a token of the whole text has the most text around it."""
        best, most = 0, -1
        for i, start in enumerate(self.starts):
            n = self._own_tokens(i)
            room = min(token - start, start + n - 1 - token)
            if room > most:
                best, most = i, room
        return best

    def stitched(self) -> Attention:
        """The whole text as one Attention: each token's row from the window that owns it.

        Weights outside a token's window are 0, and what goes to special tokens is left out, so
        rows sum to less than 1.

        Raises:
            ValueError: the text is too long for a matrix.
        """
        n, heads = len(self.tokens), self[0].n_heads
        if heads * n * n > MOST_STITCHED:
            raise ValueError(
                f"{n} tokens and {heads} heads are too many for one matrix. Look at the windows "
                "one by one, or scan their encodings: lens.scan(windows.encodings)."
            )
        first = self[0]
        return Attention(
            _Stitched(self),
            self.tokens,
            self.words,
            model_name=first.model_name,
            dtype=first.dtype,
            text=first.text,
            notes=(
                f"Stitched from {len(self)} windows: weights beyond a token's window are 0, and "
                "special tokens are left out.",
            ),
        )

    def _own_tokens(self, index: int) -> int:
        return sum(not token.special for token in self.encodings[index].tokens)


def _text_only(encoding: Encoding) -> tuple[tuple[Token, ...], tuple[Word, ...]]:
    """Tokens and words of a text, numbered without its special tokens."""
    place: dict[int, int] = {}
    for i, token in enumerate(encoding.tokens):
        if not token.special:
            place[i] = len(place)
    own = [word for word in encoding.words if not word.special]
    words = tuple(replace(word, tokens=tuple(place[i] for i in word.tokens)) for word in own)
    numbers = {encoding.tokens[word.tokens[0]].word: n for n, word in enumerate(own)}
    tokens = tuple(
        replace(token, word=numbers[token.word]) for token in encoding.tokens if not token.special
    )
    return tokens, words


class _Stitched(DerivedWeights):
    """A source of weights over windows."""

    def __init__(self, windows: Windows) -> None:
        super().__init__(windows[0].source)
        self._windows = windows
        self._owners = [windows.owner(i) for i in range(len(windows.tokens))]

    @property
    def holds_tensors(self) -> bool:
        return False

    def layer(self, layer: int) -> Weights:
        n = len(self._windows.tokens)
        whole = np.zeros((self.n_heads, n, n), np.float32)
        for i, window in enumerate(self._windows):
            own = [k for k, token in enumerate(window.tokens) if not token.special]
            start = self._windows.starts[i]
            rows = [k for k in range(len(own)) if self._owners[start + k] == i]
            made = window.weights(layer)
            chosen = made[:, [own[k] for k in rows]][:, :, own]
            whole[:, [start + k for k in rows], start : start + len(own)] = chosen
        whole.setflags(write=False)
        return whole

    def close(self) -> None:
        for i in list(self._windows._made):
            self._windows[i].close()


def _noted(encoding: Encoding, index: int, n: int, start: int) -> Encoding:
    if n == 1:
        return encoding
    own = sum(not token.special for token in encoding.tokens)
    note = f"Window {index + 1} of {n}: tokens {start} to {start + own - 1}."
    return replace(encoding, notes=(*encoding.notes, note))
