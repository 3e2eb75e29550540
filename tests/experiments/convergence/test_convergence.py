import numpy as np
import pytest

from dssfn.experiments import convergence
from tests.support.evidence_sample import sample_of


def test_averagings_of_both_solvers_are_said():
    (said,) = convergence.words(sample_of("convergence"))
    assert "On letter it takes 6 averagings for all layers, ADMM 30." in said


def test_a_power_law_is_found_among_stairs():
    x = np.arange(1.0, 2001.0)
    stairs = 50 * x**-0.3 * (1 + 0.05 * np.sin(x))
    exponent, factor = convergence.power_law(x, stairs)
    assert exponent == pytest.approx(-0.3, abs=0.02)
    assert factor == pytest.approx(50, rel=0.1)
