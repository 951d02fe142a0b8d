"""The last events of this node: distinguishes them from other nodes', and spares decoding their records again."""

from __future__ import annotations

from collections import OrderedDict

from topicfold.model.records import Record
from topicfold.runtime.writing.group_commit import GroupCommit

MAX_EVENTS = 10_000
MAX_RECORDS = 1_024
MAX_RECORD_BYTES = 4_096


class OwnEvents:
    """The ids of those that did not come back yet, and the records that were put last."""

    def __init__(self) -> None:
        self._awaited: dict[bytes, None] = {}
        self._records: OrderedDict[bytes, Record] = OrderedDict()

    def add(self, event_id: bytes, group: GroupCommit) -> None:
        """Take an event that was appended with `group`, and the record after it unless that is long."""
        self._awaited[event_id] = None
        if len(self._awaited) > MAX_EVENTS:
            del self._awaited[next(iter(self._awaited))]
        if group.record is not None and len(group.payload) <= MAX_RECORD_BYTES:
            self._records[event_id] = group.record
            if len(self._records) > MAX_RECORDS:
                self._records.popitem(last=False)

    def came_back(self, event_id: bytes) -> bool:
        """Return whether a folded event is one of these, which is so once for each."""
        if event_id not in self._awaited:
            return False
        del self._awaited[event_id]
        return True

    def record_at(self, version: bytes) -> Record | None:
        """Return the record of this version, None where it is not at hand."""
        return self._records.get(version)
