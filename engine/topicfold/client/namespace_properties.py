"""Methods of a client for the properties of a namespace: free text by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from topicfold.client.answer_shape import TEXTS
from topicfold.client.answers import Written
from topicfold.client.call import Call, ChangeOptions, change, mapping_of
from topicfold.client.declaring import asks
from topicfold.client.paths import given_segment, namespace_path


class NamespacePropertyCalls:
    """Properties of namespaces. They have no effect, and topics do not inherit them."""

    @asks
    def namespace_properties(self, namespace: str) -> Call[dict[str, str]]:
        """Return a namespace's properties."""
        return Call("GET", f"{namespace_path(namespace)}/properties", mapping_of(TEXTS))

    @asks
    def update_namespace_properties(
        self, namespace: str, properties: Mapping[str, str], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Set these properties of a namespace, and keep its others."""
        return change("PUT", f"{namespace_path(namespace)}/properties", options, body=properties)

    @asks
    def remove_namespace_property(self, namespace: str, key: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove a property of a namespace; do nothing if it is not set."""
        return change("DELETE", f"{namespace_path(namespace)}/property/{given_segment('key', key)}", options)

    @asks
    def clear_namespace_properties(self, namespace: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove all properties of a namespace."""
        return change("DELETE", f"{namespace_path(namespace)}/properties", options)
