"""What a text says of a disease that it names: is it there, denied, suspected, past, a relative's?

After ConText (Harkema et al. 2009): a cue has a class and stands before or behind the name; in
running text it reaches to the end of the sentence, or to a word that ends its scope ("but").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from linker.types import Assertion, Span

Side = Literal["before", "behind"]

_STRENGTH: dict[Assertion, int] = {  # of two cues the stronger one counts
    name: place
    for place, name in enumerate(("present", "historical", "possible", "absent", "family"))
}
_REACH = 10  # words between a cue and a name of running text
_REACH_BEHIND = 5
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"(])|;\s|[\n\t]")

Cues = dict[tuple[Assertion, Side], str]
"""Phrases by class and side, with bars between them; one that begins with "=" is a cue in cells
alone, one with "~" is a cue of a cell only where the rest is a name of the dictionary."""

_CUES: dict[str, Cues] = {
    "en": {
        ("absent", "before"): (
            "=no e/o|=no s/o|=no s/sx of|=no sx of|no signs or symptoms of|no evidence|"
            "=not consistent with|=not suggestive of|=inconsistent with|=doubt|"
            "never suffered from|has no|have no|had no|with no|there is no|there was no|"
            "not affected by|=unaffected by|=screen negative for|=test negative for|"
            "no suspicion of|=no concern for|=no concerns about|=did not develop|"
            "did not have|=no diagnosis|=no longer|=rules out|=ruled out for|"
            "=no family or personal history of|"
            "no|no evidence of|no evidence for|no evidence to suggest|no sign of|no signs of"
            "|no clinical evidence of|no radiological evidence of|no symptoms of|no features of"
            "|no history of|no hx of|no h/o|no past history of|no previous history of|no known"
            "|no personal history of|no indication of|no suggestion of|no findings of|no new"
            "|no current|no active|no acute|no previous|no prior|no other|no further|no recurrent"
            "|no recurrence of|no diagnosis of|no definite|no obvious|no overt|no apparent"
            "|no documented|no record of|no more|not have|not had|not having|not develop"
            "|not diagnosed with|not known to have|not suffering from|not suffer from|=not"
            "|=not a case of|=not got|has not got|hasn't got|=hasn't|=doesn't have|=don't have"
            "|=did not have|=does not have|denies|denied|denying|deny|denies any|denies having"
            "|denies history of|denied history of|negative for|tested negative for"
            "|screened negative for|=neg for|=neg. for|=-ve for|=neg|=neg.|=~negative|without"
            "|without any|without evidence of|without signs of|without history of"
            "|without a history of|=w/o|=~absence of|absence of any|in the absence of|=~lack of"
            "|free of|free from|clear of|=ruled out|=excluded|=exclusion of|never had"
            "|never developed|never diagnosed with|=never|=nil|=none:|=zero|failed to reveal"
            "|failed to show|rather than|instead of|unlikely to be|unlikely to have|=unlikely"
        ),
        ("absent", "behind"): (
            "=not suspected|=test negative|=screen negative|=screening negative|"
            "=tested negative|was denied|=not evident|=not apparent|=not documented|"
            "has not been diagnosed|=never diagnosed|=disproved|=refuted|=none reported|"
            "=not reported|=no history|=not known to have|=not relevant|=n/a|"
            "was ruled out|were ruled out|is ruled out|been ruled out|ruled out|was excluded"
            "|were excluded|is excluded|been excluded|=excluded|was absent|were absent|is absent"
            "|=absent|not present|was not present|was not found|were not found|not found"
            "|was not seen|was not detected|were not detected|not detected|not seen"
            "|not identified|not demonstrated|=not diagnosed|=not had|=never had|=negative"
            "|was negative|were negative|is negative|=neg|=neg.|=-ve|=(-)|=none|=nil|=no|=n"
            "|=denied|=denies|=never|=unlikely|=absent|=free|=no evidence|=none found"
            "|=none known|=false|=not known|=0"
        ),
        ("possible", "before"): (
            "=suspicious of|=under investigation for|=investigate for|=investigated for|"
            "=work up for|=work-up for|=workup for|=w/u for|=awaiting confirmation of|"
            "=likely diagnosis of|=potential|=working diagnosis of|=working diagnosis|"
            "=working dx|=?dx|=? dx|=possible diagnosis of|=screen for|=screening for|"
            "=high suspicion of|=low suspicion of|=impression of|=impression|"
            "suspected|suspect|suspected to have|suspicion of|suspicious for|suspicion for"
            "|clinical suspicion of|=susp|=susp.|possible|possibly|=poss|=poss.|probable|=probably"
            "|=prob|=prob.|=likely|=most likely|=likely to have|=likely to be|=very likely|presumed"
            "|presumptive|presumptive diagnosis of|provisional diagnosis of|=provisional"
            "|=provisional diagnosis|=query|=queried|=?|=??|rule out|to rule out|=r/o|to exclude"
            "|=exclude|cannot exclude|do not exclude|does not exclude|not exclude the diagnosis of"
            "|not exclude the possibility of|can't exclude|could not exclude|cannot rule out"
            "|could not rule out|not rule out|not excluded|=ddx|=dd|=dd:|=differential"
            "|=differential diagnosis|differential diagnosis of|=diff dx|=could be|=may be|=maybe"
            "|=may have|=might be|=might have|=could have|concern for|concerning for|=consider"
            "|=considered|suggestive of|=suggests|=suggesting|=suggested|=consistent with"
            "|=compatible with|=indicative of|in keeping with|evaluate for|evaluated for"
            "|worried about|=versus|=vs|=vs.|=unconfirmed|=apparent|questionable|=uncertain"
            "|equivocal for|=borderline"
        ),
        ("possible", "behind"): (
            "=under investigation|=being investigated|=awaiting confirmation|"
            "=to rule out|=r/o|=rule out|=suspicion|=working diagnosis|=unclear|"
            "=in question|=questionable|=maybe|=pending|=susp|=susp.|=awaiting results|"
            "=not yet confirmed|"
            "=?|=??|=(?)|was suspected|were suspected|is suspected|=suspected|is possible"
            "|=possible|=possibly|is probable|=probable|=probably|is likely|=likely"
            "|not excluded|not ruled out|cannot be excluded|cannot be ruled out"
            "|could not be excluded|could not be ruled out|to be excluded|to be ruled out"
            "|to be confirmed|=unconfirmed|=not confirmed|=query|=presumed|=tbc|=differential"
            "|should be considered|must be considered|=was considered|=?dx|=not proven"
            "|=may be present|=uncertain|=provisional"
        ),
        ("historical", "before"): (
            "=h/x of|=hist of|=hist. of|=hist|=pm hx|=pmh sig for|=pmh significant for|"
            "=history significant for|=known history of|=previous diagnosis of|=prev|"
            "=prev.|=ex|=had|=past hx|=past hx of|=past h/o|=distant history of|"
            "=background of|=previous hx of|=previous h/o|=no longer has|"
            "=treated for previous|=recovered|"
            "history of|=history|a history of|=hx of|=hx|=h/o|=ho|past history of|=past history"
            "|past medical history of|=past medical history|medical history of|=medical history"
            "|previous history of|prior history of|personal history of|remote history of"
            "|childhood history of|history positive for|=pmh|=pmh of|=pmhx|=pmx|=phx|=s/p"
            "|status post|=status-post|=st.p.|=sp|previous|previously|previously had|prior|=~old"
            "|=~past|=former|=formerly|=remote|had a|in the past had|=~post|=post-op|=previous dx"
            "|previously treated for|prior episode of|previous episode of|past episode of"
            "|recovered from|survivors of|survivor of|=survived"
        ),
        ("historical", "behind"): (
            "=no longer present|=recovered|=hist|=in remote past|=long ago|=in youth|"
            "=in adolescence|=in teens|=previously treated|=since resolved|=now cured|"
            "=fully resolved|"
            "in the past|=in past|=in childhood|=in infancy|=as a child|in his past|in her past"
            "|=resolved|had resolved|has resolved|was resolved|=now resolved|=healed|=cured"
            "|=previously|=previous|=years ago|=treated previously|=history|=history of|=hx"
            "|=(past)|=(resolved)|=(old)|=old|=in history|survivors|survivor"
        ),
        ("family", "before"): (
            "positive family history of|positive family history for|"
            "strong family history of|=fh positive for|=fh+ of|=+fh|=+fh of|"
            "=maternal h/o|=paternal h/o|maternal history of|paternal history of|=family|"
            "=family h/o|=relatives|=runs in family|"
            "family history of|family history positive for|=family history|=family hx|=family hx of"
            "|=fam hx|=fam hx of|=fam. hx|=fhx|=fhx of|=fh|=fh of|=f/h|=f/h of|=f/hx"
            "|familial history of|family members with|family member with|relatives with"
            "|relative with|mother had|mother has|mother with|=mother|father had|father has"
            "|father with|=father|brother had|brother has|brother with|=brother|sister had"
            "|sister has|sister with|=sister|siblings with|sibling with|=sibling|=siblings"
            "|parents with|parent with|=parent|uncle with|aunt with|cousin with|son with"
            "|daughter with|grandmother with|grandfather with|=grandmother|=grandfather"
            "|=maternal grandmother|=maternal grandfather|=paternal grandmother"
            "|=paternal grandfather|=maternal aunt|=maternal uncle|=paternal aunt"
            "|=paternal uncle|=mum|=dad|=mum has|=dad has|=mum had|=dad had|first-degree relative"
            "|first-degree relatives with|first degree relative with|relatives of|siblings of"
            "|parents of|mothers of|offspring of|children of parents with|relatives had"
        ),
        ("family", "behind"): (
            "=mum|=dad|=mom|=sibling|=siblings|=parent|=parents|=grandmother|"
            "=grandfather|=aunt|=uncle|=cousin|=son|=daughter|=twin|=relative|=relatives|"
            "=family|=family hx|=maternal aunt|=maternal uncle|=maternal grandmother|"
            "=maternal grandfather|=paternal aunt|=paternal uncle|=paternal grandmother|"
            "=paternal grandfather|"
            "in the family|in his family|in her family|in their family|=in family|in the mother"
            "|in the father|in a sibling|in a brother|in a sister|in relatives|=in mother"
            "|=in father|=in brother|=in sister|=in siblings|=in sibling|=in parent|=mother"
            "|=father|=brother|=sister|=family history|=fh|=fhx|=mat gm|=runs in family"
            "|runs in the family|=maternal|=paternal|=in relative|in first-degree relatives"
            "|=in grandmother|=in grandfather|=in aunt|=in uncle|=in son|=in daughter"
        ),
        ("present", "before"): (
            "=pt|=pt.|=patient|=the patient|=he|=she|=client|=pt w/|=pt w|=seen for|"
            "=reason for visit|"
            # of which nothing follows; some hide a cue: "not only"
            "natural history of|prior to|previously described|previously reported|previous studies"
            "|previous study|previous reports|previous work|prior studies|no increased risk for"
            "|no increased risk|increased risk of|possible association|possible associations"
            "|possible role|possible effect|possible effects|possible relationship|possible link"
            "|possible cause|possible causes|no problems from|not have any problems|without risk"
            "|not specific for|not only|not necessarily|no increase in|no change in"
            "|no significant change in"
            "|no significant difference in|no difference in|no effect on|not associated with"
            "|no association with|no association between|no correlation with|without affecting"
            "|no increased risk of|no improvement in|no treatment for|no cure for|no drug for"
            "|=known|=known case of|=k/c/o|=kco|=c/o|=complains of|=complaining of|=longstanding"
            "|=long-standing|=long standing|=established|=confirmed|=proven|=biopsy-proven"
            "|=diagnosed|=diagnosed with|=diagnosis of|=dx of|=dx with|=dx'd with|=patient with"
            "|=pt with|=patient has|=pt has|=has|=with|=admitted with|=admitted for"
            "|=presented with|=presents with|=presenting with|=suffers from|=suffering from"
            "|=suffer from|=treated for|=under treatment for|=treatment for|=on treatment for"
            "|=currently|=current|=ongoing|=underlying|=co-existing|=coexisting|=concomitant"
            "|=associated|=newly diagnosed|=new diagnosis of|=recently diagnosed|=new onset"
            "|=new-onset|=follow up for|=follow-up for|=f/u for|=review of|=case of|=a case of"
            "|=positive for|=+ve for|=secondary to|=due to|=recurrent|=yes|=affected by|=type of"
        ),
        ("present", "behind"): (
            "=confirmed|=present|=positive|=+ve|=(+)|=yes|=known|=diagnosed|=on treatment"
            "|=under treatment|=on therapy|=on medication|=on meds|=on rx|=treated|=in remission"
            "|=in complete remission|=in partial remission|=in full remission|=remission"
            "|=controlled|=well controlled|=well-controlled|=poorly controlled|=uncontrolled"
            "|=stable|=active|=ongoing|=current|=under control|=under review|=under follow-up"
            "|=being treated|=awaiting surgery"
            "|=awaiting treatment|=on waiting list|=established|=longstanding|=long-standing"
            "|=since childhood|=since birth|=from birth|=in pregnancy|=noted|=documented|=proven"
            "|=biopsy proven|=biopsy-proven|=newly diagnosed|=new diagnosis|=for review|=ok"
            "|=diet controlled|=diet-controlled|=not treated|=untreated|=on diet|=for surgery"
        ),
    },
    "de": {
        ("absent", "before"): (
            "kein|keine|keinen|keinerlei|kein hinweis auf|keine hinweise auf|kein anhalt für"
            "|kein nachweis von|kein z.n.|keine anamnese von|ohne|ohne hinweis auf"
            "|ohne anhalt für|ausschluss|ausschluss von|ausschluss einer|ausschluss eines|=nicht"
            "|verneint|negativ für|=a.a.|frei von"
        ),
        ("absent", "behind"): (
            "ausgeschlossen|wurde ausgeschlossen|=verneint|=negativ|=nein|=keine|=nicht vorhanden"
            "|=nicht bekannt|nicht nachweisbar|=ausschluss"
        ),
        ("possible", "before"): (
            "verdacht auf|verdacht|=v.a.|=v. a.|=v.a|=va|=vd.|=vd. auf|=vda|=dd|=dd:|=fraglich"
            "|=fragliche|=fragl.|möglich|mögliche|möglicher|mögliches|=mögl.|wahrscheinlich"
            "|wahrscheinliche|=wahrsch.|=ausschluss?|vermutlich|vermutliche|=z.a."
        ),
        ("possible", "behind"): "=fraglich|=möglich|=wahrscheinlich|=verdacht|nicht auszuschließen",
        ("historical", "before"): (
            "zustand nach|=z.n.|=z. n.|=z.n|=zn|anamnese von|anamnestisch|in der vorgeschichte"
            "|=frühere|=früherer|=früheres|=vorbekannte|=st.n.|=status nach|vorgeschichte von"
        ),
        ("historical", "behind"): "=in der vorgeschichte|=in der anamnese|=anamnestisch|=früher",
        ("family", "before"): (
            "familienanamnese|familienanamnese für|=fa|=fam.|familiäre vorgeschichte von|mutter mit"
            "|vater mit|=mutter|=vater|=bruder|=schwester|bruder mit|schwester mit"
        ),
        ("family", "behind"): "=in der familie|=bei mutter|=bei vater|=mutter|=vater",
        ("present", "before"): "=bekannt|=bekannte|=bekannter|=bekanntes|=gesichert|=gesicherte",
        ("present", "behind"): "=bekannt|=gesichert|=in remission|=unter therapie|=behandelt",
    },
    "fr": {
        ("absent", "before"): (
            "pas de|pas d'|=pas|aucun|aucune|aucun signe de|absence de|absence d'|sans"
            "|sans signe de"
            "|nie|exclu|exclusion de|négatif pour|=non|pas d'antécédent de"
        ),
        ("absent", "behind"): "=exclu|=exclue|=absent|=absente|=négatif|=non|=nié|éliminé|éliminée",
        ("possible", "before"): (
            "suspicion de|suspicion d'|suspect de|possible|probable|=éventuel|=éventuelle"
            "|=présumé|hypothèse de|à éliminer|=doute sur"
        ),
        ("possible", "behind"): "=suspecté|=suspectée|=possible|=probable|=à confirmer|à éliminer",
        ("historical", "before"): (
            "antécédent de|antécédents de|antécédent d'|antécédents d'|=atcd|=atcd de|=atcds"
            "|=atcds de|=ancien|=ancienne|=séquelles de"
        ),
        ("historical", "behind"): "=ancien|=ancienne|=dans les antécédents|=guéri|=guérie",
        ("family", "before"): (
            "antécédents familiaux de|antécédents familiaux d'|=atcd familiaux|=atcd familial"
            "|mère avec|père avec|=mère|=père|=frère|=soeur|=sœur"
        ),
        ("family", "behind"): "=dans la famille|=chez la mère|=chez le père|=familial",
        ("present", "before"): "=connu|=connue|=diagnostic de",
        ("present", "behind"): "=connu|=connue|=sous traitement|=traité|=traitée|=en rémission",
    },
    "es": {
        ("absent", "before"): (
            "no|sin|sin evidencia de|sin signos de|niega|ausencia de|negativo para|descartado"
            "|descartada|no hay|ningún|ninguna|sin antecedentes de|=nunca"
        ),
        ("absent", "behind"): "=descartado|=descartada|=negativo|=negativa|=no|=ausente|=niega",
        ("possible", "before"): (
            "sospecha de|posible|probable|=presunto|=presunta|=a descartar|descartar|=dudoso"
            "|impresiona de"
        ),
        ("possible", "behind"): "=posible|=probable|=a descartar|=por confirmar|=sospecha",
        ("historical", "before"): (
            "antecedente de|antecedentes de|=antec.|=ap|historia de|=secuelas de|=previo|=previa"
        ),
        ("historical", "behind"): "=previo|=previa|=en el pasado|=antiguo|=antigua|=resuelto",
        ("family", "before"): (
            "antecedentes familiares de|=af|historia familiar de|madre con|padre con|=madre|=padre"
            "|=hermano|=hermana"
        ),
        ("family", "behind"): "=en la familia|=madre|=padre|=familiar",
        ("present", "before"): "=conocido|=conocida|=diagnóstico de",
        ("present", "behind"): "=conocido|=conocida|=en tratamiento|=tratado|=en remisión",
    },
}
_RELATIVES = (
    *("mother", "father", "brother", "sister", "sibling", "siblings", "parent", "parents", "son"),
    *("daughter", "aunt", "uncle", "cousin", "grandmother", "grandfather", "mum", "mom", "dad"),
    *("twin", "relative", "relatives"),
)
_OF_RELATIVES = ("with", "had", "has", "diagnosed with", "died of", "died from")
_CUES["en"]["family", "before"] += "".join(
    f"|{relative} {verb}|={relative}|={side} {relative}|={side} {relative} {verb}"
    for relative in _RELATIVES
    for verb in _OF_RELATIVES
    for side in ("maternal", "paternal")
)
_ENDS = {  # the scope of a cue
    "en": (
        "but|however|although|though|except|except for|apart from|aside from|nevertheless|yet"
        "|whereas|while|which|who|because|since|as a cause of|as the cause of|secondary to|due to"
        "|caused by|followed by|although|still|despite|other than|than in|compared with"
        "|compared to|risk for|risk of|risk factor for|risk factors for|versus|if|when"
        "|unless|until|so that|to prevent|for the treatment of"
    ),
    "de": "aber|jedoch|sondern|außer|obwohl|während|wegen|aufgrund|weil",
    "fr": "mais|cependant|toutefois|sauf|bien que|car|tandis que|à cause de",
    "es": "pero|sin embargo|aunque|excepto|salvo|debido a|mientras",
}


@dataclass(frozen=True)
class _Table:
    """The cues of some languages.

    Attributes:
        cell, text: the class of each phrase, by its side, in cells and in running text.
        weak: phrases of cells that count only where the rest is a name.
        ends: what ends a scope.
    """

    cell: dict[Side, dict[str, Assertion]]
    text: dict[Side, dict[str, Assertion]]
    weak: frozenset[tuple[Side, str]]
    ends: Sequence[str]

    @cached_property
    def at_start(self) -> re.Pattern[str]:
        """Finds the longest cue that a cell begins with."""
        return re.compile(rf"\s*({_either(self.cell['before'])})[\s:;,.–-]*", re.IGNORECASE)

    @cached_property
    def at_end(self) -> re.Pattern[str]:
        """Finds a cue that a cell ends with."""
        cue, signs = _either(self.cell["behind"]), r"[\s:;,(\[=–-]"
        # a run of signs is entered at its start alone: time stays linear
        return re.compile(rf"(?<!{signs}){signs}*({cue})[\s)\].!]*$", re.IGNORECASE)

    @cached_property
    def in_text(self) -> re.Pattern[str]:
        """Finds cues of either side, and what ends their scope."""
        phrases = {*self.text["before"], *self.text["behind"], *self.ends}
        return re.compile(_either(phrases), re.IGNORECASE)


@lru_cache
def _table(codes: tuple[str, ...]) -> _Table:
    """The cues of languages; those of English are always among them."""
    cell: dict[Side, dict[str, Assertion]] = {"before": {}, "behind": {}}
    text: dict[Side, dict[str, Assertion]] = {"before": {}, "behind": {}}
    weak = set[tuple[Side, str]]()
    for code in dict.fromkeys((*codes, "en")):
        for (assertion, side), phrases in _CUES[code].items():
            for written in phrases.split("|"):
                phrase = written.lstrip("=~")
                cell[side].setdefault(phrase, assertion)
                if "~" in written[:2]:
                    weak.add((side, phrase))
                if not written.startswith("="):
                    text[side].setdefault(phrase, assertion)
    ends = [end for code in dict.fromkeys((*codes, "en")) for end in _ENDS[code].split("|")]
    return _Table(cell, text, frozenset(weak), ends)


def _either(phrases: Iterable[str]) -> str:
    """A pattern of phrases, the longest first, that are no parts of words."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(
        (r"(?<![\w-])" if phrase[0].isalnum() else "")
        + re.escape(phrase).replace(r"\ ", r"\s+")
        + (r"(?![\w-])" if phrase[-1].isalnum() else "")
        for phrase in ordered
    )


