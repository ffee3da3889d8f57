"""Kinds of traits that a selection needs, and the errors that they raise."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NoReturn

from traitlets import Enum, Float, TraitError, TraitType, Unicode

from bertlens.errors import BertlensError, brief


class SelectionError(BertlensError, TraitError, ValueError):
    """A trait was given a value that this model or text does not allow."""


class OutOfRangeError(SelectionError, IndexError):
    """There is no such layer, head or token."""


class Checked(TraitType[Any, Any]):
    """A trait whose errors are bertlens's own, in the words of traitlets."""

    def error(self, obj: Any, value: Any, *args: Any, **kwargs: Any) -> NoReturn:
        if args or kwargs:
            super().error(obj, value, *args, **kwargs)
        raise SelectionError(f"'{self.name}' must be {self.info()}, not {brief(value)}.")

    def _validate(self, obj: Any, value: Any) -> Any:
        try:
            return super()._validate(obj, value)
        except SelectionError:
            raise
        except TraitError as error:
            raise SelectionError(str(error)) from None


class Choice(Checked, Enum[Any]):
    """One of a few words."""


class Text(Checked, Unicode[Any, Any]):
    """A string."""


class Weight(Checked, Float[Any, Any]):
    """A weight of attention, 0 to 1."""


class Index(Checked):
    """An integer that counts from 0; NumPy's integers are taken too, booleans are not."""

    info_text = "an integer, counted from 0"

    def validate(self, obj: Any, value: Any) -> int:
        found = as_integer(value)
        if found is None:
            self.error(obj, value)
        return found


class Heads(Checked):
    """A list of different heads, in the order given; the last is the selected one."""

    info_text = "a list of heads, such as [0, 8]"

    def make_dynamic_default(self) -> list[int]:
        return [0]

    def validate(self, obj: Any, value: Any) -> list[int]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            self.error(obj, value)
        # A dict keeps the order and finds a repeated head at once.
        heads: dict[int, None] = {}
        for entry in value:
            head = as_integer(entry)
            if head is None:
                raise SelectionError(
                    f"A head must be an integer, not {brief(entry)}, in heads={brief(value)}."
                )
            if head in heads:
                raise SelectionError(
                    f"heads holds {head} twice: {brief(value)}. Name each head once."
                )
            heads[head] = None
        return list(heads)


def as_integer(value: Any) -> int | None:
    """The integer that `value` is, or None."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
