"""Tokens: whoever proves it is let in, and whatever else is sent is 401, in words, never 500."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import runpy
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.memory_log import MemoryStore
from tests.server.auth.issuer import issuer, key_set, thumbprint_of
from tests.server.rest import RestNode, listening, problem_in, raw, rest_node
from topicfold.errors import Unauthenticated
from topicfold.server.auth import tokens
from topicfold.server.auth.key_sets import FixedKeys
from topicfold.server.auth.keys import keys_in_set
from topicfold.server.auth.tokens import TokenVerifier

TENANTS = "/admin/v2/tenants"
RIGHT = issuer()


def part(value: Any) -> str:
    """Return one part of a token."""
    octets = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def assembled(header: Any, claims: Any, signature: bytes = b"") -> str:
    """Return a token of these parts, whatever they are."""
    return f"{part(header)}.{part(claims)}.{part(signature)}"


def signed_by_public_key(algorithm: str) -> str:
    """Return a token whose symmetric key is the issuer's public key, which everybody knows."""
    said = f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(RIGHT.claims(sub='root'))}"
    digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}[algorithm]
    return f"{said}.{part(hmac.new(RIGHT.pem.encode(), said.encode(), digest).digest())}"


def critical() -> str:
    """Return a token rightly signed that says what would be so without saying it, and that it must be understood.

    Source: RFC 7797.
    """
    said = f"{part({'alg': 'RS256', 'crit': ['b64'], 'b64': True})}.{part(RIGHT.claims(sub='root'))}"
    signature = jwt.get_algorithm_by_name("RS256").sign(said.encode(), RIGHT.private_key)
    return f"{said}.{part(signature)}"


def tampered(token: str) -> str:
    """Return `token` with another subject and the old signature."""
    header, _, signature = token.split(".")
    return f"{header}.{part(RIGHT.claims(sub='root'))}.{signature}"


NOW = int(time.time())
GOOD = RIGHT.token(sub="root")
RIGHT_ID = thumbprint_of()

UNSIGNED, MALFORMED, ALGORITHM = "not signed by a key", "malformed", "algorithm is not one of"
STRANGE_KEY = "names a key"

EITHER = ""
"""Which check meets it first is the library's business."""

