"""What an enforcer remembers to have set: until it is taken away, or the life of its topic ends."""

from __future__ import annotations

from topicfold.enforcement.comparing import Difference
from topicfold.enforcement.overrides import Overrides
from topicfold.state.change import NamespaceTurn


def setting(name: str, new: str | None, *, old: str = "1") -> Difference:
    """Return a change of the Kafka topic that is called as the local name of its topic."""
    return Difference(f"persistent://{name}", name.rpartition("/")[2], "max.message.bytes", old, new, None)


def test_what_was_set_is_known_until_it_is_taken_away_or_set_otherwise() -> None:
    overrides = Overrides()
    for new, known in (("9", ["9"]), ("8", ["8"]), (None, [])):
        overrides.note(setting("public/default/orders", new))
        has_set = [old for old in ("9", "8") if overrides.has_set(setting("public/default/orders", None, old=old))]
        assert has_set == known


def test_the_end_of_a_namespace_has_what_was_set_for_its_topics_forgotten_and_no_others() -> None:
    overrides = Overrides()
    names = ("public/default/orders", "public/eu/bills", "public/default2/refunds")
    for name in names:
        overrides.note(setting(name, "9"))
    overrides.follow(NamespaceTurn("public/default", is_live=False, offset=1))
    assert [overrides.has_set(setting(name, None, old="9")) for name in names] == [False, True, True]
