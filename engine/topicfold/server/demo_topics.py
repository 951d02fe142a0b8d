"""The topics of the demo: the events of a shop in four regions, with labels that are worth a look.

One label is misspelt and some topics belong to nobody, so that a report has something to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from topicfold.model.names import PERSISTENT, TopicName
from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.resolve import Policies
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen

TENANT = "shop"
EXAMPLE = f"{TENANT}/payments/refund__issued__eu"
"""A topic whose labels were changed several times."""

_REGIONS = ("br", "eu", "jp", "us")
_EVENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "orders": {
        "order": ("placed", "changed", "cancelled"),
        "basket": ("created", "abandoned"),
        "return": ("requested", "received", "accepted"),
        "review": ("posted", "hidden"),
    },
    "payments": {
        "charge": ("authorized", "captured", "declined"),
        "refund": ("issued", "failed"),
        "dispute": ("opened", "won", "lost"),
        "payout": ("sent", "returned"),
    },
    "shipping": {
        "parcel": ("packed", "shipped", "delivered", "lost"),
        "route": ("planned", "changed"),
        "carrier": ("booked", "delayed"),
        "customs": ("declared", "cleared"),
    },
    "catalog": {
        "product": ("added", "changed", "removed"),
        "price": ("changed", "announced"),
        "stock": ("counted", "low", "refilled"),
        "image": ("added", "removed"),
    },
    "customers": {
        "account": ("opened", "verified", "closed"),
        "consent": ("given", "withdrawn"),
        "address": ("added", "changed"),
        "loyalty": ("earned", "spent", "expired"),
    },
}
_TEAMS = {"orders": "checkout", "payments": "payments", "shipping": "logistics", "catalog": "catalog"}
_GOLD = ("order", "charge", "parcel")
_OF_NOBODY = ("image", "loyalty")
_MISSPELT = "payout__returned__jp"
_WEEK, _QUARTER = 7 * 24 * 60, 90 * 24 * 60


def demo_namespaces() -> Mapping[str, NamespaceRecord]:
    """Return the namespaces by name, each keeping messages for a week."""
    record = NamespaceRecord(policies=_keeping(_WEEK))
    return {f"{TENANT}/{part}": record for part in _EVENTS}


def demo_topics() -> Iterator[tuple[TopicName, TopicRecord]]:
    """Yield the topics with their records."""
    for part, things in _EVENTS.items():
        for thing, events in things.items():
            for event in events:
                for region in _REGIONS:
                    name = TopicName(PERSISTENT, TENANT, part, f"{thing}__{event}__{region}")
                    yield name, _record(name, thing, region)


def _keeping(minutes: int) -> Policies:
    return MappingProxyType({RETENTION: {"retentionTimeInMinutes": minutes, "retentionSizeInMB": -1}})


def _record(name: TopicName, thing: str, region: str) -> TopicRecord:
    is_gold = thing in _GOLD
    labels = {"region": region, "tier": "gold" if is_gold else "bronze" if region == "br" else "silver"}
    if thing not in _OF_NOBODY:
        labels["team"] = "paymnts" if name.local == _MISSPELT else _TEAMS.get(name.namespace_part, "crm")
    if name.namespace_part == "customers":
        labels["pii"] = "true"
    local = _keeping(_QUARTER) if is_gold else None
    return TopicRecord(partitions=6 if is_gold else 0, labels=frozen(labels), local=local)
