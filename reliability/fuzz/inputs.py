"""Where input comes from: mutation, grammars, and attacks on memory and time.

Everything is drawn from a `Random`, so that the same seed gives the same input on every machine.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = (
    *("0", "1", "-1", "2", "10", "0.5", "1e308", "1e309", "-1e308", "1e-320", "5e-324", "nan"),
    *("inf", "-inf", "-0", "1e17", "9007199254740993", "9223372036854775807", "١"),
    *("9223372036854775808", "18446744073709551616", "-9223372036854775809", "1" * 400, "0x10"),
    *("1_000", "1,5", "+1", " 1", "1 ", "1e", ".", "--1", "", "1e99999999", "00", "0.1e1", "½"),
)
"""Numbers at the edges of the types that hold them, and what looks like numbers."""

WORDS = (
    *(
        "q1",
        "d1",
        "Q0",
        "tag",
        "#",
        "# c",
        "\ufeff",
        "\x00",
        "\ud7ff",
        "\U0010ffff",
        "é",
        "e\u0301",
    ),
    *("\r", "\n", "\r\n", "\t", " ", "\v", "\f", "\x1b[31m", "\u202e", "\u2028", "\x85", "\xa0"),
    *('"', '""', '"""', "'", ",", ";", ":", "=", "{", "}", "[", "]", "<", ">", "(", ")", "&", "%"),
    *(
        "null",
        "true",
        "false",
        "None",
        "NaN",
        "Infinity",
        "${HOME}",
        "${",
        "$",
        "~",
        "*",
        "!!",
        "|",
    ),
    *("../a", "/dev/null", "a/b", "-", "--", "-x", "query_id", "doc_id", "score", "grade", "rank"),
    *(
        "_id",
        "text",
        "title",
        "results",
        "qid",
        "iteration",
        "subtopic",
        "rater_1",
        "\\",
        "\\u0000",
    ),
    *("\\ud800", "<top>", "</top>", "<num>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml", "&amp;"),
    *("&#0;", "&#x110000;", "PAR1", "BZh9", "nDCG@10", "AP", "@", "gain=", "(", "!!python/object"),
)
"""What means something to one of the readers, or is hard to print."""

_BYTES = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"(\xb5",
)
TOKENS = (*(token.encode("utf-8", "surrogatepass") for token in (*NUMBERS, *WORDS)), *_BYTES)
"""All of these, and bytes that are no text."""

