"""A document's cases as JUnit XML, for continuous integration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

if TYPE_CHECKING:
    from rankscope.document.blocks import Case, Document

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(document: Document, *, suite: str) -> str:
    """Return a test case for each case; ``suite`` is what the test suite is called."""
    counts = {
        "tests": str(len(document.cases)),
        "failures": str(sum(case.outcome == "failed" for case in document.cases)),
        "errors": str(sum(case.outcome == "error" for case in document.cases)),
    }
    root = Xml.Element("testsuites", {"name": suite, **counts})
    skipped = str(sum(case.outcome == "skipped" for case in document.cases))
    inside = Xml.SubElement(root, "testsuite", {"name": suite, **counts, "skipped": skipped})
    if document.properties:
        listed = Xml.SubElement(inside, "properties")
        for name, value in document.properties.items():
            Xml.SubElement(listed, "property", {"name": name, "value": _safe(value)})
    for case in document.cases:
        _add(case, inside, suite.replace(" ", "."))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _add(case: Case, suite: Xml.Element, classname: str) -> None:
    element = Xml.SubElement(suite, "testcase", {"classname": classname, "name": _safe(case.name)})
    if case.outcome != "passed":
        tag = {"failed": "failure", "skipped": "skipped"}.get(case.outcome, "error")
        reason = {"message": _safe(case.message), "type": case.kind}
        lines = [case.message, *case.details] if case.details else []
        Xml.SubElement(element, tag, reason).text = _safe("\n".join(lines)) or None


def _safe(text: str) -> str:
    """Replace what XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\ufffd", text)
