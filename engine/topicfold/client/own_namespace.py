"""A client's own namespace, in which it looks for what is named without one."""

from __future__ import annotations

from topicfold.model.names import parse_topic


class InOwnNamespace:
    """Whatever takes names of topics: in full, as `tenant/namespace/topic`, or bare in the client's own `namespace`."""

    namespace: str

    def _in_full(self, topic: str) -> str:
        """Return the full name of the topic that `topic` means.

        Raises:
            InvalidName: it breaks the rules.
        """
        return str(parse_topic(topic, self.namespace))
