"""Checks whether a log holds the records that a snapshot was made from: the incarnation alone does not tell.

A log that lost its end and grew again, as one restored from a backup does, has other records at the same offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from topicfold.errors import LogGap, LogUnavailable
from topicfold.log.codec import decode_event
from topicfold.log.port import Log


async def require_same_records(log: Log, newest: Mapping[int, tuple[int, bytes]]) -> None:
    """Check that the log holds the snapshot's last event of each partition, or now begins after it.

    `newest` has the offset and id of these events, by partition.

    Raises:
        LogGap: the log holds another record there.
        LogUnavailable: the log did not answer in time.
    """
    for partition, (offset, event_id) in newest.items():
        try:
            found = await log.read(partition, offset, 1)
        except LogUnavailable:
            if (await log.start_offsets())[partition] <= offset:
                raise
            continue
        if not found or found[0].offset != offset:
            continue
        event = decode_event(found[0].value)
        if event is None or event.event_id != event_id:
            raise LogGap(
                f"partition {partition} of the log has another record at offset {offset} than the snapshot is made of",
                hint="The log lost records and grew again, like a restored copy. Restore the whole log, or "
                "start without that snapshot and compact into a new directory.",
                partition=partition,
                expected=offset,
                found=offset,
            )
