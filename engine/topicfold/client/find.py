"""How a client finds topics and follows which ones there are: by labels, wildcards, a regular expression at once."""

from __future__ import annotations

from collections.abc import Mapping

from topicfold.client.answers import Found, Topic
from topicfold.client.call import Answer, Call, age_seconds
from topicfold.client.declaring import asks, follows, pages
from topicfold.client.find_answers import Explanation
from topicfold.client.find_calls import Asked, Listing, SelectorForm, Texts, demands_nothing
from topicfold.client.watching import WatchQuery
from topicfold.errors import InvalidRequest, InvalidSelector

PAGE_SIZE = 1000


class FindCalls:
    """Topics by what they are. All that is given must hold, of `match` one:

    `selector` is one of Kubernetes, as text (`"team=pay,tier in (gold,silver)"`) or as `{"matchLabels": {…},
    "matchExpressions": […]}`, `labels` pairs with whatever characters in
    them, `match` wildcards (`"pay__*"`) and `regex` an RE2 expression for local names. Topics are those of
    `namespaces`, or of the client's own if none is named, and Pulsar's own among them only `with_system_topics`.

    What is malformed raises when a method is called, before anything is sent: `InvalidSelector`, which says at which
    column or path, `InvalidName` or `InvalidRequest`.
    """

    namespace: str

    @pages
    def topics(
        self,
        selector: SelectorForm | None = None,
        *,
        namespaces: Texts | None = None,
        labels: Mapping[str, str] | None = None,
        match: Texts | None = None,
        regex: str | None = None,
        with_system_topics: bool = False,
        at: str | int | None = None,
        page_size: int | None = PAGE_SIZE,
    ) -> Listing:
        """Return a pager over the topics that match, all of them if nothing is asked for.

        With `page_size` None they come at once and from one cut. With `at` they are those that matched then: at a time
        of RFC 3339, so long ago (`2h`, `7d`), or at a position that an answer or a history told.
        """
        return Listing(self._asked(namespaces, selector, labels, match, regex, with_system_topics, at), page_size)

    @asks
    def find_topics(
        self,
        namespaces: Texts | None = None,
        *,
        selector: SelectorForm | None = None,
        labels: Mapping[str, str] | None = None,
        match: Texts | None = None,
        regex: str | None = None,
        with_system_topics: bool = False,
        at: str | int | None = None,
        limit: int | None = None,
    ) -> Call[Found]:
        """Return the whole records of topics that match, from one cut, each partitioned topic once.

        With `limit`, 1000 at most, the first of them by name. With `at` those that matched then, as they were: at a
        time of RFC 3339, so long ago (`2h`, `7d`), or at a position that an answer or a history told.
        """
        asked = self._asked(namespaces, selector, labels, match, regex, with_system_topics, at)

        def read(answer: Answer) -> Found:
            topics = tuple(sorted(map(Topic.of, answer.body["items"]), key=lambda topic: topic.name))
            return Found(topics, answer.body["position"], age_seconds(answer))

        page = () if limit is None else (("limit", str(limit)),)
        return Call("GET", "/api/v1/topics", read, (("fields", "record"), *asked.query, *page), confirms=asked.text)

    @asks
    def explain(self, selector: SelectorForm, *, namespaces: Texts | None = None) -> Call[Explanation]:
        """Return what a selector means for the topics there are, and what in it was probably misspelt."""
        asked = self._asked(namespaces, selector, None, None, None)
        return Call(
            "GET", "/api/v1/explain", lambda answer: Explanation.of(answer.body), asked.query, confirms=asked.text
        )

    @pages
    def topics_by_label(self, labels: Mapping[str, str], namespaces: Texts | None = None) -> Listing:
        """Return a pager over the topics that bear every one of `labels`.

        Raises:
            InvalidRequest: `labels` are empty; every topic bears none.

        Source: PIP-451's `topicsByLabel`.
        """
        if not labels:
            raise InvalidRequest("no labels to find topics by", hint="Use topics() for all of them.")
        return Listing(self._asked(namespaces, None, labels, None, None), PAGE_SIZE)

    @follows
    def watch(
        self,
        selector: SelectorForm | None = None,
        *,
        namespaces: Texts | None = None,
        labels: Mapping[str, str] | None = None,
        match: Texts | None = None,
        regex: str | None = None,
        with_system_topics: bool = False,
        since: str = "",
        initial: bool = True,
    ) -> WatchQuery:
        """Return the frames that say which topics match, now and from now on; nothing is sent before the first is
        asked for.

        They begin with those that match now, unless `initial` is false, or with what happened after `since`: the
        `cursor` of a frame, of this watch or another of these namespaces at least; one of others is refused. What is
        too old for that is told by a `Reset`. The stream goes on by itself when a node stops or a connection is cut,
        and tells nothing twice; it raises what the server refuses, and `QueryUnconfirmed` if the server does not
        understand the query.

        Raises:
            InvalidSelector, InvalidRequest: the selector, or the labels, are empty.
        """
        asked = self._asked(namespaces, selector, labels, match, regex, with_system_topics)
        if selector is not None and demands_nothing(selector):
            raise InvalidSelector("the label selector is empty", hint="Leave selector out to watch all topics.")
        if labels is not None and not labels:
            raise InvalidRequest("the labels are empty", hint="Leave labels out to watch all topics.")
        return WatchQuery(asked, since, initial)

    def _asked(
        self,
        namespaces: Texts | None,
        selector: SelectorForm | None,
        labels: Mapping[str, str] | None,
        match: Texts | None,
        regex: str | None,
        with_system_topics: bool = False,
        at: str | int | None = None,
    ) -> Asked:
        places = self.namespace if namespaces is None else namespaces
        return Asked.of(places, selector, labels, match, regex, with_system_topics=with_system_topics, at=at)
