#!/usr/bin/env python3
"""Measures libraries with the qt_* C ABI side by side, on Linux.

  bench.py --lib ours=build/libqwen.so --lib peer=.bench/peer/qwentts_cpp_cpu/lib/libqwen.so \\
      --model .bench/qwen-talker-0.6b-customvoice-Q8_0.gguf --codec .bench/qwen-tokenizer-12hz-Q8_0.gguf

Every run is a process of its own that loads the model, speaks a few frames to warm up, and then the measured ones.
Runs are interleaved, A B then B A, so that whatever else the machine does hurts all alike. The tables give medians over
--reps, and medians and ranges of the ratios first library : other within the pairs. xRT is audio seconds per wall
second: at 1.0 a frame takes its 80 ms.

Writes NAME.md, NAME.json and NAME.svg into --out, and the tables to stdout.

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

import bounds
import plot
import report
import results

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = ("The quick brown fox jumps over the lazy dog near the river bank, while seven wizards quietly mix the potion "
        "that nobody asked for.")


@dataclass
class Case:
    """A library and what it is asked; its runs, one a repetition, None where it failed."""

    name: str
    lib: str
    model: str
    threads: int
    what: str  # for the log's name and the progress line: buffered, streaming, busy ...
    job: dict = field(default_factory=dict)  # what differs from the usual job
    runs: list = field(default_factory=list)
    error: str = ""
    timed_out: bool = False
    version: str = ""

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
        """One run in a process of its own, unless one failed before."""
        result = None if self.error else self.process(args)
        if result and "error" in result:
            self.error, result = result["error"], None
            print(f"bench: {self.name} {self.what}: {self.error}", file=sys.stderr)
        if not result:
            self.runs.append(None)
            return
        self.version = result["version"]
        m = self.figures(result, args)
        self.runs.append(m)
        print(f"bench: {short_name(self.model)} {self.name} {self.what} {len(self.runs)}: {m['frame']:.0f} ms/frame, "
              f"xRT {m['xrt']:.2f}", file=sys.stderr)

    def figures(self, result, args):
        """What is kept of a run."""
        return results.metrics(result, self.threads, args.norm)

    def process(self, args):
        os.makedirs(args.logs, exist_ok=True)
        log = os.path.join(args.logs, f"{self.name}-{short_name(self.model)}-t{self.threads}-{self.what}-"
                                      f"{len(self.runs)}.log")
        job = {"lib": os.path.abspath(self.lib), "model": self.model, "codec": args.codec, "threads": self.threads,
               "init": "cpu" if self.name in args.init_cpu else "std", "text": args.text, "frames": args.frames,
               "seed": args.seed, "stream": False, "warmup": args.warmup, "log": log} | self.job
        try:
            done = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"), json.dumps(job)], check=False,
                                  env=self.environment(args), stdout=subprocess.PIPE, text=True, timeout=args.timeout)
        except subprocess.TimeoutExpired:
            self.timed_out = True
            return {"error": f"not done after {args.timeout:.0f} s"}
        lines = done.stdout.splitlines()
        return json.loads(lines[-1]) if lines else {"error": f"exit status {done.returncode}, see {log}"}


class Busy:
    """Processes that do nothing but work, for a with statement. They end with it, with this process, or in time."""

    LOOP = ("import os, sys, time\n"
            "parent, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])\n"
            "while time.monotonic() < end and os.getppid() == parent:\n"
            "    for _ in range(1000000): pass\n")

    def __init__(self, n, seconds):
        self.n, self.seconds, self.processes = n, seconds, []

    def __enter__(self):
        command = [sys.executable, "-c", self.LOOP, str(os.getpid()), str(self.seconds)]
        for _ in range(self.n):
            self.processes.append(subprocess.Popen(command))
        return self

    def __exit__(self, *_):
        for p in self.processes:
            p.kill()
        for p in self.processes:
            p.wait()


def short_name(model):
    return os.path.basename(model).removeprefix("qwen-talker-").removesuffix(".gguf")


def alternate(cases, turn):
    """A B, then B A."""
    return cases if turn % 2 == 0 else list(reversed(cases))


def integers(s):
    return [int(x) for x in s.split(",")]


def add_run_options(ap):
    """The options that say which libraries are run, and how."""

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

    ap.add_argument("--lib", action="append", required=True, type=pair, metavar="NAME=PATH", help="repeat to compare")
    ap.add_argument("--codec", required=True, help="speech tokenizer GGUF")
    ap.add_argument("--frames", type=int, default=100)
    ap.add_argument("--warmup", type=int, default=3, help="frames spoken before the measured ones (default 3)")
    ap.add_argument("--reps", type=int, default=5, help="pairs of runs (default 5)")
    ap.add_argument("--text", default=TEXT)
    ap.add_argument("--seed", type=int, default=42)
    ap.add_argument("--env", action="append", default=[], type=setting, metavar="NAME:KEY=VALUE",
                    help="environment of one library")
    ap.add_argument("--init-cpu", action="append", default=[], metavar="NAME",
                    help="this library is given its threads by qt_init_cpu")
    ap.add_argument("--norm", action="store_true", help="CPU time divided by threads, for busy machines")
    ap.add_argument("--shim", default=".bench/hwc_shim.so")
    ap.add_argument("--logs", default=".bench/logs")
    ap.add_argument("--timeout", type=float, default=900, metavar="S", help="of one run (default 900)")
    ap.add_argument("--out", default=".bench/results", help="directory of the results (default .bench/results)")


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_run_options(ap)
    ap.add_argument("--model", action="append", required=True, help="Talker GGUF; may be repeated")
    ap.add_argument("--threads", type=integers, default=[2], help="one number or more, by commas (default 2)")
    ap.add_argument("--mode", choices=("both", "buffered", "streaming"), default="both")
    ap.add_argument("--membw", help="program that measures the machine; without it there are no bounds")
    ap.add_argument("--short", type=int, default=10, metavar="FRAMES", help="frames of the rows below (default 10)")
    ap.add_argument("--busy", type=int, default=0, metavar="N", help="also measure beside N busy processes")
    ap.add_argument("--layouts", action="store_true",
                    help="also the first library's first audio with the text streamed (qt_synthesize_ex)")
    ap.add_argument("--clone", metavar="MODEL", help="also the first audio of a cloned voice, with this base model")
    ap.add_argument("--name", default="compare", help="of the results' files (default compare)")
    args = ap.parse_args()
    for option in ("frames", "short", "reps"):
        if getattr(args, option) < 1:
            ap.error(f"--{option} must be at least 1")
    if min(args.threads) < 1:
        ap.error("--threads must be at least 1")
    if not 0 <= args.busy <= 64:
        ap.error("--busy must be in 0 .. 64")
    if len(dict(args.lib)) < len(args.lib):
        ap.error("two --lib have the same name")
    return args


def cpu_model():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown CPU")


def check(args):
    """Stops where a file is missing, and warns of what would spoil the figures."""
    wanted = [p for _, p in args.lib] + args.model + [args.codec] + [p for p in (args.membw, args.clone) if p]
    for path in wanted:
        if not os.path.isfile(path):
            sys.exit(f"bench: no file {path}")
    if not os.path.exists(args.shim):
        print(f"bench: no {args.shim}: libraries without a thread option take what they like", file=sys.stderr)
    if os.getloadavg()[0] > 0.3 and not args.norm:
        print(f"bench: load average {os.getloadavg()[0]:.1f}: wait, or measure CPU time with --threads 1 --norm",
              file=sys.stderr)


def cases(args, model, threads, what, job):
    """A case for each library."""
    return [Case(name, lib, model, threads, what, dict(job)) for name, lib in args.lib]


def compared(group):
    """The figures of the libraries' cases, and the ratios of the first to the others."""
    first, *others = group
    return {"libraries": {c.name: results.summary(c.runs) for c in group},
            "ratios": {c.name: results.ratios(first.runs, c.runs) for c in others}}


