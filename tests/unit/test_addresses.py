"""Where keys may go: not in the clear to another machine, not to where clouds hand out credentials."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from evenhand._errors import UsageError
from evenhand.subjects import subject
from evenhand.subjects.keys import check_url, is_loopback

LOOPBACK = ["localhost", "LOCALHOST", "127.0.0.1", "127.1", "127.9.9.9", "[::1]", "0x7f.1", "2130706433"]
ELSEWHERE = ["example.org", "10.0.0.5", "localhost.example.org", "127.0.0.1.example.org", "[2001:db8::1]"]
LINK_LOCAL = [
    "169.254.169.254",
    "169.254.1.1",
    "2852039166",
    "0xa9fea9fe",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "100.100.100.200",
]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "PERSPECTIVE_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "MY_KEY",
    ):
        monkeypatch.setenv(name, "a-key-of-some-length")
    monkeypatch.setenv("AZURE_CONTENT_SAFETY_KEY", "a-key-of-some-length")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id-of-some-length")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-key-of-some-length")


MAKERS: dict[str, Any] = {
    "openai": lambda url, **more: subject("openai", model="m", prompt="{text}", base_url=url, **more),
    "anthropic": lambda url, **more: subject("anthropic", model="m", prompt="{text}", base_url=url, **more),
    "gemini": lambda url, **more: subject("gemini", model="m", prompt="{text}", base_url=url, **more),
    "bedrock": lambda url, **more: subject(
        "bedrock", model="m", prompt="{text}", region="eu-west-1", endpoint_url=url, **more
    ),
    "http": lambda url, **more: subject(
        "http", url=url, scores="$.s", headers={"Authorization": "Bearer ${MY_KEY}"}, **more
    ),
    "http, key in the query": lambda url, **more: subject(
        "http", url=f"{url}/?key=${{MY_KEY}}", scores="$.s", **more
    ),
    "openai-moderation": lambda url: subject("openai-moderation", base_url=url),
    "perspective": lambda url: subject("perspective", endpoint_url=url),
    "google-moderation": lambda url: subject("google-moderation", endpoint_url=url),
    "azure-content-safety": lambda url: subject("azure-content-safety", endpoint_url=url),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_key_goes_over_plain_http_to_this_machine_only(name: str) -> None:
    """Refused before anything is sent, whatever the service; https and the loopback are taken."""
    for host in ELSEWHERE:
        with pytest.raises(UsageError) as told:
            MAKERS[name](f"http://{host}")
        assert told.value.slug == "insecure-address"
        MAKERS[name](f"https://{host}")
    for host in LOOPBACK:
        MAKERS[name](f"http://{host}:8000")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("host", LINK_LOCAL)
def test_link_local_addresses_are_refused_in_every_spelling(name: str, host: str) -> None:
    """With and without TLS."""
    for scheme in ("http", "https"):
        with pytest.raises(UsageError) as told:
            MAKERS[name](f"{scheme}://{host}")
        assert told.value.slug == "link-local-address"


@pytest.mark.parametrize("name", [name for name in MAKERS if name[:4] in ("open", "anth", "http")][:3])
def test_whoever_vouches_for_an_address_may_use_it(name: str) -> None:
    """`trust_address`; a key or password in the address is refused all the same."""
    MAKERS[name]("http://10.0.0.5:8000", trust_address=True)
    MAKERS[name]("http://169.254.1.1", trust_address=True)
    with pytest.raises(UsageError, match="key-in-configuration"):
        MAKERS[name]("http://me:secret@10.0.0.5:8000", trust_address=True)


def test_without_a_key_plain_http_is_nobody_s_secret() -> None:
    """A model in one's own network; metadata addresses are refused even so."""
    assert subject("http", url="http://10.0.0.5/score", scores="$.s").id
    with pytest.raises(UsageError, match="link-local-address"):
        subject("http", url="http://169.254.169.254/score", scores="$.s")


def test_what_only_looks_like_the_loopback_is_none() -> None:
    """Names that begin with it."""
    assert all(is_loopback(f"http://{host}") for host in LOOPBACK)
    assert not any(is_loopback(f"http://{host}") for host in [*ELSEWHERE, *LINK_LOCAL, "0.0.0.0", ""])
    check_url("")


def test_a_proxy_is_used_only_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the environment's; a password in its address is refused."""
    seen: list[str] = []

    async def asked(proxy: str | None) -> Any:
        async def handle(request: web.BaseRequest) -> web.Response:
            seen.append(str(request.rel_url) if request.rel_url.scheme else request.raw_path)
            return web.json_response({"s": 0.5})

        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        address = f"http://127.0.0.1:{port}"
        model = subject(
            "http",
            url=f"{address}/score" if proxy is None else "http://model.invalid/score",
            scores="$.s",
            proxy=None if proxy is None else address,
            attempts=1,
        )
        replies = await asyncio.to_thread(model, ["a text"])
        await runner.cleanup()
        return replies

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert asyncio.run(asked(None)).errors == {}
    assert asyncio.run(asked("named")).errors == {}
    assert seen == ["/score", "http://model.invalid/score"]
    with pytest.raises(UsageError, match="key-in-configuration"):
        subject("http", url="https://example.org", scores="$.s", proxy="http://me:secret@proxy:3128")


def test_aws_is_asked_without_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore would read it."""
    pytest.importorskip("boto3")
    from evenhand.subjects.aws import aws_client, aws_session

    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    client = aws_client(aws_session("eu-west-1"), "comprehend", endpoint_url=None)
    assert client.meta.config.proxies == {}
    assert client._endpoint.http_session._proxy_config.proxy_url_for("https://x.amazonaws.com") is None
