#!/usr/bin/env python3
"""Measures libraries with the qt_* C ABI side by side, on Linux.

  bench.py --lib ours=build/libqwen.so --lib peer=.bench/peer/qwentts_cpp_cpu/lib/libqwen.so \\
      --model .bench/qwen-talker-0.6b-customvoice-Q8_0.gguf --codec .bench/qwen-tokenizer-12hz-Q8_0.gguf

Every run is a process of its own that loads the model, speaks a few frames to warm up, and then the measured ones.
Runs are interleaved, A B then B A, so that whatever else the machine does hurts all alike. The table gives the best of
--reps: noise only ever adds. xRT is audio seconds per wall second: at 1.0 a frame takes its 80 ms.

Threads: a library is told by QWEN_THREADS, GOMAXPROCS and OMP_NUM_THREADS, and, where it only asks how many CPUs there
are and takes half, by a preloaded shim that answers twice the number.

--norm takes CPU time divided by threads for wall time everywhere. With --threads 1 it hardly depends on what else the
machine does; with more, threads that spin at barriers count as busy.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
HOP, RATE = 1920, 24000
TEXT = ("The quick brown fox jumps over the lazy dog near the river bank, while seven wizards quietly mix the potion "
        "that nobody asked for.")

# The libraries' log lines: total, and for the loops the time per frame.
STAGES = {
    "prefill": re.compile(r"\[Perf\] Prefill ([\d.]+) ms"),
    "talker": re.compile(r"\[Perf\] TalkerDecode [\d.]+ ms \(\d+ frames, ([\d.]+) ms/frame\)"),
    "predictor": re.compile(r"\[Perf\] CodePredictor [\d.]+ ms \((?:\d+ frames, )?([\d.]+) ms/frame"),
    "codec": re.compile(r"\[Perf\] CodecDecode ([\d.]+) ms"),
}
COLUMNS = ("library", "model", "threads", "mode", "load s", "prefill ms", "talker ms/f", "predictor ms/f", "codec ms/f",
           "first audio ms", "wall s", "CPU s", "xRT", "peak MiB", "of it anon")


@dataclass
class Case:
    """One row of the table: a library, a model, a number of threads, buffered or streaming."""

    name: str
    lib: str
    model: str
    threads: int
    stream: bool
    runs: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    @property
    def mode(self):
        return "streaming" if self.stream else "buffered"

    def environment(self, args):
        n = str(self.threads)
        env = dict(os.environ, QWEN_THREADS=n, GOMAXPROCS=n, OMP_NUM_THREADS=n, BENCH_CPUS=str(2 * self.threads))
        if os.path.exists(args.shim):
            env["LD_PRELOAD"] = os.path.abspath(args.shim)
        for name, key, value in args.env:
            if name == self.name:
                env[key] = value
        return env

    def run(self, args):
        os.makedirs(args.logs, exist_ok=True)
        model = os.path.splitext(os.path.basename(self.model))[0]
        log = os.path.join(args.logs, f"{self.name}-{model}-t{self.threads}-{self.mode}-{len(self.runs)}.log")
        job = {"lib": os.path.abspath(self.lib), "model": self.model, "codec": args.codec, "threads": self.threads,
               "init": "cpu" if self.name in args.init_cpu else "std", "text": args.text, "frames": args.frames,
               "seed": args.seed, "stream": self.stream, "warmup": args.warmup, "log": log}
        done = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"), json.dumps(job)],
                              env=self.environment(args), stdout=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        result = json.loads(lines[-1]) if lines else {"error": f"exit status {done.returncode}, see {log}"}
        if "error" in result:
            self.errors.append(result["error"])
            print(f"bench: {self.name} {self.mode}: {result['error']}", file=sys.stderr)
        else:
            self.runs.append(result | stages(result))

    def row(self, norm):
        def best(value):
            values = [value(r) for r in self.runs]
            values = [v for v in values if v is not None]
            return min(values) if values else None

        def stage(name, per=1.0):
            return best(lambda r: r[name] * slowdown(self, r, norm) / per if name in r else None)

        frames = self.runs[0]["samples"] / HOP
        wall = best(lambda r: r["wall"] * slowdown(self, r, norm))
        first = best(lambda r: first_audio(self, r, norm))
        model = os.path.basename(self.model).removeprefix("qwen-talker-").removesuffix(".gguf")
        return (self.name, model, str(self.threads), self.mode, show(best(lambda r: r["load"][1 if norm else 0]), 2),
                show(stage("prefill"), 0), show(stage("talker"), 1), show(stage("predictor"), 1),
                show(stage("codec", frames), 1), show(first, 0), show(wall, 2), show(best(lambda r: r["cpu"]), 2),
                show(frames * HOP / RATE / wall, 3), show(max(r["peak_mib"] for r in self.runs), 0),
                show(max(r["anon_mib"] for r in self.runs), 0))


def stages(result):
    found = {}
    for name, pattern in STAGES.items():
        for line in result["perf"]:
            if m := pattern.search(line):
                found[name] = float(m.group(1))
    return found


def slowdown(case, run, norm):
    """What wall times are multiplied by: 1, or under --norm the share of them that the CPU worked."""
    return run["cpu"] / run["wall"] / case.threads if norm else 1.0


def first_audio(case, run, norm):
    """Milliseconds to the first chunk, None for a buffered run."""
    if "first" not in run:
        return None
    wall, cpu = run["first"]
    return 1000 * (cpu / case.threads if norm else wall)


def show(v, digits):
    return "–" if v is None else f"{v:.{digits}f}"


def arguments():
    def pair(s):
        name, sep, path = s.partition("=")
        if not (name and sep and path):
            raise argparse.ArgumentTypeError("want NAME=PATH")
        return name, path

    def setting(s):
        m = re.fullmatch(r"([^:]+):([^=]+)=(.*)", s)
        if not m:
            raise argparse.ArgumentTypeError("want NAME:KEY=VALUE")
        return m.groups()

    def integers(s):
        return [int(x) for x in s.split(",")]

    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--lib", action="append", required=True, type=pair, metavar="NAME=PATH", help="repeat to compare")
    ap.add_argument("--model", action="append", required=True, help="Talker GGUF; may be repeated")
    ap.add_argument("--codec", required=True, help="speech tokenizer GGUF")
    ap.add_argument("--threads", type=integers, default=[2], help="one number or more, by commas (default 2)")
    ap.add_argument("--frames", type=int, default=100)
    ap.add_argument("--warmup", type=int, default=3, help="frames spoken before the measured ones (default 3)")
    ap.add_argument("--reps", type=int, default=3)
    ap.add_argument("--mode", choices=("both", "buffered", "streaming"), default="both")
    ap.add_argument("--text", default=TEXT)
    ap.add_argument("--seed", type=int, default=42)
    ap.add_argument("--env", action="append", default=[], type=setting, metavar="NAME:KEY=VALUE",
                    help="environment of one library")
    ap.add_argument("--init-cpu", action="append", default=[], metavar="NAME",
                    help="this library is given its threads by qt_init_cpu")
    ap.add_argument("--norm", action="store_true", help="CPU time divided by threads, for busy machines")
    ap.add_argument("--shim", default=".bench/hwc_shim.so")
    ap.add_argument("--logs", default=".bench/logs")
    ap.add_argument("--json", help="write every run to this file")
    return ap.parse_args()


def cpu_model():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown CPU")


def check(args):
    """Stops where a file is missing, and warns of what would spoil the figures."""
    for path in [p for _, p in args.lib] + args.model + [args.codec]:
        if not os.path.isfile(path):
            sys.exit(f"bench: no file {path}")
    if not os.path.exists(args.shim):
        print(f"bench: no {args.shim}: libraries without a thread option take what they like", file=sys.stderr)
    if os.getloadavg()[0] > 0.3 and not args.norm:
        print(f"bench: load average {os.getloadavg()[0]:.1f}: wait, or measure CPU time with --threads 1 --norm",
              file=sys.stderr)


def measure(args):
    """Runs all cases, those of a model and a number of threads interleaved; returns them in the table's order."""
    cases = []
    for model in args.model:
        for threads in args.threads:
            streams = {"both": (False, True), "buffered": (False,), "streaming": (True,)}[args.mode]
            groups = [[Case(name, lib, model, threads, s) for name, lib in args.lib] for s in streams]
            for rep in range(args.reps):
                for group in groups:
                    for case in group if rep % 2 == 0 else reversed(group):
                        if not case.errors:
                            case.run(args)
            cases += [case for group in groups for case in group]
    return cases


def report(cases, args, load):
    norm = ", CPU time / threads in place of wall time" if args.norm else ""
    print(f"{cpu_model()}, {os.cpu_count()} CPUs, load average before {load:.1f}; "
          f"{args.frames} frames, best of {args.reps}{norm}\n")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for case in cases:
        if case.runs:
            print("| " + " | ".join(case.row(args.norm)) + " |")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"cpu": cpu_model(), "cpus": os.cpu_count(), "load": load, "time": time.time(),
                       "args": vars(args), "cases": [vars(c) for c in cases]}, f, indent=1)


def main():
    args = arguments()
    check(args)
    load = os.getloadavg()[0]
    cases = measure(args)
    report(cases, args, load)
    return 1 if any(c.errors for c in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
