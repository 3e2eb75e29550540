"""The options about links that lose letters and nodes that come and go.

A command takes them as one value, `network`; any of them makes it simulate time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dssfn._atomic import check_place, write_atomically
from dssfn.cli.grouped import grouped
from dssfn.cli.options import option
from dssfn.cli.quantities import bandwidth_of, delay_of, interval_of, seconds_of
from dssfn.config import AUTO
from dssfn.errors import PlanError
from dssfn.events import Bursts, Conditions, Constant, Independent, LinkModel, NodeModel
from dssfn.events.conditions import DAY
from dssfn.registry import PARTIES
from dssfn.trace import Trace, write_trace

BAD = "Imperfect links and nodes (simulates time)"

Loss = Annotated[
    float | None, option("Share of messages that links lose, such as 0.1.", BAD)
]
Burst = Annotated[
    float | None, option("Mean number of messages lost in a row, with --loss.", BAD)
]
DelayText = Annotated[
    str | None,
    option(
        "Delay of a message: 20ms, uniform:10ms-30ms, exponential:20ms, or "
        "lognormal:20ms (its median), lognormal:20ms,0.8 (median and sigma).",
        BAD,
        "--delay",
    ),
]
KeepOrder = Annotated[
    bool,
    option(
        "Messages arrive in the order in which they were sent.", BAD, "--keep-order"
    ),
]
LinkBandwidth = Annotated[
    str | None, option("Bandwidth of a link in each direction, such as 10Mbit.", BAD)
]
Duplicate = Annotated[
    float | None, option("Share of messages that arrive twice.", BAD, "--duplicate")
]
Slow = Annotated[
    list[str] | None,
    option(
        "A slow node: with 3:10x, node 3 takes ten times as long. May be repeated.",
        BAD,
        "--slow",
    ),
]
Away = Annotated[
    list[str] | None,
    option(
        "A node that is away for a while: 5:20s-60s is node 5, from 20 s to 60 s. May "
        "be repeated.",
        BAD,
        "--away",
    ),
]
Gone = Annotated[
    list[str] | None,
    option(
        "A node that leaves for good: 7:30s is node 7, after 30 s. May be repeated.",
        BAD,
        "--gone",
    ),
]
Deadline = Annotated[
    str | None,
    option(
        "Simulated time after which nodes give up, such as 600s.",
        BAD,
        show_default="one day",
    ),
]
Scheme = Annotated[
    str | None,
    option(
        f"How to average over such links: {', '.join(PARTIES)}, or auto (the scheme "
        "of --consensus with resending, or push-sum if that takes fewer messages).",
        BAD,
        show_default=AUTO,
    ),
]
TimelineFile = Annotated[
    Path | None,
    option("Draw the simulated time into this file, .png or .svg.", BAD, "--timeline"),
]
TraceFile = Annotated[
    Path | None,
    option("Write all simulated events to this file, as JSON lines.", BAD, "--trace"),
]


@dataclass(frozen=True, slots=True)
class BadNetwork:
    """The options, with their texts as they were given."""

    loss: float | None = None
    burst: float | None = None
    delay: str | None = None
    keep_order: bool = False
    link_bandwidth: str | None = None
    duplicate: float | None = None
    slow: Sequence[str] = ()
    away: Sequence[str] = ()
    gone: Sequence[str] = ()
    deadline: str | None = None
    scheme: str | None = None
    timeline: Path | None = None
    trace: Path | None = None

    def conditions(self, n_nodes: int, seed: int) -> Conditions | None:
        """Return what links and nodes are like; None if no option says so."""
        if self == PERFECT_NETWORK:
            return None
        if self.timeline is not None:
            _check_figure(self.timeline)
        if self.trace is not None:
            check_place(self.trace, "--trace")
        if self.scheme not in (None, AUTO):
            PARTIES[self.scheme]  # or it is refused
        deadline = self.deadline
        return Conditions(
            links=self._links(),
            nodes=self._nodes(n_nodes),
            seed=seed,
            deadline=DAY if deadline is None else seconds_of("--deadline", deadline),
        )

    def _links(self) -> LinkModel:
        if self.burst is not None and self.loss is None:
            raise PlanError(
                "`--burst` must come with `--loss`, the share of messages that is lost."
            )
        loss, bandwidth = self.loss or 0.0, self.link_bandwidth
        if not 0 <= loss < 1:
            raise PlanError(f"`--loss` must be at least 0 and below 1, got {loss:g}.")
        return LinkModel(
            loss=Independent(loss) if self.burst is None else Bursts(loss, self.burst),
            delay=(
                Constant() if self.delay is None else delay_of("--delay", self.delay)
            ),
            duplicate=self.duplicate or 0.0,
            bandwidth=(
                None
                if bandwidth is None
                else bandwidth_of("--link-bandwidth", bandwidth)
            ),
            keeps_order=self.keep_order,
        )

    def _nodes(self, n_nodes: int) -> dict[int, NodeModel]:
        slow, away, gone = (
            _by_node(name, texts, read, n_nodes)
            for name, texts, read in (
                ("--slow", self.slow, _factor),
                ("--away", self.away, interval_of),
                ("--gone", self.gone, seconds_of),
            )
        )
        for name, said in (("--slow", slow), ("--gone", gone)):
            twice = next((node for node, some in said.items() if len(some) > 1), None)
            if twice is not None:
                raise PlanError(
                    f"`{name}` must name every node at most once, got node {twice} "
                    f"{len(said[twice])} times. Leave one of them out."
                )
        return {
            node: NodeModel(
                slowness=slow[node][0] if node in slow else 1.0,
                away=tuple(sorted(away.get(node, ()))),
                gone=gone[node][0] if node in gone else math.inf,
            )
            for node in sorted({*slow, *away, *gone})
        }

    @contextmanager
    def recorded(self) -> Iterator[Trace]:
        """Provide a trace, and write what was asked for, also if a training fails."""
        trace = Trace(keeps_posts=self.timeline is not None or self.trace is not None)
        try:
            yield trace
        finally:
            if trace.events and self.trace is not None:
                write_trace(trace, self.trace)
            if trace.events and self.timeline is not None:
                _draw(trace, self.timeline)


PERFECT_NETWORK = BadNetwork()


def over_bad_links(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about bad links; it gets them as its `network`."""
    return grouped(command, "network", _bad_network)


