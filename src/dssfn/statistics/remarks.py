"""What is different at one node, by its own figures beside those of all nodes.

Of all nodes only what is shown is looked at, so that no remark tells more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from dssfn.hints import listing
from dssfn.statistics.figures import NOT_SHOWN, Column, Count, Figures, Remark

FAR = 0.5  # deviations between two means
MUCH = 0.2  # share of missing values


def remarks(here: Figures, everybody: Figures) -> tuple[Remark, ...]:
    """Return what stands out in a node's own figures.

    Parameters
    ----------
    here : Figures
        The node's own figures, none of them hidden.
    everybody : Figures
        Those of all nodes, as they are shown.
    """
    pairs = zip(
        (*here.columns, here.target),
        (*everybody.columns, everybody.target),
        strict=True,
    )
    return tuple(
        Remark(column=mine.name, text=text)
        for mine, all_ in pairs
        for text in _of_column(mine, all_, here.rows, everybody.rows)
    )


def _of_column(mine: Column, all_: Column, n: Count, n_all: Count) -> Iterator[str]:
    if mine.missing == n:
        yield "no row has a value here"
    else:
        yield from _constant(mine)
        yield from _levels(mine, all_)
        yield from _mean(mine, all_)
    yield from _missing(mine, all_, n, n_all)


def _constant(mine: Column) -> Iterator[str]:
    held = [one for one in mine.levels if one.count]
    if mine.deviation == 0:
        yield "all rows that have a value have the same one here"
    elif len(held) == 1 and not mine.other:
        yield f"all rows that have a value have `{held[0].name}` here"


def _levels(mine: Column, all_: Column) -> Iterator[str]:
    only, nowhere = [], []
    for one, total in zip(mine.levels, all_.levels, strict=True):
        if one.count == 0 and total.count not in (0, NOT_SHOWN):
            nowhere.append(one.name)
        elif one.count and one.count == total.count:
            only.append(one.name)
    if only:
        yield f"only here: {listing(only)}"
    if nowhere:
        yield f"at other nodes, but not here: {listing(nowhere)}"


def _mean(mine: Column, all_: Column) -> Iterator[str]:
    if mine.mean is None or all_.mean is None or not all_.deviation:
        return
    off = (mine.mean - all_.mean) / all_.deviation
    if abs(off) > FAR:
        where = "above" if off > 0 else "below"
        yield f"the mean here is {abs(off):.1f} deviations {where} that of all nodes"


def _missing(mine: Column, all_: Column, n: Count, n_all: Count) -> Iterator[str]:
    share, share_of_all = _share(mine.missing, n), _share(all_.missing, n_all)
    if share is None or share_of_all is None:
        return
    if abs(share - share_of_all) > MUCH:
        yield (
            f"{100 * share:.0f} % of the values are missing here, "
            f"{100 * share_of_all:.0f} % at all nodes together"
        )


def _share(part: Count, whole: Count) -> float | None:
    if isinstance(part, str) or isinstance(whole, str):
        return None
    return part / whole
