"""`topicfold explain`: what a label selector means for the topics there are."""

from __future__ import annotations

from typing import Annotated

import typer

from topicfold.cli.completion import complete_selector
from topicfold.cli.query_options import AllNamespaces, Namespaces, namespaces_in_one_query
from topicfold.cli.session import Session

SelectorText = Annotated[
    str, typer.Argument(metavar="SELECTOR", help="A label selector, as -l takes it.", autocompletion=complete_selector)
]


def explain(
    session: Session, selector: SelectorText, namespaces: Namespaces = None, all_namespaces: AllNamespaces = False
) -> None:
    """Explain a label selector. How many topics each requirement finds, and what was probably misspelt.

    \b
    Examples:
      topicfold explain 'team=pay,teir in (gold,silver)'
      topicfold explain '!legacy' -n acme/pay -n acme/ship
    """
    places = namespaces_in_one_query(session, namespaces, all_namespaces)
    told = session.client.explain(selector, namespaces=places)
    session.warn_of_unreadable()
    rows = [(each.requirement, str(each.topics)) for each in told.requirements]
    session.output.show(
        told, [told.selector], ("REQUIREMENT", "TOPICS"), [*rows, ("all of it", f"{told.matched} of {told.topics}")]
    )
    for hint in told.hints:
        session.output.note(hint)
