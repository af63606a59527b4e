"""Amazon's credentials, regions and errors, through boto3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evenhand._errors import CredentialError, SubjectError, UsageError

KEY_ERRORS = frozenset(
    {
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
    }
)


def aws_session(region: str | None, *, credentials: bool = True) -> Any:
    """A boto3 session; missing credentials are told before the first call.

    Args:
        credentials: whether there have to be any.

    Raises:
        CredentialError: there are none. UsageError: AWS's own configuration is wrong.
    """
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        session: Any = boto3.Session(region_name=region)
        if credentials and session.get_credentials() is None:
            raise CredentialError(
                "no-credentials",
                "AWS finds no credentials",
                expected="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile (AWS_PROFILE), or a role",
            )
    except BotoCoreError as error:
        raise _unusable(error) from error
    return session


def aws_client(session: Any, service: str, *, endpoint_url: str | None) -> Any:
    """A boto3 client with adaptive retries; a missing region is told before the first call."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=70, proxies={}
    )
    try:
        return session.client(service, endpoint_url=endpoint_url, config=config)
    except BotoCoreError as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> UsageError:
    return UsageError(
        "aws-configuration",
        f"AWS cannot be used: {error}",
        hint="name the region: --option region=eu-west-1, or AWS_REGION",
    )


def called(call: Callable[[Any], Any], argument: Any) -> Any:
    """One AWS call; what is wrong with keys or the region stops the run, in our words."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return call(argument)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        said = str(error.response.get("Error", {}).get("Message", ""))[:200]
        if code in KEY_ERRORS:
            raise CredentialError(
                "credentials",
                f"AWS refused the credentials ({code})",
                hint="check AWS_ACCESS_KEY_ID, the role and its rights",
            ) from None
        raise SubjectError(
            "aws-error", f"AWS answered {code}: {said}", hint="what had arrived is kept"
        ) from None
    except BotoCoreError as error:
        raise SubjectError(
            "aws-error", f"AWS cannot be reached: {error}", hint="check the region and the network"
        ) from None
