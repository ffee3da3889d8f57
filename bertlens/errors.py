"""Errors whose message says what was wrong and what to do."""


class BertlensError(Exception):
    """Base of the errors that are bertlens's own."""


class NoAttentionError(BertlensError):
    """The model has no attention, or keeps it out of reach."""


class OutOfReachError(BertlensError):
    """The model's family keeps what was asked for, such as queries and keys, out of reach."""


class ModelChangedError(BertlensError):
    """The model is not the one any more that an attention was made with."""


class TextTooLongError(BertlensError, ValueError):
    """The text has more tokens than the model takes."""


class EmptyTextError(BertlensError, ValueError):
    """The text gives no token of its own."""


class VocabularyError(BertlensError, ValueError):
    """The tokenizer makes ids that the model has no embedding for."""


class AnnotationError(BertlensError, ValueError):
    """A treebank or coreference document says something that cannot be."""


class CorpusError(BertlensError, ValueError):
    """A file of texts cannot be read to its end; `partial` holds what was counted before."""


class NoLossError(BertlensError, ValueError):
    """There is no loss to take gradients of."""


class InterventionError(BertlensError, ValueError):
    """A head or edge of this model cannot be switched off, or not on these inputs."""


class ReportError(BertlensError):
    """A report is not complete: a figure of it could not be drawn."""


class MissingExtraError(BertlensError, ImportError):
    """A feature needs an optional package that is not installed."""


LONGEST_VALUE = 200
"""Characters of a wrong value that a message shows."""


def brief(value: object) -> str:
    """The value as a message shows it: its repr, cut to `LONGEST_VALUE` characters."""
    from reprlib import Repr

    short = Repr()
    short.maxlist = short.maxtuple = short.maxset = short.maxdict = 20
    short.maxstring = short.maxother = short.maxlong = LONGEST_VALUE
    shown = short.repr(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[: LONGEST_VALUE - 1]}…"


def require(module: str, extra: str) -> None:
    """Raise MissingExtraError unless `module` can be imported; `extra` names what to install."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise MissingExtraError(
            f"This needs the package '{module}'. Install it with: pip install \"bertlens[{extra}]\""
        )
