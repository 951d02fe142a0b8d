"""The note of trimming: up to where a log may have been trimmed given a snapshot, written before anything is deleted.

It is in `PATH/trimmed.json`. No state depends on it: if it is lost, the next trim verifies more, but deletes no more.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from topicfold.errors import SnapshotUnreadable
from topicfold.snapshot.files.durable_files import replace_durably
from topicfold.text.json_text import read_json

NOTE = "trimmed.json"


@dataclass(frozen=True, slots=True)
class TrimNote:
    """The note about the log with that `incarnation` (hex).

    - `floors`: by partition, the offset below which records may have been deleted.
    - `headers`: by partition, the offset of the last copy of the header, -1 for none.
    - `verified`: the SHA-256 of verified commits.
    - `staying`: the numbers of commits that must not be removed: the one where the log begins, the next one to trim to,
      and the verified ones.
    - `time_ms`: when it was written, in ms since 1970.
    """

    incarnation: str
    floors: tuple[int, ...]
    headers: tuple[int, ...]
    verified: tuple[str, ...] = ()
    staying: tuple[int, ...] = ()
    time_ms: int = 0


def read_note(root: Path, incarnation: str, partitions: int) -> TrimNote:
    """Return the note under `root`; an empty one if there is none, or if it is damaged or of another log.

    Raises:
        SnapshotUnreadable: it cannot be read, which is not the same as none.
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
    except (ValueError, KeyError, TypeError, OverflowError):
        return nothing
    is_own = (note.incarnation, len(note.floors), len(note.headers)) == (incarnation, partitions, partitions)
    return note if is_own else nothing


def put_note(root: Path, note: TrimNote) -> None:
    """Put `note` in place, durably.

    Floors only rise. If another trim went further since this one was planned, what it noted is kept beside `note`:
    without its verified commits the next trim might find none that the log still continues.

    Raises:
        SnapshotUnreadable: the previous note cannot be read; it stays.
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
    replace_durably(root / NOTE, json.dumps(asdict(note)).encode())