_DIGITS = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_EDGES = (0, 1, 127, 128, 255, 256, 32767, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


# --- mutation


def mutated(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return data with one to six things changed; ``others`` is valid input to splice with."""
    for _ in range(random.choice((1, 1, 1, 1, 1, 2, 2, 4))):
        data = random.choice(_CHANGES)(data, random, others)
    return data


def _span(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 1, 2, 4, 8, 30, 200)))


def _flip(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, random)
    return data[:begin] + random.randbytes(end - begin) + data[end:]


def _edge(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin = random.randrange(len(data) + 1)
    size = random.choice((1, 2, 4, 8))
    number = random.choice(_EDGES) & ((1 << 8 * size) - 1)
    order = random.choice(("little", "big"))
    return data[:begin] + number.to_bytes(size, order) + data[begin + size :]  # type: ignore[arg-type]


def _insert(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin = random.randrange(len(data) + 1)
    return data[:begin] + random.choice(TOKENS) * random.choice((1, 1, 1, 2, 9)) + data[begin:]


def _replace(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, random)
    return data[:begin] + random.choice(TOKENS) + data[end:]


def _delete(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, random)
    return data[:begin] + data[end:]


def _repeat(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, random)
    return data[:end] + data[begin:end] * random.choice((1, 2, 5)) + data[end:]


def _truncate(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    end = random.randrange(len(data) + 1)
    return random.choice((data[:end], data[end:]))


def _splice(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    begin, end = _span(other, random)
    at = random.randrange(len(data) + 1)
    return random.choice((data[:at] + other[begin:], data[:at] + other[begin:end] + data[at:]))


def _number(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    places = [match.span() for match in _DIGITS.finditer(data[:20_000])]
    if not places:
        return data
    begin, end = random.choice(places)
    return data[:begin] + random.choice(NUMBERS).encode() + data[end:]


def _lines(data: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    chosen = random.randrange(len(lines))
    what = random.randrange(3)
    if what == 0:
        lines.insert(random.randrange(len(lines) + 1), lines[chosen])
    elif what == 1:
        del lines[chosen]
    else:
        random.shuffle(lines)
    return b"\n".join(lines)


_CHANGES = (
    *(_flip, _flip, _overwrite, _edge, _insert, _insert, _replace, _replace, _delete, _repeat),
    *(_truncate, _splice, _number, _number, _lines),
)


# --- JSON by its structure


def plain_value(random: Random, depth: int = 0) -> Any:
    """Return any JSON value, most of them small."""
    if depth < 4 and random.random() < 0.3:
        count = random.randrange(4)
        if random.random() < 0.5:
            return [plain_value(random, depth + 1) for _ in range(count)]
        return {random.choice(WORDS): plain_value(random, depth + 1) for _ in range(count)}
    return random.choice(
        (
            *(None, True, False, 0, 1, -1, 0.5, 1e308, -0.0, 2**53 + 1, 2**63, 10**30),
            *(float("nan"), float("inf"), "", "x", "q1", "d1"),
            *(random.choice(WORDS), random.choice(NUMBERS)),
        )
    )


def mutated_json(data: bytes, random: Random) -> bytes:
    """Return JSON with values elsewhere, of other types, missing, doubled or renamed."""
    try:
        value = json.loads(data)
    except ValueError:
        return data
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places = _places(value)
        if not places:
            return json.dumps(plain_value(random)).encode()
        holder, key = random.choice(places)
        what = random.randrange(6)
        if what == 0:
            del holder[key]
        elif what == 1:
            source, other = random.choice(places)
            holder[key] = json.loads(json.dumps(source[other] if _has(source, other) else None))
        elif what == 2 and isinstance(holder, dict):
            holder[random.choice(WORDS)] = holder.pop(key)
        elif what == 3 and isinstance(holder[key], list):
            holder[key] = holder[key] * random.choice((0, 2, 3))
        else:
            holder[key] = plain_value(random)
    return json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return everything that is held by something: (holder, key or position)."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys: Any = ()
        if isinstance(holder, dict):
            keys = list(holder)
        elif isinstance(holder, list):
            keys = range(len(holder))
        places += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    return places


# --- text by grammar


def words(random: Random, most: int = 12) -> str:
    """Return pieces of any format, one after the other."""
    return "".join(random.choice((*NUMBERS, *WORDS)) for _ in range(random.randrange(most + 1)))


def id_of(random: Random, letter: str) -> str:
    """Return an id: mostly one of a few, so that lines meet."""
    return (
        f"{letter}{random.randrange(4 if letter == 'q' else 40)}"
        if random.random() < 0.98
        else random.choice(WORDS)
    )


def number_text(random: Random) -> str:
    """Return a number: mostly one of a few, so that scores tie."""
    if random.random() < 0.95:
        return random.choice(("1", "2", "0.5", "3", "0"))
    return random.choice(NUMBERS)


def table_text(random: Random, kind: str) -> str:
    """Return lines of a run or of qrels, as TREC has them, with some that are not."""
    space = random.choice((" ", "\t", "  ", " \t"))
    end = random.choice(("\n", "\n", "\n", "\r\n"))
    lines = []
    for place in range(random.randrange(1, 9)):
        query, doc, number = id_of(random, "q"), id_of(random, "d"), number_text(random)
        if kind == "run":
            cells = [query, "Q0", doc, str(place + 1), number, random.choice(("t", "5", "run"))]
        else:
            cells = [query, "0", doc, number]
        if random.random() < 0.05:
            cells.insert(random.randrange(5), random.choice(WORDS))
        if random.random() < 0.05:
            cells.pop(random.randrange(len(cells)))
        lines.append(space.join(cells))
    if random.random() < 0.1:
        lines.insert(random.randrange(len(lines) + 1), random.choice(("", "# note", "#", " ")))
    return end.join(lines) + (end if random.random() < 0.7 else "")


def delimited_text(random: Random, names: Sequence[str], separator: str) -> str:
    """Return a table with a header, some cells of which are quoted, badly at times."""
    header = list(names)
    if random.random() < 0.2:
        header[random.randrange(len(header))] = random.choice(WORDS)
    rows = [header] if random.random() < 0.9 else []
    for _ in range(random.randrange(6)):
        cells = [id_of(random, "q"), id_of(random, "d"), number_text(random), words(random, 2)]
        rows.append([random.choice(cells) for _ in names] if random.random() < 0.2 else cells)
    quoted = random.random() < 0.4
    return "\n".join(
        separator.join(f'"{cell}"' if quoted and random.random() < 0.5 else cell for cell in row)
        for row in rows
    )


def topics_text(random: Random) -> str:
    """Return topics, in SGML or XML, some of whose tags are not closed."""
    tag = random.choice(("top", "topic"))
    pieces = [random.choice(("", "", '<?xml version="1.0"?>\n', "<topics>", "<!DOCTYPE a>"))]
    for number in range(random.randrange(1, 4)):
        attribute = random.choice(("", f" number='{number}'", f' id="{number}" x=y', " a"))
        pieces.append(f"<{tag}{attribute}>")
        for name in ("num", "title", "desc", "narr", "query", "subtopic"):
            if random.random() < 0.6:
                close = f"</{name}>" if random.random() < 0.7 else ""
                text = random.choice((f"Number: {number}", f"{number}", "a b", words(random, 3)))
                pieces.append(f"<{name}>{text}{close}\n")
        pieces.append(f"</{tag}>" if random.random() < 0.9 else "")
    return "".join(pieces)


_MEASURES = (
    *(
        "nDCG",
        "AP",
        "RR",
        "P",
        "R",
        "Success",
        "RBP",
        "ERR",
        "Bpref",
        "infAP",
        "Judged",
        "alpha_nDCG",
    ),
    *("ndcg_cut", "map", "recip_rank", "P.5,10", "ndcg_cut_10", "all_trec", "official", "set_F"),
    *("iprec_at_recall", "IPrec", "Rprec", "INSQ", "INST", "ERR_IA", "MRR", "MAP", "recall", "hit"),
    *("relstring", "utility.1,-1,0,0", "gm_map", "set", "num_ret", "F1", "Compat", "nERR", "SDCG"),
)
_OPTIONS = (
    *(
        "rel=2",
        "gain=exp",
        "gain={0:1,1:3}",
        "dcg=exp-log2",
        "p=0.8",
        "beta=0.5",
        "judged_only=true",
    ),
    *("max_rel=4", "min_rel=1", "base=2", "norm=retrieved", "T=1", "alpha=0.5", "rel=x", "=", "p="),
)


def measure_text(random: Random) -> str:
    """Return a measure or what looks like one, in any notation."""
    pieces = [random.choice(_MEASURES)]
    if random.random() < 0.5:
        options = [random.choice(_OPTIONS) for _ in range(random.randrange(4))]
        if random.random() < 0.3:
            options.append(f"{random.choice(WORDS)}={random.choice(NUMBERS)}")
        pieces.append(f"({','.join(options)})")
    if random.random() < 0.6:
        pieces.append(f"@{random.choice(('1', '10', '5,10', '1000', random.choice(NUMBERS)))}")
    if random.random() < 0.2:
        pieces.insert(random.randrange(len(pieces) + 1), random.choice((*WORDS, *NUMBERS)))
    if random.random() < 0.1:
        pieces.append(f" {random.choice(_MEASURES)}")
    return "".join(pieces)


# --- attacks on memory and time


def attack(data: bytes, random: Random) -> bytes:
    """Return input that is long, deeply nested, wide, or full of what is looked for."""
    size = random.choice((1_000, 20_000, 200_000, 2_000_000))
    token = random.choice(TOKENS) or b"a"
    what = random.randrange(7)
    begin = random.randrange(len(data) + 1)
    if what == 0:  # one word, very often
        return data[:begin] + token * (size // len(token)) + data[begin:]
    if what == 1:  # one word, very long
        return data[:begin] + b"a" * size + data[begin:]
    if what == 2:  # nesting
        opening, closing = random.choice(
            ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"<a>", b""))
        )
        depth = min(size, 200_000) // len(opening)
        return data[:begin] + opening * depth + b"1" + closing * depth + data[begin:]
    if what == 3:  # a very wide line
        separator = random.choice((b",", b"\t", b" ", b";"))
        return data[:begin] + (b"a" + separator) * (size // 2) + data[begin:]
    if what == 4:  # very many lines
        line = random.choice(data.split(b"\n")) + b"\n"
        return data + line * (size // 10 // len(line) + 1)
    if what == 5:  # one digit after the other
        return _DIGITS.sub(lambda match: match[0] + b"9" * min(size, 20_000), data, count=1)
    return gzip.compress(data[:begin] + token * (size // len(token)) + data[begin:], mtime=0)
