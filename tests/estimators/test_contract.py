"""scikit-learn's own checks of an estimator, sample weights among them."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from dssfn import DSSFNClassifier, DSSFNRegressor, SSFNClassifier, SSFNRegressor


def not_exact(estimator):
    if getattr(estimator, "n_nodes", None) is None or estimator.solver != "admm":
        return {}
    why = "a few iterations of ADMM depend on who holds which samples"
    return {"check_sample_weight_equivalence_on_dense_data": why}


@parametrize_with_checks(
    [
        SSFNClassifier(),
        SSFNClassifier(n_layers=2, width=30),
        SSFNClassifier(n_layers=2, width=30, preset="paper", n_iter=20),
        SSFNClassifier(size="ssfn", width=100),
        SSFNRegressor(),
        SSFNRegressor(n_layers=2, width=30),
        DSSFNClassifier(),
        DSSFNClassifier(n_nodes=3, n_layers=2, width=30),
        DSSFNClassifier(n_nodes=4, n_layers=1, width=30, solver="admm", n_iter=20),
        DSSFNRegressor(),
        DSSFNRegressor(n_nodes=3, n_layers=2, width=30),
    ],
    expected_failed_checks=not_exact,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
