"""TREC topics: SGML and XML as the tracks publish them, hostile ones, and both written back."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.collection.queries import Queries, read_queries
from rankscope.collection.topics import read_topics
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.tables.record_rows import Origin

LAW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def rows(text: str) -> list[dict[str, Any]]:
    return [row for _, row in read_topics(io.BytesIO(text.encode()), Origin("t", "line"))]


def test_sgml_with_open_tags() -> None:
    text = """<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations, a < b & c,
in two lines.

<narr> Narrative:
A relevant document &amp; more.

</top>
<top>
<num> Number: 051 <dom> Domain: Law
<title> Topic: Airbus
"""
    assert rows(text) == [
        {
            "_id": "301",
            "text": "International Organized Crime",
            "description": "Identify organizations, a < b & c,\nin two lines.",
            "narrative": "A relevant document &amp; more.",
        },
        {"_id": "051", "text": "Airbus", "dom": "Law"},
    ]
    closed = "<top><NUM> Number: MB1 </NUM><title> BBC </title>\r\n<querytime>now</querytime></top>"
    assert rows(closed) == [{"_id": "MB1", "text": "BBC", "querytime": "now"}]


def test_xml_with_questions() -> None:
    text = """<?xml version="1.0"?><!-- a <topic> --><topics task="COVID">
<topic number="1"><query>corona &lt;origin&gt; &#x41;&#66; &lol;</query>
<question>what <b>is</b> it</question><narrative><![CDATA[a <b> &amp;]]></narrative></topic>
<topic number="2">free text only</topic></topics>"""
    assert rows(text) == [
        {
            "_id": "1",
            "text": "corona <origin> AB &lol;",
            "question": "what is it",
            "narrative": "a <b> &amp;",
        },
        {"_id": "2", "text": "free text only"},
    ]


def test_web_track_subtopics() -> None:
    text = """<webtrack2012><topic number='151' type="ambiguous"><query>403b</query>
<subtopic number="1" type="inf">What is it?</subtopic></topic></webtrack2012>"""
    subtopics = [{"number": "1", "type": "inf", "text": "What is it?"}]
    row = {"_id": "151", "text": "403b", "type": "ambiguous", "subtopics": subtopics}
    assert rows(text) == [row]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<nothing/>", "no <top>"),
        ("\n<top><title> x </top>", "t:2: "),
        ("<top><num> 1 </top>", "t:1: "),
        ("<top>\n<!-- open", "t:2: "),
        ('<!DOCTYPE t [<!ENTITY a "b">]><topic number="1">&a;</topic>', "DOCTYPE"),
        ("<topic number='1'>" + "<a>" * 99, "nested"),
    ],
)
def test_topics_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        rows(text)


def test_hostile_repetition_comes_to_an_end() -> None:
    # a scan that starts over at every piece would take minutes
    for piece in ("<", "<a", "<!--", "<a ", "</a>", "&#", "<a x=", "<top>", "<![CDATA[", "aaaaa="):
        with suppress(RankscopeError):
            rows("<topic number='1'>x" + piece * 30_000)


chars = st.one_of(st.sampled_from('<>&"\n\t :'), st.characters(exclude_categories=["Cs"]))
ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda text: not any(c.isspace() for c in text)
)
texts = st.text(chars, max_size=20)
names = st.sampled_from(["description", "narrative", "question", "lang", "dom", "desc", "Title"])
subtopic = st.fixed_dictionaries({"number": texts, "text": texts})
fields = st.dictionaries(names, texts | st.lists(texts, max_size=3), max_size=3)
topics = st.builds(
    lambda text, rest, subs: {"text": text, **rest, **({"subtopics": subs} if subs else {})},
    texts,
    fields,
    st.lists(subtopic, max_size=2),
)


@pytest.mark.parametrize("name", ["q.trec", "q.xml"])
@LAW
@given(table=st.dictionaries(ids, topics, min_size=1, max_size=3))
def test_what_is_written_comes_back(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    try:
        made.write(tmp_path / name)
    except InputError as error:
        assert "cannot carry" in str(error)  # noqa: PT017
        return
    assert read_queries(tmp_path / name) == made


def test_usual_topics_can_be_written(tmp_path: Path) -> None:
    made = Queries(
        {
            "301": {"text": "Topic: crime & < b", "description": "d\ne", "narrative": "n"},
            "302": {"text": "x", "dom": "Law", "keys": ["a", "b"]},
        }
    )
    for format in ("trec", "trec-xml"):
        made.write(tmp_path / "q", format=format)
        assert read_queries(tmp_path / "q") == made


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": "a <b> c"}, "looks like a tag"),
        ({"text": " a"}, "white space"),
        ({"text": "a", "metadata": {}}, "field 'metadata' is an object"),
        ({"text": "a", "l": ["one"]}, "list of two"),
        ({"text": "a", "title": "b"}, "for something else"),
        ({"text": "a", "subtopics": [{"number": "1", "text": "x"}]}, "has attributes"),
    ],
)
def test_what_sgml_cannot_carry(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    path = tmp_path / "q.trec"
    with pytest.raises(InputError, match=f"query 'q1': .*{words}"):
        Queries({"q1": fields}).write(path)
    assert not path.exists()
