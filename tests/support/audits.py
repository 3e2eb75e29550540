"""Small trainings whose letters are kept, and what attacks make of them."""

from __future__ import annotations

from dataclasses import dataclass

from dssfn.audit.attacks import by_letters, by_total
from dssfn.audit.listening import listen
from dssfn.audit.sums import Sums, scaled_error
from dssfn.audit.truth import Scaling, true_sums
from dssfn.audit.views import Transcript
from dssfn.datasets import open_tables
from dssfn.planning import settle
from dssfn.runs import DataOptions, divided, from_files, make_plan
from dssfn.schema.text import load_schema
from dssfn.topology import build_topology
from tests.support.commands import dssfn
from tests.support.trainings import DATA

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
HEART = DATA / "heart"
FIXED = {"n_layers": 1, "width": 20}
SOLVERS = {
    "gram, finds its size": {},
    "gram, finds its size, dense": {"units": "dense"},
    "gram": FIXED,
    "gram, dense": FIXED | {"units": "dense", "solver": "gram", "consensus": "tree"},
    "gram, gossip": FIXED | {"solver": "gram", "consensus": "gossip"},
    "krylov": FIXED | {"solver": "krylov"},
    "admm": FIXED | {"solver": "admm", "consensus": "tree"},
    "admm, relaxed": FIXED
    | {"solver": "admm", "relaxation": 1.6, "residual_tol": 1e-9},
    "admm, gossip": FIXED | {"solver": "admm", "consensus": "gossip"},
    "admm, given mu": FIXED | {"solver": "admm", "mu_input": 0.1, "bias": 0.0},
}


@dataclass(frozen=True)
class Case:
    """A training that was listened to, and what its nodes hold."""

    run: object
    transcript: Transcript
    truth: list[Sums]

    def letters(self, members, victim):
        """The error of Y Y^T as letters have it, and of T Y^T; None for nothing."""
        return self._errors(
            by_letters(self.transcript.seen_by(members), victim), victim
        )

    def total(self, members, victim):
        """The same, as the total alone has it."""
        return self._errors(by_total(self.transcript.seen_by(members), victim), victim)

    def _errors(self, found, victim):
        if found is None:
            return None
        true = self.truth[victim]
        return (
            scaled_error(found.sums.G, true.G),
            scaled_error(found.sums.C, true.C),
        )


def heard(run, *, secure=False):
    """Listen to a training."""
    plan, averaging = settle(run.plan, run.topology)
    shards = dict(enumerate(run.shards))
    transcript = listen(shards, plan, averaging, run.topology, secure=secure)
    scaling = Scaling.of_stage(transcript.agreed)
    return Case(run, transcript, [true_sums(s, plan, scaling) for s in run.shards])


def digits_run(topology, n_nodes, partition="iid", **settings):
    """Digits, divided over the nodes of a graph."""
    data = DataOptions("digits", test_size=0.5).load(0)
    graph = build_topology(topology, n_nodes)
    return divided(data, make_plan(data, **settings), graph, partition)


def heart_schema(folder):
    """The united schema of the four hospitals, as a file."""
    schemas = [folder / f"{name}.toml" for name in HOSPITALS]
    groups = ("--group", "healthy=0", "--group", "sick=1,2,3,4")
    for name, schema in zip(HOSPITALS, schemas, strict=True):
        table = HEART / f"{name}.csv"
        made = dssfn("schema", table, "--target", "num", *groups, "--out", schema)
        assert made.exit_code == 0, made.output
    merged = folder / "schema.toml"
    assert dssfn("schema", "merge", *schemas, "--out", merged).exit_code == 0
    return merged


def heart_run(schema, topology, **settings):
    """The tables of four hospitals, with their gaps, a node each."""
    files = open_tables(
        [HEART / f"{name}.csv" for name in HOSPITALS], load_schema(schema)
    )
    graph = build_topology(topology, len(HOSPITALS))
    return from_files(files, graph, {"seed": 0, **settings}, memory=None)
