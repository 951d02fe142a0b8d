"""Clusters that policies may name besides the one that is served here, with their addresses and peers.

They are stored on the log in the record of a tenant whose name no user can write, in the place of its grants: for each
cluster its addresses, as `member=address`, and its peers, as comma-separated names. Nothing here connects to a cluster,
so no credentials are stored.

Source: Pulsar's `ClusterDataImpl`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from topicfold.errors import InvalidRequest
from topicfold.model.events import Verdict
from topicfold.model.names import check_cluster
from topicfold.model.records import Grants, Record, TenantRecord
from topicfold.model.updates import Refuse, Stored, Updater

CLUSTERS = "@clusters"
"""The tenant's name. Names from users cannot contain `@`."""

MAX_CLUSTERS = 256
MAX_ADDRESS_LENGTH = 1024

_PORTS = {"http": 8080, "https": 8443, "pulsar": 6650, "pulsar+ssl": 6651}
_SCHEMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "brokerServiceUrl": ("pulsar",),
    "brokerServiceUrlTls": ("pulsar+ssl",),
    "proxyServiceUrl": ("pulsar", "pulsar+ssl"),
    "serviceUrl": ("http",),
    "serviceUrlTls": ("https",),
})  # fmt: skip

PEERS = "peerClusterNames"

Addresses = Mapping[str, str]
"""Addresses of one cluster, by their member in Pulsar's `ClusterData`; and its peers, under `PEERS`."""


def addresses_in(body: Any) -> Addresses:
    """Return the addresses and peers in Pulsar's `ClusterData`; its other members, and empty texts, are ignored.

    Raises:
        InvalidRequest: it is not an object, or an address is not a URL; carries all violations.
    """
    if not isinstance(body, dict):
        raise InvalidRequest("cluster data is required: an object with serviceUrl, brokerServiceUrl or the like")
    given = {member: body[member] for member in _SCHEMES if body.get(member) not in (None, "")}
    wrong = [
        {"path": member, "reason": f"must be a URL such as {_example(_SCHEMES[member][-1])}"}
        for member, address in given.items()
        if not _is_address(address, _SCHEMES[member])
    ]
    if wrong:
        raise InvalidRequest("; ".join(f"{each['path']} {each['reason']}" for each in wrong), violations=wrong)
    peers = body.get(PEERS)
    named = [each for each in peers if each != ""] if isinstance(peers, list) else peers
    return _with_peers(given, peers_in_body(named))


def _example(scheme: str) -> str:
    return f"{scheme}://pulsar.example.com:{_PORTS[scheme]}"


def peers_in_body(body: Any) -> tuple[str, ...]:
    """Return the peers named in a JSON list, without repetitions; none for null.

    Raises:
        InvalidRequest: it is not a list of texts, or has more than `MAX_CLUSTERS`.
        InvalidName: a name breaks the rules.
    """
    if body is None:
        return ()
    if not isinstance(body, list) or len(body) > MAX_CLUSTERS or not all(isinstance(each, str) for each in body):
        raise InvalidRequest(f"{PEERS} must be a list of at most {MAX_CLUSTERS} names of clusters")
    return tuple(dict.fromkeys(check_cluster(each) for each in body))


def peers_in(addresses: Addresses) -> tuple[str, ...]:
    """Return a cluster's peers: clusters that replace it, so that no topic may be on both."""
    return tuple(filter(None, addresses.get(PEERS, "").split(",")))


def shown_cluster(addresses: Addresses) -> dict[str, Any]:
    """Return a cluster in the form of Pulsar's `ClusterData`."""
    peers = peers_in(addresses)
    return {**addresses, **({PEERS: list(peers)} if peers else {})}


def clusters_in(record: TenantRecord) -> Mapping[str, Addresses]:
    """Return the clusters in the record of `CLUSTERS`, sorted."""
    return MappingProxyType(
        {name: MappingProxyType(dict(each.split("=", 1) for each in kept)) for name, kept in record.grants.items()}
    )


def create_cluster(name: str, addresses: Addresses, local: str) -> Updater:
    """Return the update that registers a cluster. `local` is the one served here, which need not be registered."""

    def change(old: Grants) -> Grants | Refuse:
        if name in old or name == local:
            return Refuse(Verdict.ALREADY_EXISTS, f"Cluster already exists: {name}")
        if len(old) >= MAX_CLUSTERS:
            return Refuse(Verdict.TOO_MANY_GRANTS, f"{len(old)} clusters are registered, at most {MAX_CLUSTERS} may be")
        return {**old, name: _kept(addresses)}

    return _change(change)


def update_cluster(name: str, addresses: Addresses, local: str) -> Updater:
    """Return the update that replaces a cluster's addresses."""

    def change(old: Grants) -> Grants | Refuse:
        return {**old, name: _kept(addresses)} if name in old or name == local else _missing(name)

    return _change(change)


def set_peers(name: str, peers: Collection[str], others: Collection[str]) -> Updater:
    """Return the update that sets a cluster's peers, each of which must be registered or among `others`."""

    def change(old: Grants) -> Grants | Refuse:
        if name not in old and name not in others:
            return _missing(name)
        if name in peers:
            return Refuse(Verdict.POLICY_UNMET, f"{name} itself can't be part of peer-list")
        for peer in peers:
            if peer not in old and peer not in others:
                return Refuse(Verdict.POLICY_UNMET, f"Peer cluster {peer} does not exist")
        kept = dict(each.split("=", 1) for each in old.get(name, ()))
        kept.pop(PEERS, None)
        return {**old, name: _kept(_with_peers(kept, peers))}

    return _change(change)


def delete_cluster(name: str) -> Updater:
    """Return the update that removes a cluster; policies that name it keep their values."""

    def change(old: Grants) -> Grants | Refuse:
        return {each: kept for each, kept in old.items() if each != name} if name in old else _missing(name)

    return _change(change)


def _change(change: Callable[[Grants], Grants | Refuse]) -> Updater:
    def update(old: Stored) -> Record | Refuse:
        record = old if isinstance(old, TenantRecord) else TenantRecord()
        clusters = change(record.grants)
        if isinstance(clusters, Refuse):
            return clusters
        return replace(record, grants=MappingProxyType(dict(sorted(clusters.items()))))

    return update


def _missing(name: str) -> Refuse:
    return Refuse(Verdict.CLUSTER_NOT_FOUND, f"Cluster does not exist: {name}")


def _with_peers(addresses: Addresses, peers: Collection[str]) -> Addresses:
    return MappingProxyType({**addresses, **({PEERS: ",".join(peers)} if peers else {})})


def _kept(addresses: Addresses) -> tuple[str, ...]:
    return tuple(sorted(f"{member}={address}" for member, address in addresses.items()))


def _is_address(address: Any, schemes: tuple[str, ...]) -> bool:
    if not isinstance(address, str) or len(address) > MAX_ADDRESS_LENGTH or not address.isprintable():
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.netloc)
