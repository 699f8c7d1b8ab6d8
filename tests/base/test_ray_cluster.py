"""Tasks on a real Ray cluster of this machine; skipped where Ray is not installed."""

import os
import signal

import pytest

from realloc.base.errors import LogError, UnfinishedError
from realloc.base.ray_cluster import RayEngine, ray_cluster
from realloc.base.tasks import LocalEngine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two processors that this process is connected to."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra `ray`)")
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    yield ray
    ray.shutdown()


def scaled(shared, task, progress):
    return shared * task


def failing(shared, task, progress):
    if task == 3:
        raise LogError("Expected another task.")
    return task


def killed_once(shared, task, progress):
    """The first attempt at a task ends its worker."""
    marker = os.path.join(shared, str(task))
    if not os.path.exists(marker):
        with open(marker, "w") as file:
            file.write("begun")
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_results_are_those_of_this_machine_in_the_order_of_the_tasks(cluster):
    seen = []
    tasks = list(range(12))
    found = RayEngine().map(scaled, 0.1, tasks, lambda *told: seen.append(told))
    assert found == LocalEngine().map(scaled, 0.1, tasks)
    assert seen == [("tasks", n + 1, 12) for n in range(12)]


def test_an_error_in_a_task_is_raised_as_it_was(cluster):
    with pytest.raises(LogError, match="Expected another task"):
        RayEngine().map(failing, None, list(range(5)))


def test_a_task_whose_worker_is_killed_runs_again(cluster, tmp_path):
    assert RayEngine().map(killed_once, str(tmp_path), [0, 1, 2]) == [0, 1, 2]
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2"]


def test_no_cluster_at_the_address_is_said(monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra `ray`)")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def nobody(**asked):
        raise ConnectionError

    monkeypatch.setattr(ray, "init", nobody)
    with (
        pytest.raises(UnfinishedError, match="No Ray cluster answers at '10.0.0.1:6379'"),
        ray_cluster("10.0.0.1:6379"),
    ):
        pass
