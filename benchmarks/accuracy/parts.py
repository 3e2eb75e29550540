"""The parts of the comparison by name, in the order in which they are run and shown."""

from __future__ import annotations

from benchmarks.accuracy import (
    equality,
    hospitals,
    imbalance,
    paper_sets,
    regression,
    sets,
    tables,
    times,
    units,
)

PARTS = {
    one.PART.name: one.PART
    for one in (
        sets,
        hospitals,
        tables,
        paper_sets,
        regression,
        imbalance,
        equality,
        units,
        times,
    )
}