def compare(args, model, threads):
    """All libraries with one model, interleaved; returns the cases by mode."""
    modes = ("buffered", "streaming") if args.mode == "both" else (args.mode,)
    groups = {mode: cases(args, model, threads, mode, {"stream": mode == "streaming"}) for mode in modes}
    for rep in range(args.reps):
        for i, group in enumerate(groups.values()):
            for case in alternate(group, rep + i):
                case.run(args)
    return groups


def compare_entry(model, threads, groups, work, machine):
    positions = [r["positions"] for group in groups.values() for c in group for r in c.runs if r and "positions" in r]
    limits = None
    if machine:
        limits = bounds.frame_bounds(work, machine[threads], positions[0] if positions else None)
    return {"model": short_name(model), "threads": threads, "bounds": limits,
            "modes": {mode: compared(group) for mode, group in groups.items()}}


def busy(args, model, threads):
    """Each library alone and beside the busy processes, in pairs of runs of the same few frames."""
    job = {"frames": args.short, "stream": args.mode != "buffered"}
    quiet, loaded = (cases(args, model, threads, what, job) for what in ("quiet", "busy"))
    for rep in range(args.reps):
        for alone, beside in alternate(list(zip(quiet, loaded, strict=True)), rep):
            alone.run(args)
            with Busy(args.busy, args.timeout):
                beside.run(args)
    libraries = {a.name: {"quiet": results.summary(a.runs), "busy": results.summary(b.runs), "error": b.error,
                          "slowdown": results.ratio(b.runs, a.runs, "frame")}
                 for a, b in zip(quiet, loaded, strict=True)}
    entry = {"model": short_name(model), "threads": threads, "processes": args.busy, "frames": args.short,
             "libraries": libraries}
    return entry, quiet + loaded


