"""What crosses to the page on request: `{id, kind, generation, ...}` is answered by a reply.

A reply is `{id, ok, error, dtype, shape, generation}` and at most one buffer. A new kind of request
is an entry of `messages.MESSAGES` and a function marked with `@handles(kind)`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.attention import Attention
from bertlens.errors import BertlensError, brief
from bertlens.widgets.requests.messages import MESSAGES

if TYPE_CHECKING:
    from bertlens.widgets.selection import Selection

LIMIT = 4_000_000
"""Most bytes a reply may hold: some hosts cut larger messages."""


class BusyError(BertlensError):
    """The model is held by other work; the page asks again."""


class StaleError(BertlensError):
    """The request is about a text that is no longer shown."""


class RequestError(BertlensError, ValueError):
    """A request that makes no sense."""


@dataclass(frozen=True)
class Request:
    """A request of a page.

    Attributes:
        selection: that of the view that was asked.
        attention: the attention that the page means.
        content: the message; read it through the methods, which say what is wrong with it.
    """

    selection: Selection
    attention: Attention
    content: Mapping[str, Any]

    def index(self, name: str, n: int) -> int:
        """An integer of 0 to n - 1."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < n:
            raise RequestError(f"'{name}' must be an integer of 0 to {n - 1}, not {brief(value)}.")
        return value

    def indices(self, name: str, n: int) -> list[int]:
        """A list of integers of 0 to n - 1."""
        values = self._get(name)
        if isinstance(values, list | tuple) and len(values) > n:
            raise RequestError(f"'{name}' names {len(values)} of {n}: name each once.")
        if not isinstance(values, list | tuple) or not all(
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n
            for value in values
        ):
            raise RequestError(
                f"'{name}' must be a list of integers of 0 to {n - 1}: {brief(values)}."
            )
        return list(values)

    def choice(self, name: str, *allowed: str) -> str:
        """One of a few words."""
        value = self._get(name)
        if value not in allowed:
            raise RequestError(f"'{name}' must be one of {', '.join(allowed)}, not {brief(value)}.")
        return str(value)

    def text(self, name: str) -> str:
        """A string."""
        value = self._get(name)
        if not isinstance(value, str):
            raise RequestError(f"'{name}' must be a string, not {brief(value)}.")
        return value

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.content.get(name) is not None

    def _get(self, name: str) -> Any:
        if name not in self.content:
            raise RequestError(
                f"A request of kind {brief(self.content.get('kind'))} needs '{name}'."
            )
        return self.content[name]


@dataclass(frozen=True)
class Reply:
    """An array for the buffer, further content, or neither."""

    array: NDArray[np.uint8] | NDArray[np.float32] | None = None
    content: dict[str, Any] = field(default_factory=dict)


Answer = Callable[[Request], Reply]
_answers: dict[str, Answer] = {}


def handles(kind: str) -> Callable[[Answer], Answer]:
    """Mark a function as what answers requests of this kind, an entry of `MESSAGES`."""
    if kind not in MESSAGES:
        raise KeyError(f"{kind!r} is not in MESSAGES: state its request and reply there.")

    def mark(answer: Answer) -> Answer:
        _answers[kind] = answer
        return answer

    return mark


def reply(selection: Selection, content: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The content and the buffers that answer a request; it never raises."""
    made: dict[str, Any] = {"id": content.get("id"), "dtype": None, "shape": None}
    buffers: list[Any] = []
    try:
        found = _found(selection, content)
        made |= {"ok": True, "error": None, **found.content}
        if found.array is not None:
            array = np.ascontiguousarray(found.array)
            made |= {"dtype": array.dtype.name, "shape": list(array.shape)}
            buffers = [array.data.cast("B") if array.size else b""]
    except BusyError as error:
        made |= {"ok": False, "busy": True, "error": str(error)}
    except KeyboardInterrupt:
        # This request was all that the thread did.
        made |= {"ok": False, "error": "Interrupted"}
    except Exception as error:
        made |= {"ok": False, "error": in_words(error)}
    made["generation"] = selection.current[1]
    return made, buffers


def _found(selection: Selection, content: Mapping[str, Any]) -> Reply:
    kind = content.get("kind")
    answer = _answers.get(str(kind))
    if answer is None:
        raise RequestError(
            f"There is no request of kind {brief(kind)}; there are: {', '.join(_answers)}."
        )
    attention, generation = selection.current
    if not MESSAGES[str(kind)].any_text and content.get("generation") != generation:
        raise StaleError("The text has changed since this was asked.")
    return answer(Request(selection, attention, content))


def in_words(error: Exception) -> str:
    """What to show a person; the traceback of what is nobody's mistake goes to the log."""
    if isinstance(error, BertlensError | TypeError | ValueError | IndexError | KeyError):
        # str() of a KeyError puts its words in quotes.
        return str(error.args[0]) if error.args else type(error).__name__
    logging.getLogger(__name__).error("A request of the page failed", exc_info=error)
    return f"{type(error).__name__}: {error}"


@contextmanager
def weights_of(attention: Attention) -> Iterator[None]:
    """Use weights inside. Where the model has to run for them and is held, BusyError at once.

    Raises:
        BusyError: other work, such as a scan on another thread, holds the model.
    """
    if attention.is_cached or attention.lens is None:
        yield
        return
    with model_of(attention):
        yield


@contextmanager
def model_of(attention: Attention) -> Iterator[None]:
    """Hold the attention's model, or raise BusyError at once.

    Raises:
        BusyError: other work, such as a scan on another thread, holds the model.
    """
    lens = attention.lens
    if lens is None:
        yield
        return
    if not lens.lock.acquire(blocking=False):
        raise BusyError("The model is busy")
    try:
        yield
    finally:
        lens.lock.release()
