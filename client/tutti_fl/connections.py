"""How this client opens connections."""

import functools
import ssl

import httpx

DIRECT: dict[str, httpx.BaseTransport | None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
"""This machine is never reached through a proxy."""


def open_http(*, timeout_s: float = 60.0, headers: dict[str, str] | None = None) -> httpx.Client:
    """A client that follows no redirect; certificates are verified, proxies of the environment are used."""
    return httpx.Client(timeout=timeout_s, headers=headers, mounts=DIRECT, verify=_certificates())


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Reading the certificates takes longer than a request to this machine, so it is done once."""
    return httpx.create_ssl_context()
