"""deploy/kubernetes: manifests that the API knows, and that fit the program."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from dssfn.exit_codes import WRONG_INPUT
from dssfn.federation import split_address
from dssfn.node.spec import load_node
from tests.support.commands import dssfn
from tests.support.compose import DEPLOY

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
BASE, EXAMPLE = DEPLOY / "kubernetes/base", DEPLOY / "kubernetes/example"
VERSIONS = ("1.31", "1.34")
MANIFESTS = sorted(
    path
    for folder in (BASE, EXAMPLE)
    for path in folder.glob("*.yaml")
    if path.name != "kustomization.yaml"
)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pod():
    return read(BASE / "job.yaml")["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def node():
    return load_node(EXAMPLE / "node.toml")


@pytest.mark.parametrize(
    ("path", "version"),
    list(itertools.product(MANIFESTS, VERSIONS)),
    ids=lambda value: getattr(value, "name", value),
)
def test_the_api_knows_every_field(path, version):
    validator = pytest.importorskip(
        "kubernetes_validate", reason="needs kubernetes-validate"
    )
    validator.validate(read(path), version, strict=True)


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=lambda path: path.name)
def test_a_kustomization_names_all_files_and_no_others(folder):
    made = read(folder / "kustomization.yaml")
    files = [*made["resources"], *(one["path"] for one in made.get("patches", []))]
    for one in made.get("configMapGenerator", []):
        files += one["files"]
    assert all((folder / file).exists() for file in files)
    here = {path.name for path in folder.glob("*.[yt]*ml")} - {"kustomization.yaml"}
    assert here == {file for file in files if "/" not in file}


def test_keys_are_no_part_of_the_repository():
    (secret,) = read(EXAMPLE / "kustomization.yaml")["secretGenerator"]
    assert {Path(file).parent.name for file in secret["files"]} == {"keys"}
    assert "keys/" in (EXAMPLE / ".gitignore").read_text().split()
    assert not (EXAMPLE / "keys").exists()


def test_the_plan_is_what_federation_init_writes(node, tmp_path):
    pytest.importorskip("cryptography", reason="needs the extra `grpc`")
    spec, federation = node
    addresses = [f"--address={one.name}={one.address}" for one in federation.nodes]
    made = dssfn(
        "federation", "init", tmp_path / "fed", "--no-keys", *addresses,
        "--nodes", ",".join(federation.names), "--target", spec.target,
        "--classes", ",".join(federation.training.classes),
        "--features", ",".join(federation.training.feature_names),
        "--round-deadline", federation.round_deadline,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    written = (tmp_path / "fed" / "plan.toml").read_text(encoding="utf-8")
    assert written == (EXAMPLE / "plan.toml").read_text(encoding="utf-8")


def test_a_patch_changes_nothing_but_the_addresses_of_neighbours():
    patch, base = read(EXAMPLE / "neighbours.yaml"), read(BASE / "network-policy.yaml")
    assert all(patch[key] == base[key] for key in ("apiVersion", "kind", "metadata"))
    for direction, end in (("ingress", "from"), ("egress", "to")):
        (given, *others), (changed, *same) = (
            one["spec"][direction] for one in (base, patch)
        )
        assert same == others
        assert changed["ports"] == given["ports"]
        assert all(set(one) == {"ipBlock"} for one in changed[end])


def test_what_the_node_reads_and_writes_is_mounted(pod, node):
    spec, _ = node
    (container,) = pod["containers"]
    mounts = {
        one["mountPath"]: one.get("readOnly", False)
        for one in container["volumeMounts"]
    }
    assert container["args"] == ["node", "run", "/etc/dssfn/node.toml"]
    assert mounts["/etc/dssfn"] is True
    for path in (spec.certificate, spec.key, spec.authorities, spec.revoked, spec.data):
        assert mounts[str(Path(path).parent)] is True
    assert mounts[str(Path(spec.out).parent)] is False
    (secret,) = read(EXAMPLE / "kustomization.yaml")["secretGenerator"]
    keys = {spec.certificate, spec.key, spec.authorities, spec.revoked}
    assert {Path(file).name for file in secret["files"]} == {Path(p).name for p in keys}
    names = {one["name"] for one in pod["volumes"]}
    assert names == {one["name"] for one in container["volumeMounts"]}


def test_ports_and_addresses_are_those_of_the_node(pod, node):
    spec, federation = node
    (container,) = pod["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {
        "nodes": split_address(spec.listen)[1],
        "metrics": split_address(spec.metrics)[1],
    }
    (port,) = read(BASE / "service.yaml")["spec"]["ports"]
    assert port["port"] == ports["nodes"]
    for path in (BASE / "network-policy.yaml", EXAMPLE / "neighbours.yaml"):
        neighbours, monitoring = read(path)["spec"]["ingress"]
        assert [one["port"] for one in neighbours["ports"]] == [ports["nodes"]]
        assert [one["port"] for one in monitoring["ports"]] == [ports["metrics"]]
    blocks = read(EXAMPLE / "neighbours.yaml")["spec"]["egress"][0]["to"]
    others = [one.address for one in federation.nodes if one.name != spec.name]
    assert [one["ipBlock"]["cidr"] for one in blocks] == [
        f"{split_address(address)[0]}/32" for address in others
    ]


def test_probes_ask_the_page_of_the_node(pod, node):
    (container,) = pod["containers"]
    for probe in ("startupProbe", "livenessProbe"):
        words = container[probe]["exec"]["command"]
        assert words == ["dssfn", "node", "status", container["args"][-1]]
    assert split_address(node[0].page)[0] == "127.0.0.1"


def test_wrong_input_ends_the_job_and_nothing_else_does():
    job = read(BASE / "job.yaml")["spec"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    failed, moved = job["podFailurePolicy"]["rules"]
    assert failed["action"] == "FailJob"
    assert failed["onExitCodes"]["values"] == [WRONG_INPUT]
    assert moved["action"] == "Ignore"


def test_the_pod_is_restricted(pod):
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    (user,) = re.findall(r"^USER (\d+):\d+$", dockerfile, re.M)
    given = pod["securityContext"]
    assert given["runAsUser"] == given["runAsGroup"] == given["fsGroup"] == int(user)
    assert given["runAsNonRoot"] is True
    assert given["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_selectors_find_the_pod():
    template = read(BASE / "job.yaml")["spec"]["template"]
    service = read(BASE / "service.yaml")["spec"]["selector"]
    policy = read(BASE / "network-policy.yaml")["spec"]["podSelector"]["matchLabels"]
    assert template["metadata"]["labels"] == service == policy
