"""TREC topics: SGML and XML as the tracks publish them, and hostile ones."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pytest

from rankscope.collection.markup import read_topics
from rankscope.errors import FormatError, RankscopeError


def rows(text: str) -> list[dict[str, Any]]:
    return [row for _, row in read_topics(io.BytesIO(text.encode()), "t")]


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
            "narrative": "A relevant document & more.",
        },
        {"_id": "051", "text": "Airbus", "dom": "Law"},
    ]
    closed = "<top><NUM> Number: MB1 </NUM><title> BBC </title>\r\n<querytime>now</querytime></top>"
    assert rows(closed) == [{"_id": "MB1", "text": "BBC", "querytime": "now"}]


def test_xml_with_questions() -> None:
    text = """<?xml version="1.0"?><!-- a <topic> --><topics task="COVID">
<topic number="1"><query>corona &lt;origin&gt; &#x41;&#66; &lol; &eacute;</query>
<question>what <b>is</b> it</question><narrative><![CDATA[a <b> &amp;]]></narrative></topic>
<topic number="2">free text only</topic></topics>"""
    assert rows(text) == [
        {
            "_id": "1",
            "text": "corona <origin> AB &lol; é",
            "question": "what is it",
            "narrative": "a <b> &amp;",
        },
        {"_id": "2", "text": "free text only"},
    ]


def test_web_track_subtopics() -> None:
    text = """<webtrack2012><topic number='151' type="ambiguous"><query>403b</query>
<subtopic number="1" type="inf">What is it?</subtopic></topic></webtrack2012>"""
    row = {"_id": "151", "text": "403b", "type": "ambiguous", "subtopic": "What is it?"}
    assert rows(text) == [row]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<nothing/>", "no <top>"),
        ("\n<top><title> x </top>", "t:2: "),
        ("<top><num> 1 </top>", "t:1: "),
        ("<top>\n<!-- open", "t:2: "),
        ('<!DOCTYPE t [<!ENTITY a "b">]><topic number="1">&a;</topic>', "DOCTYPE"),
        ("<topic number='1'>" + "<a>" * 99, "t:1: "),
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
