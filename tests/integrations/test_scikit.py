"""LinkTransformer in pipelines, and the checks of scikit-learn."""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from linker import Linker, LinkerError, LinkTransformer

NAMES = ("gout", "podagra", "asthma", "phenylketonuria", "hepatitis B/C", "zzz")
DO_NOT_APPLY = {
    "check_complex_data": "a cell that is no text is refused by a LinkerError of our own",
    "check_estimators_empty_data_messages": "there is nothing to learn, so that no rows are enough",
    "check_estimator_sparse_tag": "sparse numbers are refused by a LinkerError of our own",
    "check_estimator_sparse_array": "as check_estimator_sparse_tag",
    "check_estimator_sparse_matrix": "as check_estimator_sparse_tag",
    "check_fit1d": "a list of texts is a column",
    "check_fit2d_predict1d": "as check_fit1d",
}


@pytest.fixture(scope="module")
def model(sample_model: Path) -> Path:
    return sample_model


class OfNumbers(LinkTransformer):  # type: ignore[misc]
    """Takes each number for a name, and gives a number for each id: the checks know no texts."""

    def transform(self, X: Any) -> Any:  # noqa: N803
        cells = np.asarray(X)
        texts = [NAMES[zlib.crc32(str(float(cell)).encode()) % 6] for cell in cells.ravel()]
        ids = super().transform(np.array(texts, object).reshape(cells.shape))
        return np.vectorize(lambda text: zlib.crc32(str(text).encode()), [float])(ids)


def test_the_checks_of_scikit_learn_pass_but_those_of_numbers(model: Path) -> None:
    results = check_estimator(
        OfNumbers(str(model)), expected_failed_checks=DO_NOT_APPLY, on_skip=None
    )
    by_status: dict[str, set[str]] = {}
    for result in results:
        by_status.setdefault(result["status"], set()).add(result["check_name"])
    assert set(by_status) - {"skipped"} == {"passed", "xfail"}, by_status
    assert by_status["xfail"] <= set(DO_NOT_APPLY)
    assert len(by_status["passed"]) >= 30


def test_texts_become_ids(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    linked = LinkTransformer(model, threshold=0.5)
    for texts in (["podagra", None, "zzz"], np.array(["podagra", None, "zzz"], object)):
        assert linked.fit_transform(texts).tolist() == [["MESH:D006073"], [None], [None]]
    assert linked.get_feature_names_out().tolist() == ["x0_concept_id"]
    frame = pandas.DataFrame({"a": ["podagra"], "b": ["hepatitis B/C"]})
    table = clone(linked).set_output(transform="pandas").fit_transform(frame)
    assert table.to_dict("list") == {
        "a_concept_id": ["MESH:D006073"],
        "b_concept_id": ["MESH:D006509|MESH:D006526"],
    }
    assert linked.fit(frame.a).get_feature_names_out().tolist() == ["a_concept_id"]
    with pytest.raises(ValueError, match="X has 2 features, but LinkTransformer is expecting 1"):
        linked.transform(frame)
    for wrong, message in (([7], "7 is no text"), ("podagra", "str is no column of texts")):
        with pytest.raises(LinkerError, match=message):
            linked.transform(wrong)


def test_it_stands_in_a_pipeline_and_is_copied_without_its_model(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"diagnosis": ["podagra", "gout", "asthma"], "age": [60, 50, 10]})
    linker = Linker.load(model)
    for one in (linker, str(model)):
        ids = make_pipeline(LinkTransformer(one), OneHotEncoder(sparse_output=False))
        columns = make_column_transformer((ids, ["diagnosis"]), remainder="passthrough")
        rows = clone(columns).fit_transform(frame).tolist()
        assert rows == [[0, 1, 60], [0, 1, 50], [1, 0, 10]]
    assert clone(LinkTransformer(linker)).model is linker
    assert len(pickle.dumps(LinkTransformer(str(model)))) < 1000
