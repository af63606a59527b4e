"""Models from files: Hugging Face pipelines built on the spot, ONNX graphs with and without their preprocessing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand._errors import DataError, EvenhandError, UsageError
from evenhand.subjects import subject


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT classifier of a few thousand weights, with a tokenizer of a few words."""
    pytest.importorskip("torch", reason="torch is not installed: make test-all")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: make test-all")
    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "arthur", "is", "was", "."]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=2, id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1},
    )  # fmt: skip
    transformers.set_seed(0)
    transformers.BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.torch
def test_a_pipeline_gives_every_label_a_score(tiny: Path) -> None:
    """Scores are named after the labels, sum to one, and do not depend on the batch."""
    model = subject("huggingface", model=str(tiny), device="cpu", batch_size=2)
    replies = model(["Arthur is good.", "Arthur was bad.", "good " * 300])
    assert set(replies.scores) == {"negative", "positive"}
    np.testing.assert_allclose(replies.scores["negative"] + replies.scores["positive"], 1.0, atol=1e-6)
    alone = model(["Arthur was bad."])
    assert alone.scores["positive"][0] == pytest.approx(replies.scores["positive"][1], abs=1e-5)


@pytest.mark.torch
def test_a_model_that_does_not_exist_is_a_clear_error(tmp_path: Path) -> None:
    """A folder without weights, and zero-shot without labels."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(EvenhandError, match="model-not-loaded"):
        subject("huggingface", model=str(tmp_path))
    with pytest.raises(UsageError, match="zero-shot-labels"):
        subject("huggingface", model=str(tmp_path), task="zero-shot-classification")


def _graph(path: Path) -> None:
    """y = softmax(x W) with two classes, written with the onnx package that comes with the tools."""
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")
    helper, types = onnx.helper, onnx.TensorProto
    weights = helper.make_tensor("w", types.FLOAT, [3, 2], [1.0, -1.0, 0.5, -0.5, 0.0, 0.0])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("x", types.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("probabilities", types.FLOAT, [None, 2])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


FEATURES = "def features(texts):\n    return [[len(t) % 3, t.count('a'), 1.0] for t in texts]\n"


def test_an_onnx_graph_of_numbers_needs_a_callable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it, the columns are scores; without it, the message says what is needed."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    _graph(tmp_path / "toy.onnx")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_features_q.py").write_text(FEATURES)
    with pytest.raises(UsageError, match="onnx-input"):
        subject("onnx", path="toy.onnx")
    model: Any = subject("onnx", path="toy.onnx", prepare="my_features_q:features", names=["left", "right"])
    replies = model(["banana", "kiwi"])
    x = np.array([[0, 3, 1.0], [1, 0, 1.0]])
    logits = x @ np.array([[1.0, -1.0], [0.5, -0.5], [0.0, 0.0]])
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(replies.scores["left"], expected[:, 0], atol=1e-6)
    with pytest.raises(UsageError, match="onnx-output"):
        subject("onnx", path="toy.onnx", output="nothing", prepare="my_features_q:features")


def test_a_file_that_is_no_onnx_model_is_told(tmp_path: Path) -> None:
    """Damaged files and missing ones."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    (tmp_path / "bad.onnx").write_bytes(b"no graph")
    with pytest.raises(DataError, match="no ONNX model"):
        subject("onnx", path=str(tmp_path / "bad.onnx"))
    with pytest.raises(DataError, match="no-such-file"):
        subject("onnx", path=str(tmp_path / "none.onnx"))
