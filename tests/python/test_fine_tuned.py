"""Models fine-tuned to a task: what they predict stands beside their attention."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForTokenClassification,
)

import bertlens as bl
from tests.python.tiny import BERT_SIZES, classifier, tiny, tokenizer_for

TEXT = "I went to the store."


def test_a_classifiers_label_and_probability() -> None:
    model = classifier(id2label={0: "NEGATIVE", 1: "POSITIVE"})
    attention = bl.Lens(model, tokenizer_for("bert"))(TEXT)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([0.0, 2.0]))
    prediction = bl.Lens(model, tokenizer_for("bert"))(TEXT).prediction
    # softmax of (0, 2): 1 / (1 + e^-2) = 0.8808
    assert prediction is not None
    assert prediction.label == "POSITIVE"
    assert prediction.probability == pytest.approx(0.8808, abs=1e-4)
    assert [item.label for item in prediction.ranked] == ["POSITIVE", "NEGATIVE"]
    assert str(prediction) == "POSITIVE 88.1%"
    assert attention.n_layers == 2


def test_several_labels_at_once_have_a_probability_each() -> None:
    model = classifier(num_labels=3, problem_type="multi_label_classification")
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([0.0, 2.0, -2.0]))
    prediction = bl.Lens(model, tokenizer_for("bert"))(TEXT).prediction
    assert prediction is not None
    found = {item.label: item.probability for item in prediction.ranked}
    wanted = {"LABEL_0": 0.5, "LABEL_1": 0.8808, "LABEL_2": 0.1192}
    assert found == pytest.approx(wanted, abs=1e-4)


def test_a_regression_has_a_value_and_no_probability() -> None:
    model = classifier(num_labels=1)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.fill_(3.25)
    prediction = bl.Lens(model, tokenizer_for("bert"))(TEXT).prediction
    assert prediction is not None
    assert (prediction.label, prediction.probability) == ("3.250", None)


def test_a_tagger_tags_every_token_but_the_special_ones() -> None:
    torch.manual_seed(0)
    model = BertForTokenClassification(
        BertConfig(**BERT_SIZES, id2label={0: "O", 1: "PER"}, label2id={"O": 0, "PER": 1})
    ).eval()
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([2.0, 0.0]))
    lens = bl.Lens(model, tokenizer_for("bert"))
    for attention in (lens("the dog"), lens.many(["the dog", TEXT])[0]):
        prediction = attention.prediction
        assert prediction is not None
        assert len(prediction.tags) == len(attention.tokens)
        assert prediction.tags[0] is prediction.tags[-1] is None
        assert {str(tag) for tag in prediction.tags[1:-1]} == {"O 88.1%"}


def test_a_reader_answers_with_a_span_of_the_second_text() -> None:
    model = BertForQuestionAnswering(BertConfig(**BERT_SIZES)).eval()
    lens = bl.Lens(model, tokenizer_for("bert"))
    encoding = lens.encode("Who went?", "The dog went.")
    own = [i for i, t in enumerate(encoding.tokens) if t.segment == 1 and not t.special]
    first, last = own[0], own[-2]

    class Answers(nn.Module):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            logits = torch.zeros(*hidden.shape[:2], 2)
            logits[:, first, 0] = logits[:, last, 1] = 9.0
            # A higher score in the question does not count.
            logits[:, 1, 0] = logits[:, 1, 1] = 9.5
            return logits

    model.qa_outputs = Answers()
    prediction = lens("Who went?", "The dog went.").prediction
    assert prediction is not None
    assert prediction.label == "The dog went"
    assert prediction.span == (first, last)


def test_a_model_without_a_task_head_predicts_nothing() -> None:
    assert bl.Lens(tiny("bert"), tokenizer_for("bert"))(TEXT).prediction is None
