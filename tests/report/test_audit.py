"""The figure of an audit."""

from __future__ import annotations

import io

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from dssfn.report.audit import MOST, Strip, draw_strips


def pictures(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 8, 8))


def ink(strips):
    """How much of a figure is dark."""
    image = imread(io.BytesIO(draw_strips(strips, ["a", "b", "c"]).png))
    return float((image[..., :3].mean(axis=-1) < 0.5).mean())


def test_strips_become_a_picture_with_their_names():
    strips = [Strip("true means", pictures(3)), Strip("masks\non", pictures(3, 1))]
    drawing = draw_strips(strips, ["cat", "dog", "a$b"])
    assert drawing.png.startswith(b"\x89PNG")
    assert "true means; masks on" in drawing.label
    for name in ("cat", "dog", "a$b"):
        assert name in drawing.svg


def test_a_picture_that_was_not_found_is_left_out():
    some = pictures(3)
    some[1] = np.nan
    every, fewer = (ink([Strip("means", one)]) for one in (pictures(3), some))
    assert fewer < 0.8 * every


def test_the_same_pictures_always_give_the_same_file():
    strips = [Strip("means", pictures(2))]
    assert draw_strips(strips, ["a", "b"]).png == draw_strips(strips, ["a", "b"]).png


def test_of_many_classes_the_first_are_shown_and_a_flat_picture_is_no_error():
    strips = [Strip("means", np.zeros((MOST + 5, 4, 4)))]
    svg = draw_strips(strips, [f"class{k}" for k in range(MOST + 5)]).svg
    assert f"class{MOST - 1}<" in svg
    assert f"class{MOST}<" not in svg
