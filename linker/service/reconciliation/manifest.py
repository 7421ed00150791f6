"""The manifest: what the service is, and which parts of the protocol it has."""

from __future__ import annotations

from linker.service.reconciliation.extension import SETTINGS
from linker.service.reconciliation.queries import BATCH
from linker.service.reconciliation.vocabulary import Json, Vocabulary
from linker.version import VERSION

PROTOCOLS = ("0.1", "0.2")
_IDS = "https://bioregistry.io/"  # leads from any usual CURIE to the page of its vocabulary
_SCHEMA = "http://www.w3.org/2004/02/skos/core#Concept"
_WIDTH, _HEIGHT = 430, 200  # of a preview, in pixels


def manifest(vocabulary: Vocabulary, url: str) -> Json:
    """The manifest of the service at a URL."""
    sources = [source for source in vocabulary.dictionary.sources if source.namespace]
    preview = f"{url}/preview?id={{{{id}}}}"
    return {
        "versions": [*PROTOCOLS],
        "name": _name(vocabulary),
        "identifierSpace": _IDS,
        "schemaSpace": _SCHEMA,
        "serviceVersion": VERSION,
        "defaultTypes": [
            entry.reference for entry in vocabulary.types.values() if not entry.is_semantic
        ],
        "view": {"url": f"{_IDS}{{{{id}}}}" if sources else preview},
        "preview": {"url": preview, "width": _WIDTH, "height": _HEIGHT},
        "suggest": {what: _suggest(url, what) for what in ("entity", "type", "property")},
        "extend": {
            "propose_properties": {"service_url": url, "service_path": "/properties"},
            "property_settings": SETTINGS,
        },
        "batchSize": BATCH,
    }


def _name(vocabulary: Vocabulary) -> str:
    """The name that distinguishes this service from others."""
    namespaces = dict.fromkeys(source.namespace for source in vocabulary.dictionary.sources)
    return " ".join(["linker", *filter(None, namespaces)])


def _suggest(url: str, what: str) -> Json:
    return {
        "service_url": url,
        "service_path": f"/suggest/{what}",
        "flyout_service_url": url,
        "flyout_service_path": f"/flyout/{what}?id=${{id}}",
    }
