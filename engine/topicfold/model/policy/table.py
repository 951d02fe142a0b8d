"""The table of all policies, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from topicfold.model.policy.access import ACCESS
from topicfold.model.policy.access_commands import ACCESS_COMMANDS
from topicfold.model.policy.bound_commands import BOUND_COMMANDS
from topicfold.model.policy.bounds import BOUNDS
from topicfold.model.policy.delivery import DELIVERY
from topicfold.model.policy.delivery_commands import DELIVERY_COMMANDS
from topicfold.model.policy.description import Policy
from topicfold.model.policy.storage import STORAGE
from topicfold.model.policy.storage_commands import STORAGE_COMMANDS

_COMMANDS = {**STORAGE_COMMANDS, **DELIVERY_COMMANDS, **BOUND_COMMANDS, **ACCESS_COMMANDS}

POLICIES: tuple[Policy, ...] = tuple(
    replace(policy, commands=_COMMANDS[policy.name]) for policy in (*STORAGE, *DELIVERY, *BOUNDS, *ACCESS)
)

BY_NAME: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in POLICIES})
