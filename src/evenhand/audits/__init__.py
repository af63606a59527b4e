"""The kinds of audit, one row each, and the house that every one of them lives in.

A kind is a package of this folder, a row of `AUDITS`, and one public name in `evenhand/__init__.py`. The
package answers the same questions by the same file names:

    audit.py        what do I get?      the door: one public function, which ends in a `Result`
    rows, sources,
    designs         how are data read?  whatever people have becomes rows, or a plan that is asked
    cells, panel,
    records         what is counted?    rows become summaries, and summaries add
    claims,
    statistics      what is claimed?    two summaries and a level give an inference
    exhibits        what is shown?      tables and charts of what lies behind it

    audit.py ─► read ─► rows ─► count ─► summaries ─► claims ─► judge ─► findings ─┐
                                             └──────────────► exhibits ────────────┴─► Result

No audit imports another, except that text stands on scores. What two of them need goes down, into the spine.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Audit:
    """A row of `AUDITS`.

    Args:
        call: "module:function" of the door.
        title: what is compared, for a list of audits.
        live: whether it asks a subject, and so keeps a journal and can say how far it is.
        forecast: "module:function" that says, from the same arguments, what a live audit would ask and cost.
        one_machine: why no engine makes it; "" where one can.
    """

    call: str
    title: str
    live: bool = False
    forecast: str | None = None
    one_machine: str = ""


AUDITS: dict[str, Audit] = {
    "text": Audit(
        call="evenhand.audits.text.audit:audit_text",
        title="a live model's scores of the same texts with other names, pronouns or identity terms",
        live=True,
        forecast="evenhand.audits.text.forecast:forecast",
    ),
    "scores": Audit(
        call="evenhand.audits.scores.audit:audit_scores",
        title="scores of texts that were recorded elsewhere, by group",
    ),
    "predictions": Audit(
        call="evenhand.audits.predictions.audit:audit_predictions",
        title="recorded predictions, or those of a fitted model, by group",
    ),
    "amplification": Audit(
        call="evenhand.audits.amplification.audit:audit_amplification",
        title="how tightly training data and a model's outputs tie groups of people to things",
        one_machine="its null shuffles whole images, again and again",
    ),
    "attack": Audit(
        call="evenhand.audits.attack.audit:attack",
        title="labels that flip when words move along a direction, against random directions",
        live=True,
        forecast="evenhand.audits.attack.forecast:forecast_attack",
        one_machine="a search asks next what the replies before say",
    ),
}
"""Kind → its row, in the order of the command line's help. The kind is also `Result.audit`."""