def stronger(first: Assertion, second: Assertion) -> Assertion:
    """The one of two that counts where both are said: "no history of" is absent."""
    return max(first, second, key=_STRENGTH.__getitem__)


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue at an end of a cell."""

    assertion: Assertion
    rest: str  # the cell without it
    is_weak: bool  # whether it counts only where the rest is a name


def cue_of(cell: str, codes: tuple[str, ...]) -> Cue | None:
    """The cue that a cell begins or ends with; None where there is none, or nothing else.

    Args:
        cell: without white space around it.
        codes: of the languages whose cues are looked for, beside those of English.
    """
    table = _table(codes)
    side: Side
    if match := table.at_start.match(cell):
        side, rest = "before", cell[match.end() :]
    elif match := table.at_end.search(cell):
        side, rest = "behind", cell[: match.start()]
    if match is None or not any(map(str.isalnum, rest)):
        return None
    phrase = " ".join(match[1].lower().split())
    said = table.cell[side].get(phrase)  # None of letters that only `re` holds for equal: "hıstory"
    return said and Cue(said, rest.strip(), (side, phrase) in table.weak)


def in_text(text: str, spans: Sequence[Span], codes: tuple[str, ...]) -> list[Assertion]:
    """What running text says of the diseases that it names.

    Args:
        text: the text.
        spans: of the names, in any order.
        codes: as for `cue_of`.
    """
    table, starts = _table(codes), [0, *(m.end() for m in _SENTENCE.finditer(text)), len(text)]
    result: dict[Span, Assertion] = {}
    waiting = sorted(set(spans))
    for start, end in itertools.pairwise(starts):
        own = [span for span in waiting if start <= span[0] < end]
        if own:
            result |= _in_sentence(text, start, max(end, own[-1][1]), own, table)
    return [result.get(span, "present") for span in spans]


def _in_sentence(
    text: str, start: int, end: int, spans: Sequence[Span], table: _Table
) -> dict[Span, Assertion]:
    """What a sentence says of the names in it."""
    cues = [
        (match.start(), match.end(), " ".join(match[0].lower().split()))
        for match in table.in_text.finditer(text, start, end)
    ]
    result = {}
    for first, last in spans:
        said: Assertion = "present"
        for begins, stops, phrase in cues:
            if stops <= first and phrase in table.text["before"]:
                between, reach = (stops, first), _REACH
                assertion = table.text["before"][phrase]
            elif begins >= last and phrase in table.text["behind"]:
                between, reach = (last, begins), _REACH_BEHIND
                assertion = table.text["behind"][phrase]
            else:
                continue
            is_cut = any(
                b >= between[0] and s <= between[1] and p in table.ends for b, s, p in cues
            )
            if not is_cut and len(text[slice(*between)].split()) <= reach:
                said = stronger(said, assertion)
        result[first, last] = said
    return result