def _bad_network(
    loss: Loss = None,
    burst: Burst = None,
    delay: DelayText = None,
    keep_order: KeepOrder = False,
    link_bandwidth: LinkBandwidth = None,
    duplicate: Duplicate = None,
    slow: Slow = None,
    away: Away = None,
    gone: Gone = None,
    deadline: Deadline = None,
    scheme: Scheme = None,
    timeline: TimelineFile = None,
    trace: TraceFile = None,
) -> BadNetwork:
    return BadNetwork(
        loss, burst, delay, keep_order, link_bandwidth, duplicate, tuple(slow or ()),
        tuple(away or ()), tuple(gone or ()), deadline, scheme, timeline, trace,
    )  # fmt: skip


def _by_node(
    name: str, texts: Sequence[str], read: Callable[[str, str], Any], n_nodes: int
) -> dict[int, list[Any]]:
    """Return what an option says of each node that it is given for."""
    said = defaultdict(list)
    for text in texts:
        node, colon, rest = text.partition(":")
        if not (colon and node.isdecimal()):
            raise PlanError(
                f"`{name}` must begin with a node's number and a colon, such as "
                f"{_EXAMPLES[name]}, got {text!r}."
            )
        if int(node) >= n_nodes:
            raise PlanError(
                f"`{name}` must name a node of the graph, 0 to {n_nodes - 1}, got "
                f"{node}."
            )
        said[int(node)].append(read(name, rest))
    return said


_EXAMPLES = {"--slow": "3:10x", "--away": "5:20s-60s", "--gone": "7:30s"}


def _factor(name: str, text: str) -> float:
    try:
        factor = float(text.removesuffix("x"))
    except ValueError:
        factor = 0.0
    if not 0 < factor < math.inf:
        raise PlanError(
            f"`{name}` must end with a factor, such as 3:10x, got {text!r}."
        )
    return factor


def _check_figure(path: Path) -> None:
    """Refuse a figure that cannot be drawn, before the training."""
    import dssfn.report.canvas  # noqa: F401  # says which extra it needs

    if path.suffix.lower() not in (".png", ".svg"):
        raise PlanError(f"`--timeline` must end with .png or .svg, got {str(path)!r}.")
    check_place(path, "--timeline")


def _draw(trace: Trace, path: Path) -> None:
    from dssfn.report.timeline import draw_timeline

    drawing = draw_timeline(trace)
    is_png = path.suffix.lower() == ".png"
    write_atomically(path, drawing.png if is_png else drawing.svg.encode())
