"""Ontologies in OWL: RDF/XML, OWL/XML or functional syntax, parsed with py-horned-owl."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import Any

from linker.errors import InputError, OnError, needing, stop
from linker.files import Pathlike
from linker.readers import terms
from linker.readers.languages import Languages
from linker.readers.records import parse_each
from linker.types import Concept

logger = logging.getLogger(__name__)

OPTIONS = ("languages",)
_OWL = re.compile(r"<owl:Ontology\b|<Ontology\b|^Ontology\(|2002/07/owl#Ontology\"", re.MULTILINE)
_FUNCTIONAL = re.compile(r"\s*(?:#.*\n\s*)*(?:Prefix|Ontology)\(")
_OWL_XML = re.compile(r"<Ontology\b")
# texts and IRIs, in which a bracket is a character, and brackets
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"?|<[^<>\s]*>|[()]')
_DEEPEST = 256
_PLACE = re.compile(r"line_col: Pos\(\((\d+), ")  # in messages of horned-owl
_THING = "http://www.w3.org/2002/07/owl#Thing"
_Row = tuple[str, str, str, str]  # a class, and a statement on it


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold the ontology of a file."""
    return _OWL.search("\n".join(head)) is not None


release = terms.version_of


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the classes in the order of their IRIs, deprecated ones included.

    The file is read whole. Imports are never fetched: a warning names them, and a parent that is
    not in the file has no names, so that another source can have it.

    Args:
        path: the file.
        on_error: what to do with a bad class.
        languages: of the names to keep; None: English. Names without a language are always kept.

    Raises:
        LinkerError: py-horned-owl is not installed.
        InputError: the file is not OWL, or what `on_error` raises.
    """
    text, chosen = terms.read_markup(path), languages or Languages()
    declared = terms.prefixes_of(text)
    rows, imports = _rows(_components(path, text))
    del text
    if imports:
        logger.warning(
            "%s: imports %s, which is not read; give a file with it as another --dict",
            path,
            ", ".join(imports),
        )
        classes = {row[0] for row in rows}
        parents = {value for _, name, value, _ in rows if name == "subClassOf"}
        rows += [(parent, "", "", "") for parent in parents - classes]
    rows.sort()  # horned-owl has them in no order

    def of_class(_: None, group: tuple[str, list[_Row]]) -> Concept:
        iri, statements = group
        return terms.concept(
            terms.curie(iri, declared),
            [(name, terms.value_of(name, v, declared), lang) for _, name, v, lang in statements],
            chosen,
        )

    grouped = ((None, (iri, list(of))) for iri, of in groupby(rows, key=lambda row: row[0]))
    yield from parse_each(path, grouped, of_class, on_error)


def _components(path: Pathlike, text: str) -> list[Any]:
    with needing(f"{path}: OWL", "owl"):
        import pyhornedowl
    form: Any = "rdf"
    if _FUNCTIONAL.match(text):
        form = "ofn"
        signs = _NESTING.findall(text)
        if max(accumulate((sign == "(") - (sign == ")") for sign in signs)) > _DEEPEST:
            problem = f"brackets are nested deeper than {_DEEPEST}"
            raise InputError(path, problem, remedy="write the ontology with its classes alone")
    elif _OWL_XML.search(text, 0, 1 << 16):
        form = "owx"
    try:
        return list(pyhornedowl.open_ontology_from_string(text, form).get_components())
    except ValueError as error:
        place = _PLACE.search(str(error))
        raise InputError(
            path,
            f"the OWL is broken ({error})",
            line=int(place[1]) if place else None,
            expected="RDF/XML, OWL/XML or functional syntax",
            remedy="write it again, with ROBOT or Protégé",
        ) from None


def _rows(components: list[Any]) -> tuple[list[_Row], list[str]]:
    """The statements on the classes of an ontology, and the IRIs that it imports."""
    import pyhornedowl.model as model

    classes: set[str] = set()
    rows: list[_Row] = []
    imports: list[str] = []
    for annotated in components:
        axiom = annotated.component
        if isinstance(axiom, model.AnnotationAssertion):
            name, value = terms.local_name(str(axiom.ann.ap.first)), axiom.ann.av
            if name not in terms.USED or isinstance(value, model.AnonymousIndividual):
                continue
            if name in terms.NAMES:
                types = (str(a.av) for a in annotated.ann if "Type" in str(a.ap.first))
                name = terms.predicate_of(name, " ".join(types))
            text = value.literal if hasattr(value, "literal") else str(value)
            rows.append((str(axiom.subject), name, text, getattr(value, "lang", "")))
        elif isinstance(axiom, model.SubClassOf):
            below, above = axiom.sub, axiom.sup
            if isinstance(below, model.Class) and isinstance(above, model.Class):
                rows.append((str(below.first), "subClassOf", str(above.first), ""))
        elif isinstance(axiom, model.DeclareClass):
            classes.add(str(axiom.first.first))
        elif isinstance(axiom, model.Import):
            imports.append(str(axiom.first))
    described = {row[0] for row in rows}
    for child, name, parent, _ in rows:
        if name == "subClassOf":
            classes.update({child, parent} & described)
    rows += [(iri, "", "", "") for iri in classes]
    return [row for row in rows if row[0] in classes and _THING not in row], imports
