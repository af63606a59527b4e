"""The public names are exactly those promised, and stay callable whatever was imported first."""

from __future__ import annotations

import subprocess
import sys

import evenhand as eh


def test_all_is_the_public_table() -> None:
    """`__all__`, the lazy table and what can be had are one list, sorted."""
    assert eh.__all__ == sorted(eh.__all__)
    assert set(eh.__all__) == set(eh._PUBLIC)
    for name in eh.__all__:
        assert getattr(eh, name) is not None


def test_rooms_that_share_a_name_with_a_function_can_be_called() -> None:
    """`eh.terms(...)` works after `import evenhand.terms`, and the other way round."""
    program = (
        "import evenhand.terms, evenhand.texts, evenhand as eh\n"
        "print(len(eh.terms('names/freakonomics')), len(eh.texts('person')) > 40)\n"
        "import evenhand.terms as room; print(room.Terms.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["80", "True", "Terms"]


def test_every_public_thing_has_a_docstring() -> None:
    """Nothing public is left without a word."""
    assert [
        name for name in eh.__all__ if not (getattr(eh, name).__doc__ or "").strip() and name != "Plan"
    ] == []
