"""Function words: the few hundred words that hold sentences together, by language.

They tell how a query is built: which question it asks (`query_traits.question_word`), where one
condition ends and the next begins (`query_traits.constraints`), and which of its words are about
something. Each query is read in the language whose function words it uses most; the language of all
queries together decides where a query does not. A language that is not here has no function words:
its queries are read by their punctuation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class FunctionWords:
    """The function words of one language, as `words_of` writes them."""

    language: str
    questions: Mapping[str, str]
    """Question words, with the English one for each."""
    joints: frozenset[str]
    """Prepositions and conjunctions: what follows is another condition."""
    negations: frozenset[str]
    """What follows is to be left out."""
    others: frozenset[str]
    """Articles, pronouns, auxiliaries and the like."""

    @cached_property
    def all(self) -> frozenset[str]:
        """Every function word."""
        return self.joints | self.negations | self.others | {*self.questions}

    @cached_property
    def splits(self) -> frozenset[str]:
        """The words between two conditions."""
        return self.joints | self.negations | {*self.questions}


def _language(
    language: str, questions: str, joints: str, negations: str, others: str
) -> FunctionWords:
    """Read lists of words; questions are written ``word=who``, with ``_`` for a blank."""
    pairs = (entry.split("=") for entry in questions.split())
    return FunctionWords(
        language,
        {word.replace("_", " "): meaning for word, meaning in pairs},
        frozenset(joints.split()),
        frozenset(negations.split()),
        frozenset(others.split()),
    )


LANGUAGES = (
    _language(
        "English",
        "who=who whom=who whose=who what=what which=which when=when where=where why=why how=how",
        """about above across after against although and around as at because before below
        between but by despite during for from if in into near of on onto or over per since so
        than that though through till under until unless versus via vs while with within""",
        "cannot except excluding neither never no none nor not without",
        """a all also am an any are be been being can could d did do does don done each every get
        got had has have having he her here him his i is isn it its just know let ll m may me might
        must my need our please re s shall she should some sure t tell the their them there these
        they this those to too us ve very want was we were will would you your""",
    ),
    _language(
        "German",
        """wer=who wen=who wem=who wessen=who was=what womit=what wofür=what worin=what woran=what
        worauf=what wovon=what wozu=what welche=which welcher=which welches=which welchen=which
        welchem=which wann=when wo=where wohin=where woher=where warum=why weshalb=why wieso=why
        wie=how wieviel=how wieviele=how""",
        """aber als am an auf aus bei beim bis damit dass durch falls für gegen im in ins mit nach
        ob oder per seit sowie statt trotz um und unter vom von vor wegen weil wenn während zum zur
        zwischen über""",
        "ausser kein keine keinem keinen keiner nicht nie ohne",
        """auch bitte darf das dein deine dem den denn der des die doch du ein eine einem einen
        einer eines er es gibt habe haben hat hatte ich ihr ist kann können man mein meine meinen
        mich mir muss müssen noch nur schon sehr sein sich sie sind soll sollte war waren werden
        wir wird zu""",
    ),
    _language(
        "French",
        """qui=who que=what quoi=what quel=which quelle=which quels=which quelles=which
        lequel=which laquelle=which quand=when où=where pourquoi=why comment=how combien=how""",
        """après avant avec car chez contre dans de depuis des dont du en entre et mais ou par
        parce pendant pour si sous sur""",
        "aucun aucune jamais ne non pas sans sauf",
        """a au aux avoir c ce ces cet cette d doit dois elle elles est faire fait faut il ils j je
        l la le les leur ma me mes mon n nous on ont peut plus qu s sa se ses son sont t te tu très
        un une vous y être était""",
    ),
    _language(
        "Spanish",
        """quién=who quiénes=who quien=who qué=what que=what cuál=which cuáles=which cual=which
        cuándo=when cuando=when dónde=where donde=where por_qué=why por_que=why cómo=how como=how
        cuánto=how cuánta=how cuántos=how cuántas=how""",
        """al antes aunque con contra de del desde después durante en entre hasta o para pero por
        porque según si sobre u y""",
        "excepto ni ninguna ninguno ningún no nunca sin",
        """debe debo el ella es esa ese esta estas este estos está están hacer hay la las lo los me
        mi muy más nos puede puedo se ser son su sus te tiene tu un una unas unos yo él era""",
    ),
    _language(
        "Italian",
        """chi=who cosa=what che=what quale=which quali=which quando=when dove=where perché=why
        perche=why come=how quanto=how quanta=how quanti=how quante=how""",
        """con contro da dal dei del della delle di dopo durante e fra in ma nel nella o per prima
        se su sul tra""",
        "mai nessun nessuna non né senza tranne",
        """ai al alla avere ci deve devo era essere fare gli ha hanno i il io la le lei lo lui mi
        molto noi più posso può questa questo si sono ti tu un una uno vi è""",
    ),
    _language(
        "Dutch",
        """wie=who wat=what welk=which welke=which wanneer=when waar=where waarheen=where
        waarom=why hoe=how hoeveel=how""",
        """aan als bij dat door en in maar met naar of om omdat onder op over sinds tegen tijdens
        tot tussen uit van voor""",
        "behalve geen niet nooit zonder",
        """ben de deze die dit een er heb hebben heeft het hij ik is je jij jullie kan kunnen mijn
        moet moeten nog ook te u was waren we wij worden wordt ze zij zijn zo""",
    ),
    _language(
        "Portuguese",
        """quem=who que=what o_que=what qual=which quais=which quando=when onde=where por_que=why
        porque=why porquê=why como=how quanto=how quanta=how quantos=how quantas=how""",
        """antes até com contra da das de depois desde do dos durante e em entre mas na nas no nos
        ou para por se sobre""",
        "exceto nem nunca não sem",
        """a ao as deve devo ela ele esta este está estão eu fazer foi há isso mais me meu minha
        muito nós o os pode posso ser seu sua são te tem um uma à é""",
    ),
)
"""English first: it decides between equals."""

NO_LANGUAGE = FunctionWords("", {}, frozenset(), frozenset(), frozenset())
"""Where no query has a function word that is known."""


def languages_of(texts: Iterable[Sequence[str]]) -> list[FunctionWords]:
    """Return the language of each text, which is given by its words.

    >>> texts = [["wie", "lange", "backt", "der", "teig"], ["was", "kostet", "brot"], ["brot"]]
    >>> [language.language for language in languages_of(texts)]
    ['German', 'German', 'German']
    """
    votes = []
    total: Counter[int] = Counter()
    for words in texts:
        distinct = {*words}
        counts = [len(distinct & language.all) for language in LANGUAGES]
        votes.append(counts)
        most = max(counts)
        if most:
            total.update(place for place, count in enumerate(counts) if count == most)
    if not total:
        return [NO_LANGUAGE] * len(votes)
    usual = max(total, key=lambda place: (total[place], -place))
    chosen = []
    for counts in votes:
        most = max(counts)
        chosen.append(LANGUAGES[usual if counts[usual] == most else counts.index(most)])
    return chosen
