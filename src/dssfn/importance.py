"""Importance of columns: how much worse predictions are without what a column says.

Values only, with no arrays and no model, so that a terminal, a file and a figure have
them alike. `dssfn.permutation` finds them.
"""

from __future__ import annotations

import msgspec

# The figures of an importance, in the order in which columns are ranked by them.
OF_CLASSES = ("accuracy_lost", "log_loss_added")
OF_NUMBERS = ("r2_lost", "rmse_added")
OF_NUMBERS_ALIKE = ("rmse_added",)  # R2 does not exist if all targets are equal
OF_CHANGED_CLASSES = ("probability_moved", "classes_changed")
OF_CHANGED_NUMBERS = ("prediction_moved",)


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that was measured several times.

    Parameters
    ----------
    mean : float
        Its mean.
    std : float
        Its standard deviation from one repetition to another.
    """

    mean: float
    std: float


class ColumnImportance(msgspec.Struct, frozen=True, kw_only=True):
    """The importance of one column.

    Parameters
    ----------
    name : str
        The name of the column.
    n_features : int
        How many features it became; they were permuted together.
    figures : dict
        How much worse predictions are without it, or how much they move, by name.
    """

    name: str
    n_features: int
    figures: dict[str, Repeated]


class Importance(msgspec.Struct, frozen=True, kw_only=True):
    """The importance of the columns of a file for the predictions of a model.

    Parameters
    ----------
    figures : tuple of str
        What was measured. Columns are ranked by the first, and where that is equal, by
        the second. With labels: `accuracy_lost` and `log_loss_added`, or of numbers
        `r2_lost` and `rmse_added`. Without: `probability_moved`, the mean over samples
        of half the sum of all changes of probabilities, and `classes_changed`, the
        share of samples that get another class; or of numbers `prediction_moved`, the
        mean absolute change in standard deviations of the predictions.
    baseline : dict
        How good predictions of the samples are as they are; empty without labels.
    n_samples, n_used : int
        The samples of the file, and those of them that this was measured on.
    n_repeats, seed : int
        How often a column was permuted, and the key of the permutations.
    n_columns : int
        The columns that there are. If they are many, those that move predictions most
        were measured.
    n_screened : int
        The samples by which these were found; zero if all columns were measured.
    columns : tuple of ColumnImportance
        The columns that were measured, the most important first.
    """

    figures: tuple[str, ...]
    baseline: dict[str, float]
    n_samples: int
    n_used: int
    n_repeats: int
    seed: int
    n_columns: int
    n_screened: int = 0
    columns: tuple[ColumnImportance, ...]

    @property
    def main(self) -> str:
        """The figure by which columns are ranked."""
        return self.figures[0]
