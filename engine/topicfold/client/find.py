"""Methods of a client that find and watch topics, by labels, wildcards and regular expressions."""

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
    """Finding and watching topics, by the conditions that `topics` describes."""

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
        """Return a pager over the topics that match; without conditions, over all topics.

        A topic must meet every condition that is given. `selector` is a Kubernetes label selector, as text
        (`"team=pay,tier in (gold,silver)"`) or as `{"matchLabels": {…}, "matchExpressions": […]}`; `labels` are pairs,
        taken literally; `match` are wildcards (`"pay__*"`) and `regex` is an RE2 expression, both for local names. The
        search covers `namespaces`, or the client's own namespace if none is given. In a namespace, `*` stands for any
        characters: `"acme/*"` covers all of a tenant, `"*"` all there are, those created later too. Pulsar's system
        topics are included only `with_system_topics`.

        With `page_size=None`, all come in one answer, as of one moment. With `at`, they are the topics that matched
        then: at a time (RFC 3339), some time ago (`2h`, `7d`), or at a position from an answer or a history.

        Raises:
            InvalidSelector: names the column or path; nothing is sent.
            InvalidName, InvalidRequest: another argument is malformed; nothing is sent.
        """
        return Listing(self._asked(namespaces, selector, labels, match, regex, with_system_topics, at), page_size)

    @asks
    def find_topics(
        self,
        selector: SelectorForm | None = None,
        *,
        namespaces: Texts | None = None,
        labels: Mapping[str, str] | None = None,
        match: Texts | None = None,
        regex: str | None = None,
        with_system_topics: bool = False,
        at: str | int | None = None,
        limit: int | None = None,
    ) -> Call[Found]:
        """Return the full records of the topics that match, as of one moment; each partitioned topic once.

        The conditions are those of `topics`. With `limit`, at most 1000, return only the first of them by name. With
        `at`, return the topics that matched then, as they were: at a time (RFC 3339), some time ago (`2h`, `7d`), or at
        a position from an answer or a history.
        """
        asked = self._asked(namespaces, selector, labels, match, regex, with_system_topics, at)

        def read(answer: Answer) -> Found:
            topics = tuple(sorted(map(Topic.of, answer.body["items"]), key=lambda topic: topic.name))
            return Found(topics, answer.body["position"], age_seconds(answer))

        page = () if limit is None else (("limit", str(limit)),)
        return Call("GET", "/api/v1/topics", read, (("fields", "record"), *asked.query, *page), confirms=asked.text)

    @asks
    def explain(self, selector: SelectorForm, *, namespaces: Texts | None = None) -> Call[Explanation]:
        """Return how a selector is understood, how many topics match it, and what in it may be misspelt."""
        asked = self._asked(namespaces, selector, None, None, None)
        return Call(
            "GET", "/api/v1/explain", lambda answer: Explanation.of(answer.body), asked.query, confirms=asked.text
        )

    @pages
    def topics_by_label(self, labels: Mapping[str, str], namespaces: Texts | None = None) -> Listing:
        """Return a pager over the topics that have all of `labels`.

        Raises:
            InvalidRequest: `labels` is empty.

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
        """Return a watch: an iterator over frames that tell which topics match, now and from now on.

        The conditions are those of `topics`. Nothing is sent before the first frame is asked for. The frames begin with
        the topics that match now, unless `initial` is false; or, with `since`, with the changes after that cursor.
        `since` is the `cursor` of a frame of a watch that covered at least these namespaces; any other cursor is
        refused. If it is too old, a `Reset` follows. When a node stops or a connection breaks, the watch reconnects and
        continues without repeating anything. It raises the server's errors, and `QueryUnconfirmed` if the server does
        not understand the query.

        Raises:
            InvalidSelector, InvalidRequest: the selector or the labels are empty.
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
