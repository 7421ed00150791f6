"""LinkTransformer: the concepts of texts in a pipeline of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from linker.errors import LinkerError
from linker.integrations import Model, linker_of
from linker.integrations.frames import linked, texts_of
from linker.jobs import tables


class LinkTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns columns of texts into columns of concept ids, as `link_column` writes them.

    It learns nothing from data, and a pickle of it holds what `model` is: a folder stays a name.

    Args:
        model: a linker, or the folder of one; None: $LINKER_MODEL, else ./linker-model.
        threshold: the confidence that a part needs, as for `Linker.link`.
    """

    def __init__(self, model: Model = None, *, threshold: float | None = None) -> None:
        self.model, self.threshold = model, threshold

    def fit(self, X: Any, y: Any = None) -> LinkTransformer:  # noqa: N803
        """Note the columns of a frame or array; a series or list of texts is one column."""
        self.n_features_in_ = _cells(X).shape[1]
        names = list(getattr(X, "columns", [getattr(X, "name", None)]))
        if not all(isinstance(name, str) for name in names):
            names = [f"x{place}" for place in range(self.n_features_in_)]
        self.names_ = names
        return self

    def transform(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The ids for each cell, (rows, columns); None where there is no text, or no concept.

        Raises:
            LinkerError: a cell is neither a text nor missing.
            ValueError: there are not as many columns as in `fit`.
        """
        cells = _cells(X)
        wanted = getattr(self, "n_features_in_", cells.shape[1])
        if cells.shape[1] != wanted:
            raise ValueError(
                f"X has {cells.shape[1]} features, "
                f"but LinkTransformer is expecting {wanted} features as input"
            )
        linker = linker_of(self.model)
        texts = texts_of(cells.ravel().tolist(), "X")
        answers = linked(linker, texts, k=1, threshold=self.threshold)
        place = tables.COLUMNS.index("concept_id")
        ids = {text: tables.cells(prediction)[place] for text, prediction in answers}
        found = [ids[text] or None if text else None for text in texts]
        return np.array(found, dtype=object).reshape(cells.shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name for each column: that of the texts, with `_concept_id` behind."""
        names = self.names_ if input_features is None else input_features
        return np.array([f"{name}_concept_id" for name in names], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.allow_nan = True, True
        tags.requires_fit, tags.transformer_tags.preserves_dtype = False, []
        return tags


def _cells(texts: Any) -> NDArray[Any]:
    """The texts of one column or several, (rows, columns)."""
    cells = np.asarray(texts, object)
    if cells.ndim not in (1, 2):
        raise LinkerError(
            f"{type(texts).__name__} is no column of texts, and no dense table of such columns; "
            "give a list, a series or a data frame"
        )
    return cells.reshape(-1, 1) if cells.ndim == 1 else cells
