"""Models on the Hugging Face hub: fetched, checked and pinned to a commit, and put there.

Of a repository only the files are fetched that its manifest names, and these only if they are of
kinds that hold no code.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linker.arguments import LINKER, TEXT, Kind, public
from linker.errors import LinkerError, needing, shown
from linker.io import persistence
from linker.io.fetching import asking_hub, quiet_hub, reason
from linker.io.files import Pathlike
from linker.io.persistence import MANIFEST
from linker.linking.folder import CARD, card, check_licences
from linker.linking.linker import Linker
from linker.version import VERSION

with needing("a model that is no folder, but one of the Hugging Face hub,", "hub"):
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, snapshot_download

logger = logging.getLogger(__name__)

_KINDS = (".json", ".jsonl", ".npy", ".safetensors", ".txt")  # of the files of a model
_PICKLES = (".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth")


def fetched(name: str, revision: str | None, token: str | None, cache: Pathlike | None) -> Path:
    """Fetch a model, unless the cache has it.

    Args:
        name: USER/NAME.
        revision: a branch, a tag or a commit; None: the main branch.
        token: None: that of HF_TOKEN or of `hf auth login`.
        cache: None: that of the hub.

    Returns:
        The folder in the cache, complete and checked; it bears the name of the commit.

    Raises:
        LinkerError: there is no such model, it cannot be fetched, or it holds what no
            model of linker holds.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise LinkerError(
            f"{shown(name)}: there is no such folder, and a model on the Hugging Face hub is "
            "called USER/NAME"
        )
    with asking_hub(name, f"{name}:", "load DIR"):
        folder = _downloaded(name, {"revision": revision, "token": token, "cache_dir": cache})
    try:
        persistence.load(folder, "model", lambda *_: None)
    except LinkerError as error:
        problem = str(error).partition(";")[0]  # without its remedy
        raise LinkerError(
            f"{name} at commit {folder.name}: {problem}; remove {folder.parent.parent} to fetch it "
            "again, and tell its owner if that does not help"
        ) from error
    logger.info("%s: commit %s of the Hugging Face hub, in %s", name, folder.name, folder)
    return folder


def _downloaded(name: str, where: dict[str, Any]) -> Path:
    """Fetch the files that the manifest names, unless the cache has them, and return the folder."""
    folder = Path(snapshot_download(name, **where, allow_patterns=[MANIFEST]))
    named: list[str] = []
    with contextlib.suppress(LinkerError):  # there is no manifest, or another program's
        named = [file for file in persistence.checksums(folder) if not file.endswith(".md")]
    _check(name, named, _KINDS)
    if named and all((folder / file).is_file() for file in named):
        return folder
    where["revision"] = folder.name  # the same commit, whatever is pushed meanwhile
    _check(name, HfApi(token=where["token"]).list_repo_files(name, revision=folder.name))
    if not named:
        raise LinkerError(f"{name}: is no model of linker (no {MANIFEST}); is it spelt right?")
    snapshot_download(name, **where, allow_patterns=[*map(glob.escape, named), MANIFEST])
    return folder


def _check(name: str, held: Sequence[str], kinds: tuple[str, ...] = ("",)) -> None:
    """Refuse a repository with files that are pickles, or not of these kinds."""
    for file in held:
        if file.lower().endswith(_PICKLES) or not file.endswith(kinds):
            raise LinkerError(
                f"{name}: holds {shown(file)}, and a model has no files but {', '.join(_KINDS)} "
                "and a card; pickles may run code and are never loaded, ask its owner for a model "
                "without"
            )


@public("linker.push_to_hub", linker=LINKER, name=Kind("USER/NAME", (str,)), token=TEXT.or_none())
def push_to_hub(
    linker: Linker,
    name: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    licence_allows: bool = False,
) -> str:
    """Put a model on the hub, in one commit, in place of one that is there.

    Args:
        linker: the model.
        name: USER/NAME; made where there is none.
        private: whether others cannot see it, if it is made; None: as the hub has it.
        token: that may write there; None: that of HF_TOKEN or of `hf auth login`.
        licence_allows: whether you may pass on names also where the vocabulary's licence forbids it
            in general, as those of UMLS and SNOMED CT do.

    Returns:
        The commit, which `linker.load` takes as a revision.

    Raises:
        LinkerError: the names may not be passed on, the repository holds something else, or the hub
            does not take it.
    """
    if not licence_allows:
        check_licences(linker.dictionary.sources)
    api = HfApi(token=token)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        linker.save(folder)
        (folder / CARD).write_text(card(linker, name), "utf-8")
        sums = {f: sha for f, sha in persistence.checksums(folder).items() if f != CARD}
        persistence.save_json(folder / MANIFEST, {"sha256": sums})  # lets people edit the card
        try:
            with quiet_hub():
                api.create_repo(name, private=private, exist_ok=True)
                changes = _changes(name, folder, api.list_repo_files(name))
                commit = api.create_commit(
                    name, changes, commit_message=f"Model of linker {VERSION}"
                )
        except LinkerError:
            raise
        except Exception as error:  # the hub and its client raise many kinds
            raise LinkerError(
                f"{name}: the Hugging Face hub does not take the model ({reason(error)}); "
                "it wants a name USER/NAME, and a token that may write there (hf auth login)"
            ) from error
    logger.info("%s: commit %s of the Hugging Face hub", name, commit.oid)
    return str(commit.oid)


def _changes(name: str, folder: Path, held: Sequence[str]) -> list[Any]:
    """What makes a repository that holds some files hold a model instead.

    Raises:
        LinkerError: it holds something else.
    """
    old = [file for file in held if not file.endswith(".md") and not file.startswith(".")]
    if old and MANIFEST not in old:
        raise LinkerError(
            f"{name}: holds {shown(old[0])}, which is no model of linker; choose another name"
        )
    new = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    return [
        *(CommitOperationAdd(file, path) for file, path in new.items()),
        *(CommitOperationDelete(file) for file in old if file not in new),
    ]
