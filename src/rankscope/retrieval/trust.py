"""Between us and a server: whose certificates are trusted, and whether a proxy is asked."""

from __future__ import annotations

import ssl
from contextlib import suppress
from importlib import import_module
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import sentence


def is_proxied(url: str) -> bool:
    """Tell whether a proxy of the environment is used: for anything but this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return False
    return bool(getproxies()) and not proxy_bypass(host)


def trusted(verify: bool | str) -> ssl.SSLContext:
    """Return whose certificates are trusted."""
    try:
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    except OSError as error:
        raise InputError(
            f"the certificates in {shown(verify, 200)} cannot be read: {sentence(error)}"
        ) from None
    if verify is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif verify is True and not context.cert_store_stats()["x509_ca"]:
        with suppress(ImportError):  # it comes with httpx
            context.load_verify_locations(import_module("certifi").where())
    return context


def untrusted(host: str, problem: str) -> str:
    """Say that a certificate is not trusted, and what to do."""
    return (
        f"the certificate of {host} is not trusted: {problem or 'verification failed'}; name the "
        "file of its authority as verify"
    )


def certificate_problem(text: str) -> str:
    """Return the part of OpenSSL's sentence that says what is wrong.

    >>> certificate_problem("[SSL: X] certificate verify failed: self-signed (_ssl.c:1006)")
    'self-signed'
    """
    return text.rpartition("failed:")[2].partition("(_ssl")[0].strip()
