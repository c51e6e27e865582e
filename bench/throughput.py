#!/usr/bin/env python3
"""Measures how much libraries with the qt_* C ABI speak at a time, when several threads ask one context for speech.

  throughput.py --lib ours=build/libqwen.so --lib peer=.bench/peer/qwentts_cpp_cpu/lib/libqwen.so \\
      --model .bench/qwen-talker-0.6b-customvoice-Q8_0.gguf --codec .bench/qwen-tokenizer-12hz-Q8_0.gguf

A run is a process that loads the model, lets all its threads speak a few frames to warm up, and then --requests
requests each, streaming. "serial" is one thread with max_batch 1; the others all have the max_batch of --max-batch. What
a library does with several callers is its own business: it may compute them together or let them wait for each other.
Runs are interleaved as bench.py does it: A B, then B A.

xRT is seconds of audio of all threads together per second. First audio is from the call to the first on_chunk, over all
requests of all runs.

Writes NAME.md, NAME.json and NAME.svg into --out, and the table to stdout.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field

import bench
import plot
import report
import results

SERIAL = "serial"


@dataclass
class Callers(bench.Case):
    """A library, asked by a number of threads."""

    first_audio: list = field(default_factory=list)  # ms, of all requests of all runs
    longest_gap: float = 0.0  # ms between two chunks of a request

    def figures(self, result, args):
        self.first_audio += [1000 * s for s in result["first_audio"]]
        self.longest_gap = max(self.longest_gap, 1000 * result["longest_gap"])
        return super().figures(result, args)

    def summary(self):
        s = results.summary(self.runs)
        return {"xrt": s.get("xrt"), "cpu": s.get("cpu"), "peak": s.get("peak"), "longest_gap": self.longest_gap or None,
                "first_p50": percentile(self.first_audio, 50), "first_p99": percentile(self.first_audio, 99),
                "requests": len(self.first_audio), "error": self.error}


def percentile(values, p):
    """The smallest value that at least p percent of them do not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * p // 100) - 1)] if ordered else None


