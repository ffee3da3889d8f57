"""Tiny random models of many families, and tokenizers trained on a few sentences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AlbertConfig,
    AlbertModel,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    ModernBertConfig,
    ModernBertModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

SENTENCES = [
    "I went to the store.",
    "At the store, I bought fresh strawberries.",
    "The cat sat on the mat, and the dog did not mind.",
    "Don't you think that the quick brown fox jumps over the lazy dog?",
]


@cache
def wordpiece() -> PreTrainedTokenizerFast:
    """A lower-casing WordPiece tokenizer as BERT has it."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=specials)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]"))
    )
    tokenizer.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


@cache
def byte_bpe() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer as RoBERTa has it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
        model_max_length=64,
    )


_BERT_SIZE = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "vocab_size": 420,
}


def _config(family: str) -> PreTrainedModel:
    match family:
        case "bert":
            return BertModel(BertConfig(**_BERT_SIZE))
        case "roberta":
            return RobertaModel(
                RobertaConfig(**{**_BERT_SIZE, "max_position_embeddings": 66}, pad_token_id=1)
            )
        case "distilbert":
            return DistilBertModel(
                DistilBertConfig(
                    dim=32,
                    n_layers=3,
                    n_heads=4,
                    hidden_dim=48,
                    vocab_size=420,
                    max_position_embeddings=64,
                )
            )
        case "albert":
            return AlbertModel(AlbertConfig(**_BERT_SIZE, embedding_size=16))
        case "electra":
            return ElectraModel(ElectraConfig(**_BERT_SIZE, embedding_size=16))
        case "modernbert":
            return ModernBertModel(
                ModernBertConfig(
                    **_BERT_SIZE,
                    global_attn_every_n_layers=2,
                    local_attention=8,
                    pad_token_id=0,
                    cls_token_id=2,
                    sep_token_id=3,
                    bos_token_id=2,
                    eos_token_id=3,
                )
            )
        case "gpt2":
            return GPT2Model(
                GPT2Config(n_embd=32, n_layer=3, n_head=4, vocab_size=420, n_positions=64)
            )
        case "llama":
            return LlamaModel(LlamaConfig(**_BERT_SIZE, num_key_value_heads=2))
    raise KeyError(family)


FAMILIES = [
    "bert",
    "roberta",
    "distilbert",
    "albert",
    "electra",
    "modernbert",
    "gpt2",
    "llama",
]


def tiny(family: str, seed: int = 0) -> PreTrainedModel:
    """A random model of 3 layers x 4 heads, in eval mode, whose weights differ enough to tell."""
    torch.manual_seed(seed)
    model = _config(family)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # The usual small initial values make every head nearly uniform.
            if parameter.dim() > 1 and "embed" not in name:
                parameter.mul_(8)
    return model.eval()


def tokenizer_for(family: str) -> PreTrainedTokenizerFast:
    return byte_bpe() if family in ("roberta", "gpt2", "llama") else wordpiece()


def eager_weights(model: PreTrainedModel, inputs: Mapping[str, Any]) -> np.ndarray:
    """What transformers itself says: weights [layer, batch, head, from, to] in eager attention."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    return np.stack([weights.float().numpy() for weights in outputs.attentions])


BERT_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 420,
    "max_position_embeddings": 64,
}


def classifier(**settings: Any) -> BertForSequenceClassification:
    """A tiny random BERT that tells two labels apart, or what `settings` say."""
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(**BERT_SIZES, **settings)).eval()
