"""The table of all policies, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from topicfold.model.policy.access import ACCESS
from topicfold.model.policy.bounds import BOUNDS
from topicfold.model.policy.delivery import DELIVERY
from topicfold.model.policy.description import Policy
from topicfold.model.policy.storage import STORAGE

POLICIES: tuple[Policy, ...] = (*STORAGE, *DELIVERY, *BOUNDS, *ACCESS)

BY_NAME: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in POLICIES})
