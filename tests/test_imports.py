"""What is loaded when: importing is light, and linking works without torch and scikit-learn."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import linker
from linker import Dictionary
from linker.linking.options import changed, preset
from linker.training.pipeline import train

REPORT = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
HEAVY = {
    *("torch", "transformers", "sklearn", "ray", "pyarrow", "pandas", "polars"),
    *("pooch", "requests", "spacy", "mcp", "huggingface_hub", "rdflib", "pyhornedowl"),
}


def run(*arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def model(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports") / "model"
    code = f"from linker import Dictionary, train; train(Dictionary.read({str(sample)!r})).save({str(folder)!r}); {REPORT}"
    assert set(run("-c", code).split()).isdisjoint(HEAVY)
    return folder


def test_importing_linker_loads_nothing_heavy() -> None:
    loaded = set(run("-c", f"import linker; {REPORT}").split())
    assert "linker" in loaded
    assert loaded.isdisjoint(HEAVY | {"numpy", "scipy", "click", "bioc", "obonet", "narwhals"})


def test_linking_loads_neither_torch_nor_scikit_learn(model: Path) -> None:
    code = f"from linker import Linker; Linker.load({str(model)!r}).link('diabetes').parts[0].best.concept_id; {REPORT}"
    loaded = set(run("-c", code).split())
    assert "numpy" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_encoders_that_torch_trained_link_without_it(
    sample: Path, tmp_path: Path, one_thread: None
) -> None:
    small: dict[str, Any] = {
        "encoder": {"hidden": 8},
        "words": {"dim": 8, "epochs": 1},
        "ground": {"epochs": 1},
        "training": {"epochs": 0},
    }
    code = "from linker import Linker"
    for name in ("dan", "fewshot"):
        options = changed(preset("default", name), small, name)
        train(Dictionary.read(sample), encoder=name, options=options).save(tmp_path / name)
        load = f"Linker.load({str(tmp_path / name)!r})"
        code += f"; {load}.link('diabetes').parts[0].best.concept_id"
    assert set(run("-c", f"{code}; {REPORT}").split()).isdisjoint(HEAVY)


def test_help_loads_no_arrays() -> None:
    code = f"from linker.cli import cli; cli.main(['--help'], standalone_mode=False); {REPORT}"
    *text, modules = run("-c", code).splitlines()
    assert text[0].startswith("Usage:")
    assert set(modules.split()).isdisjoint(HEAVY | {"numpy", "scipy", "bioc", "obonet"})


def test_help_is_quick() -> None:
    times = []
    for _ in range(3):  # the best of three, since other work may hold the machine
        start = time.perf_counter()
        assert run("-m", "linker", "--help").startswith("Usage: linker ")
        times.append(time.perf_counter() - start)
    assert min(times) < 2


def test_the_command_line_sets_the_environment_and_the_library_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    library = "import linker.encoders.trainable as _, os"
    command = (
        "import atexit, os, sys; from linker.cli import main; sys.argv = ['linker', '--version']; "
        f"atexit.register(lambda: print(os.environ[{name!r}])); main()"
    )
    monkeypatch.delenv(name, raising=False)
    assert run("-c", f"{library}; print(os.environ.get({name!r}))") == "None\n"
    assert run("-c", command).endswith("\n64\n")
    monkeypatch.setenv(name, "7")
    assert run("-c", command).endswith("\n7\n")


def test_public_names_are_those_that_are_promised() -> None:
    assert all(getattr(linker, name) is not None for name in linker.__all__)
    assert set(linker.__all__) <= set(dir(linker))
    assert set(linker._PUBLIC) | {"__version__"} == set(linker.__all__)
    with pytest.raises(AttributeError, match="module 'linker' has no attribute 'Nothing'"):
        _ = linker.Nothing


def test_modules_named_in_strings_point_downward() -> None:
    """As imports do: a module whose text names another one, as "linker.x:Class", needs it."""
    grimp, networkx = pytest.importorskip("grimp"), pytest.importorskip("networkx")
    graph = grimp.build_graph("linker", exclude_type_checking_imports=True, cache_dir=None)
    needs = networkx.DiGraph()
    for module in graph.modules - {"linker"}:
        needs.add_edges_from((module, o) for o in graph.find_modules_directly_imported_by(module))
    root = Path(linker.__file__).parent
    named = set()
    for path in root.rglob("*.py"):
        module = ".".join(("linker", *path.relative_to(root).with_suffix("").parts))
        module = module.removesuffix(".__init__")
        places = re.findall(r'"(linker(?:\.\w+)+):\w+"', path.read_text("utf-8"))
        # the entry point by which a distribution is recognised is imported by nobody
        named |= {(module, other) for other in places if module != "linker.version"}
    assert ("linker.encoders.registry", "linker.encoders.dan") in named
    needs.add_edges_from(named)
    circles = [c for c in networkx.strongly_connected_components(needs) if len(c) > 1]
    assert circles == []


def test_the_command_line_starts_where_handlers_take_no_type_arguments() -> None:
    as_in_3_10 = """
import logging
if hasattr(logging.StreamHandler, "__class_getitem__"):
    del logging.StreamHandler.__class_getitem__
"""
    run("-c", f"{as_in_3_10}import linker.cli")
