"""What the environment says of the way to a server: through which proxy it leads, and which authorities are trusted.

The HTTP library reads the same variables. It makes ready for every proxy that they name, whichever it needs.
"""

from __future__ import annotations

import os
import ssl
from importlib.util import find_spec
from urllib.request import getproxies, proxy_bypass

import httpx2

from topicfold.errors import BadSetting
from topicfold.pem import tls_reason

_KINDS = ("http", "https", "all")


def proxy_of(url: httpx2.URL) -> str:
    """Return the proxy through which `url` is asked, without a password; "" where it is asked itself.

    Raises:
        BadSetting: a proxy that the environment names, this one or another, cannot be used.
    """
    proxies = getproxies()
    if "*" in map(str.strip, proxies.get("no", "").split(",")):
        return ""
    named = {kind: _usable(kind, proxies[kind]) for kind in _KINDS if proxies.get(kind)}
    if not named or proxy_bypass(url.netloc.decode()):
        return ""
    return named.get(url.scheme) or named.get("all", "")


def system_trust() -> ssl.SSLContext:
    """Return that the authorities are trusted that the system trusts, or else the environment names.

    Raises:
        BadSetting: their file cannot be read, or holds something else.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        file = os.environ.get("SSL_CERT_FILE", "")
        raise BadSetting(
            f"SSL_CERT_FILE {file}: cannot be used: {tls_reason(error)}",
            hint="Unset it, or name a file of certificates in PEM.",
        ) from None


def _usable(kind: str, text: str) -> str:
    """Return the URL of a proxy, without who asks.

    Raises:
        BadSetting: it is none, or of a kind that the library cannot speak to.
    """
    # Whoever asks may have a password.
    shown = text.rpartition("@")[2]
    try:
        proxy = httpx2.Proxy(text if "://" in text else f"http://{text}").url
    except (ValueError, httpx2.InvalidURL):
        raise BadSetting(
            f"{kind}_proxy of the environment, {shown}, is not the URL of a proxy",
            hint=f"Write it like http://proxy:3128, or unset {kind}_proxy and {kind.upper()}_PROXY.",
        ) from None
    if proxy.scheme.startswith("socks") and find_spec("socksio") is None:
        raise BadSetting(
            f"{kind}_proxy of the environment, {proxy}, needs a package that is not installed",
            hint=f"pip install socksio, or unset {kind}_proxy and {kind.upper()}_PROXY.",
        )
    return str(proxy)
