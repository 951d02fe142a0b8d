"""Labels: short key-value pairs of a topic, and the rules for them.

Keys are Kubernetes' qualified names, values any printable text. Rules are applied before an event is written, never
when it is folded: an event in the log stays readable, however the settings change.

Source: Kubernetes `validation.IsQualifiedName`; PIP-451 (`allowedCustomLabelKeys`, `maxCustomLabelValueLength`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from topicfold.errors import InvalidLabels, InvalidRequest, step

MAX_LABELS = 64
MAX_VALUE_LENGTH = 128
MAX_VALUE_BYTES = 512
MAX_KEY_NAME_LENGTH = 63
MAX_KEY_PREFIX_LENGTH = 253
MAX_VIOLATIONS = 100
"""The most violations in one answer: a request may have tens of thousands, and each may list all allowed keys."""
_MOST_LOOKED_AT = 1_000

WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
"""What Kubernetes accepts as the name of a key, and as a value."""
_KEY_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class LabelRules:
    """Which labels may be set.

    `allowed_keys` None allows any key. `max_value_length` is in code points; `max_labels` is per topic.
    """

    allowed_keys: frozenset[str] | None = None
    max_value_length: int = MAX_VALUE_LENGTH
    max_labels: int = MAX_LABELS


def check_labels(labels: Mapping[str, str], rules: LabelRules) -> None:
    """Check that every label of a request follows the rules.

    Raises:
        InvalidLabels: carries all violations, up to `MAX_VIOLATIONS`, and one more if there are too many labels; then
            only a thousand are looked at, or as many as are allowed.
    """
    looked_at = islice(labels.items(), max(rules.max_labels, _MOST_LOOKED_AT))
    violations = [*islice(_violations(looked_at, rules), MAX_VIOLATIONS)]
    if len(labels) > rules.max_labels:
        violations.append({"path": "labels", "reason": too_many(len(labels), rules)})
    if violations:
        raise InvalidLabels(violations)


def too_many(count: int, rules: LabelRules) -> str:
    """Return the sentence that `count` labels are too many."""
    return f"{count} labels, at most {rules.max_labels} are allowed on a topic"


def too_many_together(name: str, old: Iterable[str], new: Iterable[str], rules: LabelRules) -> str:
    """Return why topic `name`, with labels of the keys `old`, cannot have those of `new` too; "" if it can.

    A topic that has too many already, because rules have changed since, may keep that number.
    """
    before = set(old)
    return too_many_after(name, len(before), len(before.union(new)), rules)


def too_many_after(name: str, before: int, after: int, rules: LabelRules) -> str:
    """Return the same, given the number of labels of topic `name` `before` and `after` the change."""
    is_refused = after > rules.max_labels and after > before
    return f"topic {name} would have {too_many(after, rules)}" if is_refused else ""


def parse_pairs(texts: Sequence[str], what: str) -> dict[str, str]:
    """Return the labels in a query parameter or option, which may be given several times.

    Given once, it has pairs `key:value` or `key=value`, separated by commas. Blanks around keys and values are ignored;
    a backslash makes the `,` `:` `=` `\\` or blank after it literal.
    Given several times, each text is one pair, and its value is taken literally, with commas, colons and blanks.

    >>> parse_pairs(["team:pay,tier=gold"], "custom-labels")
    {'team': 'pay', 'tier': 'gold'}
    >>> parse_pairs(["note:a,b", "team:pay"], "custom-labels")
    {'note': 'a,b', 'team': 'pay'}

    Raises:
        InvalidRequest: a text is not a pair, or a key is given two values; names it.
    """
    pairs = [_pair(text, what) for text in texts] if len(texts) > 1 else [*_split(texts[0], what)] if texts else []
    labels: dict[str, str] = {}
    for key, value in pairs:
        if labels.setdefault(key, value) != value:
            raise InvalidRequest(f"{what}: key {key!r} is given two values, {labels[key]!r} and {value!r}")
    return labels


def _pair(text: str, what: str) -> tuple[str, str]:
    """Return the pair, split at the first `:` or `=`, which no key contains."""
    match = re.match(r"([^:=]+)[:=](.*)", text, re.DOTALL)
    if not match:
        raise InvalidRequest(
            f"{what}: {text[:80]!r} is not a pair of key and value",
            hint="Write key:value or key=value, several separated by commas.",
        )
    if match[1].rstrip().endswith("!"):
        raise InvalidRequest(f"{what}: {text[:80]!r}: only equality is known here", hint="Write key=value.")
    return match[1].strip(), match[2]


def _split(text: str, what: str) -> Iterable[tuple[str, str]]:
    """Yield the pairs of a comma-separated text with backslash escapes."""
    for piece in re.findall(r",((?:\\.|[^,\\]|\\\Z)*)", "," + text, re.DOTALL):
        key, value = _pair(piece, what)
        yield key, _literal(value)


def _literal(text: str) -> str:
    """Return a text's value: without blanks around it, and with each escaped character taken literally."""
    bare = text.strip()
    is_last_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    kept = text.lstrip()[: len(bare) + is_last_escaped]
    return re.sub(r"\\(.)", r"\1", kept, flags=re.DOTALL)


def broken_key_rule(key: str) -> str | None:
    """Return the rule that `key` breaks as a sentence, None for a valid key."""
    prefix, slash, name = key.rpartition("/")
    if not WORD.fullmatch(name) or len(name) > MAX_KEY_NAME_LENGTH:
        return (
            f"a key is 1 to {MAX_KEY_NAME_LENGTH} of A-Z a-z 0-9 - _ . that starts and ends with a letter or digit, "
            "optionally after 'prefix/'"
        )
    if slash and (not _KEY_PREFIX.fullmatch(prefix) or len(prefix) > MAX_KEY_PREFIX_LENGTH):
        return f"the part before '/' must be a lower-case DNS name of at most {MAX_KEY_PREFIX_LENGTH} characters"
    return None


def _violations(labels: Iterable[tuple[str, str]], rules: LabelRules) -> Iterator[dict[str, str]]:
    for key, value in labels:
        for reason in (*_key_violations(key, rules), *_value_violations(value, rules)):
            yield {"path": f"labels.{step(key)}", "reason": reason}


def _key_violations(key: str, rules: LabelRules) -> Iterable[str]:
    broken = broken_key_rule(key)
    if broken is not None:
        yield broken
    elif rules.allowed_keys is not None and key not in rules.allowed_keys:
        yield f"not among the allowed keys: {', '.join(sorted(rules.allowed_keys)) or '(none)'}"


def _value_violations(value: str, rules: LabelRules) -> Iterable[str]:
    if len(value) > rules.max_value_length:
        yield f"the value has {len(value)} characters, at most {rules.max_value_length} are allowed"
    elif len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
        yield f"the value has more than {MAX_VALUE_BYTES} bytes"
    if not value.isprintable():
        yield "the value holds characters that cannot be printed"
