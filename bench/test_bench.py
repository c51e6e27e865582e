"""Tests of what the benchmark computes; `python3 -m unittest` in this directory, or bench/run.sh test."""

import contextlib
import io
import os
import struct
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom

import bench
import bounds
import plot
import report
import results
import shapes
import throughput

OURS = ["[Perf] Prefill 149.3 ms (37 positions)", "[Perf] TalkerDecode 111.0 ms (3 frames, 37.0 ms/frame)",
        "[Perf] CodePredictor 381.8 ms (3 frames, 127.3 ms/frame)",
        "[Perf] CodecDecode 209.3 ms (3 frames, 69.8 ms/frame)",
        "[Perf] FirstAudio 855.3 ms", "[Perf] Total 855.4 ms, finish length, seed 42"]
PEER = ["[Perf] PromptBuild 3.4 ms", "[Perf] Prefill 10713.0 ms (T_ctx prefill)",
        "[Perf] TalkerDecode 2790.2 ms (3 frames, 930.07 ms/frame)",
        "[Perf] CodePredictor 6194.6 ms (2064.86 ms/frame)",
        "[Perf] HostCompose 0.1 ms (c0 sample + next emb)", "[Perf] CodecDecode 3937.2 ms",
        "[Perf] Total 23645.3 ms (3 frames, 2994.97 ms/frame AR, audio 0.24 s, RTF 98.522)"]
MEMBW = """read    1 MiB, 2 threads:  300.5 GB/s
read   88 MiB, 2 threads:   42.0 GB/s
read  512 MiB, 2 threads:   34.0 GB/s
F32 multiply-add: 500 GFLOP/s
int8 dot product: 2000 GOP/s
"""


def result(**changes):
    r = {"version": "v", "load": [0.5, 0.4], "wall": 0.48, "cpu": 0.72, "samples": 3 * results.HOP, "peak_mib": 900.0,
         "anon_mib": 100.0, "perf": OURS, "first": [0.2, 0.3], "firsts": [[0.8, 0.9], [0.2, 0.3]]}
    return r | changes


class Logs(unittest.TestCase):
    def test_both_forms_of_the_lines(self):
        self.assertEqual(results.stages(OURS), {"prefill": 149.3, "talker": 37.0, "predictor": 127.3, "codec": 209.3,
                                                "positions": 37})
        self.assertEqual(results.stages(PEER), {"prefill": 10713.0, "talker": 930.07, "predictor": 2064.86,
                                                "codec": 3937.2})

    def test_the_last_of_several_lines_counts(self):
        self.assertEqual(results.stages(["[Perf] Prefill 1.0 ms", "[Perf] Prefill 2.5 ms"]), {"prefill": 2.5})

    def test_other_lines_say_nothing(self):
        self.assertEqual(results.stages(["[Perf] Load 922.0 ms", "[Perf] Prefill x ms", ""]), {})


class Metrics(unittest.TestCase):
    def test_wall_times(self):
        m = results.metrics(result(), 2)
        self.assertAlmostEqual(m["frame"], 160)
        self.assertAlmostEqual(m["xrt"], 0.5)
        self.assertAlmostEqual(m["lm"], 164.3)
        self.assertAlmostEqual(m["codec"], 69.767)
        self.assertAlmostEqual(m["cpu"], 240)
        self.assertAlmostEqual(m["first"], 200)
        self.assertAlmostEqual(m["first_request"], 800)
        self.assertEqual((m["load"], m["peak"], m["anon"], m["positions"]), (0.5, 900, 100, 37))

    def test_cpu_time_in_place_of_wall_time(self):
        m = results.metrics(result(), 2, norm=True)  # the CPU worked for 3/4 of the wall time on two threads
        self.assertAlmostEqual(m["frame"], 120)
        self.assertAlmostEqual(m["talker"], 27.75)
        self.assertAlmostEqual(m["first"], 150)
        self.assertAlmostEqual(m["load"], 0.2)
        self.assertEqual(m["positions"], 37)

    def test_buffered_and_silent_logs(self):
        r = result(perf=[])
        del r["first"], r["firsts"]
        self.assertEqual(results.metrics(r, 1).keys(), {"load", "frame", "xrt", "cpu", "peak", "anon"})


