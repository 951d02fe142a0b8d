"""The note of trimming: up to where a log may have been trimmed by a snapshot, written before anything is deleted.

`PATH/trimmed.json`. No state hangs on it: a note that is lost makes the next trim look at more, and delete no more.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.json_text import read_json
from topicfold.snapshot.durable_files import sync_directory, write_durably
from topicfold.snapshot.unfinished import unfinished

NOTE = "trimmed.json"


@dataclass(frozen=True, slots=True)
class TrimNote:
    """About the log of that `incarnation` (hex).

    By partition: `floors`, below which there may be no record any more, and `headers`, the offset of the last copy of
    the header, -1 for none. `verified` has the SHA-256 of the commits that the engine itself has come to. `staying`
    are commits that are not to be removed, by their numbers: the one where the log begins, the next to trim to, and
    those that are verified.
    """

    incarnation: str
    floors: tuple[int, ...]
    headers: tuple[int, ...]
    verified: tuple[str, ...] = ()
    staying: tuple[int, ...] = ()
    time_ms: int = 0


def read_note(root: Path, incarnation: str, partitions: int) -> TrimNote:
    """Return the note under `root`; one that says nothing where there is none, or none that is of this log.

    Raises:
        SnapshotUnreadable: it cannot be seen what it says: that is not to be taken for nothing.
    """
    nothing = TrimNote(incarnation, (0,) * partitions, (-1,) * partitions)
    path = root / NOTE
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return nothing
    except OSError as error:
        raise SnapshotUnreadable(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    try:
        found = read_json(raw)
        note = TrimNote(
            str(found["incarnation"]),
            tuple(map(int, found["floors"])),
            tuple(map(int, found["headers"])),
            tuple(map(str, found["verified"])),
            tuple(map(int, found["staying"])),
            int(found["time_ms"]),
        )
    except (ValueError, KeyError, TypeError):
        return nothing
    is_own = (note.incarnation, len(note.floors), len(note.headers)) == (incarnation, partitions, partitions)
    return note if is_own else nothing


def put_note(root: Path, note: TrimNote) -> None:
    """Put `note` in place, durably.

    Floors only rise. Whoever was overtaken by a trim that went further since it was planned takes nothing from what
    that noted: without its verified commits the next trim would have nothing in the log to go on from.

    Raises:
        SnapshotUnreadable: it cannot be seen what was noted before; that stays.
    """
    before = read_note(root, note.incarnation, len(note.floors))
    if any(was > now for was, now in zip(before.floors, note.floors, strict=True)):
        note = replace(
            note,
            floors=tuple(map(max, note.floors, before.floors)),
            headers=tuple(map(max, note.headers, before.headers)),
            verified=tuple(dict.fromkeys(note.verified + before.verified)),
            staying=tuple(sorted({*note.staying, *before.staying})),
        )
    made = unfinished(root / NOTE)
    write_durably(made, json.dumps(asdict(note)).encode())
    try:
        os.replace(made, root / NOTE)
    finally:
        made.unlink(missing_ok=True)
    sync_directory(root)
