"""Write docs/reference/measures.md from the rows of measures: what is claimed, within which tolerance, and from where.

python tools/measures_page.py
"""

from __future__ import annotations

from pathlib import Path

from evenhand.measures import classification, regression
from evenhand.measures.row import Measure

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "measures.md"
HEAD = """# Measures of predictions

Written by `python tools/measures_page.py` from the rows of `evenhand.measures`; the audit claims, judges, resamples and lists exactly these.
*Primary* claims make the headline. *Described* ones tell the fact of another claim on another scale: they are judged only where a tolerance is
declared for them. A tolerance of a ratio is its lower bound (0.8 stands for 0.8 to 1.25).
"""


def row(m: Measure) -> str:
    """One line of the table."""
    role = "primary" if m.primary else "judged" if m.judged and m.tolerance is not None else "described"
    held = "" if m.tolerance is None else f"{m.tolerance:g}{f' {m.unit}' if m.unit else ''}"
    under = "" if not m.key else f"`{m.key}`"
    cells = (
        m.name,
        m.contrast if m.tolerance is not None else "",
        role,
        held,
        under,
        m.better or "",
        m.reference,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, rows in (
        ("Numbers", (*regression.at_quantile(0.8), *regression.ROWS)),
        ("Class labels and their scores", classification.ROWS),
    ):
        lines += [f"## {title}", ""]
        lines += ["| measure | contrast | role | default tolerance | set as | better | formula and source |"]
        lines += ["|---|---|---|---|---|---|---|", *(row(m) for m in rows), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