WRONG_TOKENS = {
    "alg none": (assembled({"alg": "none"}, RIGHT.claims(sub="root")), ALGORITHM),
    "alg None": (assembled({"alg": "None"}, RIGHT.claims(sub="root")), ALGORITHM),
    "alg missing": (assembled({}, RIGHT.claims(sub="root")), ALGORITHM),
    "alg null": (assembled({"alg": None}, RIGHT.claims(sub="root")), ALGORITHM),
    "alg a list": (assembled({"alg": ["RS256"]}, RIGHT.claims(sub="root")), ALGORITHM),
    "HS256 with the public key": (signed_by_public_key("HS256"), ALGORITHM),
    "HS384 with the public key": (signed_by_public_key("HS384"), ALGORITHM),
    "HS512 with the public key": (signed_by_public_key("HS512"), ALGORITHM),
    "unsigned": (assembled({"alg": "RS256"}, RIGHT.claims(sub="root")), UNSIGNED),
    "another key": (issuer(number=1).token(sub="root"), UNSIGNED),
    "another key of another kind": (issuer("ES256", number=1).token(sub="root"), UNSIGNED),
    "another kind of key than it says": (assembled({"alg": "ES256"}, RIGHT.claims(), b"x" * 64), UNSIGNED),
    "tampered with": (tampered(RIGHT.token(sub="alice")), UNSIGNED),
    "cut": (GOOD[:-12], EITHER),
    "two parts": (GOOD.rpartition(".")[0], MALFORMED),
    "four parts": (f"{GOOD}.{part(b'x')}", MALFORMED),
    "an unknown key id": (RIGHT.token(sub="root", headers={"kid": "unknown"}), STRANGE_KEY),
    "an empty key id": (RIGHT.token(sub="root", headers={"kid": ""}), STRANGE_KEY),
    "a key id that is a path": (RIGHT.token(sub="root", headers={"kid": "../../dev/null"}), STRANGE_KEY),
    "a key id that almost fits": (RIGHT.token(sub="root", headers={"kid": RIGHT_ID[:-1]}), STRANGE_KEY),
    "the id of another kind of key": (RIGHT.token(sub="root", headers={"kid": thumbprint_of("EdDSA")}), UNSIGNED),
    "a stranger's key under a known id": (issuer(number=1).token(sub="root", headers={"kid": RIGHT_ID}), UNSIGNED),
    "a key id that is null": (assembled({"alg": "RS256", "kid": None}, RIGHT.claims()), MALFORMED),
    "a key that it brings itself": (
        issuer(number=1).token(sub="root", headers={"jwk": issuer(number=1).jwk}),
        UNSIGNED,
    ),
    "an address of its key": (issuer(number=1).token(sub="root", headers={"jku": "https://evil.example"}), UNSIGNED),
    "encrypted": (f"{part({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.a.b.c.d", MALFORMED),
    "expired": (RIGHT.token(sub="root", exp=NOW - 60), "expired"),
    "expired long ago": (RIGHT.token(sub="root", exp=0), "expired"),
    "without an end": (RIGHT.token(sub="root", exp=None), "does not say when it expires"),
    "a negative end": (RIGHT.token(sub="root", exp=-1), "expired"),
    "an end that is text": (RIGHT.token(sub="root", exp="tomorrow"), "exp is not a time"),
    "an end that is NaN": (RIGHT.token(sub="root", exp=float("nan")), "exp is not a time"),
    "an end that is a boolean": (RIGHT.token(sub="root", exp=True), "exp is not a time"),
    "without a beginning": (RIGHT.token(sub="root", nbf=None), "claim nbf"),
    "a beginning that is text": (RIGHT.token(sub="root", nbf="today"), "nbf is not a time"),
    "neither beginning nor end": (RIGHT.token(sub="root", nbf=None, exp=None), "does not say when it expires"),
    "not valid yet": (RIGHT.token(sub="root", nbf=NOW + 3600), "not valid yet"),
    "a beginning beyond all numbers of a clock": (RIGHT.token(sub="root", nbf=10**400), "not valid yet"),
    "a beginning that is NaN": (RIGHT.token(sub="root", nbf=float("nan")), "nbf is not a time"),
    "another issuer": (RIGHT.token(sub="root", iss="https://other.example"), "another issuer"),
    "no issuer": (RIGHT.token(sub="root", iss=None), "claim iss"),
    "another audience": (RIGHT.token(sub="root", aud="other"), "another audience"),
    "an issuer that is a list": (
        RIGHT.signed(json.dumps(RIGHT.claims(iss=["https://issuer.example"])).encode()),
        "issuer",
    ),
    "other audiences": (RIGHT.token(sub="root", aud=["other", "another"]), "another audience"),
    "no audience": (RIGHT.token(sub="root", aud=None), "claim aud"),
    "no subject": (RIGHT.token(sub=None), "names no role"),
    "an empty subject": (RIGHT.token(sub=""), "role"),
    "a subject that is a number": (RIGHT.token(sub=0), "names no role"),
    "a subject that cannot be printed": (RIGHT.token(sub="ro\not"), "role"),
    "a subject of a kilobyte": (RIGHT.token(sub="r" * 1_000), "role"),
    "a critical extension": (RIGHT.token(sub="root", headers={"crit": ["exp"]}), MALFORMED),
    "a critical extension that the library knows": (critical(), "asks for what is not known"),
    "a key id that is a number": (assembled({"alg": "RS256", "kid": 7}, RIGHT.claims()), MALFORMED),
    "claims that are a list": (RIGHT.signed(b'["root"]'), MALFORMED),
    "claims that are no JSON": (RIGHT.signed(b"root"), MALFORMED),
    "claims nested without end": (RIGHT.signed(b"[" * 5_000), MALFORMED),
    "a header that is a list": (assembled(["RS256"], RIGHT.claims()), MALFORMED),
    "a header that is no UTF-8": (assembled(b"\xff\xfe", RIGHT.claims()), MALFORMED),
    "a header nested without end": (assembled(b"[" * 5_000, {}), MALFORMED),
    "garbage": ("garbage", MALFORMED),
    "dots": ("..", MALFORMED),
    "a dot": (".", MALFORMED),
    "9 KiB": ("x" * 9_000, "longer than"),
    "a right one, too long": (RIGHT.token(sub="root", filler="x" * 9_000), "longer than"),
    "100 KiB": ("x" * 100_000, "longer than"),
}

