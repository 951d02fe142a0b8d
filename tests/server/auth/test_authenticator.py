"""What is remembered of tokens: that they were verified, as long as that may be believed, and never the tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.auth.issuer import issuer, key_set
from topicfold.errors import Unauthenticated
from topicfold.server.auth import authenticator as module
from topicfold.server.auth.authenticator import RECHECK_SECONDS, Authenticator
from topicfold.server.auth.key_sets import FetchedKeys, FixedKeys
from topicfold.server.auth.keys import VerificationKey, keys_in_set
from topicfold.server.auth.peer import Peer, note_peer
from topicfold.server.auth.principal import Credential, Principal, principal_with
from topicfold.server.auth.tokens import LEEWAY_SECONDS, TokenVerifier
from topicfold.server.guard import HEADERS_KEY

ENDS = 10_000
KEYS = (VerificationKey(issuer().private_key.public_key(), ("RS256",), "ours"),)


class Counting(TokenVerifier):
    """Counts what it verifies, by a clock moved by hand."""

    def __init__(self, keys: tuple[VerificationKey, ...], **claims: str) -> None:
        self.now = 1_000.0
        self.verified = 0
        super().__init__([FixedKeys(keys)], lambda: self.now, **claims)

    async def verify(self, token: str) -> Credential:
        self.verified += 1
        return await super().verify(token)


@pytest.fixture
def verifier() -> Counting:
    return Counting(KEYS)


def with_token(token: str) -> dict[str, Any]:
    """Return the scope of a request that brings `token`."""
    return {HEADERS_KEY: {b"authorization": f"Bearer {token}".encode()}}


async def test_a_token_is_verified_once_for_many_requests(verifier: Counting) -> None:
    door = Authenticator(lambda: verifier.now, verifier)
    scope = with_token(issuer().token(exp=ENDS))
    assert {(await door.authenticate(scope)).name for _ in range(5)} == {"alice"}
    assert verifier.verified == 1


@pytest.mark.parametrize("scheme", ["bearer ", "BEARER ", "Bearer  "])
@pytest.mark.parametrize("peer", [None, Peer()], ids=["without a connection", "on one connection"])
async def test_the_scheme_may_be_written_in_any_case_and_is_the_same_token(
    verifier: Counting, scheme: str, peer: Peer | None
) -> None:
    door = Authenticator(lambda: verifier.now, verifier, {"development": principal_with(["dev"])})
    token = issuer().token(exp=ENDS)
    await door.authenticate(with_token(token))
    for name, sent in (("alice", token), ("dev", "development")):
        scope = {HEADERS_KEY: {b"authorization": f"{scheme}{sent}".encode()}}
        if peer is not None:
            note_peer(scope, peer)
        assert [(await door.authenticate(scope)).name for _ in range(2)] == [name] * 2
    assert verifier.verified == 1


async def test_keys_can_be_had_before_anybody_sends_a_token(verifier: Counting) -> None:
    fetched: list[str] = []

    async def fetch(url: str) -> bytes:
        fetched.append(url)
        return key_set(issuer()).encode()

    keys = FetchedKeys("https://issuer.example/keys", fetch)
    await Authenticator(lambda: 0.0, TokenVerifier([keys], lambda: 0.0)).fetch_keys()
    assert fetched == ["https://issuer.example/keys"]
    await Authenticator(lambda: 0.0).fetch_keys()


@pytest.mark.parametrize(
    ("tokens", "takes_certificates", "ways"),
    [
        ({"s3cret": principal_with(["ann"])}, False, "Send Authorization: Bearer TOKEN, with a token that this server"),
        ({"s3cret": principal_with(["ann"])}, True, "Send Authorization: Bearer TOKEN, or connect with a client cert"),
        ({}, True, "Connect with a client certificate that this server accepts."),
    ],
)
async def test_whoever_does_not_say_who_they_are_is_told_of_the_ways_that_are_open_and_no_other(
    tokens: dict[str, Principal], takes_certificates: bool, ways: str
) -> None:
    door = Authenticator(lambda: 0.0, static_tokens=tokens, takes_certificates=takes_certificates)
    with pytest.raises(Unauthenticated) as refused:
        await door.authenticate({HEADERS_KEY: {}})
    assert refused.value.hint.startswith(ways)
    with pytest.raises(Unauthenticated, match="not known here" if tokens else "accepts no tokens"):
        await door.authenticate(with_token("another"))


async def test_a_remembered_token_ends_when_it_says(verifier: Counting) -> None:
    door = Authenticator(lambda: verifier.now, verifier)
    scope = with_token(issuer().token(exp=1_100))
    await door.authenticate(scope)
    verifier.now = 1_100 + LEEWAY_SECONDS - 1
    await door.authenticate(scope)
    verifier.now += 1
    with pytest.raises(Unauthenticated, match="expired"):
        await door.authenticate(scope)


async def test_a_signature_is_looked_at_again_after_a_while(verifier: Counting) -> None:
    door = Authenticator(lambda: verifier.now, verifier)
    scope = with_token(issuer().token(exp=ENDS))
    for _ in range(3):
        await door.authenticate(scope)
        verifier.now += RECHECK_SECONDS
    assert verifier.verified == 3


@pytest.mark.parametrize("peer", [None, Peer()], ids=["without a connection", "on one connection"])
async def test_a_signature_is_looked_at_again_where_the_clock_was_put_back(
    verifier: Counting, peer: Peer | None
) -> None:
    door = Authenticator(lambda: verifier.now, verifier)
    scope = with_token(issuer().token(exp=ENDS, nbf=0))
    if peer is not None:
        note_peer(scope, peer)
    for now in (5_000, 5_000, 1_400, 1_400):
        verifier.now = now
        await door.authenticate(scope)
    assert verifier.verified == 2


async def test_a_wrong_token_is_not_remembered(verifier: Counting) -> None:
    door = Authenticator(lambda: verifier.now, verifier)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await door.authenticate(with_token(issuer(number=1).token(exp=ENDS)))
    assert door._verified == {}


async def test_only_so_many_are_remembered(verifier: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 3)
    door = Authenticator(lambda: verifier.now, verifier)
    scopes = [with_token(issuer().token(sub=f"role{number}", exp=ENDS)) for number in range(5)]
    for scope in scopes:
        await door.authenticate(scope)
    assert len(door._verified) == 3
    await door.authenticate(scopes[-1])
    assert verifier.verified == 5


async def test_no_token_is_kept(verifier: Counting) -> None:
    token = issuer().token(exp=ENDS)
    door = Authenticator(lambda: verifier.now, verifier, {"development": principal_with(["dev"])})
    await door.authenticate(with_token(token))
    held = repr(vars(door))
    assert token not in held
    assert "development" not in held


async def test_a_role_claim_may_hold_several_roles_and_the_subject_is_the_name() -> None:
    keys = keys_in_set(key_set(issuer()))
    verifier = Counting(keys, role_claim="groups")
    credential = await verifier.verify(issuer().token(exp=ENDS, groups=["readers", "writers"]))
    assert credential.principal.name == "alice"
    assert credential.principal.roles == {"readers", "writers"}


@pytest.mark.parametrize("groups", [None, [], "", [""], ["a", 1], {"a": 1}, [["a"]], 1, True])
async def test_a_role_claim_without_a_role_is_refused(verifier: Counting, groups: object) -> None:
    verifier = Counting(KEYS, role_claim="groups")
    with pytest.raises(Unauthenticated, match="role"):
        await verifier.verify(issuer().token(exp=ENDS, groups=groups))


async def test_a_connection_that_brings_another_token_is_somebody_else(verifier: Counting) -> None:
    door, peer = Authenticator(lambda: verifier.now, verifier), Peer()
    tokens = {name: issuer().token(sub=name, exp=ENDS) for name in ("alice", "bob")}
    for name in ("alice", "bob", "alice", "alice", "bob"):
        scope = with_token(tokens[name])
        note_peer(scope, peer)
        assert (await door.authenticate(scope)).name == name
    for wrong in ({}, with_token(tokens["alice"] + "x"), with_token(tokens["alice"][:-1])):
        scope = {HEADERS_KEY: {}} | wrong
        note_peer(scope, peer)
        with pytest.raises(Unauthenticated):
            await door.authenticate(scope)


async def test_a_token_that_a_connection_remembers_ends_and_is_looked_at_again_as_any_other(verifier: Counting) -> None:
    door, scope = Authenticator(lambda: verifier.now, verifier), with_token(issuer().token(exp=2_000))
    note_peer(scope, Peer())
    for _ in range(3):
        await door.authenticate(scope)
        await door.authenticate(scope)
        verifier.now += RECHECK_SECONDS
    assert verifier.verified == 3
    verifier.now = 2_000 + LEEWAY_SECONDS
    with pytest.raises(Unauthenticated, match="expired"):
        await door.authenticate(scope)
