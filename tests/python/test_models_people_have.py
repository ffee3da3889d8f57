"""Models and inputs as they are used: vocabularies, caches, adapters, decoder classifiers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import DynamicCache, GPT2Config, GPT2ForSequenceClassification, GPT2Model

import bertlens as bl
from bertlens.errors import NoAttentionError, VocabularyError
from tests.python.tiny import SENTENCES, byte_bpe, tiny, wordpiece


def test_a_vocabulary_that_is_larger_than_the_embeddings_is_refused_when_it_is_used() -> None:
    torch.manual_seed(0)
    tokenizer = byte_bpe()
    size = max(tokenizer(s)["input_ids"] for s in SENTENCES)
    used = max(max(tokenizer(s)["input_ids"]) for s in SENTENCES[:1])
    assert size
    assert used + 1 < len(tokenizer)
    config = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=used + 1, n_positions=64)
    lens = bl.Lens(GPT2Model(config).eval(), tokenizer)
    assert lens(SENTENCES[0]).n_layers == 2
    beyond = next(
        t for s in SENTENCES for t in tokenizer.tokenize(s)
        if tokenizer.convert_tokens_to_ids(t) > used
    )  # fmt: skip
    text = next(s for s in SENTENCES if beyond in tokenizer.tokenize(s))
    with pytest.raises(VocabularyError, match=rf"The token '.*' has the id \d+ .* only {used + 1}"):
        lens(text)


def test_a_cache_in_the_inputs_is_refused_before_it_grows() -> None:
    model = tiny("gpt2")
    lens = bl.Lens(model, byte_bpe())
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    with torch.no_grad():
        cache = model(input_ids=ids, use_cache=True).past_key_values
    assert isinstance(cache, DynamicCache)
    with pytest.raises(TypeError, match="past_key_values"):
        lens(inputs={"input_ids": torch.tensor([[3, 4]]), "past_key_values": cache})
    assert cache.get_seq_length() == 5


@pytest.mark.parametrize("kind", ["PROMPT_TUNING", "PREFIX_TUNING"])
def test_virtual_tokens_of_peft_are_refused_in_words(kind: str) -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    from transformers import GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=420, n_positions=64)
    cls = peft.PromptTuningConfig if kind == "PROMPT_TUNING" else peft.PrefixTuningConfig
    wrapped = peft.get_peft_model(
        GPT2LMHeadModel(config).eval(), cls(task_type="CAUSAL_LM", num_virtual_tokens=5)
    )
    with pytest.raises(NoAttentionError, match=rf"{kind}\) puts 5 virtual tokens"):
        bl.Lens(wrapped, byte_bpe())(SENTENCES[0])
    base = bl.Lens(wrapped.get_base_model(), byte_bpe())(SENTENCES[0])
    assert base.n_layers == 2


@pytest.mark.parametrize("pad", [None, 7])
def test_a_decoder_that_classifies_answers_in_a_batch_as_alone(pad: Any) -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=420, n_positions=64, num_labels=2,
        pad_token_id=pad,
    )  # fmt: skip
    model = GPT2ForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    lens = bl.Lens(model, byte_bpe())
    together = lens.many(SENTENCES)
    for text, found in zip(SENTENCES, together, strict=True):
        inputs = lens.tensors([lens.encode(text)])
        with torch.no_grad():
            expected = model(**inputs).logits.softmax(-1)[0].max()
        assert found.prediction is not None
        assert found.prediction.probability == pytest.approx(float(expected), abs=1e-5)
    assert lens.scan(SENTENCES, progress=False).coverage.counted == 4


def test_a_scan_runs_no_task_head() -> None:
    from tests.python.tiny import classifier

    model = classifier()
    ran: list[int] = []
    model.classifier.register_forward_hook(lambda *_: ran.append(1))
    lens = bl.Lens(model, wordpiece())
    lens.scan(SENTENCES, progress=False)
    assert ran == []
    lens(SENTENCES[0])
    assert ran
