"""Many texts at once, long texts in windows, and texts that a model writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertTokenizerLegacy,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

import bertlens as bl
from bertlens.text.encoding import encode
from tests.python.tiny import FAMILIES, byte_bpe, tiny, tokenizer_for

TEXTS = ["I went to the store.", "Dog.", "The quick brown fox jumps over the lazy dog."]


@pytest.mark.parametrize("family", FAMILIES)
def test_each_text_of_a_batch_is_as_if_it_were_alone(family: str) -> None:
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    for text, found in zip(TEXTS, lens.many(TEXTS), strict=True):
        alone = lens(text)
        assert found.tokens == alone.tokens
        assert found.text == text
        np.testing.assert_allclose(found.weights(), alone.weights(), atol=1e-5, rtol=0)


def test_texts_pairs_and_words_go_together() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    found = lens.many(["dog", ("dog", "fox"), ["quick", "brown"]], batch_size=2)
    assert [attention.text for attention in found] == ["dog", "dog", "quick brown"]
    assert found[1].text_pair == "fox"
    assert [word.index for word in found[2].words] == [None, 0, 1, None]


def test_sources_and_targets_go_together() -> None:
    lens = bl.Lens(translator(), byte_bpe())
    pairs = [("I went to the store.", "Dog."), ("Dog.", "The quick brown fox.")]
    for (source, target), found in zip(pairs, lens.many(pairs), strict=True):
        alone = lens(source, target)
        for kind in ("encoder", "decoder", "cross"):
            np.testing.assert_allclose(
                found.kind(kind).weights(), alone.kind(kind).weights(), atol=1e-5, rtol=0
            )


def test_a_bad_text_of_many_is_named_by_its_place() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(TypeError, match=r"Text 1: .* not int"):
        lens.many(["dog", 3])
    with pytest.raises(TypeError, match="not one string"):
        lens.many("dog")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        lens.many(["dog"], batch_size=0)


def test_a_tokenizer_without_padding_makes_batches_too() -> None:
    tokenizer = byte_bpe()._tokenizer
    from transformers import PreTrainedTokenizerFast

    lens = bl.Lens(tiny("gpt2"), PreTrainedTokenizerFast(tokenizer_object=tokenizer))
    short, long = lens.many(["Dog.", TEXTS[2]])
    np.testing.assert_allclose(short.weights(), lens("Dog.").weights(), atol=1e-5, rtol=0)
    assert len(long.tokens) > len(short.tokens)


LONG = " ".join(TEXTS * 20)


def test_a_long_text_comes_in_overlapping_windows() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    whole = [token for token in encode(lens.tokenizer, LONG).tokens if not token.special]
    windows = lens(LONG, window=32, overlap=10)
    # 30 tokens of its own in each, 20 new ones after the first
    assert windows.starts[:3] == (0, 20, 40)
    seen: dict[int, str] = {}
    for start, window in zip(windows.starts, windows, strict=True):
        assert len(window.tokens) <= 32
        assert window.tokens[0].text == "[CLS]"
        for i, token in enumerate(window.tokens[1:-1]):
            assert seen.setdefault(start + i, token.text) == token.text
            assert LONG[token.start : token.end] == token.label
    assert [seen[i] for i in range(len(whole))] == [token.text for token in whole]
    assert windows[1].notes == (f"Window 2 of {len(windows)}: tokens 20 to 49.",)


def test_a_windows_weights_are_those_of_its_text_alone() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    window = lens("the dog " * 50, window=32, overlap=0)[1]
    own = [t for t in window.tokens if not t.special]
    assert len(own) == 30
    alone = lens(window.text[own[0].start : own[-1].end])
    assert [t.text for t in alone.tokens] == [t.text for t in window.tokens]
    np.testing.assert_allclose(window.weights(), alone.weights(), atol=1e-5, rtol=0)


def test_windows_stitch_each_token_from_the_window_that_sees_most_around_it() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    windows = lens(LONG, window=32, overlap=10)
    stitched = windows.stitched()
    assert len(stitched.tokens) == len(windows.tokens)
    # token 25 is 4 tokens from the end of window 0 and 5 from the start of window 1
    assert windows.owner(24) == 0
    assert windows.owner(25) == 1
    row = stitched.weights(1, 2)[25]
    np.testing.assert_array_equal(row[20:50], windows[1].weights(1, 2)[6, 1:31])
    assert row[:20].sum() == row[50:].sum() == 0


def test_a_short_text_is_one_window() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    windows = lens("dog", window=32)
    assert len(windows) == 1
    np.testing.assert_array_equal(windows[0].weights(), lens("dog").weights())
    assert windows[0].notes == ()


def test_windows_of_a_long_text_can_be_scanned() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    windows = lens(LONG, window=32, overlap=0)
    scores = lens.scan(windows.encodings, scores=["entropy"], progress=False)
    assert scores["entropy"].values.shape == (3, 4)


def test_windows_that_cannot_be_are_explained(tmp_path: Any) -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(ValueError, match="65 tokens is more than the model takes: 64"):
        lens(LONG, window=65)
    with pytest.raises(ValueError, match=r"from 0 to 29 tokens .* it is 30"):
        lens(LONG, window=32, overlap=30)
    with pytest.raises(IndexError, match="no window 1: there are 1"):
        lens("dog", window=32)[1]
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog")
    slow = bl.Lens(tiny("bert"), BertTokenizerLegacy(str(tmp_path / "vocab.txt")))
    with pytest.raises(TypeError, match="gives no offsets"):
        slow(LONG, window=32)


def causal(name: str) -> Any:
    torch.manual_seed(0)
    if name == "gpt2":
        config = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=350, n_positions=64)
        made: Any = GPT2LMHeadModel(config)
    else:
        made = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=350,
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                intermediate_size=48,
                max_position_embeddings=64,
            )
        )
    made.generation_config.eos_token_id = None
    made.generation_config.pad_token_id = 1
    with torch.no_grad():
        for key, parameter in made.named_parameters():
            if parameter.dim() > 1 and "embed" not in key and "wte" not in key:
                parameter.mul_(4)
    return made.eval()


def translator() -> Any:
    torch.manual_seed(0)
    made = BartForConditionalGeneration(
        BartConfig(
            vocab_size=420,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            max_position_embeddings=64,
            pad_token_id=1,
            decoder_start_token_id=2,
            eos_token_id=2,
        )
    )
    made.generation_config.forced_eos_token_id = None
    made.generation_config.eos_token_id = None
    return made.eval()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_generation_is_the_prompt_and_what_follows_with_every_steps_weights(name: str) -> None:
    model = causal(name)
    lens = bl.Lens(model, byte_bpe())
    attention = lens.generate("The dog", max_new_tokens=5)
    assert attention.text == "The dog"
    n = len([t for t in attention.tokens if t.segment == 0])
    assert [t.segment for t in attention.tokens] == [0] * n + [1] * 5
    assert attention.notes == ("The model wrote 5 tokens.",)

    plain = causal(name)
    plain.set_attn_implementation("eager")
    prompt = byte_bpe()("The dog", return_tensors="pt")["input_ids"][:, :n]
    with torch.no_grad():
        steps = plain.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=5,
            do_sample=False,
            output_attentions=True,
            return_dict_in_generate=True,
        )
    written = byte_bpe().convert_ids_to_tokens(steps.sequences[0])
    assert [t.text for t in attention.tokens] == written
    found = attention.weights()
    # The first step is the whole prompt, each further one the row of the token written last.
    np.testing.assert_allclose(
        found[:, :, :n, :n], torch.stack(steps.attentions[0])[:, 0], atol=1e-5, rtol=0
    )
    for i, step in enumerate(steps.attentions[1:]):
        row = torch.stack(step)[:, 0, :, 0]
        np.testing.assert_allclose(found[:, :, n + i, : n + i + 1], row, atol=1e-5, rtol=0)


@pytest.mark.parametrize("end", ["</s>", "<mask>", "</s><mask>"])
def test_special_tokens_that_end_the_prompt_are_part_of_it(end: str) -> None:
    tokenizer = byte_bpe()
    model = causal("llama")
    attention = bl.Lens(model, tokenizer).generate("The dog" + end, max_new_tokens=3)
    # what a caller gives to transformers: the tokenizer's ids but the </s> that it appends
    prompt = tokenizer("The dog" + end, return_tensors="pt")["input_ids"][:, :-1]
    expected = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=3, do_sample=False
    )
    assert [t.text for t in attention.tokens] == tokenizer.convert_ids_to_tokens(expected[0])


def test_the_models_generation_config_holds() -> None:
    model = causal("gpt2")
    lens = bl.Lens(model, byte_bpe())
    prompt = len(byte_bpe()("The dog", add_special_tokens=False)["input_ids"]) + 1  # <s> before

    def new(attention: bl.Attention) -> int:
        return sum(token.segment == 1 for token in attention.tokens)

    assert new(lens.generate("The dog")) == 20  # said nowhere: the documented default
    assert new(lens.generate("The dog", max_length=prompt + 4)) == 4
    model.generation_config.max_new_tokens = 7
    assert new(lens.generate("The dog")) == 7
    assert new(lens.generate("The dog", max_length=prompt + 4)) == 4
    assert new(lens.generate("The dog", max_new_tokens=2)) == 2
    with pytest.raises(TypeError, match="not both"):
        lens.generate("The dog", max_new_tokens=2, max_length=9)


def test_a_generation_config_that_samples_and_searches() -> None:
    model = causal("gpt2")
    tokenizer = byte_bpe()
    lens = bl.Lens(model, tokenizer)
    ids = tokenizer("The dog", return_tensors="pt")["input_ids"][:, :-1]
    model.generation_config.do_sample = True
    model.generation_config.num_beams = 3
    model.generation_config.num_return_sequences = 2
    torch.manual_seed(3)
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=4)
    torch.manual_seed(3)
    attention = lens.generate("The dog", max_new_tokens=4)
    assert [t.text for t in attention.tokens] == tokenizer.convert_ids_to_tokens(expected[0])
    assert attention.notes == (
        "The model wrote 4 tokens.",
        "2 sequences were generated; this is the first, and the others are dropped.",
        "Tokens were drawn at random: do_sample=False takes the most probable.",
    )


def test_a_translation_has_three_kinds() -> None:
    lens = bl.Lens(translator(), byte_bpe())
    attention = lens.generate("The dog", max_new_tokens=4)
    cross = attention.kind("cross")
    assert cross.to_tokens == attention.tokens
    # the start, and the four written tokens but the last, which the decoder never reads
    assert len(cross.tokens) == 4
    assert cross.tokens[0].special


def test_generated_text_is_readable() -> None:
    from bertlens.text.generated import continued, without_closing_specials

    tokenizer = byte_bpe()
    prompt = without_closing_specials(tokenizer, encode(tokenizer, "The dog"))
    ids = tokenizer(" went to 한", add_special_tokens=False)["input_ids"]
    whole = continued(tokenizer, prompt, ids, segment=1)
    assert whole.text_pair == " went to 한"
    new = [word.text for word in whole.words if word.segment == 1]
    assert new == ["went", "to", "한"]
    assert [t.label for t in whole.tokens][-3:] == ["한", "⋮", "⋮"]


def test_a_model_without_a_head_cannot_write() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(TypeError, match=r"BertModel cannot write.*AutoModelForCausalLM"):
        lens.generate("The dog")
