"""The top of a page and its record: the question, what was audited, by whom, when, under which protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand._facts import Audited, attribute_of, named_attribute
from evenhand._headline import scene_of
from evenhand._wording import in_brief, listed, middle_cut, visible

if TYPE_CHECKING:
    from evenhand._record import Record

NOT_STATED = "not stated"
KINDS = {
    "text": "Audit of texts that differ in whom they name",
    "scores": "Audit of recorded scores",
    "predictions": "Audit of recorded decisions",
    "amplification": "Audit of what outputs tie to whom",
    "attack": "Audit by words moved along a direction",
}
"""Kind → what the page calls it; others are called by their own name."""


def about(result: Audited) -> dict[str, str]:
    """What the user said of the audit: title, purpose, system, version, run_by, period; unknown ones are left
    out."""
    said = result.provenance.get("about")
    return {str(k): visible(str(v)) for k, v in said.items() if v} if isinstance(said, Mapping) else {}


def kind_of(result: Audited) -> str:
    """What the page calls this kind of audit."""
    return KINDS.get(result.audit, f"Audit: {result.audit.replace('-', ' ')}")


def question(result: Audited) -> str:
    """The question that the page answers: the user's title, or one made of subject and verb; never a file's
    name."""
    if title := about(result).get("title"):
        return middle_cut(title, 160)
    named = dict.fromkeys(named_attribute(attribute_of(f)) for f in result.primary)
    by = f" by {listed(list(named), 4)}" if named else ""
    if result.audit == "predictions":
        scene, named_model = scene_of(result), about(result).get("system", "")
        who = f"Whom does {in_brief(named_model)} favour" if named_model else f"Who {scene.did}"
        numbers = "high prediction" in scene.outcome or not scene.outcome
        return f"{'Who was predicted higher' if numbers and not named_model else who}{by}?"
    if result.audit in ("text", "scores"):
        subject = about(result).get("system") or _subject(result) or "the model"
        same = "the same texts" if result.audit == "text" else "texts"
        return f"{'Do' if ' and ' in subject else 'Does'} {in_brief(subject)} score {same} differently{by}?"
    if result.audit == "amplification":
        return "Do the outputs tie people to things more tightly than the training data?"
    if result.audit == "attack":
        return (
            f"Do words moved along {listed(list(named), 3)} change the label?"
            if named
            else "Do words change the label?"
        )
    return middle_cut(result.title, 160)


def _subject(result: Audited) -> str:
    own = result.provenance.get("subject")
    if isinstance(own, str):
        return own
    parts = result.provenance.get("parts")
    named = [p.get("subject") for p in parts if isinstance(p, Mapping)] if isinstance(parts, list) else []
    return listed([in_brief(str(n)) for n in dict.fromkeys(named) if n], 3)


def state_line(result: Audited) -> str:
    """``Complete · 2,561 rows``: the first counts, and whether the audit came to its end."""
    counts = " · ".join(f"{n:,} {in_brief(name)}" for name, n in list(result.counts.items())[:4])
    return " · ".join(t for t in ("Complete" if result.complete else "Incomplete", counts) if t)


def meta_line(result: Audited) -> str:
    """Period, date, who ran it, and the hashes of protocol and data."""
    said = about(result)
    made = made_at(result)
    data = [f"data sha256 {digest[:8]}…" for _, digest in _digests(result)[:1]]
    period = [f"Data of {middle_cut(said['period'], 60)}"] if "period" in said else []
    return " · ".join(
        [*period, f"audited {made[:10]}", f"run by: {middle_cut(said.get('run_by', NOT_STATED), 60)}",
         f"protocol sha256 {protocol_digest(result)[:8]}…", *data]
    )  # fmt: skip


def made_at(result: Audited) -> str:
    """When the audit was made, as its record says."""
    made = result.provenance.get("created")
    if made is None and isinstance(parts := result.provenance.get("parts"), list):
        made = next((p["created"] for p in parts if isinstance(p, Mapping) and "created" in p), None)
    return visible(made)[:40] if isinstance(made, str) else NOT_STATED


def protocol_digest(result: Audited) -> str:
    """SHA-256 of the call that made the audit, as canonical JSON: what was asked, before any answer."""
    call = result.provenance.get("call", result.provenance.get("parts"))
    return hashlib.sha256(json.dumps(call, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _digests(result: Audited) -> list[tuple[str, str]]:
    data = result.provenance.get("data")
    if not isinstance(data, Mapping):
        return []
    return [
        (visible(str(k)), visible(str(v)).rpartition(" ")[2].removeprefix("sha256:")) for k, v in data.items()
    ]


def record(result: Record) -> list[tuple[str, str]]:
    """The record as (name, value): system, who, when, tool, hashes, seeds, commands to repeat."""
    said, versions = about(result), result.provenance.get("versions")
    tools = {k: v for k, v in versions.items()} if isinstance(versions, Mapping) else {}
    system = said.get("system") or _subject(result) or NOT_STATED
    seeds = result.provenance.get("seeds")
    seed = _argument(result, "seed")
    return [
        ("Title", middle_cut(result.title, 300) or NOT_STATED),
        ("Purpose", middle_cut(said.get("purpose", NOT_STATED), 600)),
        ("System", " ".join([middle_cut(system, 200), *([said["version"]] if "version" in said else [])])),
        ("Run by", middle_cut(said.get("run_by", NOT_STATED), 200)),
        ("Run at", made_at(result)),
        ("Tool", f"evenhand {visible(str(tools['evenhand']))}" if "evenhand" in tools else NOT_STATED),
        ("Protocol", f"sha256 {protocol_digest(result)}"),
        *((f"Data: {middle_cut(k, 60)}", _hash(v)) for k, v in _digests(result)),
        ("Seeds", json.dumps(seeds) if seeds else str(seed) if seed is not None else NOT_STATED),
        ("Again", "evenhand run audit.toml (the file beside result.json)"),
    ]


def _hash(digest: str) -> str:
    short = " (first 16 digits)" if len(digest) == 16 else ""
    return f"sha256 {middle_cut(digest, 80)}{short}"


def _argument(result: Audited, name: str) -> Any:
    call: Any = result.provenance.get("call")
    arguments = call.get("arguments") if isinstance(call, Mapping) else None
    return arguments.get(name) if isinstance(arguments, Mapping) else None
