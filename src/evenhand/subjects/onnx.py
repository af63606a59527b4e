"""An ONNX model that takes texts (preprocessing inside the graph), or numbers from a callable of yours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import Replies
from evenhand.subjects.identity import digest_of_files
from evenhand.subjects.python import as_replies, from_path


@dataclass(frozen=True, kw_only=True)
class OnnxModel:
    """Runs the graph on a batch and reads one of its outputs."""

    id: str
    session: Any = field(repr=False, compare=False)
    input: str
    output: str
    text: bool
    prepare: Any = field(default=None, repr=False, compare=False)
    names: tuple[str, ...] | None = None
    reuse: str = "always"

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        given: Any = list(inputs)
        if self.prepare is not None:
            given = np.asarray(self.prepare(given), dtype=np.float32)
        elif self.text:
            given = np.array(given, dtype=object).reshape(-1, 1)
        answer = self.session.run([self.output], {self.input: given})[0]
        if isinstance(answer, list):  # ZipMap: a list of class → probability
            answer = [{str(k): float(v) for k, v in row.items()} for row in answer]
        else:
            answer = np.asarray(answer, dtype=np.float64)
        return as_replies(answer, len(inputs), names=self.names, who=self.id)


def onnx(
    *, path: str, output: str | None = None, prepare: str | None = None, names: Sequence[str] | None = None
) -> OnnxModel:
    """The subject `onnx` (extra `onnx`).

    Args:
        path: the model. output: which output; one named like probabilities by default, else the last.
        prepare: ``"module:attr"`` of a callable that turns texts into the numbers the graph takes.
        names: score names of the columns.
    """
    file = Path(path)
    session = session_of(file)
    outputs = [item.name for item in session.get_outputs()]
    likely = [name for name in outputs if "prob" in name.lower() or "score" in name.lower()]
    chosen = output or (likely or outputs)[-1]
    if chosen not in outputs:
        raise UsageError("onnx-output", "the model has no such output", given=chosen, available=outputs)
    first = session.get_inputs()[0]
    text = first.type == "tensor(string)"
    if not text and prepare is None:
        raise UsageError(
            "onnx-input",
            "the model takes numbers, not texts",
            given=first.type,
            expected='a callable that prepares texts: --option prepare="my_module:features"',
        )
    digest = digest_of_files([file, *sorted(p for p in file.parent.glob(f"{file.stem}*") if p != file)])
    prepared = None if prepare is None else from_path(prepare)
    parts = ["onnx", file.name, chosen, prepared.id if prepared else "", ",".join(names or ()), digest]
    return OnnxModel(
        id=" ".join(part for part in parts if part),
        session=session,
        input=first.name,
        output=chosen,
        text=text,
        prepare=prepared.function if prepared else None,
        names=tuple(names) if names else None,
        reuse="always" if prepared is None else prepared.traits.reuse,
    )


def session_of(file: Path) -> Any:
    """A graph, ready to run on this machine's processor.

    Raises:
        DataError: `no-such-file`, `unreadable-file`.
    """
    import onnxruntime

    if not file.is_file():
        raise DataError("no-such-file", "there is no such file", given=file)
    try:
        return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds for a damaged file
        raise DataError(
            "unreadable-file", f"the file is no ONNX model: {str(error)[:200]}", given=file
        ) from error