class Ratios(unittest.TestCase):
    def test_pairs_are_compared_before_the_median(self):
        ours, peer = [{"frame": 10}, {"frame": 40}, {"frame": 12}], [{"frame": 20}, {"frame": 100}, {"frame": 20}]
        self.assertEqual(results.ratio(ours, peer, "frame"), {"median": 0.5, "min": 0.4, "max": 0.6})

    def test_failed_runs_take_their_pair_along(self):
        ours, peer = [{"frame": 10}, None, {"frame": 12}], [{"frame": 20}, {"frame": 1}, None]
        self.assertEqual(results.ratios(ours, peer), {"frame": {"median": 0.5, "min": 0.5, "max": 0.5}})
        self.assertIsNone(results.ratio([None], [None], "frame"))

    def test_summary(self):
        s = results.summary([{"frame": 3}, None, {"frame": 1, "first": 7}])
        self.assertEqual(s, {"frame": {"median": 2, "min": 1, "max": 3}, "first": {"median": 7, "min": 7, "max": 7}})
        self.assertEqual(results.summary([None]), {})

    def test_order_alternates(self):
        self.assertEqual([bench.alternate(["a", "b"], t) for t in range(3)], [["a", "b"], ["b", "a"], ["a", "b"]])


class Bounds(unittest.TestCase):
    def test_membw(self):
        m = bounds.parse_membw(MEMBW)
        self.assertEqual(m, {"read": {1: 300.5, 88: 42, 512: 34}, "f32": 500, "int8": 2000})
        self.assertEqual(bounds.best({2: m}, {2: m | {"read": {1: 1, 88: 43, 512: 34}, "f32": 501}}),
                         {2: {"read": {1: 300.5, 88: 43, 512: 34}, "f32": 501, "int8": 2000}})
        self.assertEqual([bounds.read_rate(m, n) for n in (100, 84e6, 471e6, 9e9)], [300.5, 42, 34, 34])

    def test_work_of_the_codec(self):
        self.assertAlmostEqual(sum(bounds.codec_macs().values()) / 1e9, 2.48, places=2)

    def test_bounds_of_a_frame(self):
        work = {"talker": (340e6, 320e6), "predictor": (84e6, 79e6), "heads": (34e6, 32e6)}
        b = bounds.frame_bounds(work, bounds.parse_membw(MEMBW), 50)
        self.assertAlmostEqual(b["talker"], 10)
        self.assertAlmostEqual(b["predictor"], 31)
        self.assertAlmostEqual(b["lm"], 41)
        self.assertAlmostEqual(b["codec"], 2 * 2.48 / 500 * 1000, delta=0.02)
        self.assertAlmostEqual(b["prefill"], 16)  # 2 · 320e6 · 50 operations at 2000 GOP/s
        self.assertAlmostEqual(b["first"], b["prefill"] + b["predictor"] + b["codec"])
        self.assertAlmostEqual(b["xrt"], 80 / (b["lm"] + b["codec"]))
        self.assertNotIn("codec_bf16", b)
        self.assertEqual(bounds.frame_bounds(work, {"read": {}}), {})

    def test_bytes_of_a_file(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "m.gguf")
            with open(path, "wb") as f:
                f.write(tiny_gguf())
            tensors = bounds.gguf_tensors(path)
            self.assertEqual(tensors, [("talker.blk.0.attn_q.weight", [32, 2], 96), ("talker.blk.0.norm", [32], 128)])
            self.assertEqual(bounds.weights(tensors)["talker"], (96, 64))
            with open(path, "wb") as f:
                f.write(b"no model")
            with self.assertRaisesRegex(ValueError, "not a GGUF file"):
                bounds.gguf_tensors(path)

    def test_read_bytes_agree_with_the_shapes(self):
        tensors = [t for t in shapes.talker_tensors("0.6b", "customvoice") if len(t.shape) > 1]
        listed = [(t.name, list(reversed(t.shape)), shapes.tensor_bytes(t, "Q8_0")) for t in tensors]
        work = bounds.weights(listed)
        self.assertEqual([round(work[g][0] / 1e6) for g in ("talker", "predictor", "heads")], [471, 84, 33])