def arguments(argv=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bench.add_run_options(ap)
    ap.add_argument("--model", required=True, help="Talker GGUF")
    ap.add_argument("--threads", type=int, default=2, help="of the library (default 2)")
    ap.add_argument("--callers", type=bench.integers, default=[1, 2, 4, 8],
                    help="threads that ask at the same time, by commas (default 1,2,4,8)")
    ap.add_argument("--max-batch", type=int, default=0, help="of qt_init_params (default: the most callers)")
    ap.add_argument("--requests", type=int, default=2, help="of each thread, one after the other (default 2)")
    ap.add_argument("--name", default="throughput", help="of the results' files (default throughput)")
    args = ap.parse_args(argv)
    for option in ("frames", "reps", "requests", "threads"):
        if getattr(args, option) < 1:
            ap.error(f"--{option} must be at least 1")
    if min(args.callers) < 1:
        ap.error("--callers must be at least 1")
    if len(dict(args.lib)) < len(args.lib):
        ap.error("two --lib have the same name")
    args.max_batch = args.max_batch or max(args.callers)
    return args


def rows(args):
    """For each row of the table its name and a case for each library."""
    jobs = {SERIAL: {"concurrent": 1, "max_batch": 1}}
    jobs |= {str(n): {"concurrent": n, "max_batch": args.max_batch} for n in args.callers}
    common = {"stream": True, "requests": args.requests}
    return {row: [Callers(name, lib, args.model, args.threads, f"callers-{row}", common | job)
                  for name, lib in args.lib] for row, job in jobs.items()}


def entry(group, serial):
    """The figures of a row: of the libraries, of the first against each other one, and of each against itself alone."""
    first, *others = group
    return {"libraries": {c.name: c.summary() for c in group},
            "ratios": {c.name: results.ratio(first.runs, c.runs, "xrt") for c in others},
            "gain": {c.name: results.ratio(c.runs, alone.runs, "xrt") for c, alone in zip(group, serial, strict=True)}}


def measure(args):
    load, groups = os.getloadavg()[0], rows(args)
    for rep in range(args.reps):
        for i, group in enumerate(groups.values()):
            for case in bench.alternate(group, rep + i):
                case.run(args)
    cases = [c for group in groups.values() for c in group]
    versions = {name: next((c.version for c in cases if c.name == name and c.version), "?") for name, _ in args.lib}
    about = {"cpu": bench.cpu_model(), "cpus": os.cpu_count(), "load": load, "date": time.strftime("%Y-%m-%d"),
             "model": bench.short_name(args.model), "threads": args.threads, "max_batch": args.max_batch,
             "frames": args.frames, "requests": args.requests, "reps": args.reps, "text": args.text, "seed": args.seed,
             "warmup": args.warmup, "norm": args.norm, "versions": versions}
    return {"about": about, "rows": {row: entry(group, groups[SERIAL]) for row, group in groups.items()},
            "runs": [{"library": c.name, "what": c.what, "error": c.error, "runs": c.runs, "first_audio": c.first_audio}
                     for c in cases]}, cases


def pair(a, b):
    return f"{report.number(a, 0)} / {report.number(b, 0)}"


def markdown(data):
    a = data["about"]
    names = list(a["versions"])
    head = ["callers"] + [f"{n}, xRT" for n in names] + [f"{names[0]} : {n}" for n in names[1:]]
    head += [f"{n} : its serial" for n in names] + [f"{n}, first audio p50 / p99, ms" for n in names]
    head += [f"{n}, peak RSS, MiB" for n in names]
    lines = []
    for row, e in data["rows"].items():
        libraries = e["libraries"]
        lines.append([row] + [libraries[n]["error"] or report.with_range(libraries[n]["xrt"]) for n in names]
                     + [report.with_range(e["ratios"][n]) for n in names[1:]]
                     + [report.with_range(e["gain"][n]) for n in names]
                     + [pair(libraries[n]["first_p50"], libraries[n]["first_p99"]) for n in names]
                     + [report.median(libraries[n]["peak"], 0) for n in names])
    return (f"{a['cpu']}, {a['cpus']} CPUs, load average before {a['load']:.1f}; {a['date']}. {a['model']}, "
            f"{report.counted(a['threads'], 'thread')}, max_batch {a['max_batch']} (serial: 1), "
            f"{report.counted(a['requests'], 'request')} of {report.counted(a['frames'], 'frame')} a caller, "
            f"medians of {report.counted(a['reps'], 'interleaved pair')} (range).\n\n"
            "Versions: " + ", ".join(f"{name} {version}" for name, version in a["versions"].items()) + ".\n\n"
            + report.table(head, lines))


def svg(data):
    """xRT by callers: a bar a library, and the line of real time."""
    p, a = plot.Picture(), data["about"]
    names, p.y = list(a["versions"]), 16
    for i, name in enumerate(names):
        p.rect(plot.LEFT + 90 * i, p.y, 12, 12, plot.COLOURS[i % len(plot.COLOURS)])
        p.text(plot.LEFT + 90 * i + 17, p.y + 10, name)
    p.text(plot.LEFT, p.y + 42, f"{a['model']}, {report.counted(a['threads'], 'thread')}: "
           "seconds of audio per second, of all callers", 13, weight="bold")
    p.y += 80
    spreads = [lib["xrt"] for e in data["rows"].values() for lib in e["libraries"].values() if lib["xrt"]]
    limit = 1.05 * max([s["max"] for s in spreads] + [1.1])
    scale, top = plot.WIDTH / limit, p.y
    for row, e in data["rows"].items():
        begin = p.y
        for i, name in enumerate(names):
            if s := e["libraries"][name]["xrt"]:
                p.rect(plot.LEFT, p.y, s["median"] * scale, plot.BAR - 2, plot.COLOURS[i % len(plot.COLOURS)])
                p.line(plot.LEFT + s["min"] * scale, p.y + 5.5, plot.LEFT + s["max"] * scale, p.y + 5.5, "#222")
                p.text(plot.LEFT + s["max"] * scale + 6, p.y + plot.BAR - 3, f"{s['median']:.2f}", 11)
            p.y += plot.BAR
        label = row if row == SERIAL else report.counted(row, "caller")
        p.text(plot.LEFT - 8, (begin + p.y) / 2 + 3, label, anchor="end")
        p.y += plot.GAP
    x = plot.LEFT + scale
    p.line(x, top - 8, x, p.y, "#b02a2a", 1.5, "5 3")
    p.text(x, top - 12, "real time", 11, "middle", "#b02a2a")
    p.line(plot.LEFT, top - 6, plot.LEFT, p.y, "#888")
    p.text(plot.LEFT, p.y + 20, f"{a['cpu']}, {a['frames']} frames, medians of {a['reps']}, lines are ranges; "
           f"{a['date']}", 10, colour="#555")
    p.y += 34
    return p.svg()


def write(args, data):
    os.makedirs(args.out, exist_ok=True)
    for suffix, text in (("json", json.dumps(data, indent=1) + "\n"), ("md", markdown(data)), ("svg", svg(data))):
        with open(os.path.join(args.out, f"{args.name}.{suffix}"), "w", encoding="utf-8") as f:
            f.write(text)


def main():
    args = arguments()
    for path in [p for _, p in args.lib] + [args.model, args.codec]:
        if not os.path.isfile(path):
            sys.exit(f"bench: no file {path}")
    data, cases = measure(args)
    write(args, data)
    print(markdown(data), end="")
    print(f"bench: wrote {os.path.join(args.out, args.name)}.md, .json and .svg", file=sys.stderr)
    return 1 if any(c.error for c in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
