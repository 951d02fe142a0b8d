"""What is said where an optional part of the package cannot be imported."""

from __future__ import annotations

import sys
import traceback
from importlib.util import find_spec

from topicfold.client.errors import ExtraBroken, ExtraMissing


def import_failure(error: ImportError, what: str, *extras: str) -> ExtraMissing | ExtraBroken:
    """Return the error that the import failed which `what` needs; packages of `extras` are among what it imports.

    Only a package of which there is nothing is missing: not a part of one that there is, be that ours, or a module of
    the user's that goes by the name of a package.
    """
    top = (error.name or "").partition(".")[0]
    there = sys.modules.get(top)
    found = find_spec(top) if top and there is None else None
    if isinstance(error, ModuleNotFoundError) and top and there is None and found is None:
        return ExtraMissing(what, *extras)
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    origin = getattr(there, "__file__", None) or (found and found.origin)
    return ExtraBroken(what, error, error.path or origin or raised_in)
