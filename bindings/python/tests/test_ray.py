"""Many texts on a Ray cluster: two workers of this machine."""

import json
import os
from pathlib import Path

import pytest
from conftest import CODEC, SHORT, assert_wav, talker

import libqwen

ray = pytest.importorskip("ray", reason="ray is not installed; scripts/python-test.sh installs it for these tests")

import libqwen.ray as cluster  # noqa: E402

DEFAULTS = {"speaker": "vivian", **SHORT}


@pytest.fixture(scope="module", autouse=True)
def local_cluster():
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    yield
    ray.shutdown()


def run(items, out, **options):
    return cluster.synthesize(
        items, out, talker=talker("customvoice"), codec=CODEC,
        **{"workers": 2, "threads": 1, "max_batch": 2, "shard_size": 3, **DEFAULTS, **options},
    )  # fmt: skip


def test_items_of_a_file(tmp_path, expected):
    rows = [{"id": f"i{i}", "text": "Hello world."} for i in range(8)]
    rows.insert(3, {"id": "wrong", "text": "x", "speaker": "nobody"})
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\nbroken\n")
    report = run(path, tmp_path / "out")
    assert [r["id"] for r in report.results] == [*(row["id"] for row in rows), None]
    assert [r["id"] for r in report.failed] == ["wrong", None]
    assert len(report.spoken) == 8
    for r in report.spoken:
        assert_wav(tmp_path / "out" / r["audio"], expected)
    assert [json.loads(line) for line in report.manifest.read_text().splitlines()] == report.results

    again = run(path, tmp_path / "out")
    assert [len(again.spoken), len(again.failed)] == [0, 2]


def test_a_dataset(tmp_path):
    pytest.importorskip("ray.data", reason="ray[data] is not installed")
    rows = [{"id": f"i{i}", "text": "Hi.", "seed": i if i % 2 else None} for i in range(4)]
    report = run(ray.data.from_items(rows), tmp_path)
    assert [r["seed"] for r in report.spoken] == [42, 1, 42, 3]


def test_workers_that_fail(tmp_path):
    """A worker that dies is replaced, what it had done is kept, and an item that kills each worker is given up."""

    class Mortal(cluster.Worker):
        def speak(self, shard):
            died = Path(self._folder) / "died"
            for i, item in enumerate(shard):
                if item.id == "deadly" or (item.id == "once" and not died.exists()):
                    super().speak(shard[:i])
                    if item.id == "once":
                        died.touch()
                    os._exit(1)
            return super().speak(shard)

    rows = [{"id": name, "text": "Hi."} for name in ("a", "once", "b", "c", "deadly", "d")]
    report = run(rows, tmp_path, worker=Mortal, retries=1)
    assert [r["id"] for r in report.results] == [row["id"] for row in rows]
    assert [r["id"] for r in report.failed] == ["deadly"]
    assert "the worker failed: " in report.failed[0]["error"]["message"]
    assert {r["id"] for r in report.results if "done_before" in r} == {"a", "c"}
    assert json.loads((tmp_path / "deadly.json").read_text())["ok"] is False


def test_what_makes_all_fail_is_raised(tmp_path):
    with pytest.raises(libqwen.QwenError, match="none"):
        run([{"id": "a", "text": "x"}], tmp_path, workers=1, tts_options={"predictor_path": tmp_path / "none"})
    with pytest.raises(libqwen.InvalidParams, match="workers: 0"):
        run([], tmp_path, workers=0)
    with pytest.raises(libqwen.InvalidParams, match="unknown field 'loud'"):
        run([], tmp_path, loud=True)
    assert run([], tmp_path, workers=1).results == []
