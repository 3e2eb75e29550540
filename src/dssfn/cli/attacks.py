"""How far attacks get, as a table."""

from __future__ import annotations

from rich.table import Table

from dssfn.audit import Attack, Figures, Report
from dssfn.audit.attackers import NAMED, together
from dssfn.cli.console import screen
from dssfn.report.numbers import plural

NOTHING = "-"
FEW = 2  # attackers that are named


def show_report(report: Report) -> None:
    """Print one line for every attack, and what its figures mean."""
    is_known = any(
        one is not None and one.gram_error is not None
        for attack in report.attacks
        for one in (attack.letters, attack.total)
    )
    shown = _errors if is_known else _looks
    title = (
        f"{report.data}: {plural(report.n_nodes, 'node')}, {report.solver}, "
        f"{report.consensus}, {report.units} units"
    )
    table = Table(title=title, title_justify="left")
    for name in ("attackers", "victim", "masks"):
        table.add_column(name)
    columns = list(shown(report.attacks[0]))
    for name in columns:
        table.add_column(name, justify="right")
    for attack in report.attacks:
        table.add_row(
            _who(attack),
            attack.victim,
            "on" if attack.masked else "off",
            *shown(attack).values(),
            end_section=attack.masked,
        )
    screen.print(table)
    for line in _meaning(report, is_known=is_known):
        screen.print(line)


def _who(attack: Attack) -> str:
    names = ", ".join(attack.attackers)
    if len(attack.attackers) > FEW:
        return together(len(attack.attackers)) if attack.kind == NAMED else attack.kind
    return names if attack.kind == NAMED else f"{attack.kind}: {names}"


def _errors(attack: Attack) -> dict[str, str]:
    letters, total = attack.letters, attack.total
    return {
        "Y Yᵀ": _error(letters, "gram_error"),
        "class means": _error(letters, "class_means_error"),
        "rows": NOTHING if letters is None else str(letters.rows),
        "total: Y Yᵀ": _error(total, "gram_error"),
    }


def _looks(attack: Attack) -> dict[str, str]:
    letters = attack.letters
    return {
        "sum of": NOTHING if letters is None else ", ".join(letters.nodes),
        "sums of rows": NOTHING
        if letters is None
        else ("yes" if letters.looks_real else "noise"),
        "rows": NOTHING if letters is None else str(letters.rows),
    }


def _error(figures: Figures | None, name: str) -> str:
    error = None if figures is None else getattr(figures, name)
    if error is None:
        return NOTHING
    return f"{error:.0e}" if error < 5e-4 else f"{error:.3f}"


def _meaning(report: Report, *, is_known: bool) -> list[str]:
    lines = []
    if is_known:
        lines.append(
            "Numbers are errors of what the attackers reconstruct, first from "
            "messages, then (total) from the sum over all nodes alone, which masks do "
            "not hide. 0: everything was recovered. 1: nothing."
        )
    else:
        lines.append(
            "sums of rows: whether the messages look like sums over somebody's rows, "
            "or like noise. Give --victim and --victim-data to compare them with the "
            "true sums."
        )
    lines.append(
        f"rows: single rows that were recovered exactly. {NOTHING}: messages reveal "
        "no more than the total."
    )
    if is_known and any(one.total is None for one in report.attacks):
        lines.append(
            "The total could not be computed from this recording alone, as it lacks "
            "what the attackers sent themselves. The attackers do know the total."
        )
    shares = [one.letters.directions for one in report.attacks if one.letters]
    if shares and min(shares) < 1:
        lines.append(
            f"Messages reveal Y Yᵀ directly in {_between(shares)} of "
            f"{report.n_features} directions; the rest is reconstructed from those as "
            "far as possible."
        )
    if report.masks.startswith("not"):
        lines.append(f"Masks are {report.masks}")
    return lines


def _between(shares: list[float]) -> str:
    low, high = (f"{100 * one:.0f}" for one in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"
