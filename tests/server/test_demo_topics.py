"""The topics of the demo."""

from __future__ import annotations

from topicfold.model.label_report import count_labels, label_report
from topicfold.model.labels import LabelRules, check_labels
from topicfold.model.names import parse_topic
from topicfold.server.demo_topics import EXAMPLE, demo_namespaces, demo_topics


def test_there_are_two_hundred_each_in_a_namespace_that_is_made() -> None:
    topics = dict(demo_topics())
    assert len(topics) == 200
    assert {name.namespace for name in topics} == set(demo_namespaces())
    assert parse_topic(EXAMPLE) in topics
    for name, record in topics.items():
        assert parse_topic(str(name)) == name
        check_labels(record.labels, LabelRules())


def test_a_report_has_a_misspelt_label_and_topics_of_nobody_to_tell_of() -> None:
    report = label_report(count_labels((name.namespace, record.labels) for name, record in demo_topics()), None)
    assert [(each.value, each.meant) for each in report.typos] == [("paymnts", "payments")]
    assert sum("team" not in record.labels for _, record in demo_topics()) == 20
