"""Training in simulated time over links that lose, delay and repeat letters."""

from __future__ import annotations

from dssfn.events.account import Posts
from dssfn.events.conditions import Conditions
from dssfn.events.delays import Constant, Exponential, Lognormal, Uniform
from dssfn.events.links import PERFECT, LinkModel, Links
from dssfn.events.losses import Bursts, Independent
from dssfn.events.nodes import NodeModel
from dssfn.events.simulation import EventSimulation, run_programs, simulate_events
from dssfn.trace import Event, Trace

__all__ = [
    "PERFECT",
    "Bursts",
    "Conditions",
    "Constant",
    "Event",
    "EventSimulation",
    "Exponential",
    "Independent",
    "LinkModel",
    "Links",
    "Lognormal",
    "NodeModel",
    "Posts",
    "Trace",
    "Uniform",
    "run_programs",
    "simulate_events",
]
