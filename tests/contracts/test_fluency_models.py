"""Hugging Face language models as fluency filter: masked and causal ones, trained on the spot on a few sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import attack
from evenhand._errors import UsageError
from evenhand.cli import run
from evenhand.embeddings.fluency import contexts_of, fluency

pytestmark = pytest.mark.torch
WORDS = ["the", "nice", "lovely", "kind", "wooden", "woman", "man", "smiled", "sang", "."]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SENTENCES = [f"the {a} {n} {v} ." for a in ("nice", "lovely") for n in ("woman", "man") for v in ("smiled", "sang")]  # fmt: skip
VECTORS = {
    "man": [1, 0, 0.2],
    "woman": [-1, 0, 0.2],
    "nice": [0.2, 1, 0],
    "kind": [0.3, 1, 0.1],
    "lovely": [-0.3, 1, 0],
    "wooden": [-0.2, 1, -0.1],
}


def _trained(folder: Path, *, masked: bool) -> Path:
    """A model of a few thousand weights that has learned the sentences, and its tokenizer."""
    torch = pytest.importorskip("torch", reason="torch is not installed: make test-all")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: make test-all")
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *WORDS]))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.model_max_length = 16
    tokenizer.save_pretrained(folder)
    transformers.set_seed(0)
    n = len(SPECIAL) + len(WORDS)
    if masked:
        config = transformers.BertConfig(
            vocab_size=n, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        model: Any = transformers.BertForMaskedLM(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=n, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=2, eos_token_id=3,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    ids = torch.tensor([tokenizer(s)["input_ids"] for s in SENTENCES])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        given, labels = ids, ids
        if masked:
            place = 1 + step % (ids.shape[1] - 2)
            given, labels = ids.clone(), torch.full_like(ids, -100)
            given[:, place], labels[:, place] = tokenizer.mask_token_id, ids[:, place]
        optimiser.zero_grad()
        model(input_ids=given, labels=labels).loss.backward()
        optimiser.step()
    model.eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["masked", "causal"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """ "masked:FOLDER" or "causal:FOLDER"."""
    folder = tmp_path_factory.mktemp(request.param)
    return f"{request.param}:{_trained(folder, masked=request.param == 'masked')}"


def by_hand(spec: str, text: str) -> float:
    """The log-probability, token by token, without batches or padding."""
    import torch
    import transformers

    kind, _, folder = spec.partition(":")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    total = 0.0
    with torch.inference_mode():
        if kind == "masked":
            net = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
            for place in range(1, ids.shape[1] - 1):
                given = ids.clone()
                given[0, place] = tokenizer.mask_token_id
                total += float(torch.log_softmax(net(input_ids=given).logits[0, place], 0)[ids[0, place]])
        else:
            net = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
            logits = torch.log_softmax(net(input_ids=ids).logits[0], -1)
            for place in range(1, ids.shape[1] - 1):
                total += float(logits[place - 1, ids[0, place]])
    return total


def test_texts_score_as_token_by_token_whatever_the_batch(model: str) -> None:
    """Texts of different lengths, padded together, score as each by itself."""
    score = fluency(model).scorer  # type: ignore[union-attr]
    texts = ["the nice woman smiled .", "nice", "the man sang . the lovely woman smiled .", ""]
    together = score(texts)
    np.testing.assert_allclose(together, [score([t])[0] for t in texts], atol=1e-4)
    np.testing.assert_allclose(together[:3], [by_hand(model, t) for t in texts[:3]], atol=1e-4)
    assert together[3] == 0.0


def test_what_the_model_has_read_is_more_fluent(model: str) -> None:
    """lovely may stand for nice, wooden may not; and the words behind the place count as well as those before it."""
    filter = fluency(model)
    assert filter is not None
    contexts = contexts_of(["the nice woman smiled .", "the nice . woman smiled"])
    rows, places = np.array([0, 0, 1]), np.array([1, 1, 1])
    good, bad, odd = filter.log_ratios(contexts, rows, places, ["lovely", "wooden", "lovely"])
    assert good > np.log(0.25) > bad
    assert good != pytest.approx(odd, abs=1e-3)


def test_a_long_text_is_scored_to_its_end(model: str) -> None:
    """A change beyond the model's window counts."""
    score = fluency(model).scorer  # type: ignore[union-attr]
    long = "the nice woman smiled . " * 8
    assert len(long.split()) > 16
    assert score([long + "the lovely man sang ."])[0] > score([long + "the wooden wooden sang ."])[0] + 1


def test_the_device_may_be_chosen(model: str) -> None:
    """`scorer` takes it, and its function is a filter as any other."""
    from evenhand.embeddings.hugging_face import scorer

    kind, _, folder = model.partition(":")
    chosen = scorer(folder, masked=kind == "masked", device="cpu")
    assert chosen(["the nice man sang ."]) == fluency(model).scorer(["the nice man sang ."])  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match="device"):
        scorer(folder, masked=kind == "masked", device="no-such-device")


