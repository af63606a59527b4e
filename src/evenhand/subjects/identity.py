"""What a callable is: a digest of its code and of the state it carries, as far as both can be seen.

Two bound methods of models with other weights, two `functools.partial`s, two closures over other values are
other callables. What a function reads when it is called (a file of weights) cannot be seen from here.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

MOST = 200_000
"""Values that are looked at; a callable that carries more is called unseen."""
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def fingerprint_of(function: Callable[..., Any]) -> tuple[str, bool]:
    """A digest of code and state, and whether all the state could be seen.

    >>> half, third = functools.partial(pow, 2), functools.partial(pow, 3)
    >>> fingerprint_of(half)[0] == fingerprint_of(third)[0], fingerprint_of(half)[1]
    (False, True)
    """
    look = _Look()
    look.at(function)
    return look.digest.hexdigest(), look.seen


def code_of(function: Callable[..., Any]) -> str:
    """A digest of the code alone: of a callable whose state is declared by a version."""
    look = _Look()
    inner = function.func if isinstance(function, functools.partial) else function
    inner = getattr(inner, "__func__", inner)
    if isinstance(inner, types.FunctionType):
        look.code(inner.__code__)
    else:
        look.at(inner if isinstance(inner, type) else type(inner))
    return look.digest.hexdigest()


def digest_of_files(files: Sequence[Path]) -> str:
    """A digest of the names and bytes of the files among `files`: weights, settings, vocabularies."""
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        if file.is_file():
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode("utf-8", "surrogatepass"))
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


class _Look:
    """Walks over values and feeds a digest; what was met before is named by its number."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=6)
        self.seen = True
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is given out again when its value is gone

    def at(self, value: Any) -> None:
        if isinstance(value, _ATOMS):
            self._say(type(value).__name__, repr(value))
            return
        if id(value) in self._met or len(self._met) >= MOST:
            self.seen &= id(value) in self._met
            self._say("again", str(self._met.get(id(value), -1)))
            return
        self._met[id(value)] = len(self._met)
        self._kept.append(value)
        try:
            self._inside(value)
        except (RecursionError, TypeError, ValueError, AttributeError, NotImplementedError, OSError):
            self.seen = False  # a lock, an open file, a generator, a model of another language
            self._say("unseen", type(value).__qualname__)

    def code(self, code: types.CodeType) -> None:
        """Instructions, names and constants; lambdas on one line share their source, not these."""
        self._say("code", f"{code.co_code.hex()} {code.co_names} {code.co_varnames}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            else:
                self.at(constant)

    def _say(self, *parts: str) -> None:
        self.digest.update("\0".join(parts).encode("utf-8", "surrogatepass") + b"\1")

    def _inside(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._say("array", str(value.dtype), str(value.shape))
            self.digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, Mapping) and isinstance(value, dict):
            self._say("dict", str(len(value)))
            for key in sorted(value, key=repr):
                self.at(key)
                self.at(value[key])
        elif isinstance(value, list | tuple) and type(value) in (list, tuple):
            self._say(type(value).__name__, str(len(value)))
            for item in value:
                self.at(item)
        elif isinstance(value, set | frozenset):
            self._say("set", *sorted(repr(item) for item in value))
        elif isinstance(value, functools.partial):
            self._say("partial")
            for part in (value.func, value.args, value.keywords):
                self.at(part)
        elif isinstance(value, types.MethodType):
            self.at(value.__func__)
            self.at(value.__self__)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.BuiltinFunctionType | types.ModuleType | types.MethodWrapperType):
            self._say("named", str(getattr(value, "__module__", "")), str(getattr(value, "__name__", "")))
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType):
                self.at(owner)
        else:
            self._object(value)

    def _function(self, value: types.FunctionType) -> None:
        self._say("function", value.__module__ or "", value.__qualname__)
        if _of_a_library(value) and value.__closure__ is None:
            return
        self.code(value.__code__)
        self.at(value.__defaults__)
        self.at(value.__kwdefaults__)
        for cell in value.__closure__ or ():
            self.at(cell.cell_contents if _filled(cell) else None)
        seen = self.seen
        for name in value.__code__.co_names:
            if name in value.__globals__:
                self.at(value.__globals__[name])
        self.seen = seen  # globals are seen where they can be: a function may also read a file

    def _class(self, value: type) -> None:
        self._say("class", value.__module__, value.__qualname__)
        if _of_a_library(value):
            return
        for base in value.__bases__:
            self.at(base)
        for name, inner in sorted(vars(value).items()):
            inner = getattr(inner, "__func__", inner)
            if isinstance(inner, types.FunctionType):
                self._say(name)
                self.code(inner.__code__)
            elif not name.startswith("__"):
                self._say(name)
                self.at(inner if isinstance(inner, _ATOMS) else type(inner).__qualname__)

    def _object(self, value: Any) -> None:
        """By what pickle would write of it, without writing it."""
        self.at(type(value))
        if hasattr(type(value), "__array__") and hasattr(value, "detach"):
            self.at(np.asarray(value.detach().cpu()))
            return
        said = value.__reduce_ex__(4)
        if isinstance(said, str):
            self._say("named", said)
            return
        for part in said[:3]:
            self.at(part)
        for items in said[3:5]:
            self.at(None if items is None else list(items))


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:
        return False


def _of_a_library(value: Any) -> bool:
    """Whether a function or class stands in an installed package: its name says enough."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    return (
        module is not None and (file is None or file.startswith(_LIBRARIES)) and module.__name__ != "__main__"
    )
