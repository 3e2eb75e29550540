from __future__ import annotations

import joblib
import pytest

from dssfn.cores import _quota, n_cores


def test_as_many_cores_as_joblib_counts(monkeypatch):
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert n_cores() == joblib.cpu_count()


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 2),
        ("50000 100000\n", 1),
        ("400000 100000\n", 4),
    ],
)
def test_a_control_group_limits_the_cores(tmp_path, text, cores):
    (tmp_path / "cpu.max").write_text(text)
    assert _quota(tmp_path) == cores


@pytest.mark.parametrize(("quota", "cores"), [("-1", None), ("250000", 3)])
def test_a_control_group_of_the_first_version_does_so_too(tmp_path, quota, cores):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert _quota(tmp_path) == cores


def test_a_system_without_control_groups_sets_no_limit(tmp_path):
    assert _quota(tmp_path) is None
