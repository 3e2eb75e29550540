"""Start one node and see it to its end: files, log, checkpoint, model."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from dssfn._atomic import make_writable
from dssfn.config import Plan, bytes_of
from dssfn.cores import n_cores
from dssfn.federation import TRAINING
from dssfn.modelfile import save_network
from dssfn.node.attended import ATTENDED_FILE, AttendedFile
from dssfn.node.connect import (
    attendance_of,
    connect,
    leave_after_of,
    training_terms,
)
from dssfn.node.farewell import farewell
from dssfn.node.few_rows import (
    check_nodes,
    check_numbers,
    check_rows,
    few_samples,
    numbers_held,
)
from dssfn.node.log_tail import log_tail
from dssfn.node.mask_keys import mask_keys_of
from dssfn.node.noise_ledger import noise_of
from dssfn.node.own_scores import OwnSamples
from dssfn.node.page import Rendering
from dssfn.node.page_server import PagePort
from dssfn.node.preflight import (
    check_port,
    checkpoints_of,
    keyring_of,
    look_at,
    prepare_place,
    samples_of,
    samples_to_test_on,
)
from dssfn.node.runtime import Elastic, NodeTraining
from dssfn.node.session import session
from dssfn.node.spec import load_node
from dssfn.node.status import StatusSource
from dssfn.planning import settle_federation
from dssfn.provenance import made_by
from dssfn.records import LayerRecord
from dssfn.results import (
    MODEL_FILE,
    ONE_FILE_EACH,
    NeighbourTraffic,
    OwnScores,
    Result,
    Seconds,
    Stint,
    write_result,
)
from dssfn.scoring import validation_scores
from dssfn.summary import graph_of, layer_of, privacy_of, settings_of
from dssfn.training import Model
from dssfn.transports.recording import RecordingTransport

log = logging.getLogger("dssfn.node")


def launch(
    node: Path,
    *,
    fresh: bool = False,
    record: Path | None = None,
    log_format: str | None = None,
    page: Rendering | None = None,
    while_reading: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Path, Result]:
    """Train one node with the others, and return its folder `out` and its result.

    Parameters
    ----------
    node : Path
        The node's file.
    fresh : bool
        Whether to forget the checkpoint and start from scratch.
    record : Path, optional
        A folder to keep all letters in that the node receives.
    log_format : {"text", "json"}, optional
        How lines of the log are written, if not as the node's file says.
    page : Rendering, optional
        Makes the status page, where the node's file asks for one.
    while_reading : callable
        Returns a context in which the node's files are read and checked.
    """
    start = time.perf_counter()
    spec, federation = load_node(node)
    if log_format is not None:
        spec = msgspec.structs.replace(spec, log_format=log_format)
    check_nodes(federation)
    plan, averaging = settle_federation(federation)
    keyring = keyring_of(spec)
    with while_reading():
        samples, test = samples_of(spec, plan), samples_to_test_on(spec, plan)
        check_rows(spec, federation, samples.n_samples)
        # A bad value is found before the others wait.
        held = look_at(samples, plan)
        check_numbers(spec, federation, numbers_held(plan, held.values.tolist()))
        if test is not None:
            look_at(test, plan)
    out = prepare_place(spec, federation, plan)
    if record is not None:
        make_writable(record, "--record", private=True)
    metrics = _metrics_of(spec.metrics)
    checkpoints = checkpoints_of(spec, federation, samples)
    has_begun = checkpoints.path.exists()
    noise = noise_of(out, federation, has_begun=has_begun)
    attended = AttendedFile(out / ATTENDED_FILE)
    if fresh:
        checkpoints.forget()
        attended.forget_model()
    checkpoints.check()
    with (
        closing(PagePort(spec.page, page)) as port,
        log_tail(federation.names) as tail,
        session(
            spec, federation, out, (*few_samples(samples.n_samples), *port.warnings())
        ),
    ):
        own = OwnSamples(
            node=federation.index(spec.name),
            training=samples,
            test=test,
            local_model=spec.local_model,
            memory=bytes_of(spec.memory) if spec.memory else None,
            n_threads=spec.threads or n_cores(),
        )
        elastic = attendance = None
        if federation.is_elastic and federation.quorum is not None:
            elastic = Elastic(attended, leave_after_of(federation), federation.quorum)
            last = checkpoints.last_epoch
            attendance = attendance_of(spec.name, federation, attended, last)
        terms = training_terms(federation, plan)
        transport = connect(spec, federation, terms, keyring, attendance)
        if record is not None:
            transport = RecordingTransport(transport, record)
        training = NodeTraining(
            node=own.node,
            topology=federation.topology(),
            plan=plan,
            averaging=averaging,
            samples=samples,
            transport=transport,
            checkpoints=checkpoints,
            memory=own.memory,
            n_threads=own.n_threads,
            start_deadline=spec.start_deadline,
            mask_keys=mask_keys_of(federation, TRAINING, keyring),
            noise=noise,
            names=federation.names,
            elastic=elastic,
            on_layer=lambda record: _tell(record, plan),
        )
        fingerprint = federation.fingerprint()[:16]
        source = StatusSource(training, fingerprint, keyring, tail)
        with port.serve(source):
            with (
                farewell(training.transport, lambda: training.how_to_go_on(node)),
                metrics(source),
            ):
                network = training.run()
                seconds = time.perf_counter() - start
                result = _finish(network, training, federation.names, out, seconds)
                digest = result.sha256
                log.info(
                    "%s has finished: %s", spec.name, digest, extra={"sha256": digest}
                )
            # The others have their model too, and need not wait for what follows.
            source.has_left = True
            result = with_own_scores(result, own.scored(network, plan))
            write_result(result, out, private=True)
    return out, result


def with_own_scores(result: Result, here: OwnScores) -> Result:
    """Return the result of a node that knows how good the model is for it."""
    changes: dict[str, Any] = {"here": here}
    if here.samples == "test" and here.model is not None:
        changes |= {"n_test": here.model.n, "test_accuracy": here.model.accuracy}
    return msgspec.structs.replace(result, **changes)


def _metrics_of(
    address: str | None,
) -> Callable[[StatusSource], AbstractContextManager[None]]:
    """Return what serves the metrics of a training, or nothing without an address.

    The client of Prometheus is imported only if it is needed, and before a node meets
    the others: if it is missing, or the port is taken, they need not know.
    """
    if address is None:
        return lambda source: nullcontext()
    from dssfn.node.metrics import serve_metrics

    check_port("metrics", address)
    return lambda source: serve_metrics(source, address)


def _tell(record: LayerRecord, plan: Plan) -> None:
    units = f"  {record.width} units" if record.width else ""
    validated = ""
    if record.validation_error_db is not None:
        validated = f"  validation {record.validation_error_db:.2f} dB"
    accuracy = ""
    if record.train_accuracy is not None:
        accuracy = f"  train accuracy {record.train_accuracy:.2%}".replace("%", " %")
    log.info(
        "layer %d%s%s  cost %.5g  %.2f dB%s%s  averagings: %d",
        record.layer,
        "" if plan.finds_size else f"/{plan.depth}",
        units,
        record.cost,
        record.train_error_db,
        validated,
        accuracy,
        record.iterations,
        extra=_fields(record),
    )


def _fields(record: LayerRecord) -> dict[str, float | None]:
    """Return the numbers of that line, with the digits that it has."""
    validated, accuracy = record.validation_error_db, record.train_accuracy
    return {
        "layer": record.layer,
        "units": record.width or None,
        "cost": float(f"{record.cost:.5g}"),
        "train_error_db": round(record.train_error_db, 2),
        "validation_error_db": None if validated is None else round(validated, 2),
        "train_accuracy": None if accuracy is None else round(accuracy, 4),
        "averagings": record.iterations,
    }


def _finish(
    network: Model,
    training: NodeTraining,
    names: Sequence[str],
    out: Path,
    seconds: float,
) -> Result:
    took_part = training.took_part
    save_network(network, out / MODEL_FILE, private=True, took_part=took_part)
    layers = [training.records[k] for k in sorted(training.records)]
    last = training.records.get(network.plan.depth)
    accounts = training.transport.accounts()
    result = Result(
        node=names[training.node],
        model=MODEL_FILE,
        sha256=hashlib.sha256((out / MODEL_FILE).read_bytes()).hexdigest(),
        n_test=0,
        train_accuracy=last.train_accuracy if last else None,
        test_accuracy=None,
        train_error_db=last.train_error_db if last else None,
        scores=validation_scores(training.scores, names),
        layers=tuple(
            layer_of(
                one,
                test_accuracy=None,
                took_part=took_part[one.layer] if took_part else (),
            )
            for one in layers
        ),
        secure=training.mask_keys is not None,
        privacy=privacy_of(network.plan, training.noise),
        graph=msgspec.structs.replace(
            graph_of(training.topology, network.plan.tol), names=tuple(names)
        ),
        peers={
            peer: NeighbourTraffic(**asdict(account))
            for peer, (account, _) in accounts.items()
        },
        stints=tuple(
            Stint(first=stint.first, nodes=stint.members)
            for stint in (training.course.stints if took_part else ())
        ),
        held=None,
        confusion=None,
        seconds=Seconds(total=seconds),
        settings=settings_of(
            network.plan, training.topology, ONE_FILE_EACH, asked=training.plan
        ),
        made_by=made_by(),
    )
    write_result(result, out, private=True)
    return result
