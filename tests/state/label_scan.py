"""A label index, and beside it a scan over what each topic bears."""

from __future__ import annotations

from topicfold.state.indexes.label_index import NO_LABELS, LabelIndex


class Topics:
    """An index, and beside it what each topic bears."""

    def __init__(self, history: list[tuple[int, dict[str, str]]]) -> None:
        self.index = LabelIndex()
        self.borne: dict[int, dict[str, str]] = {}
        self.ids: dict[int, bytes] = {}
        for number, labels in history:
            self.put(number, labels)

    def put(self, number: int, labels: dict[str, str]) -> None:
        """Give topic `number` these labels."""
        self.ids[number] = self.index.replace(number, self.ids.get(number, NO_LABELS), labels)
        self.borne[number] = labels

    def bearing(self, wanted: dict[str, str]) -> list[int]:
        """Return by a scan who bears all of `wanted`."""
        return sorted(number for number, labels in self.borne.items() if wanted.items() <= labels.items())

    def listed(self) -> dict[tuple[str, str], list[int]]:
        """Return whom the index lists, by pair."""
        return {pair: list(self.index.having(*pair) or ()) for pair in self.index.borne()}

    def unions(self) -> dict[str, list[int]]:
        """Return whom the index lists, by key."""
        return {key: list(self.index.having_key(key) or ()) for key in self.index.keys}

    def pairs(self) -> list[tuple[str, str]]:
        """Return by a scan which pairs there are."""
        return sorted({pair for labels in self.borne.values() for pair in labels.items()})
