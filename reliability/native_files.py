"""TREC files for `reliability.native_fuzz`: plain ones, odd ones that are right, and broken ones.

A world is qrels and some runs over few queries and documents, so that judged documents, ties and
repetition are frequent. How a file is written (blanks, line ends, comments, marks, compression) is
drawn apart from what it says. Everything is drawn from a `Random`: the same seed, the same bytes.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from reliability.fuzz.inputs import mutated

BOM = b"\xef\xbb\xbf"
COMMENTS = b"# ir_metadata.start\n# method:\n#   automatic: true\n# ir_metadata.end\n"

PLAIN = [f"D{number}" for number in range(24)]
ODD = ["é", "e\u0301", "日本", "😀", "\uffee", "\u2028", "\x85", "\xa0", "0", "-1", "1e3", "nan",
       '"', "'a'", '"a', "a,b", "a;b", "#d", "a#", "%41", "%", "\ufeff", "\x00", "a\x00b", "\x01",
       "\x1c", "\x1f", "\x7f", "\x1b[31m", "null", "\\N", "x" * 300, "é" * 80, "q1", "D1", "d1",
       "D01", "1.0", "[", "{", "<a", "Q0", "\U0010ffff", "\ud7ff"]  # fmt: skip
NOT_UTF8 = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80",
            b"\xf0\x8f\xbf\xbf", b"\xc3", b"\xe0\x9f\xbf", b"\xf5\x80\x80\x80"]  # fmt: skip
QUERIES = ["q1", "q2", "10", "9", "q10", "Q"]
TELLING = ["0", "-0", "0.0", "-0.0", "1", "+1", ".5", "5.", "1e5", "1E-5", "1e+5", "1e400",
           "-1e400", "inf", "-inf", "nan", "NaN", "Infinity", "0x10", "1_0", "1e-400", "5e-324",
           "2.5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
           "1.7976931348623157e308",
           "1.7976931348623159e308", "9007199254740993", "9007199254740992.5", "1e22", "1e23",
           "123456789012345678901234567890", "0.1", "0.10000000000000000555", "00012", "-", "", "e",
           "1e", "1e+", "--1", "1d3", "1f", "1.2.3", "١", "½", "8.41e21", "9.5e-7", "3.4e38",
           "3.5e38", "1e-46", "20000001", "20000002", "0e999999", "1e00005", "1e-00005", "1.e5",
           "1e5.0", "2147483648", "9223372036854775808", "-9223372036854775809",
           "0." + "0" * 30 + "1", "1" * 400, "0." + "3" * 395, "1" + "0" * 300,
           "6.1e-5", "1.0000000000000002220446049250313", "179769313486231580793e289"]  # fmt: skip
GRADES = [["0", "1"], ["1"], ["-1", "0", "1", "2"], ["0", "1", "2", "3"], ["0", "0", "1", "2"],
          ["0", "0", "0", "3"], ["0.5", "1", "0", "2.25"], ["-0", "2", "0.0"], ["1e1", "1.0", "0"],
          ["-0", "0.5", "2"], ["1000000", "1"], ["1", "2", "0"], ["0", "1", "3"]] * 4 + [
          ["0"], ["-1"], ["0.3", "0.7"], ["1", "9007199254740993"], ["9007199254740991", "1"],
          ["9007199254740992", "-9007199254740992"], ["1", "-9007199254740994"]]  # fmt: skip
_HALF = 2**52


@dataclass(frozen=True, slots=True)
class Written:
    """A file: its name and its bytes."""

    name: str
    data: bytes


def number(source: Random) -> str:
    """Return a decimal as files have it: of any length, often halfway between two doubles."""
    way = source.random()
    if way < 0.3:
        return f"{source.uniform(-20, 40):.{source.randint(0, 17)}f}"
    if way < 0.4:
        return repr(source.uniform(-1, 1) * 10 ** source.randint(-320, 300))
    if way < 0.5:  # halfway, or as near as decimals come
        odd = source.randrange(_HALF, 2 * _HALF) * 2 + 1
        scale = source.randint(0, 70)
        tail = source.choice(["", "0", "1", "000001"])
        whole, rest = divmod(odd * 5**scale, 10**scale)
        return f"{whole}.{rest:0{scale}d}{tail}" if scale else f"{whole}.0{tail}"
    if way < 0.8:
        digits = "".join(source.choices("0123456789", k=source.randint(1, 25)))
        point = source.randint(0, len(digits) - 1)
        text = f"{digits[:point]}.{digits[point:]}" if point else digits
        power = f"{source.choice('eE')}{source.randint(-30, 30):{source.choice(['', '+'])}d}"
        return ("-" if source.random() < 0.2 else "") + text + power * (source.random() < 0.4)
    if way < 0.9:
        return str(source.randint(-10, 10) * 10 ** source.randint(0, 18))
    return repr(source.random())


def _scores(source: Random, count: int) -> list[str]:
    """Return the scores of one list."""
    way = source.random()
    if way < 0.3:
        return sorted((f"{source.uniform(0, 30):.4f}" for _ in range(count)), key=float)[::-1]
    if way < 0.45:
        few = [str(source.randint(0, 3)) for _ in range(count)]
        return few if source.random() < 0.3 else sorted(few, reverse=source.random() < 0.8)
    if way < 0.5:
        return [source.choice(["1", "1.0", "0.5"])] * count
    if way < 0.55:
        return [str(place) for place in range(count)]
    if way < 0.62:  # equal in single precision
        return [f"0.1{source.randint(0, 3)}" if way < 0.56 else f"0.10000000{source.randint(0, 9)}"
                for _ in range(count)]  # fmt: skip
    if way < 0.67:
        return [
            source.choice(["0", "-0", "-0.0", "5e-324", "1e-46", "-5e-324"]) for _ in range(count)
        ]
    if way < 0.72:
        return [
            source.choice(["1e300", "3.5e38", "3.4e38", "-1e300", "4e38"]) for _ in range(count)
        ]
    numbers = [number(source) for _ in range(count)]
    return numbers if source.random() < 0.5 else sorted(numbers, key=float, reverse=True)


def _documents(source: Random, most: int) -> list[str]:
    pool = PLAIN if source.random() < 0.8 else [*PLAIN[:10], *source.sample(ODD, 10)]
    return source.sample(pool, min(len(pool), source.randint(1, most)))


def _run_rows(source: Random) -> list[list[str]]:
    queries = source.sample(QUERIES, source.randint(1, 6))
    if source.random() < 0.1:
        queries += source.sample(ODD, 2)
    tag = source.choice(["tag", "bm25", "1.5", "é", "t" * 250, "inf", "Q0"])
    rows = []
    long = source.random() < 0.03
    for query in queries:
        documents = _documents(source, 22)
        if long:
            documents = [
                f"D{place}" for place in source.sample(range(400), source.randint(40, 300))
            ]
        scores = _scores(source, len(documents))
        ranks: Sequence[int] = range(1, len(documents) + 1)
        way = source.random()
        if way < 0.2:  # as a sorted list would have them
            places = sorted(range(len(documents)), key=lambda place: -float(scores[place]))
            by_place = {place: rank for rank, place in enumerate(places, start=1)}
            ranks = [by_place[place] for place in range(len(documents))]
        elif way < 0.25:
            ranks = [source.randint(0, 5) for _ in documents]
        if source.random() < 0.02:
            tag = "other"
        rows += [
            [query, "Q0", document, str(rank), score, tag]
            for document, rank, score in zip(documents, ranks, scores, strict=True)
        ]
    return rows


def _qrels_rows(source: Random) -> list[list[str]]:
    grades = source.choice(GRADES)
    rows = []
    for query in source.sample(QUERIES, source.randint(2, 5)):
        rows += [[query, "0", doc, source.choice(grades)] for doc in _documents(source, 16)]
    way = source.random()
    if way < 0.04:  # subtopics
        for row in rows:
            row[1] = source.choice(["1", "2"])
    elif way < 0.06:
        second = source.choice(["Q0", "é", "7"])
        for row in rows:
            row[1] = second
    elif way < 0.08:
        rows = [[row[0], row[2], row[3]] for row in rows]
    return rows


# --- what is wrong, or looks so ------------------------------------------------------------------


def _again(rows: list[list[str]], source: Random) -> None:
    rows.insert(source.randint(0, len(rows)), list(source.choice(rows)))


def _interleaved(rows: list[list[str]], source: Random) -> None:
    if source.random() < 0.5:
        source.shuffle(rows)
    else:
        rows.append([*rows[0][:2], "D99", *rows[0][3:]])


def _telling(rows: list[list[str]], source: Random) -> None:
    for row in source.sample(rows, min(len(rows), source.randint(1, 3))):
        place = source.choice([-1, -1, -2] if len(row) < 6 else [3, 4, 4, 4, 4])
        row[place] = source.choice(TELLING) if source.random() < 0.7 else number(source)


def _odd_ids(rows: list[list[str]], source: Random) -> None:
    for row in source.sample(rows, min(len(rows), source.randint(1, 4))):
        row[source.choice([0, 0, 1, 2, 2, len(row) - 1])] = source.choice(ODD)


def _width(rows: list[list[str]], source: Random) -> None:
    for row in source.sample(rows, source.choice([1, 1, len(rows)])):
        if source.random() < 0.5:
            row.append("x")
        else:
            del row[source.randrange(len(row))]


def _long(rows: list[list[str]], source: Random) -> None:
    row = source.choice(rows)
    row[source.choice([0, 2])] = "y" * source.choice([1000, 65530, 65536, 70000])


CHANGES: list[Callable[[list[list[str]], Random], None]] = [
    *(_again, _interleaved, _interleaved, _telling, _telling, _telling),
    *(_odd_ids, _odd_ids, _odd_ids, _width),
]

# --- how it is written ---------------------------------------------------------------------------


def _text(rows: list[list[str]], source: Random) -> bytes:
    way = source.random()
    blanks = [" "] if way < 0.5 else ["\t"] if way < 0.65 else [" ", "\t", "  ", " \t", "\v", "\f",
                                                               "\r", " \r "]  # fmt: skip
    if 0.65 <= way < 0.75:
        blanks = [" ", "\t"]
    end = source.choice(["\n"] * 8 + ["\r\n", " \n", "\t\r\n", "\n\n"])
    begins = [""] if source.random() < 0.9 else ["", "", " ", "\t", "\r"]
    extra = source.random() < 0.12
    parts = []
    for row in rows:
        if extra and source.random() < 0.3:
            parts.append(source.choice(["# c", "#", "", " ", " # a b", "\r", "#é", "\t#\t", "\v"]))
            parts.append("\n")
        blank = blanks[0] if len(blanks) == 1 else source.choice(blanks)
        parts.append(begins[0] if len(begins) == 1 else source.choice(begins))
        if len(blanks) == 1 or source.random() < 0.5:
            parts.append(blank.join(row))
        else:
            parts.append("".join(f"{cell}{source.choice(blanks)}" for cell in row))
        parts.append(end)
    return "".join(parts).encode()


def _framed(data: bytes, source: Random) -> bytes:
    """Change the beginning or the end of a file."""
    way = source.randrange(16)
    if way < 4:
        return data.rstrip(b"\n")
    if way < 6:
        return BOM + data
    middle = data.find(b"\n", source.randint(0, len(data))) + 1
    return [
        *(BOM + BOM + data, BOM + BOM + b" " + data, data[:middle] + BOM + data[middle:]),
        *(
            COMMENTS + data,
            data + COMMENTS,
            b"#" + data.replace(b"\n", b"\n#"),
            b"",
            b" " + BOM + data,
        ),
        *(data + b"\x1a", data + b"#"),
    ][way - 6]


def _packed(data: bytes, source: Random) -> tuple[str, bytes]:
    way = source.random()
    if way < 0.45:
        packed, suffix = gzip.compress(data, 1, mtime=0), ".gz"
    elif way < 0.9:
        import zstandard

        packed, suffix = zstandard.ZstdCompressor(level=1).compress(data), ".zst"
    else:
        stream = io.BytesIO()
        with gzip.GzipFile("", "wb", 1, stream, mtime=0) as half:
            half.write(data[: len(data) // 2])
        packed, suffix = (
            stream.getvalue() + gzip.compress(data[len(data) // 2 :], 1, mtime=0),
            ".gz",
        )
    if source.random() < 0.2:
        packed = packed[: source.randint(0, len(packed))]
    return suffix, packed


def written(rows: list[list[str]], name: str, source: Random) -> Written:
    """Write rows in some way, with or without something wrong."""
    if source.random() < 0.4:
        for _ in range(source.choice([1, 1, 2])):
            source.choice(CHANGES)(rows, source)
    if source.random() < 0.01:
        _long(rows, source)
    data = _text(rows, source)
    if source.random() < 0.2:
        data = _framed(data, source)
    way = source.random()
    if way < 0.1:
        data = mutated(data, source)
    elif way < 0.13:
        place = source.randint(0, len(data))
        data = data[:place] + source.choice(NOT_UTF8) + data[place:]
    suffix = source.choice(["", "", ".run", ".txt", ".trec", ".qrels", ".tsv", ".csv"][::1])
    if source.random() < 0.97:
        suffix = ""
    if source.random() < 0.06:
        packing, data = _packed(data, source)
        suffix += packing
    return Written(f"{name}{suffix}", data)


@dataclass(frozen=True, slots=True)
class World:
    """Qrels and runs that are evaluated with them."""

    qrels: Written
    runs: tuple[Written, ...]


def world(seed: int, number: int, runs: int) -> World:
    """Make a world; the same for the same numbers."""
    source = Random(f"{seed} {number}")
    rows = _qrels_rows(source)
    plain = source.random() < 0.6  # so that runs are scored most of the time
    qrels = (
        Written("qrels", "".join(" ".join(row) + "\n" for row in rows).encode())
        if plain
        else written(rows, "qrels", source)
    )
    return World(
        qrels, tuple(written(_run_rows(source), f"run{place}", source) for place in range(runs))
    )