WRONG_HEADERS = {
    "empty": b"",
    "no token": b"Bearer",
    "an empty token": b"Bearer ",
    "only spaces": b"Bearer    ",
    "another scheme": f"Token {GOOD}".encode(),
    "basic": b"Basic " + base64.b64encode(b"root:root"),
    "no scheme": GOOD.encode(),
    "two tokens": f"Bearer {GOOD} {GOOD}".encode(),
    "two tokens with a comma": f"Bearer {GOOD}, Bearer {GOOD}".encode(),
    "a tab": f"Bearer\t{GOOD}".encode(),
    "a parameter": f'Bearer token="{GOOD}"'.encode(),
    "not ASCII": b"Bearer \xc3\xa9",
    "not UTF-8": b"Bearer \xff",
    "a control character": b"Bearer a\x01b",
    "quoted": f'Bearer "{GOOD}"'.encode(),
}


async def refused(node: RestNode, *headers: tuple[bytes, bytes], path: str = TENANTS) -> str:
    """See that a request is 401 and says how to do better; return why it is."""
    answer = await node.client.get(path, headers=list(headers))
    assert problem_in(answer.status_code, answer.headers, answer.content) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"
    return str(answer.json()["reason"])


@pytest.mark.parametrize("kind", ["RS256", "ES256", "ES384", "ES512", "EdDSA"])
async def test_a_token_of_each_kind_of_key_is_taken(closed: RestNode, kind: str) -> None:
    await closed.get(TENANTS, authorization=f"Bearer {issuer(kind).token(sub='root')}")


async def test_a_token_may_name_ed25519_as_it_is_called_now(closed: RestNode) -> None:
    """RFC 9864."""
    said = f"{part({'alg': 'Ed25519'})}.{part(RIGHT.claims(sub='root'))}"
    for number, status in ((0, 200), (1, 401)):
        signature = issuer("EdDSA", number=number).private_key.sign(said.encode())
        answer = await closed.send("GET", TENANTS, authorization=f"Bearer {said}.{part(signature)}")
        assert answer.status_code == status


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256", "PS384", "PS512"])
async def test_an_rsa_key_verifies_all_its_algorithms(closed: RestNode, algorithm: str) -> None:
    await closed.get(TENANTS, authorization=f"Bearer {RIGHT.token(algorithm, sub='root')}")


@pytest.mark.parametrize("what", WRONG_TOKENS)
async def test_a_wrong_token_is_401(closed: RestNode, what: str) -> None:
    token, reason = WRONG_TOKENS[what]
    assert reason in await refused(closed, (b"authorization", b"Bearer " + token.encode()))


@pytest.mark.parametrize("what", WRONG_HEADERS)
async def test_a_wrong_header_is_401(closed: RestNode, what: str) -> None:
    await refused(closed, (b"authorization", WRONG_HEADERS[what]))


@pytest.mark.parametrize(
    "path", [TENANTS, "/admin/v2/nothing", f"{TENANTS}?access_token={GOOD}", f"{TENANTS}?token={GOOD}"]
)
async def test_no_header_is_401_whatever_the_path_says(closed: RestNode, path: str) -> None:
    await refused(closed, path=path)