def tiny_gguf():
    """Two tensors, and metadata of every shape: a number, a string, arrays of both."""
    def string(s):
        return struct.pack("<Q", len(s)) + s.encode()

    keys = [string("a") + struct.pack("<II", 4, 7), string("b") + struct.pack("<I", 8) + string("hello"),
            string("c") + struct.pack("<IIQ3i", 9, 5, 3, 1, 2, 3),
            string("d") + struct.pack("<IIQ", 9, 8, 2) + string("x") + string("yy")]
    infos = [string("talker.blk.0.attn_q.weight") + struct.pack("<IQQIQ", 2, 32, 2, 8, 0),
             string("talker.blk.0.norm") + struct.pack("<IQIQ", 1, 32, 0, 96)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys)) + b"".join(keys + infos)
    return head + bytes(-len(head) % 32) + bytes(96 + 128)


def sample():
    """Results as bench.py writes them: two libraries, one model, both modes."""
    ours = [results.metrics(result(), 2), results.metrics(result(wall=0.6), 2)]
    peer = [results.metrics(result(wall=1.2, perf=PEER), 2), None]
    runs = [bench.Case(name, "lib", "qwen-talker-m.gguf", 2, "buffered", runs=r)
            for name, r in (("ours", ours), ("peer", peer))]
    entry = bench.compare_entry("qwen-talker-m.gguf", 2, {"buffered": runs, "streaming": runs}, None, {})
    machine = bounds.parse_membw(MEMBW)
    entry["bounds"] = bounds.frame_bounds({"talker": (340e6, 320e6), "predictor": (84e6, 79e6), "heads": (34e6, 32e6)},
                                          machine, 50)
    slow = {"quiet": results.summary(ours), "busy": {}, "error": "not done after 9 s", "slowdown": None}
    return {
        "about": {"cpu": "A <CPU>", "cpus": 2, "load": 0.1, "date": "2026-11-30", "frames": 3, "reps": 2, "norm": False,
                  "versions": {"ours": "1", "peer": "2"}},
        "machine": {"2": machine}, "compare": [entry],
        "busy": {"model": "m", "threads": 2, "processes": 2, "frames": 10, "libraries": {"peer": slow}},
        "first_audio": {"threads": 2, "rows": [
            {"what": "streamed", "libraries": {"ours": results.spread([50.0]), "peer": results.spread([200.0])},
             "ratios": {"peer": results.spread([0.25])}}]},
    }


class Reports(unittest.TestCase):
    def test_tables(self):
        text = report.markdown(sample())
        self.assertIn("| whole, ms/frame | 180.0 | 400.0 | 0.40 | 180.0 | 400.0 | 0.40 |", text)
        self.assertIn("| prefill, ms | 149 | 10713 | 0.01 |", text)
        self.assertIn("| talker + predictor, ms/frame | bytes / bandwidth | 41.0 | 4.0× | 73.0× |", text)
        self.assertIn("| peer | 180 (160–200) | not done after 9 s | – |", text)
        self.assertIn("| streamed | 50 | 200 | 0.25 |", text)
        self.assertIn("| reading 88 MiB, GB/s | 42.0 |", text)

    def test_tables_have_as_many_cells_in_every_row(self):
        for block in report.markdown(sample()).split("\n\n"):
            if block.startswith("|"):
                self.assertEqual(len({line.count("|") for line in block.splitlines()}), 1, block)

    def test_plot_is_well_formed_and_in_its_frame(self):
        text = plot.svg(sample())
        root = xml.dom.minidom.parseString(text).documentElement
        width = float(root.getAttribute("width"))
        bars = root.getElementsByTagName("rect")[1:]
        self.assertEqual(len(bars), 2 + 2 * len(plot.STAGES))  # a legend of two, and a bar a stage and library
        self.assertTrue(all(float(b.getAttribute("x")) + float(b.getAttribute("width")) <= width for b in bars))
        self.assertIn("real time, 80 ms", text)

    def test_axis_has_few_round_ticks(self):
        self.assertEqual([plot.nice_step(n) for n in (8, 9, 96, 130, 450, 4500)], [1, 2, 20, 20, 100, 1000])


