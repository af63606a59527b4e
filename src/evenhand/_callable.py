"""A package that shares its name with its main function, and may be called like it.

`evenhand.terms` is a room and `evenhand.terms("names/freakonomics")` the door most people want. Python binds
a submodule to its parent's attribute as soon as anything imports it, so the module itself answers the call.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module whose call is the call of the function of its own name."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **keywords)


def make_callable(name: str) -> None:
    """Let the module `name` be called like its function of the same name."""
    sys.modules[name].__class__ = CallableModule
