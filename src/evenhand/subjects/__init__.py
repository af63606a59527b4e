"""Models and services to audit: names → how to build them. Wrappers take a Subject and return one."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand._errors import UsageError
from evenhand._model import Subject
from evenhand.subjects.cached import Cached
from evenhand.subjects.python import PythonSubject, from_callable, from_path
from evenhand.subjects.wrappers import Batched, Budgeted, Limited, Retrying, Versioned

SUBJECTS: dict[str, str] = {
    "anthropic": "evenhand.subjects.anthropic:anthropic",
    "azure-content-safety": "evenhand.subjects.azure_content_safety:azure_content_safety",
    "bedrock": "evenhand.subjects.bedrock:bedrock",
    "comprehend": "evenhand.subjects.comprehend:comprehend",
    "comprehend-job": "evenhand.subjects.comprehend_job:comprehend_job",
    "gemini": "evenhand.subjects.gemini:gemini",
    "google-moderation": "evenhand.subjects.google_moderation:google_moderation",
    "http": "evenhand.subjects.http:http",
    "huggingface": "evenhand.subjects.huggingface:huggingface",
    "onnx": "evenhand.subjects.onnx:onnx",
    "openai": "evenhand.subjects.openai:openai",
    "openai-moderation": "evenhand.subjects.openai_moderation:openai_moderation",
    "perspective": "evenhand.subjects.perspective:perspective",
    "profanity": "evenhand.subjects.profanity:profanity",
    "python": "evenhand.subjects.python:from_path",
    "recorded": "evenhand.subjects.recorded:recorded",
    "sklearn": "evenhand.subjects.sklearn:sklearn",
    "textblob": "evenhand.subjects.textblob:textblob",
    "vader": "evenhand.subjects.vader:vader",
}
"""Name → "module:factory"; a factory takes keyword options and returns a Subject."""

ABOUT: dict[str, str] = {
    "anthropic": "Anthropic's messages: model=, prompt=, score_by=number|label|judge, batch_job=true;"
    " ANTHROPIC_API_KEY",
    "azure-content-safety": "Azure AI Content Safety: ordinal severities;"
    " AZURE_CONTENT_SAFETY_KEY, …_ENDPOINT",
    "bedrock": "Amazon Bedrock's Converse: model=, prompt=, score_by=number|label|judge, region=;"
    " AWS credentials",
    "comprehend": "Amazon Comprehend, real time: task=sentiment|toxicity; AWS credentials",
    "comprehend-job": "Amazon Comprehend, one job through S3: location=s3://…, role=ARN; AWS credentials",
    "gemini": "Google's Gemini models: model=, prompt=, score_by=number|label|logprob|judge; GEMINI_API_KEY",
    "google-moderation": "Google Cloud moderateText: a confidence for each category; GOOGLE_API_KEY",
    "http": "any JSON endpoint: url=, body=, headers= (keys as ${VARIABLE}), scores= (JSONPath)",
    "huggingface": "a Hugging Face pipeline: model=, task=, device=",
    "onnx": "an ONNX model: path=, prepare=module:attr where it takes numbers",
    "openai": "any OpenAI-compatible chat endpoint: model=, prompt=,"
    " score_by=number|label|logprob|judge, batch_job=true; OPENAI_API_KEY",
    "openai-moderation": "OpenAI's moderation endpoint; OPENAI_API_KEY",
    "perspective": "Perspective (ends 2026-12-31): attributes=, languages=; PERSPECTIVE_API_KEY",
    "profanity": "alt-profanity-check: probability of profanity; local, no key",
    "python": 'your own callable: path="module:attr"',
    "recorded": "replies recorded in a table: path=, input=, scores=",
    "sklearn": "a scikit-learn model of texts: path=model.skops",
    "textblob": "TextBlob's pattern lexicon: polarity, subjectivity; local, no key",
    "vader": "VADER sentiment lexicon: compound, pos, neu, neg; local, no key",
}
"""Name → one line for `evenhand list subjects`."""

EXTRAS: dict[str, tuple[str, str]] = {
    "bedrock": ("boto3", "aws"),
    "comprehend": ("boto3", "aws"),
    "comprehend-job": ("boto3", "aws"),
    "huggingface": ("transformers", "huggingface"),
    "onnx": ("onnxruntime", "onnx"),
    "profanity": ("profanity_check", "profanity"),
    "sklearn": ("skops", "sklearn"),
    "textblob": ("textblob", "textblob"),
}
"""Name → (importable package it needs, the extra that installs it)."""


@dataclass(frozen=True, kw_only=True)
class ByName:
    """A subject by its name, with the options of its factory: it can be made anywhere."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