class Throughput(unittest.TestCase):
    def data(self):
        """Ours speaks at twice the speed with two callers, the peer fails then."""
        args = throughput.arguments(["--lib", "ours=a", "--lib", "peer=b", "--model", "qwen-talker-m.gguf", "--codec", "c",
                                     "--callers", "1,2", "--reps", "1", "--frames", "3"])
        walls = {("ours", "serial"): 0.4, ("ours", "1"): 0.4, ("ours", "2"): 0.4, ("peer", "serial"): 0.8,
                 ("peer", "1"): 0.8}

        def process(case, _):
            row = case.what.removeprefix("callers-")
            if (case.name, row) not in walls:
                return {"error": "exit status -11"}
            n = case.job["concurrent"]
            return {"version": "v", "load": [0.5, 0.4], "wall": walls[case.name, row], "cpu": 0.5, "perf": [],
                    "samples": 3 * n * results.HOP, "peak_mib": 900.0, "anon_mib": 100.0, "longest_gap": 0.1,
                    "first_audio": [0.2 + i for i in range(n)]}

        with (unittest.mock.patch.object(throughput.Callers, "process", process),
              contextlib.redirect_stderr(io.StringIO())):
            return throughput.measure(args)

    def test_jobs(self):
        _, cases = self.data()
        self.assertEqual([(c.job["concurrent"], c.job["max_batch"]) for c in cases], 2 * [(1, 1)] + 2 * [(1, 2)] + 2 * [(2, 2)])

    def test_table(self):
        data, _ = self.data()
        text = throughput.markdown(data)
        self.assertIn("| serial | 0.60 | 0.30 | 2.00 | 1.00 | 1.00 | 200 / 200 | 200 / 200 | 900 | 900 |", text)
        self.assertIn("| 2 | 1.20 | exit status -11 | – | 2.00 | – | 200 / 1200 | – / – | 900 | – |", text)
        table = text.split("\n\n")[-1].splitlines()
        self.assertEqual(len({line.count("|") for line in table}), 1)

    def test_plot_is_well_formed_and_in_its_frame(self):
        data, _ = self.data()
        root = xml.dom.minidom.parseString(throughput.svg(data)).documentElement
        bars = root.getElementsByTagName("rect")[1:]
        self.assertEqual(len(bars), 2 + 5)
        width = float(root.getAttribute("width"))
        self.assertTrue(all(float(b.getAttribute("x")) + float(b.getAttribute("width")) <= width for b in bars))

    def test_percentiles(self):
        self.assertEqual(throughput.percentile(range(1, 101), 99), 99)
        self.assertEqual(throughput.percentile([3, 1, 2], 50), 2)
        self.assertEqual(throughput.percentile([3], 99), 3)
        self.assertIsNone(throughput.percentile([], 50))


class BusyProcesses(unittest.TestCase):
    def test_end_with_the_block(self):
        with bench.Busy(2, 600) as b:
            self.assertEqual([p.poll() for p in b.processes], [None, None])
        self.assertTrue(all(p.poll() is not None for p in b.processes))

    def test_end_by_themselves(self):
        with bench.Busy(1, 0) as b:
            self.assertEqual(b.processes[0].wait(timeout=600), 0)

    def test_a_slow_run_is_ended(self):
        case = bench.Case("x", "lib", "m", 1, "slow")
        with tempfile.TemporaryDirectory() as d:
            args = unittest.mock.Mock(logs=d, shim="/none", env=[], init_cpu=[], timeout=0, frames=1, seed=1, warmup=0,
                                      text="", codec="")
            case.run(args)
        self.assertEqual((case.runs, case.error, case.timed_out), ([None], "not done after 0 s", True))


if __name__ == "__main__":
    unittest.main()