async def test_two_headers_are_401_though_both_are_right(closed: RestNode) -> None:
    header = (b"authorization", f"Bearer {GOOD}".encode())
    await refused(closed, header, header)


@pytest.mark.parametrize("header", ["", "Authorization:\r\n", "Authorization: Bearer\r\n", "authorization: bearer\r\n"])
async def test_over_a_socket_it_is_the_same(closed: RestNode, header: str) -> None:
    async with listening(closed) as port:
        status, headers, _ = await raw(port, f"GET {TENANTS} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
    assert (status, headers.get("www-authenticate")) == (401, "Bearer")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/version", "/metrics", "/openapi.json", "/"])
async def test_what_is_public_asks_for_no_token_and_looks_at_none(closed: RestNode, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer garbage"}):
        assert (await closed.send("GET", path, **headers)).status_code == 200


@pytest.mark.parametrize("kind", ["RS256", "ES256", "ES384", "ES512", "EdDSA"])
async def test_a_token_that_names_its_key_is_held_against_that_key(closed: RestNode, kind: str) -> None:
    token = issuer(kind).token(sub="root", headers={"kid": thumbprint_of(kind)})
    await closed.get(TENANTS, authorization=f"Bearer {token}")


def test_the_corpus_is_as_large_as_it_was_agreed() -> None:
    assert len(WRONG_TOKENS) + len(WRONG_HEADERS) >= 60


async def test_pulsars_own_tokens_are_taken_where_that_is_said(store: MemoryStore, key_file: Path) -> None:
    pulsars = RIGHT.token(sub="root", nbf=None, iss=None, aud=None)
    for told, status in (({}, 401), ({"auth_accept_without_nbf": True}, 200)):
        async with rest_node(store, auth_jwt_key_file=key_file, **told) as rest:
            assert (await rest.send("GET", TENANTS, authorization=f"Bearer {pulsars}")).status_code == status
            endless = RIGHT.token(sub="root", nbf=None, exp=None)
            assert (await rest.send("GET", TENANTS, authorization=f"Bearer {endless}")).status_code == 401


async def test_a_token_may_name_several_audiences(closed: RestNode) -> None:
    await closed.get(TENANTS, authorization=f"Bearer {RIGHT.token(sub='root', aud=['other', 'topicfold'])}")


@pytest.mark.parametrize("end", [1e308, float("inf"), 10**400])
async def test_a_token_may_end_beyond_all_times(closed: RestNode, end: float) -> None:
    await closed.get(TENANTS, authorization=f"Bearer {RIGHT.token(sub='root', exp=end, nbf=-end)}")


async def test_clocks_may_differ_a_little(closed: RestNode) -> None:
    now = int(time.time())
    await closed.get(TENANTS, authorization=f"Bearer {RIGHT.token(sub='root', exp=now - 2, nbf=now + 3)}")


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (2_000 + 4_000, "the token has expired, 4,000 seconds ago by this server's clock"),
        (1_000 - 60, "the token is not valid yet, for another 60 seconds by this server's clock"),
    ],
)
async def test_where_clocks_differ_more_it_is_said_by_how_much(now: float, reason: str) -> None:
    verifier = TokenVerifier([FixedKeys(keys_in_set(key_set(RIGHT)))], lambda: now)
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(RIGHT.token(sub="root", nbf=1_000, exp=2_000))
    assert caught.value.reason == reason
    assert "check the clocks" in caught.value.hint


def test_a_library_that_has_come_to_know_the_newer_name_of_eddsa_is_none_to_fail_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = jwt.PyJWS(["EdDSA"]).get_algorithm_by_name("EdDSA")
    monkeypatch.setattr("jwt.api_jws.get_default_algorithms", lambda: {"EdDSA": known, "Ed25519": known})
    assert "TokenVerifier" in runpy.run_path(tokens.__file__)
