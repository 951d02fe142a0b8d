"""Whether topics may be watched on a node."""

from __future__ import annotations

from topicfold.errors import WatchesDisabled
from topicfold.runtime.finding.topic_listing import is_built_in
from topicfold.settings import Settings


def require_watches(settings: Settings) -> None:
    """Return if topics may be watched.

    A watch knows nothing of a topic listing that is not ours: it would show what that one hides.

    Raises:
        WatchesDisabled: says which setting is the reason.

    Source: PIP-452, which has `enableBrokerTopicListWatcher=false` go with a custom listing.
    """
    if not settings.enable_broker_topic_list_watcher:
        raise WatchesDisabled(
            "watching topics is switched off on this node",
            hint="List them again from time to time. The setting is enable_broker_topic_list_watcher.",
        )
    if not is_built_in(settings.topic_listing):
        raise WatchesDisabled(
            f"topics cannot be watched with the topic listing {settings.topic_listing}, which decides what is listed",
            hint="List them again from time to time. The setting is topic_listing.",
        )