def subject(spec: str | Callable[..., Any] | Subject | ByName, **options: Any) -> Subject:
    """A subject from a name, a ``"module:attr"``, a Subject, or any plain callable.

    Args:
        spec: a name of `evenhand list subjects`; ``"module:attr"`` or ``"path/to/file.py:attr"`` for your own
            code; an object with an ``id``; or a callable that takes a list of inputs and returns a sequence
            of floats, a sequence of mappings, a mapping of sequences, or an (n, k) array (then give
            ``names=``).
        options: passed to the factory of the name; ``names=`` and ``id=`` for a callable.

    Raises:
        UsageError: no such name or module, a missing extra, or options that the factory does not take.

    >>> subject(lambda texts: [len(t) for t in texts], id="length")(["ab", "abc"]).scores["score"]
    array([2., 3.])
    """
    if isinstance(spec, ByName):
        return subject(spec.name, **spec.options)
    if not isinstance(spec, str):
        if hasattr(spec, "id") and not options:
            return spec
        return from_callable(spec, **options)
    if spec in SUBJECTS:
        return _built_in(spec, options)
    if ":" in spec:
        return from_path(spec, **options)
    raise UsageError(
        "unknown-subject",
        "there is no subject of that name",
        given=spec,
        available=sorted(SUBJECTS),
        hint='your own model is named "module:attr", e.g. my_model:predict',
    )


def versioned(spec: str | Callable[..., Any] | Subject | ByName, version: str | None) -> Subject:
    """The subject of `subject`, with the version of its model, if one is declared, in its id."""
    chosen = subject(spec)
    if version is None:
        return chosen
    if isinstance(chosen, PythonSubject) and chosen.traits.reuse != "always":
        return from_callable(chosen.function, names=chosen.names, traits=chosen.traits, version=version)
    from evenhand.subjects.service import Service

    if isinstance(chosen, Service):  # not wrapped: whoever sets its rate must find it
        return replace(chosen, version=version)
    return Versioned(subject=chosen, version=version)


def check_extra(name: str) -> None:
    """UsageError (`missing-extra`) where the package that a subject needs is not installed."""
    package, extra = EXTRAS.get(name, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise UsageError(
            "missing-extra",
            f"the subject {name!r} needs a package that is not installed",
            given=name,
            expected=f"the package {package}",
            hint=f"pip install 'evenhand[{extra}]'",
        )


def _built_in(name: str, options: dict[str, Any]) -> Subject:
    check_extra(name)
    module, _, attribute = SUBJECTS[name].partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    try:
        built: Subject = factory(**options)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        lacking = re.findall(r"'(\w+)'", str(error)) if "missing" in str(error) else []
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if lacking:
            raise UsageError(
                "subject-options",
                f"the subject {name!r} needs {', '.join(lacking)}",
                given=", ".join(options) or "no options",
                hint=" ".join(f"--option {each}=…" for each in lacking),
            ) from error
        raise UsageError(
            "subject-options",
            f"the subject {name!r} has no such option",
            given=unknown[1] if unknown else str(error),
            available=sorted(inspect.signature(factory).parameters),
        ) from error
    return built


__all__ = [
    "ABOUT",
    "EXTRAS",
    "SUBJECTS",
    "Batched",
    "Budgeted",
    "ByName",
    "Cached",
    "Limited",
    "Retrying",
    "from_callable",
    "from_path",
    "subject",
]
