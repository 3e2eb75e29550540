"""Start one node to find statistics with the others: files, log, `statistics.json`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from dssfn.errors import PlanError
from dssfn.federation import STATISTICS
from dssfn.node.connect import connect, statistics_terms
from dssfn.node.farewell import farewell
from dssfn.node.few_rows import check_nodes, check_numbers, check_rows, few_samples
from dssfn.node.mask_keys import mask_keys_of
from dssfn.node.preflight import keyring_of, prepare_place, samples_of
from dssfn.node.read_settings import in_words_of_the_node
from dssfn.node.session import session
from dssfn.node.spec import load_node
from dssfn.node.statistics import NodeStatistics, own_totals
from dssfn.planning import settle_federation
from dssfn.provenance import made_by
from dssfn.statistics.asked import Questions
from dssfn.statistics.figures import Agreed, Figures, Statistics, write_statistics
from dssfn.statistics.publishing import figures, shown
from dssfn.statistics.remarks import remarks

log = logging.getLogger("dssfn.node")

ALL_SHOWN = 1  # the least count that a node shows to itself


def launch_statistics(
    node: Path,
    out: Path | None = None,
    *,
    while_reading: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Path, Statistics]:
    """Find statistics with the other nodes; return the folder they are in, and them.

    Parameters
    ----------
    node : Path
        The node's file.
    out : Path, optional
        The folder to write to; by default the node's own.
    while_reading : callable
        Returns what is entered while files are read, before the node meets the others.
    """
    spec, federation = load_node(node)
    if out is not None:
        spec = msgspec.structs.replace(spec, out=str(out))
    check_nodes(federation)
    if federation.training.is_private:
        raise PlanError(
            "Statistics are exact counts and means, which the plan's privacy budget "
            "`epsilon` does not cover. If all organisations agree to share them, make "
            "a plan without `epsilon`."
        )
    plan, _ = settle_federation(federation)
    questions = Questions.of(plan)
    keyring = keyring_of(spec)
    with while_reading():
        samples = samples_of(spec, plan)
        check_rows(spec, federation, samples.n_samples)
        # A bad value is found before the others wait.
        with in_words_of_the_node():
            own = own_totals(samples, questions)
    here = figures(shown(own, questions, ALL_SHOWN), questions, ALL_SHOWN)
    check_numbers(spec, federation, _numbers_held(here))
    folder = prepare_place(spec, federation, plan)
    with session(spec, federation, folder, few_samples(samples.n_samples)):
        terms = statistics_terms(federation, questions)
        transport = connect(spec, federation, terms, keyring)
        with farewell(transport, lambda: f"Start again with: {STATISTICS} {node}"):
            agreed = NodeStatistics(
                node=federation.index(spec.name),
                federation=federation,
                questions=questions,
                samples=samples,
                own=own,
                transport=transport,
                start_deadline=spec.start_deadline,
                mask_keys=mask_keys_of(federation, STATISTICS, keyring),
            ).run()
            found = _beside(spec.name, here, agreed)
            write_statistics(found, folder)
            digest = found.sha256
            log.info("%s has finished: %s", spec.name, digest, extra={"sha256": digest})
    return folder, found


def _numbers_held(here: Figures) -> Iterator[tuple[str, int]]:
    """Yield the columns of numbers, and how many rows of this node have one."""
    for one in here.columns:
        if isinstance(one.there, int):
            yield one.name, one.there


def _beside(name: str, here: Figures, agreed: Agreed) -> Statistics:
    """Return what is agreed, beside this node's own figures."""
    return Statistics(
        node=name,
        sha256=agreed.sha256,
        agreed=agreed,
        here=here,
        stands_out=remarks(here, agreed.all),
        made_by=made_by(),
    )
