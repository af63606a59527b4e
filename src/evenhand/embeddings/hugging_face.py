"""Log-probabilities of texts and words for a gap, by a Hugging Face language model (extra `huggingface`);
nothing is downloaded by us."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evenhand._errors import UsageError

Proposer: TypeAlias = Callable[[Sequence[tuple[str, str]], Sequence[str], int], list[list[str]]]
"""From gaps in texts (before, behind), the words that may be said and how many, to words for each gap."""

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
    tokenizer, model, where = _loaded(name, masked, device, "unknown-fluency")

    def score(texts: Sequence[str]) -> list[float]:
        import torch

        windows = [w for i, text in enumerate(texts) for w in _windows(i, text, tokenizer, model)]
        asked = list(_masks(windows, tokenizer.mask_token_id)) if masked else windows
        total = [0.0] * len(texts)
        with torch.inference_mode():
            for batch in _batches(asked):
                for one, value in zip(batch, _scores(batch, model, where, shift=not masked), strict=True):
                    total[one.text] += value
        return total

    return score


def _loaded(name: str, masked: bool, device: str | None, slug: str) -> tuple[Any, Any, str]:
    """(tokenizer, model, device) of a model on this machine."""
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                "missing-extra",
                "a language model needs a package that is not installed",
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
            slug,
            f"this {'masked' if masked else 'causal'} language model cannot be loaded from this machine:"
            f" {str(error).strip().splitlines()[0][:200]}",
            given=name,
            hint="download it first, e.g. `hf download NAME`, or give a folder",
        ) from error
    if masked and tokenizer.mask_token_id is None:
        hint = "causal:NAME" if slug == "unknown-fluency" else "a masked model, such as BERT or RoBERTa"
        raise UsageError(slug, "the tokenizer of this model has no mask", given=name, hint=hint)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return tokenizer, model.to(where).eval(), where


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
    before, inner, after = _parts(text, tokenizer)
    size = _room(before, after, tokenizer, model)
    for at in range(0, len(inner), size):
        part = inner[at : at + size]
        places = list(range(len(before), len(before) + len(part)))
        yield _Window(text=number, ids=[*before, *part, *after], places=places, tokens=part)


def _parts(text: str, tokenizer: Any) -> tuple[list[int], list[int], list[int]]:
    """The tokens of a text, between those that its tokenizer puts around every text."""
    read = tokenizer(text, return_special_tokens_mask=True, verbose=False)
    ids, special = list(read["input_ids"]), list(read["special_tokens_mask"])
    begin = special.index(0) if 0 in special else len(ids)
    end = len(special) - special[::-1].index(0) if 0 in special else len(ids)
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    before = ids[:begin] or ([] if start is None else [start])
    return before, ids[begin:end], ids[end:]


def _room(before: Sequence[int], after: Sequence[int], tokenizer: Any, model: Any) -> int:
    """Tokens of a text that the model reads at a time."""
    limits = (getattr(model.config, name, None) for name in ("max_position_embeddings", "n_positions"))
    limit = min(tokenizer.model_max_length, *(x for x in limits if x), 1 << 20)
    return max(1, int(limit) - len(before) - len(after))


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


def _logits(batch: Sequence[_Window], model: Any, where: str) -> Any:
    """(windows, longest, tokens of the model)."""
    import torch

    longest = max(len(w.ids) for w in batch)
    ids = torch.tensor([w.ids + [0] * (longest - len(w.ids)) for w in batch], device=where)
    attention = torch.tensor([[1] * len(w.ids) + [0] * (longest - len(w.ids)) for w in batch], device=where)
    return model(input_ids=ids, attention_mask=attention).logits


def _scores(batch: Sequence[_Window], model: Any, where: str, *, shift: bool) -> list[float]:
    """Sum of log p over each window's scored tokens; `shift`: the logits of a token stand one place before
    it."""
    import torch

    logits = _logits(batch, model, where)
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


def proposer(name: str, *, device: str | None = None) -> Proposer:
    """A function that says which words a masked model expects in gaps of texts.

    It takes the gaps, each as (what stands before, what stands behind), the words that may be said, and how
    many are wanted; it gives for each gap the likeliest of these words, best first. Only words that are one
    token of the model can be said. Of a text longer than the model's window it reads what is around the gap.

    Args:
        name: a folder, or the name of a model in the local cache. device: "cuda", "cpu"; the GPU where there
            is one.

    Raises:
        UsageError: `missing-extra`, `unknown-candidates`.
    """
    tokenizer, model, where = _loaded(name, True, device, "unknown-candidates")
    begin, _, end = _parts("a", tokenizer)
    room = _room(begin, end, tokenizer, model) - 1

    def propose(gaps: Sequence[tuple[str, str]], words: Sequence[str], k: int) -> list[list[str]]:
        import torch

        said = _one_token(words, tokenizer)
        found: list[list[str]] = [[] for _ in gaps]
        if not gaps or not said:
            return found
        spelled, tokens = list(said), torch.tensor(list(said.values()), device=where)
        sides = [part for gap in gaps for part in (gap[0].rstrip(), gap[1])]
        ids = tokenizer(sides, add_special_tokens=False, verbose=False)["input_ids"]
        windows = []
        for i in range(len(gaps)):
            before, behind = list(ids[2 * i]), list(ids[2 * i + 1])
            left = min(len(before), max(room // 2, room - len(behind)))
            before, behind = before[len(before) - left :], behind[: room - left]
            row = [*begin, *before, tokenizer.mask_token_id, *behind, *end]
            windows.append(_Window(text=i, ids=row, places=[len(begin) + left], tokens=[]))
        with torch.inference_mode():
            for batch in _batches(windows):
                logits = _logits(batch, model, where)
                at = torch.tensor([w.places[0] for w in batch], device=where)
                here = logits[torch.arange(len(batch), device=where), at][:, tokens]
                best = here.topk(min(k, len(spelled)), dim=1).indices.tolist()
                for window, row in zip(batch, best, strict=True):
                    found[window.text] = [spelled[j] for j in row]
        return found

    return propose


def _one_token(words: Sequence[str], tokenizer: Any) -> dict[str, int]:
    """Words that are one token of the model → that token."""
    if not len(words):
        return {}
    ids = tokenizer([f" {word}" for word in words], add_special_tokens=False, verbose=False)["input_ids"]
    unknown = tokenizer.unk_token_id
    listed = zip(words, ids, strict=True)
    return {word: row[0] for word, row in listed if len(row) == 1 and row[0] != unknown}
