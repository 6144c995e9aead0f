"""Formulas as MathML: the plain text of a measure's definition, set as mathematics on a page.

The text stays the definition. It is cut into clauses at semicolons and commas; a clause that is
mathematics becomes a line of MathML Core, anything else stays the text it is: a clause that cannot
be read for sure is not guessed at. The grammar of a clause::

    clause   = sides [ "if" sides [ ", else" sum ] ]
    sides    = sum { ( "=" | "∝" | "<" | … ) sum }
    sum      = [ "−" ] product { ( "+" | "−" | "∩" | "∪" ) product }
    product  = ratio { "·" ratio } [ " / " ratio ]            spaces around it: the whole product
    ratio    = power [ "/" power ]                            no spaces: only its neighbours
    power    = atom [ "²" | "³" | "^" atom ]
    atom     = number | words | name "(" sides, … ")" | "(" sides ")" | "|" sum "|" | sign
    sign     = ( "Σ" | "Π" | "max" | "mean" ) [ what it goes over ] [ "of" sum ]

What a sign goes over is written below it, and the "of" behind that is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<sign>[ΣΠ])"
    r"|(?P<name>[^\W\d_ΣΠ²³]+(?:_[^\W\d_²³]{2,}|-[^\W\d_²³]{2,})*\d*)"
    r"|(?P<other>[-+−·×/^()=∝<>≤≥∩∪|,@²³√_{}])"
)

_RAISED = {"²": "2", "³": "3"}
_SIGNS = {"Σ": "∑", "Π": "∏"}
"""Letters, and the signs that are drawn for them."""
_MINUS = ("−", "-")
_ADDED = ("+", *_MINUS, "∩", "∪")
_RELATIONS = ("=", "∝", "<", ">", "≤", "≥")
_OVER = ("over", "down", "of")
"""What follows a sign that goes over something."""
_ENDS_PHRASE = ("if", "else")
_SPACE = '<mspace width="0.3em"></mspace>'
_DEEPEST = 40
"""Parentheses and signs inside each other; a formula with more is text."""

_Kind = Literal["atom", "phrase", "fraction", "product", "sum", "group"]


class _NotMathematicsError(Exception):
    """A clause cannot be read for sure."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    spaced: bool
    """Whether there is a space before it."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a formula: its MathML, and what it is."""

    markup: str
    kind: _Kind = "atom"
    inner: _Node | None = None
    """What is in a group's parentheses."""

    @property
    def bare(self) -> str:
        """Its MathML without parentheses, for places that set it apart already."""
        return self.markup if self.inner is None else self.inner.bare

    @property
    def factor(self) -> str:
        """Its MathML as a factor: a fraction needs no parentheses, and a sum does."""
        if self.inner is not None and self.inner.kind == "fraction":
            return self.inner.markup
        return _fenced(self.markup) if self.kind == "sum" else self.markup


# --- elements ------------------------------------------------------------------------------------


def _element(name: str, *parts: str, **attributes: str) -> str:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(parts)}</{name}>"


def _row(*parts: str) -> str:
    return parts[0] if len(parts) == 1 else _element("mrow", *parts)


def _operator(text: str) -> str:
    return _element("mo", escape(text))


def _between(text: str) -> str:
    """Return an operator between two things, also where one of them is words."""
    return _element("mo", escape(text), form="infix")


def _words(text: str) -> str:
    return _element("mtext", escape(text))


def _fenced(markup: str) -> str:
    return _row(_operator("("), markup, _operator(")"))


def _fraction(above: _Node, below: _Node) -> _Node:
    return _Node(_element("mfrac", _row(above.bare), _row(below.bare)), "fraction")


def _name(text: str) -> str:
    """Return a name: digits at its end and what follows an underscore are subscripts.

    The names of measures (alpha_DCG, nDCG_rel) are written as they are.
    """
    stem = text.rstrip("0123456789")
    if stem != text:
        return _element("msub", _name(stem), _element("mn", text[len(stem) :]))
    head, underscore, rest = text.partition("_")
    if underscore and head.islower() and rest.islower():
        return _element("msub", _name(head), _name(rest))
    return _element("mi", escape(text))


