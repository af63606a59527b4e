"""A scikit-learn classifier or regressor of texts from a file.

skops by default, a pickle only when trusted by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import Replies

OPTIONS = ("--option trust_pickle=true", "--option trusted=NAME,NAME")
HARMLESS = ("numpy.dtype",)
"""Types that skops does not trust by itself, and that run nothing: encoders of levels hold them."""


@dataclass(frozen=True, kw_only=True)
class SklearnModel:
    """predict_proba where there is one (a score per class), else decision_function, else predict."""

    id: str
    model: Any = field(repr=False, compare=False)

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        given = list(inputs)
        if not given:
            return Replies(scores={})
        if hasattr(self.model, "predict_proba"):
            values = np.asarray(self.model.predict_proba(given), dtype=np.float64)
            return Replies(scores={str(c): values[:, k] for k, c in enumerate(self.model.classes_)})
        ask = self.model.decision_function if hasattr(self.model, "decision_function") else self.model.predict
        values = np.asarray(ask(given), dtype=np.float64)
        if values.ndim == 1:
            return Replies(scores={"score": values})
        return Replies(scores={str(c): values[:, k] for k, c in enumerate(self.model.classes_)})


def sklearn(*, path: str, trust_pickle: bool = False, trusted: Sequence[str] | str = ()) -> SklearnModel:
    """The subject `sklearn` (extra `sklearn`).

    Args:
        path: a ``.skops`` file; or a ``.pkl``/``.joblib`` file with `trust_pickle`, which runs whatever code
            the file holds.
        trusted: further type names that a skops file may contain.

    Raises:
        DataError: no such file, or not a model. UsageError: a pickle without `trust_pickle`; types that are
            not trusted.
    """
    file = Path(path)
    model = model_of(file, trusted=trusted, trust_pickle=trust_pickle, said=OPTIONS)
    if not hasattr(model, "predict"):
        raise DataError(
            "not-a-model",
            "the file holds no model",
            given=type(model).__name__,
            expected="an object with predict",
        )
    digest = hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    return SklearnModel(id=f"sklearn {file.name} {digest}", model=model)


def model_of(file: Path, *, trusted: Sequence[str] | str, trust_pickle: bool, said: tuple[str, str]) -> Any:
    """What a skops file holds, or a pickle that is trusted.

    Args:
        said: how a user says that a pickle is trusted, and further types are.

    Raises:
        DataError: `no-such-file`, `unreadable-file`. UsageError: `pickle-not-trusted`, `types-not-trusted`.
    """
    if not file.is_file():
        raise DataError("no-such-file", "there is no such file", given=file)
    pickled = file.suffix.lower() in {".pkl", ".pickle", ".joblib"}
    if pickled and not trust_pickle:
        raise UsageError(
            "pickle-not-trusted",
            "a pickle runs code when it is opened",
            given=file,
            expected="a .skops file (skops.io.dump(model, path))",
            hint=f"if you made this file yourself: {said[0]}",
        )
    return _unpickled(file) if pickled else _from_skops(file, trusted, said[1])


def _unpickled(file: Path) -> Any:
    import joblib

    return joblib.load(file)


def _from_skops(file: Path, trusted: Sequence[str] | str, said: str) -> Any:
    import skops.io as sio

    allowed = [*HARMLESS, *(trusted.split(",") if isinstance(trusted, str) else trusted)]
    try:
        unknown = [name for name in sio.get_untrusted_types(file=file) if name not in allowed]
        if unknown:
            raise UsageError(
                "types-not-trusted",
                "the file holds types that are not trusted",
                given=", ".join(unknown),
                hint=f"look at them, then: {said}",
            )
        return sio.load(file, trusted=allowed)
    except UsageError:
        raise
    except Exception as error:  # skops raises many kinds for a damaged file
        raise DataError(
            "unreadable-file", f"the file is no skops model: {type(error).__name__}: {error}", given=file
        ) from error
