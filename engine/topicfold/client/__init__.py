"""The Python client: `Client` and `AsyncClient`, the values they return, and the errors that only a client raises."""

from typing import TYPE_CHECKING, Any

from topicfold.client.answers import (
    Found,
    Namespace,
    Operation,
    Readiness,
    ServerVersion,
    Tenant,
    Topic,
    TopicDeleted,
    Written,
)
from topicfold.client.client import Client
from topicfold.client.errors import (
    AnswerLost,
    ExtraBroken,
    ExtraMissing,
    QueryUnconfirmed,
    ServerUnreachable,
    UnexpectedAnswer,
)
from topicfold.client.find_answers import ExplainedRequirement, Explanation, Match, Page
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified, Reset
from topicfold.client.history_answers import FieldChange, HistoryEntry, HistoryPage, MadeBy
from topicfold.client.live_set import NetChange
from topicfold.client.pages import AsyncPager, Pager
from topicfold.client.transport.conversation import RetryRule
from topicfold.client.watch import Watch

if TYPE_CHECKING:
    from topicfold.client.async_client import AsyncClient
    from topicfold.client.async_watch import AsyncWatch
    from topicfold.client.consuming.label_consumer import LabelConsumer
else:

    def __getattr__(name: str) -> Any:
        """Load what needs asyncio, or is for few, when it is first asked for: a command line starts sooner without it.

        Type checkers are not shown it: they would take it that every name is here.
        """
        match name:
            case "AsyncClient":
                from topicfold.client.async_client import AsyncClient

                return AsyncClient
            case "AsyncWatch":
                from topicfold.client.async_watch import AsyncWatch

                return AsyncWatch
            case "LabelConsumer":
                from topicfold.client.consuming.label_consumer import LabelConsumer

                return LabelConsumer
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Tell of what is not loaded yet, too: a shell completes names by this."""
        return sorted({*globals(), *__all__})


__all__ = [
    "Added",
    "AnswerLost",
    "AsyncClient",
    "AsyncPager",
    "AsyncWatch",
    "Bookmark",
    "Client",
    "Deleted",
    "ExplainedRequirement",
    "Explanation",
    "ExtraBroken",
    "ExtraMissing",
    "FieldChange",
    "Found",
    "Frame",
    "HistoryEntry",
    "HistoryPage",
    "LabelConsumer",
    "MadeBy",
    "Match",
    "Modified",
    "Namespace",
    "NetChange",
    "Operation",
    "Page",
    "Pager",
    "QueryUnconfirmed",
    "Readiness",
    "Reset",
    "RetryRule",
    "ServerUnreachable",
    "ServerVersion",
    "Tenant",
    "Topic",
    "TopicDeleted",
    "UnexpectedAnswer",
    "Watch",
    "Written",
]
