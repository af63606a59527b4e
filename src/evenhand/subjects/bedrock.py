"""Models of Amazon Bedrock by Converse, which is the same for all of them; requests are signed by botocore.

What boto3's client would send goes through the engine of all services: its rate, its retries, its breaker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from evenhand.subjects.aws import aws_client, aws_session
from evenhand.subjects.batch_job import BatchJob
from evenhand.subjects.chat import Chat, Said, chat
from evenhand.subjects.service import Service

TOKEN = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105 - a variable's name
"""Holds an API key of Bedrock, where one is used in the place of credentials."""


@dataclass(frozen=True, kw_only=True)
class Converse:
    """Messages of parts; settings in `inferenceConfig`; a model's own in `additionalModelRequestFields`."""

    name: str

    def url(self, chat: Chat) -> str:
        return f"{chat.base_url}/model/{quote(chat.model, safe='')}/converse"

    def public(self) -> Mapping[str, str]:
        return {}

    def keyed(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def body(self, chat: Chat, text: str) -> dict[str, Any]:
        sent = {
            "messages": [{"role": "user", "content": [{"text": text}]}],
            "inferenceConfig": {"maxTokens": chat.max_tokens, "temperature": chat.temperature},
        }
        return sent | ({"system": [{"text": chat.system}]} if chat.system else {})

    def said(self, answer: Any) -> Said:
        """What a model thought is no part of the answer."""
        ended = answer["stopReason"]
        return Said(
            text="".join(part.get("text", "") for part in answer["output"]["message"]["content"]),
            declined=ended in ("guardrail_intervened", "content_filtered"),
            cut=ended in ("max_tokens", "model_context_window_exceeded"),
        )


@dataclass(frozen=True, kw_only=True)
class Signature:
    """AWS's Signature Version 4 of a request, by credentials that renew themselves."""

    credentials: Any = field(repr=False)
    service: str
    region: str

    def __call__(self, url: str, body: bytes) -> Mapping[str, str]:
        """Headers for a POST of this body."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        headers = {"Content-Type": "application/json"}
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        SigV4Auth(self.credentials.get_frozen_credentials(), self.service, self.region).add_auth(request)
        return dict(request.headers.items())

    def secrets(self) -> list[str]:
        """What must stand in no message."""
        held = self.credentials.get_frozen_credentials()
        return [part for part in (held.access_key, held.secret_key, held.token) if part]


def bedrock(
    *, region: str | None = None, endpoint_url: str | None = None, **options: Any
) -> Service | BatchJob:
    """The subject `bedrock` (extra `aws`); its options are those of `chat`, without `logprob` and batch jobs.

    Credentials by the AWS chain (environment, profile, role), or an API key in AWS_BEARER_TOKEN_BEDROCK.

    Args:
        region: e.g. ``eu-west-1``. endpoint_url: of a private endpoint or a test server.

    Raises:
        UsageError: what `chat` raises, or no region. CredentialError: no credentials.
    """
    keyed = bool(os.environ.get(TOKEN, "").strip())
    session = aws_session(region, credentials=not keyed)
    meta = aws_client(session, "bedrock-runtime", endpoint_url=endpoint_url).meta
    where, service = str(meta.region_name), str(meta.service_model.signing_name)
    signer = Signature(credentials=session.get_credentials(), service=service, region=where)
    return chat(
        Converse(name=f"bedrock {where}"),
        base_url=endpoint_url or str(meta.endpoint_url),
        key_variable=TOKEN if keyed else "AWS_ACCESS_KEY_ID (or a profile, or a role)",
        signer=None if keyed else signer,
        scorings=("number", "label", "judge"),
        **options,
    )
