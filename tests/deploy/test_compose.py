"""deploy/compose.yaml: what it says is valid, safe, and really trains one model."""

from __future__ import annotations

import hashlib
import json
import re
import time

import pytest

from tests.support.compose import DEPLOY, PATIENCE, Services
from tests.support.data_sets import REAL
from tests.support.lab import free_port

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
FILE = DEPLOY / "compose.yaml"


@pytest.fixture
def compose():
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_it_follows_the_schema_of_compose_files():
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema")
    from check_jsonschema import main

    with pytest.raises(SystemExit) as ended:
        main(["--builtin-schema", "vendor.compose-spec", str(FILE)])
    assert ended.value.code == 0


def test_every_container_can_do_little(compose):
    assert set(compose["services"]) == {"prepare", *HOSPITALS, "models"}
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        assert "ports" not in service
    assert compose["networks"]["between-hospitals"] == {"internal": True}


def test_a_hospital_sees_its_own_folder_only_and_writes_to_out_only(compose):
    for name in HOSPITALS:
        assert compose["services"][name]["networks"] == ["between-hospitals"]
        for mount in compose["services"][name]["volumes"]:
            place = mount["volume"]["subpath"].split("/")
            assert place[:2] == ["federation", name]
            assert mount.get("read_only", False) is not (place[2:] == ["out"])


@pytest.mark.grpc
@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_its_commands_train_one_model_at_four_hospitals(compose, tmp_path):
    services = Services(compose, tmp_path, DSSFN_DATA_DIR=str(REAL))
    _use_one_machine(compose)
    code, _, err = services.run("prepare")
    assert code == 0, err
    assert "there already" in services.run("prepare")[1]
    for name in HOSPITALS:
        _use_ports_of_its_own(services.folder(name) / "node.toml")
    check = compose["services"]["va"]["healthcheck"]["test"][1:]
    assert services.run("va", check)[0] == 1

    running = {name: services.start(name) for name in HOSPITALS[1:]}
    try:
        _wait_until(lambda: services.run("va", check)[0] == 0)
        running[HOSPITALS[0]] = services.start(HOSPITALS[0])
        for name, process in running.items():
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            _check_lines(name, err.splitlines())
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    models = [services.folder(name) / "out/model.safetensors" for name in HOSPITALS]
    digests = {hashlib.sha256(model.read_bytes()).hexdigest() for model in models}
    assert len(digests) == 1
    code, out, _ = services.run("models")
    assert (code, [line.split()[0] for line in out.splitlines()]) == (0, [*digests] * 4)
    for name in HOSPITALS:
        log = services.folder(name, "/node/out") / "node.log"
        _check_lines(name, log.read_text(encoding="utf-8").splitlines())


def _use_one_machine(compose):
    """Let hospitals have ports in place of names in the network of the containers."""
    given = compose["services"]["prepare"]["environment"]
    for name in HOSPITALS:
        host, here = f"={name}:7400", f"=127.0.0.1:{free_port()}"
        assert given["ADDRESSES"].count(host) == 1
        given["ADDRESSES"] = given["ADDRESSES"].replace(host, here)


def _use_ports_of_its_own(file):
    text = file.read_text(encoding="utf-8")
    for setting, host in (("page", "127.0.0.1"), ("metrics", "0.0.0.0")):
        line = f'{setting} = "127.0.0.1:{free_port()}"'
        text, n = re.subn(rf'^{setting} = "{host}:\d+"', line, text, flags=re.M)
        assert n == 1
    file.write_text(text, encoding="utf-8")


def _wait_until(is_so):
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)


def _check_lines(name, lines):
    said = [json.loads(line) for line in lines]
    assert {one["node"] for one in said} == {name}
    assert said[0]["plan"] in said[0]["message"]
    assert any(one["message"].startswith("layer 0 ") and "cost" in one for one in said)
    assert {one["peer"] for one in said if "peer" in one} <= set(HOSPITALS) - {name}
    assert any("sha256" in one for one in said)