def first_audio(args, model, threads):
    """First audio with the text streamed, which only the first library is asked for, and of a cloned voice."""
    rows, measured = [], []

    def add(what, group, metric):
        what = f"{short_name(group[0].model)}, {what}"
        entry = {"what": what, "libraries": {c.name: results.summary(c.runs).get(metric) for c in group},
                 "ratios": {c.name: results.ratio(group[0].runs, c.runs, metric) for c in group[1:]}}
        rows.append(entry)

    def run(group):
        for rep in range(args.reps):
            for case in alternate(group, rep):
                case.run(args)
        measured.extend(group)
        return group

    job = {"frames": args.short, "stream": True}
    if args.layouts:
        group = cases(args, model, threads, "layout", job)
        group[0].job["layout"] = "streamed"
        add("text streamed" + (" (the others': whole)" if len(group) > 1 else ""), run(group), "first")
    if args.clone:
        group = run(cases(args, args.clone, threads, "clone", job | {"reference": 3, "requests": 2}))
        add("cloned voice (3 s clip), first request", group, "first_request")
        add("cloned voice, second request", group, "first")
    return {"threads": threads, "rows": rows} if rows else None, measured


def write(args, data):
    os.makedirs(args.out, exist_ok=True)
    for suffix, text in (("json", json.dumps(data, indent=1) + "\n"), ("md", report.markdown(data)),
                         ("svg", plot.svg(data))):
        with open(os.path.join(args.out, f"{args.name}.{suffix}"), "w", encoding="utf-8") as f:
            f.write(text)


def machine_rates(args):
    """What the machine gives now; it is asked before the runs and after them, and the better answer counts."""
    return bounds.measure_machine(args.membw, sorted({1, 2, *args.threads})) if args.membw else {}


def measure(args):
    """Everything that was asked for; returns the results and all cases."""
    load, date = os.getloadavg()[0], time.strftime("%Y-%m-%d")
    machine = machine_rates(args)
    work = {model: bounds.weights(bounds.gguf_tensors(model)) for model in args.model}
    done = [(model, n, compare(args, model, n)) for model in args.model for n in args.threads]
    measured = [c for _, _, groups in done for group in groups.values() for c in group]
    beside, more = busy(args, args.model[0], args.threads[0]) if args.busy else (None, [])
    first, others = first_audio(args, args.model[0], args.threads[0])
    measured += more + others
    try:
        machine = bounds.best(machine, machine_rates(args))
    except subprocess.SubprocessError as e:  # the runs must not be lost for it
        print(f"bench: measuring the machine after the runs: {e}", file=sys.stderr)
    versions = {name: next((c.version for c in measured if c.name == name and c.version), "?") for name, _ in args.lib}
    return {
        "about": {"cpu": cpu_model(), "cpus": os.cpu_count(), "load": load, "date": date, "frames": args.frames,
                  "reps": args.reps, "norm": args.norm, "text": args.text, "seed": args.seed, "warmup": args.warmup,
                  "versions": versions},
        "machine": {str(n): rates for n, rates in machine.items()},
        "compare": [compare_entry(model, n, groups, work[model], machine) for model, n, groups in done],
        "busy": beside,
        "first_audio": first,
        "runs": [{"library": c.name, "model": short_name(c.model), "threads": c.threads, "what": c.what,
                  "error": c.error, "runs": c.runs} for c in measured],
    }, measured


def main():
    args = arguments()
    check(args)
    data, measured = measure(args)
    write(args, data)
    print(report.markdown(data), end="")
    print(f"bench: wrote {os.path.join(args.out, args.name)}.md, .json and .svg", file=sys.stderr)
    # Not to end beside the busy processes is a result; everything else that went wrong is a failure.
    return 1 if any(c.error and not (c.what == "busy" and c.timed_out) for c in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