def _phrase(words: Sequence[str]) -> str:
    """Return words as text; single letters among them are names, but for the article."""
    parts: list[str] = []
    pending: list[str] = []
    for place, word in enumerate(words):
        is_name = len(word) == 1 and word != "a"
        if not is_name:
            pending.append(word)
            continue
        if pending:
            parts += [_words(" ".join(pending)), _SPACE]
            pending = []
        parts += [_name(word)] if place + 1 == len(words) else [_name(word), _SPACE]
    if pending:
        parts.append(_words(" ".join(pending)))
    return _row(*parts)


# --- reading -------------------------------------------------------------------------------------


def _tokens(text: str) -> list[_Token]:
    tokens, at, spaced = [], 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _NotMathematicsError
        at = match.end()
        if match.lastgroup != "space":
            kind = match[0] if match.lastgroup == "other" else str(match.lastgroup)
            tokens.append(_Token(kind, match[0], spaced))
        spaced = match.lastgroup == "space"
    return tokens


class _Reader:
    """Reads one clause, from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        self.signs = 0
        """How many signs it is in."""
        self.raised = 0
        """How many exponents it is in: there, fractions have a slash."""

    @property
    def next(self) -> _Token:
        end = _Token("end", "", spaced=True)
        return self.tokens[self.at] if self.at < len(self.tokens) else end

    @property
    def after(self) -> _Token:
        end = _Token("end", "", spaced=True)
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else end

    def take(self, *kinds: str) -> _Token | None:
        if self.next.kind not in kinds:
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *kinds: str) -> _Token:
        token = self.take(*kinds)
        if token is None:
            raise _NotMathematicsError
        return token

    def word(self, text: str) -> bool:
        """Take a word if it comes next."""
        is_next = self.next.kind == "name" and self.next.text == text
        self.at += is_next
        return is_next

    def clause(self) -> str:
        parts = [self.sides().markup]
        if self.word("if"):
            parts += [_SPACE, _words("if"), _SPACE, self.sides().markup]
            if self.take(","):
                if not self.word("else"):
                    raise _NotMathematicsError
                parts += [_operator(","), _words("else"), _SPACE, self.sum().markup]
        self.expect_end()
        return _row(*parts)

    def expect_end(self) -> None:
        if self.at < len(self.tokens):
            raise _NotMathematicsError

    def sides(self) -> _Node:
        node = self.sum()
        while relation := self.take(*_RELATIONS):
            markup = _row(node.markup, _between(relation.text), self.sum().markup)
            node = _Node(markup, "sum")
        return node

    def sum(self) -> _Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotMathematicsError
        sign = self.take(*_MINUS)
        first = self.product()
        parts = [_operator(sign.text), first.markup] if sign else [first.markup]
        while added := self.take(*_ADDED):
            term = self.product()
            between = _between(added.text)
            if first.kind == term.kind == "phrase":  # between words alone it has no spaces
                between = _row(_SPACE, between, _SPACE)
            parts += [between, term.markup]
        self.depth -= 1
        return first if len(parts) == 1 else _Node(_row(*parts), "sum")

    def product(self) -> _Node:
        factors = [self.ratio()]
        markup = [factors[0].factor]
        while True:
            if sign := self.take("·", "×"):
                factors.append(self.ratio())
                markup += [_between(sign.text), factors[-1].factor]
            elif self.is_sign_next() and factors[-1].kind != "phrase":
                factors.append(self.ratio())
                markup.append(factors[-1].factor)
            else:
                break
        node = factors[0] if len(factors) == 1 else _Node(_row(*markup), "product")
        is_ratio_of_sums = self.signs > 0 and self.after.kind == "sign"
        if self.next.kind != "/" or is_ratio_of_sums:
            return node
        if not self.next.spaced:  # behind a fraction without spaces: which is above which?
            raise _NotMathematicsError
        self.at += 1
        below = self.ratio()
        if self.next.kind in ("·", "×", "/") or self.is_sign_next():
            raise _NotMathematicsError
        return self.divided(node, below)

    def ratio(self) -> _Node:
        node = self.power()
        if self.next.kind == "/" and not self.next.spaced:
            self.at += 1
            below = self.power()
            if "phrase" in (node.kind, below.kind):
                raise _NotMathematicsError
            return self.divided(node, below)
        return node

    def divided(self, above: _Node, below: _Node) -> _Node:
        if self.raised:
            return _Node(_row(above.factor, _operator("/"), below.factor), "product")
        return _fraction(above, below)

    def power(self) -> _Node:
        node = self.atom()
        if self.next.kind not in (*_RAISED, "^"):
            return node
        if node.kind in ("phrase", "product"):  # what of it is raised?
            raise _NotMathematicsError
        if raised := self.take(*_RAISED):
            exponent = _element("mn", _RAISED[raised.text])
        else:
            self.at += 1
            exponent = self.exponent()
        return _Node(_element("msup", _row(node.markup), exponent))

    def exponent(self) -> str:
        self.raised += 1
        node = self.braced() if self.next.kind == "{" else self.atom()
        self.raised -= 1
        if node.kind == "phrase":
            raise _NotMathematicsError
        return _row(node.bare)

    def braced(self) -> _Node:
        self.expect("{")
        node = self.sides()
        self.expect("}")
        return node

    def atom(self) -> _Node:
        if self.is_sign_next():
            return self.sign()
        if number := self.take("number"):
            return self.number(number)
        if self.next.kind == "name":
            return self.named()
        if self.take("("):
            inner = self.sides()
            self.expect(")")
            return _Node(_fenced(inner.markup), "group", inner)
        if self.take("|"):
            inner = self.sum()
            self.expect("|")
            bar = _element("mo", "|", stretchy="true")
            return _Node(_row(bar, inner.markup, bar))
        self.expect("√")
        return _Node(_element("msqrt", self.atom().bare))

    def number(self, number: _Token) -> _Node:
        """Return a number, with the letter behind it: 2T is a product, 4.4 s has a unit."""
        markup = _element("mn", number.text)
        if self.next.kind != "name" or self.next.text in _ENDS_PHRASE:
            return _Node(markup)
        letter = self.expect("name")
        if len(letter.text) > 1 or self.next.kind == "(":
            raise _NotMathematicsError
        behind = [_SPACE, _words(letter.text)] if letter.spaced else [_name(letter.text)]
        return _Node(_row(markup, *behind), "product")

    def named(self) -> _Node:
        """Return a name, a function of something, or words."""
        first = self.expect("name")
        if self.next.kind == "(" and not self.next.spaced:
            return self.function(first.text)
        if self.next.kind in ("@", "_") and not self.next.spaced:
            return self.suffixed(_name(first.text))
        if first.text == "ln" and self.next.kind == "name":
            return _Node(_row(_name("ln"), _SPACE, self.power().markup))
        words = [first.text]
        while self.next.kind == "name" and self.next.text not in _ENDS_PHRASE:
            if self.after.kind in ("(", "@", "_") and not self.after.spaced:
                raise _NotMathematicsError  # words, and something that is not a word
            words.append(self.expect("name").text)
        return _Node(_name(first.text)) if len(words) == 1 else _Node(_phrase(words), "phrase")

    def suffixed(self, stem: str) -> _Node:
        """Return a name with a cutoff (DCG@k) or an index (x_i); more words may follow a cutoff."""
        if self.take("_"):
            return _Node(_element("msub", stem, self.index()))
        self.expect("@")
        markup = _row(stem, _element("mo", "@", lspace="0", rspace="0"), self.index())
        words = []
        while self.next.kind == "name" and self.next.text not in _ENDS_PHRASE:
            words.append(self.expect("name").text)
        if not words:
            return _Node(markup)
        return _Node(_row(markup, _SPACE, _phrase(words)), "phrase")

    def index(self) -> str:
        if self.next.kind == "{":
            return _row(self.braced().markup)
        token = self.expect("name", "number")
        return _name(token.text) if token.kind == "name" else _element("mn", token.text)

    def function(self, name: str) -> _Node:
        self.expect("(")
        arguments = [self.sides().markup]
        while self.take(","):
            arguments += [_operator(","), self.sides().markup]
        self.expect(")")
        return _Node(_row(_name(name), _fenced(_row(*arguments))))

    # --- signs that go over something ---

    def is_sign_next(self) -> bool:
        if self.next.kind == "sign":
            return True
        is_word = self.next.kind == "name" and self.next.text in ("max", "mean")
        return is_word and self.after.kind == "name" and self.after.text in _OVER

    def sign(self) -> _Node:
        token = self.expect("sign", "name")
        is_word = token.kind == "name"
        mark = self.limits(_operator(_SIGNS.get(token.text, token.text)))
        below = self.range()
        if below:
            mark = _element("munder", mark, below)
            self.word("of")
            body = self.body(self.sum)
        elif self.word("of"):
            mark = _row(mark, _SPACE, _words("of"), _SPACE)
            body = self.body(self.sum)
        else:
            body = self.body(self.product)
        if is_word:
            mark = _row(mark, _SPACE)
        return _Node(_row(mark, _fenced(body.markup) if body.kind == "sum" else body.markup))

    def limits(self, mark: str) -> str:
        """Return a sign with its limits where they are written as such: Σ_{i≤k}, Σ_{i=1}^{k}."""
        if not self.take("_"):
            return mark
        low = self.index()
        if self.take("^"):
            return _element("munderover", mark, low, self.exponent())
        return _element("munder", mark, low)

    def range(self) -> str:
        """Return what a sign goes over, up to the word "of"; '' if it is not said."""
        if self.next.kind != "name" or self.next.text not in ("over", "down"):
            return ""
        parts: list[str] = []
        words: list[str] = []
        while not (self.next.kind == "name" and self.next.text == "of"):
            token = self.expect("name", *_RELATIONS)
            if token.kind == "name":
                words.append(token.text)
            else:
                parts += [_phrase(words), _operator(token.text)]
                words = []
        return _row(*parts, *([_phrase(words)] if words else []))

    def body(self, read: Callable[[], _Node]) -> _Node:
        """Return what a sign goes over; dividing it by another sum is not a part of it."""
        self.signs += 1
        node = read()
        self.signs -= 1
        return node


# --- clauses -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a formula: its text, and its MathML if it is mathematics."""

    text: str
    markup: str = ""
    behind: str = ""
    """The comma that separates it from the next."""