def test_an_attack_uses_it(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python and from the command line: lovely stays, wooden does not."""

    def subject(texts: list[str]) -> list[float]:
        return [0.9 - 0.5 * ("lovely" in t) - 0.7 * ("wooden" in t) for t in texts]

    texts = ["the nice woman smiled .", "the nice man sang ."]

    def used(spec: str) -> set[object]:
        made = attack(subject, texts, embeddings=VECTORS, fluency=spec, placebos=0, holdout=0, match="none")
        assert (made.provenance["fluency"] or spec).startswith(spec.partition(":")[0])
        return {row["becomes"] for row in made.exhibits["alterations"].rows() if row["word"] == "nice"}

    assert used("none") == {"wooden"}
    assert used(model) == {"lovely"}

    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(
        "def predict(texts):\n    return [0.9 - 0.5 * ('lovely' in t) - 0.7 * ('wooden' in t) for t in texts]\n"
    )
    Path("v.txt").write_text("\n".join(f"{w} {' '.join(map(str, v))}" for w, v in VECTORS.items()))
    Path("t.txt").write_text("\n".join(texts))
    words = ["attack", "--subject", "toy.py:predict", "--texts", "t.txt", "--embeddings", "v.txt", "--match", "none",
             "--fluency", model, "--placebos", "0", "--direction", "woman-man", "--out", "out"]  # fmt: skip
    assert run(words) == 0
    assert '"lovely"' in Path("out/result.json").read_text()


def test_a_folder_without_a_model_is_a_clear_error(tmp_path: Path) -> None:
    """No traceback of the library."""
    pytest.importorskip("transformers", reason="transformers is not installed: make test-all")
    with pytest.raises(UsageError, match="unknown-fluency"):
        fluency(f"masked:{tmp_path}")


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a masked model."""
    return str(_trained(tmp_path_factory.mktemp("proposing"), masked=True))


def test_proposals_are_the_likeliest_words_of_the_gap(masked: str) -> None:
    """As the model's own probabilities say, gap by gap, whatever stands beside it in the batch; unknown words never."""
    import torch
    import transformers

    from evenhand.embeddings.hugging_face import proposer

    gaps = [("the ", " woman smiled ."), ("the nice man ", " ."), ("", "")]
    said = ["lovely", "nice", "sang", "smiled", "wooden", "unheard"]
    found = proposer(masked, device="cpu")(gaps, said, 3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(masked)
    net = transformers.AutoModelForMaskedLM.from_pretrained(masked).eval()
    for (before, behind), words in zip(gaps, found, strict=True):
        ids = torch.tensor([tokenizer(f"{before}[MASK]{behind}")["input_ids"]])
        place = ids[0].tolist().index(tokenizer.mask_token_id)
        with torch.inference_mode():
            logits = net(input_ids=ids).logits[0, place]
        by_hand = sorted(said[:5], key=lambda w: -float(logits[tokenizer.convert_tokens_to_ids(w)]))
        assert words == by_hand[:3]
    assert set(found[0][:2]) == {"lovely", "nice"}
    assert set(found[1][:2]) == {"sang", "smiled"}


def test_a_gap_in_a_long_text_is_read_with_what_is_around_it(masked: str) -> None:
    """Of more than the model's window, the words next to the gap: at the beginning, in the middle, at the end."""
    from evenhand.embeddings.hugging_face import proposer

    propose = proposer(masked, device="cpu")
    sentence = "the nice woman smiled . "
    before, behind = sentence * 5 + "the ", " man sang . " + sentence * 5
    gaps = [("the ", behind), (before, behind), (before, " man sang .")]
    shown = [(1, 12), (6, 7), (10, 3)]  # of the 16 tokens two frame the text and one is the gap
    near = [
        (" ".join(a.split()[-left:]), " ".join(b.split()[:right]))
        for (a, b), (left, right) in zip(gaps, shown, strict=True)
    ]
    assert propose(gaps, WORDS, 5) == propose(near, WORDS, 5)
    assert propose(gaps, WORDS, 5) != propose([(b, a) for a, b in near], WORDS, 5)
    assert set(propose(gaps, WORDS, 2)[0]) == {"lovely", "nice"}
    assert propose([], WORDS, 2) == []
    assert propose(gaps[:1], [], 2) == [[]]


def test_an_attack_takes_its_candidates_from_a_masked_model(masked: str) -> None:
    """lovely is expected there, wooden and kind are not; without the model the farthest along the direction is taken."""

    def subject(texts: list[str]) -> list[float]:
        return [0.9 - 0.5 * ("lovely" in t) - 0.7 * ("wooden" in t) for t in texts]

    texts = ["the nice woman smiled .", "the nice man sang ."]

    def becomes(candidates: str) -> set[object]:
        made = attack(
            subject, texts, embeddings=VECTORS, candidates=candidates, proposals=2, fluency="none", placebos=0,
            holdout=0, match="none",
        )  # fmt: skip
        return {row["becomes"] for row in made.exhibits["alterations"].rows() if row["word"] == "nice"}

    assert becomes("embeddings") == {"wooden"}
    assert becomes(f"masked:{masked}") == {"lovely"}


def test_a_folder_without_a_model_proposes_nothing(tmp_path: Path) -> None:
    """One message, under its own name."""
    from evenhand.embeddings.proposals import proposals

    with pytest.raises(UsageError, match="unknown-candidates"):
        proposals(f"masked:{tmp_path}")
