"""Whether a log holds the records that a snapshot is made of: an incarnation is not enough to say so.

A log that lost its end and grew again, as one from a backup does, has other records at the same offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from topicfold.errors import LogGap, LogUnavailable
from topicfold.log.codec import decode_event
from topicfold.log.port import Log


async def require_same_records(log: Log, newest: Mapping[int, tuple[int, bytes]]) -> None:
    """Return if the log holds the last event of each partition that the snapshot has, or begins behind it by now.

    `newest` has its offset and id, by partition.

    Raises:
        LogGap: it holds another record there.
        LogUnavailable: it did not answer in time.
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
