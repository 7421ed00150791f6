"""The table of vocabularies: a prefix or an address names one of them."""

from __future__ import annotations

import re

from linker.ids import VOCABULARIES, of_address, of_prefix


def test_a_prefix_and_an_address_are_of_one_vocabulary() -> None:
    names = [{name.upper() for name in (v.prefix, *v.spellings, *v.aliases)} for v in VOCABULARIES]
    assert sum(map(len, names)) == len(set().union(*names))
    addresses = [{a for a in (v.system, v.iri, *v.addresses) if a} for v in VOCABULARIES]
    assert sum(map(len, addresses)) == len(set().union(*addresses))


def test_systems_that_others_write() -> None:
    mesh = ("https://www.nlm.nih.gov/mesh", "http://id.nlm.nih.gov/mesh")
    for address in (*mesh, "http://terminology.hl7.org/CodeSystem/MSH", of_prefix("msh").system):
        assert of_address(address).prefix == "MESH"
    for name in ("hp", "mondo", "doid"):
        known = of_address(f"http://purl.obolibrary.org/obo/{name}.owl")
        assert (known.prefix, known.keeps_prefix) == (name.upper(), True)


def test_terms_have_an_address_and_a_title() -> None:
    for known in VOCABULARIES:
        assert bool(known.terms) == bool(known.licence) <= bool(known.title)
        assert known.may_be_passed_on or known.terms
        assert re.fullmatch("https?://.+|", known.licence)
