"""The hierarchy against a naive reading of it, for random values on random levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.model.policy.strategies import stored_policies
from topicfold.model.policy.description import Merge, Policy
from topicfold.model.policy.resolve import Origin, resolve, resolve_all
from topicfold.model.policy.table import POLICIES

Levels = Mapping[Origin, Mapping[str, Any] | None]

levels: st.SearchStrategy[Levels] = st.fixed_dictionaries(
    {}, optional={origin: st.none() | stored_policies for origin in Origin}
)
OF_NO_SYSTEM_TOPIC = {"replicationClusters": ("topic", "global"),
                      "schemaCompatibilityStrategy": ("topic", "global", "namespace"),
                      "publishRate": ("namespace",), "dispatchRate": ("namespace",)}  # fmt: skip
SMALL_RATES = {
    "dispatchRate": ("dispatchThrottlingRateInMsg", "dispatchThrottlingRateInByte"),
    "subscriptionDispatchRate": ("dispatchThrottlingRateInMsg", "dispatchThrottlingRateInByte"),
    "replicatorDispatchRate": ("dispatchThrottlingRateInMsg", "dispatchThrottlingRateInByte"),
    "publishRate": ("publishThrottlingRateInMsg", "publishThrottlingRateInByte"),
}


def counts(name: str, value: Any) -> bool:
    """Return whether a level that says this has said anything; the rules of the specification, 2.1."""
    if name in SMALL_RATES:
        return any(value[member] > 0 for member in SMALL_RATES[name])
    if name == "subscribeRate":
        return all(number > 0 for number in value.values())
    if name == "subscriptionTypesEnabled":
        return len(value) > 0
    if name == "schemaCompatibilityStrategy":
        return value != "UNDEFINED"
    return isinstance(value, bool) or not isinstance(value, int) or value >= 0


def naive(policy: Policy, said: Levels, is_system_topic: bool) -> tuple[Any, dict[str, str]]:
    """Return the value that takes effect, and the level of each of its members ("" for the whole)."""
    found: Any = None
    origins: dict[str, str] = {}
    for origin in ("topic", "global", "namespace", "broker"):
        value = (said.get(Origin(origin)) or {}).get(policy.name)
        if origin == "broker":
            value = policy.default if value is None else value
        elif value is None or not counts(policy.name, value):
            continue
        if value is None or (is_system_topic and origin in OF_NO_SYSTEM_TOPIC.get(policy.name, ())):
            continue
        if policy.merge is Merge.WHOLE:
            return value, {"": origin}
        found = found or {}
        for member in value:
            if member not in found:
                found[member], origins[member] = value[member], origin
    return found, origins


@given(levels, st.booleans())
def test_what_takes_effect_and_where_it_comes_from_is_what_the_rules_say(said: Levels, is_system_topic: bool) -> None:
    for name, found in resolve_all(said, is_system_topic=is_system_topic).items():
        policy = next(policy for policy in POLICIES if policy.name == name)
        value, origins = naive(policy, said, is_system_topic)
        shown = {member: origin.value for member, origin in found.origins.items()}
        if policy.merge is Merge.WHOLE:
            shown = {"": found.origin.value} if found.origin else {}
        assert (found.value, shown) == (value, origins)


@given(levels, st.sampled_from(POLICIES), st.sampled_from([Origin.TOPIC, Origin.GLOBAL, Origin.NAMESPACE]))
def test_removing_a_value_uncovers_what_lies_below_and_nothing_else_changes(
    said: Levels, policy: Policy, origin: Origin
) -> None:
    without = {name: value for name, value in (said.get(origin) or {}).items() if name != policy.name}
    after = resolve_all({**said, origin: without})
    before = resolve_all(said)
    assert {name: found for name, found in after.items() if name != policy.name} == {
        name: found for name, found in before.items() if name != policy.name
    }
    assert origin not in after[policy.name].chain
    if before[policy.name].origin is not origin and policy.merge is Merge.WHOLE:
        assert after[policy.name].value == before[policy.name].value


@given(levels, st.sampled_from(POLICIES))
def test_the_chain_holds_what_each_level_says(said: Levels, policy: Policy) -> None:
    chain = resolve(policy, said).chain
    for origin in (Origin.TOPIC, Origin.GLOBAL, Origin.NAMESPACE):
        assert chain.get(origin) == (said.get(origin) or {}).get(policy.name)