def _pieces(text: str, separator: str) -> list[str]:
    """Split text at a sign that is in no parentheses."""
    pieces, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == separator and depth == 0:
            pieces.append(text[start:place])
            start = place + 1
    return [piece.strip() for piece in (*pieces, text[start:]) if piece.strip()]


def _cut(sentence: str) -> list[str]:
    """Cut a sentence at its commas; what follows "else" belongs to what is before it."""
    cut: list[str] = []
    for piece in _pieces(sentence, ","):
        if cut and piece.startswith("else "):
            cut[-1] = f"{cut[-1]}, {piece}"
        else:
            cut.append(piece)
    return cut


def _markup(text: str) -> str:
    """Return the MathML of a clause; '' for one that is words, or cannot be read."""
    try:
        reader = _Reader(text)
        if all(token.kind == "name" for token in reader.tokens):
            return ""
        return reader.clause()
    except (_NotMathematicsError, RecursionError):
        return ""


def clauses(text: str) -> list[Clause]:
    """Cut a formula into clauses, each on a line of its own; words stay together.

    >>> [(clause.text, bool(clause.markup)) for clause in clauses("a / b, a and b at k; 0 if none")]
    [('a / b', True), ('a and b at k', False), ('0 if none', True)]
    """
    lines: list[Clause] = []
    for sentence in _pieces(text, ";"):
        pieces = _cut(sentence)
        for place, piece in enumerate(pieces):
            behind = "," if place + 1 < len(pieces) else ""
            markup = _markup(piece)
            if place and not markup and not lines[-1].markup:
                lines[-1] = Clause(f"{lines[-1].text}, {piece}", "", behind)
            else:
                lines.append(Clause(piece, markup, behind))
    return lines


def mathml(clause: Clause) -> str:
    """Return a clause that is mathematics as an element of its own."""
    comma = _element("mo", ",", separator="true") if clause.behind else ""
    return _element("math", clause.markup, comma, display="block", alttext=clause.text)


def formula_lines(text: str, safe: Callable[[str], str] = escape) -> str:
    """Return a formula as lines of MathML and paragraphs; '' where nothing of it is mathematics."""
    lines = clauses(text)
    if not any(line.markup for line in lines):
        return ""
    return "\n".join(
        mathml(line) if line.markup else f"<p>{safe(line.text + line.behind)}</p>" for line in lines
    )
