"""Log-probabilities of texts by a Hugging Face language model (extra `huggingface`); nothing is downloaded by
us."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand._errors import UsageError

TOKENS = 2_048
"""Tokens, padding included, that go through the model at a time: their logits over the vocabulary are what
takes memory."""


def scorer(name: str, *, masked: bool, device: str | None = None) -> Callable[[Sequence[str]], list[float]]:
    """A function from texts to log-probabilities.

    A causal model gives log p of the text; a masked one its pseudo-log-likelihood (Salazar et al. 2020):
    every token masked in turn, so the words before *and* after count. A text longer than the model's window
    is scored window by window.

    Args:
        name: a folder, or the name of a model in the local cache. device: "cuda", "cpu"; the GPU where there
            is one.

    Raises:
        UsageError: `missing-extra`, `unknown-fluency`.
    """
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                "missing-extra",
                "a language model as fluency filter needs a package that is not installed",
                given=name,
                expected=f"the package {package}",
                hint="pip install 'evenhand[huggingface]'",
            )
    import torch
    import transformers

    kind: Any = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True)
        model = kind.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UsageError(
            "unknown-fluency",
            f"this {'masked' if masked else 'causal'} language model cannot be loaded from this machine:"
            f" {str(error).strip().splitlines()[0][:200]}",
            given=name,
            hint="download it first, e.g. `hf download NAME`, or give a folder",
        ) from error
    if masked and tokenizer.mask_token_id is None:
        raise UsageError(
            "unknown-fluency", "the tokenizer of this model has no mask", given=name, hint="causal:NAME"
        )
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(where).eval()

    def score(texts: Sequence[str]) -> list[float]:
        windows = [w for i, text in enumerate(texts) for w in _windows(i, text, tokenizer, model)]
        asked = list(_masks(windows, tokenizer.mask_token_id)) if masked else windows
        total = [0.0] * len(texts)
        with torch.inference_mode():
            for batch in _batches(asked):
                for one, value in zip(batch, _scores(batch, model, where, shift=not masked), strict=True):
                    total[one.text] += value
        return total

    return score


@dataclass(frozen=True, kw_only=True, slots=True)
class _Window:
    """A part of a text: what the model reads, and which of its tokens are scored (the same tokens, before
    masking)."""

    text: int
    ids: list[int]
    places: list[int]
    tokens: list[int]


def _windows(number: int, text: str, tokenizer: Any, model: Any) -> Iterator[_Window]:
    """A text in parts that fit the model, each between the tokens that its tokenizer puts around a text."""
    read = tokenizer(text, return_special_tokens_mask=True, verbose=False)
    ids, special = list(read["input_ids"]), list(read["special_tokens_mask"])
    begin = special.index(0) if 0 in special else len(ids)
    end = len(special) - special[::-1].index(0) if 0 in special else len(ids)
    before, inner, after = ids[:begin], ids[begin:end], ids[end:]
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if not before and start is not None:
        before = [start]
    limits = (getattr(model.config, name, None) for name in ("max_position_embeddings", "n_positions"))
    limit = min(tokenizer.model_max_length, *(x for x in limits if x), 1 << 20)
    size = max(1, limit - len(before) - len(after))
    for at in range(0, len(inner), size):
        part = inner[at : at + size]
        places = list(range(len(before), len(before) + len(part)))
        yield _Window(text=number, ids=[*before, *part, *after], places=places, tokens=part)


def _masks(windows: Sequence[_Window], mask: int) -> Iterator[_Window]:
    """Every scored token by itself, masked."""
    for window in windows:
        for place, token in zip(window.places, window.tokens, strict=True):
            ids = [*window.ids[:place], mask, *window.ids[place + 1 :]]
            yield _Window(text=window.text, ids=ids, places=[place], tokens=[token])


def _batches(windows: Sequence[_Window]) -> Iterator[list[_Window]]:
    """Windows of like length together, at most `TOKENS` in all."""
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda w: len(w.ids)):
        if batch and len(window.ids) * (len(batch) + 1) > TOKENS:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _scores(batch: Sequence[_Window], model: Any, where: str, *, shift: bool) -> list[float]:
    """Sum of log p over each window's scored tokens; `shift`: the logits of a token stand one place before
    it."""
    import torch

    longest = max(len(w.ids) for w in batch)
    ids = torch.tensor([w.ids + [0] * (longest - len(w.ids)) for w in batch], device=where)
    attention = torch.tensor([[1] * len(w.ids) + [0] * (longest - len(w.ids)) for w in batch], device=where)
    logits = model(input_ids=ids, attention_mask=attention).logits
    found = []
    for row, window in enumerate(batch):
        scored = [(p - shift, t) for p, t in zip(window.places, window.tokens, strict=True) if p >= shift]
        if not scored:
            found.append(0.0)
            continue
        places, tokens = torch.tensor(scored, device=where).T
        picked = torch.log_softmax(logits[row, places].float(), dim=-1)
        found.append(float(picked.gather(1, tokens[:, None]).sum()))
    return found
