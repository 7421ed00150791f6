"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")
ROOT = Path(__file__).resolve().parent.parent
# a shell's background job ignores it, and so would the commands that it starts
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder, which tests and the commands that they run write to; not the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder := tmp_path_factory.mktemp("cache")))
        yield folder


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files; tests that use it are marked `data`."""
    folder = Path(os.environ.get("LINKER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real files are not at {folder}; set LINKER_DATA")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The bundled sample dictionary, in the tab-separated format of MEDIC."""
    return ROOT / "dictionaries" / "sample_medic.tsv"


@pytest.fixture(scope="session")
def ontology() -> Callable[..., str]:
    """Makes the text of an OBO file of terms such as "X:1; name: gout; alt_id: X:11"."""

    def make(*terms: str) -> str:
        stanzas = ("\n[Term]\nid: " + term.replace("; ", "\n") + "\n" for term in terms)
        return "format-version: 1.2\n" + "".join(stanzas)

    return make


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads of torch cost more than they give where a matrix is so small."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def no_accelerator_state() -> Iterator[None]:
    """No precision of accelerate is left over from another test."""
    state = pytest.importorskip("accelerate.state").AcceleratorState
    state._reset_state(reset_partial_state=True)
    yield
    state._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of random weights: 2 layers, 32 components, words in letters and a few longer pieces; not to be changed."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    longer = ["cancer", "syndrome", "disease", "breast", "type", "fever"]
    ends = ["##itis", "##oma", "##emia", "##pathy"]
    tokens = [*special, *letters, *(f"##{c}" for c in letters if c.isalnum()), *longer, *ends]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 64, "max_position_embeddings": 64}
    folder = tmp_path_factory.mktemp("bert") / "tiny-bert"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertModel(
            transformers.BertConfig(vocab_size=len(vocabulary), initializer_range=0.2, **sizes)
        )
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=64).save_pretrained(folder)
    return folder
