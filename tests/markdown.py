"""Documents in Markdown, and the code in them."""

from __future__ import annotations

import re


def code_blocks(document: str, language: str) -> list[str]:
    """Return the blocks of code in `language`, in their order."""
    return re.findall(rf"```{language}\n(.*?)```", document, re.DOTALL)
