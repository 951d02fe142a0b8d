"""Commands for the policies in `access`.

Source: `CmdTopicPolicies`, `CmdTopics` and `CmdNamespaces` of Pulsar's client tools 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.policy.options import Command, Commands, Option, Unit, disable, enable, everywhere, named, required
from topicfold.model.policy.shapes import SCHEMA_STRATEGIES, SUBSCRIPTION_TYPES

_TYPES = named(
    "subscription-types-enabled",
    Option(("--types", "-t"), "", f"Some of {', '.join(SUBSCRIPTION_TYPES)}.", Unit.LIST, is_required=True),
    example="-t Shared,Failover",
)
_STRATEGY_HELP = f"One of {', '.join(SCHEMA_STRATEGIES)}."
_STRATEGY = named("schema-compatibility-strategy", required("--strategy", "-s", _STRATEGY_HELP), example="-s BACKWARD")
_NAMESPACE_STRATEGY = replace(
    _STRATEGY, remove="", options=(required("--compatibility", "-c", _STRATEGY_HELP),), example="-c BACKWARD"
)
_VALIDATION = Command(
    "get-schema-validation-enforce",
    "set-schema-validation-enforce",
    "",
    (enable("Producers must have a schema. If left out, they need none."),),
    "--enable",
)
_NAMESPACE_VALIDATION = replace(
    _VALIDATION, options=(enable("Producers must have a schema."), disable("Producers need no schema."))
)
_FILTERS = named(
    "entry-filters-per-topic",
    Option(("--entry-filters-name", "-efn"), "entryFilterNames", "Comma-separated names.", is_required=True),
    example="-efn jms",
)
_NAMESPACE_FILTERS = named("entry-filters", *_FILTERS.options, example=_FILTERS.example)
_PAUSE = replace(named("dispatcher-pause-on-ack-state-persistent"), fixed=True)
_AUTO_SUBSCRIPTION = named(
    "auto-subscription-creation",
    Option(
        ("--enable", "-e"),
        "allowAutoSubscriptionCreation",
        "Create them automatically. If left out, do not.",
        Unit.TRUE,
    ),
    example="--enable",
)
_CLUSTERS = named(
    "replication-clusters",
    Option(("--clusters", "-c"), "", "Comma-separated clusters.", Unit.LIST, is_required=True),
    example="-c standalone",
)
_NAMESPACE_CLUSTERS = replace(_CLUSTERS, get="get-clusters", set="set-clusters", remove="")
_SHADOWS = named(
    "shadow-topics",
    Option(("--topics", "-t"), "", "Comma-separated topics.", Unit.LIST, is_required=True),
    example="-t persistent://public/default/shadow",
)

ACCESS_COMMANDS: Mapping[str, Commands] = MappingProxyType(
    {
        "subscriptionTypesEnabled": everywhere(_TYPES),
        "schemaCompatibilityStrategy": Commands((_STRATEGY,), (), (_NAMESPACE_STRATEGY,)),
        "schemaValidationEnforced": Commands((), (_VALIDATION,), (_NAMESPACE_VALIDATION,)),
        "entryFilters": Commands((_FILTERS,), (), (_NAMESPACE_FILTERS,)),
        "autoSubscriptionCreationOverride": Commands((_AUTO_SUBSCRIPTION,), (), (_AUTO_SUBSCRIPTION,)),
        "dispatcherPauseOnAckStatePersistentEnabled": Commands((_PAUSE,), (), (_PAUSE,)),
        "replicationClusters": Commands((_CLUSTERS,), (_CLUSTERS,), (_NAMESPACE_CLUSTERS,)),
        "shadowTopics": Commands((), (_SHADOWS,)),
    }
)
