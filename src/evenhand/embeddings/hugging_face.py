"""Log-probabilities of texts by a Hugging Face language model (extra `transformers`); nothing is downloaded by us."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from evenhand._errors import UsageError


def scorer(name: str, *, masked: bool, device: str | None = None) -> Callable[[Sequence[str]], list[float]]:
    """A function from texts to log-probabilities.

    A causal model gives log p of the text; a masked one its pseudo-log-likelihood (Salazar et al. 2020): every token
    masked in turn, so the words before *and* after count.

    Args:
        name: a folder, or the name of a model in the local cache. device: "cuda", "cpu"; the GPU where there is one.

    Raises:
        UsageError: `missing-extra`, `unknown-fluency`.
    """
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                "missing-extra", "a language model as fluency filter needs a package that is not installed",
                given=name, expected=f"the package {package}", hint="pip install 'evenhand[huggingface]'",
            )  # fmt: skip
    import torch
    import transformers

    kind: Any = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True)
        model = kind.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UsageError(
            "unknown-fluency", "this language model is not on this machine", given=name,
            hint="download it first, e.g. `hf download NAME`, or give a folder",
        ) from error  # fmt: skip
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(where).eval()
    one = _masked_score if masked else _causal_score

    def score(texts: Sequence[str]) -> list[float]:
        with torch.inference_mode():
            return [one(text, tokenizer, model, where) for text in texts]

    return score


def _causal_score(text: str, tokenizer: Any, model: Any, where: str) -> float:
    import torch

    ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"].to(where)
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if start is not None:
        ids = torch.cat([torch.tensor([[start]], device=where), ids], dim=1)
    if ids.shape[1] < 2:
        return 0.0
    logits = torch.log_softmax(model(input_ids=ids).logits[0, :-1].float(), dim=-1)
    return float(logits.gather(1, ids[0, 1:, None]).sum())


def _masked_score(text: str, tokenizer: Any, model: Any, where: str) -> float:
    import torch

    ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"][0].to(where)
    special = torch.tensor(tokenizer.get_special_tokens_mask(ids.tolist(), already_has_special_tokens=True))
    places = torch.nonzero(special == 0)[:, 0].to(where)
    if not len(places):
        return 0.0
    total = 0.0
    for part in places.split(32):
        batch = ids.repeat(len(part), 1)
        rows = torch.arange(len(part), device=where)
        batch[rows, part] = tokenizer.mask_token_id
        logits = torch.log_softmax(model(input_ids=batch).logits[rows, part].float(), dim=-1)
        total += float(logits.gather(1, ids[part, None]).sum())
    return total
