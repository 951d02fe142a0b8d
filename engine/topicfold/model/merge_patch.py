"""JSON Merge Patch, for any JSON values: applies a patch to a document, and computes the patch between two documents.

Source: RFC 7396.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` after applying `patch`: objects merge, a null removes a member, anything else replaces.

    >>> merge_patch({"team": "pay", "tier": "gold"}, {"tier": None, "env": "prod"})
    {'team': 'pay', 'env': 'prod'}

    Source: RFC 7396, section 2.
    """
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def patch_between(old: Any, new: Any) -> Any:
    """Return the patch that turns `old` into `new`, which must not contain nulls: no patch can produce them.

    >>> patch_between({"team": "pay", "tier": "gold"}, {"team": "pay", "env": "prod"})
    {'tier': None, 'env': 'prod'}
    """
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    removed = dict.fromkeys(name for name in old if name not in new)
    return removed | {name: patch_between(old.get(name), each) for name, each in new.items() if old.get(name) != each}
