"""The batch endpoint of OpenAI and of services that speak as it does: a file, a job, files back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from evenhand._jobs import Job
from evenhand.subjects.batch_job import Line, State
from evenhand.subjects.exchange import Exchange

ENDED = frozenset({"failed", "completed", "expired", "cancelled"})
PAGES = 50
"""Pages of a hundred jobs that are looked through for one of ours."""


@dataclass(frozen=True, kw_only=True)
class OpenAIBatches:
    """Jobs of chat completions. A job carries its token in its metadata, and so is found again.

    Args:
        base_url: of the service, e.g. ``https://api.openai.com/v1``.
        endpoint: what each request is sent to, as the protocol names it.
        most, most_bytes: requests and bytes of one job (OpenAI: 50,000 and 200 MB).
    """

    base_url: str
    endpoint: str = "/v1/chat/completions"
    most: int = 50_000
    most_bytes: int = 190_000_000

    def send(self, exchange: Exchange, token: str, requests: Sequence[tuple[str, Any]]) -> str:
        """A file of lines, which may be sent twice, then the job, which may not."""
        lines = b"".join(
            json.dumps({"custom_id": name, "method": "POST", "url": self.endpoint, "body": body}).encode()
            + b"\n"
            for name, body in requests
        )
        form = {"purpose": "batch", "file": (f"evenhand-{token}.jsonl", lines)}
        file = exchange.json("POST", "/files", form=form)["id"]
        made = {
            "input_file_id": file,
            "endpoint": self.endpoint,
            "completion_window": "24h",
            "metadata": {"evenhand": token},
        }
        return str(exchange.once("POST", "/batches", json=made)["id"])

    def find(self, exchange: Exchange, job: Job) -> str:
        """By the token in the metadata."""
        after = ""
        for _ in range(PAGES):
            page = exchange.json("GET", f"/batches?limit=100{after}")
            for each in page.get("data") or []:
                if (each.get("metadata") or {}).get("evenhand") == job.token:
                    return str(each["id"])
            if not page.get("has_more") or not page["data"]:
                return ""
            after = f"&after={quote(str(page['data'][-1]['id']), safe='')}"
        return ""

    def state(self, exchange: Exchange, name: str) -> State:
        """Also jobs that were cancelled or have expired may have files: of what was answered before."""
        told = exchange.json("GET", f"/batches/{quote(name, safe='')}")
        status = str(told.get("status"))
        files = [told.get("output_file_id"), told.get("error_file_id")]
        errors = (told.get("errors") or {}).get("data") or []
        return State(
            ended=status in ENDED,
            status=status,
            why="; ".join(str(error.get("message", error)) for error in errors)[:300],
            outputs=[f"/files/{quote(str(file), safe='')}/content" for file in files if file],
        )

    def line(self, row: Any) -> Line:
        """A line of the file of answers or of the file of errors."""
        name, error, response = str(row["custom_id"]), row.get("error"), row.get("response")
        if response is not None and response.get("status_code") == 200:
            return Line(custom_id=name, answer=response["body"])
        said = error or ((response or {}).get("body") or {}).get("error") or {}
        status = f"HTTP {response['status_code']}: " if response else ""
        why = (
            f"{said.get('code') or ''} {said.get('message') or ''}".strip()
            if isinstance(said, dict)
            else said
        )
        return Line(custom_id=name, error=f"in the batch job: {status}{str(why)[:200] or 'no reason given'}")
