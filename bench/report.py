"""Results as Markdown: report.py RESULTS.json prints the tables again."""

import json
import sys

from bounds import FRAME_MS
from results import METRICS

NONE = "–"
BOUNDS = {
    "prefill": ("prefill, ms", "bytes or operations of the prompt"),
    "talker": ("talker, ms/frame", "bytes / bandwidth"),
    "predictor": ("predictor, ms/frame", "bytes / bandwidth"),
    "lm": ("talker + predictor, ms/frame", "bytes / bandwidth"),
    "codec": ("codec, ms/frame", "F32 operations / peak"),
    "frame": ("whole, ms/frame", "both, one after the other on all threads"),
    "first": ("first audio, ms", "prefill, predictor, codec"),
}


def number(v, digits):
    return NONE if v is None else f"{v:.{digits}f}"


def counted(n, noun):
    return f"{n} {noun}" if int(n) == 1 else f"{n} {noun}s"


def median(s, digits):
    return number(s and s["median"], digits)


def with_range(s, digits=2):
    """The median, and the range if there is one."""
    if not s:
        return NONE
    text = number(s["median"], digits)
    return text if s["min"] == s["max"] else f"{text} ({number(s['min'], digits)}–{number(s['max'], digits)})"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def title(entry):
    return f"{entry['model']}, {counted(entry['threads'], 'thread')}"


def compare_table(entry):
    """One model: a row a metric; for each mode the libraries' medians and the ratios of the first to the others."""
    head, first = [""], next(iter(entry["modes"].values()))
    names = list(first["libraries"])
    for mode in entry["modes"]:
        head += [f"{name}, {mode}" for name in names] + [f"{names[0]} : {other}" for other in names[1:]]
    rows = []
    for metric, (label, digits) in METRICS.items():
        row = [label]
        for mode in entry["modes"].values():
            row += [median(mode["libraries"][name].get(metric), digits) for name in names]
            row += [with_range(mode["ratios"][other].get(metric)) for other in names[1:]]
        if any(cell != NONE for cell in row[1:]):
            rows.append(row)
    return table(head, rows)


def machine_table(machine):
    """Rows are what membw measures, columns numbers of threads."""
    threads = list(machine)
    head = [""] + [counted(n, "thread") for n in threads]
    sizes = list(machine[threads[0]]["read"])
    rows = [[f"reading {size} MiB, GB/s"] + [number(machine[n]["read"].get(size), 1) for n in threads]
            for size in sizes]
    for key, label in (("f32", "F32, GFLOP/s"), ("bf16", "BF16, GFLOP/s"), ("int8", "int8, GOP/s")):
        if any(key in machine[n] for n in threads):
            rows.append([label] + [number(machine[n].get(key), 0) for n in threads])
    return table(head, rows)


def bound_table(entry):
    """The bounds of a model, and how many times as long each library takes, per mode."""
    bounds = entry["bounds"]
    columns = [(mode, name) for mode in entry["modes"] for name in entry["modes"][mode]["libraries"]]
    rows = []
    for metric, (label, how) in BOUNDS.items():
        if metric not in bounds:
            continue
        row = [label, how, number(bounds[metric], 1)]
        for mode, name in columns:
            s = entry["modes"][mode]["libraries"][name].get(metric)
            row.append(f"{s['median'] / bounds[metric]:.1f}×" if s else NONE)
        rows.append(row)
    text = table(["", "bound by", "at least"] + [f"{name}, {mode}" for mode, name in columns], rows)
    if "xrt" in bounds:
        text += f"\nAt the bound xRT is {bounds['xrt']:.2f}"
        if "codec_bf16" in bounds:
            bf16 = bounds["lm"] + bounds["codec_bf16"]
            text += f", {FRAME_MS / bf16:.2f} with a BF16 codec ({bounds['codec_bf16']:.1f} ms/frame)"
        text += ".\n"
    return text


def busy_table(busy):
    rows = []
    for name, lib in busy["libraries"].items():
        busy_cell = lib["error"] or with_range(lib["busy"].get("frame"), 0)
        rows.append([name, with_range(lib["quiet"].get("frame"), 0), busy_cell, with_range(lib["slowdown"], 1)])
    return table(["", "quiet, ms/frame", "busy, ms/frame", "slowdown"], rows)


def first_table(rows):
    names = list(rows[0]["libraries"])
    head = ["first audio, ms"] + names + [f"{names[0]} : {other}" for other in names[1:]]
    return table(head, [[row["what"]] + [median(row["libraries"][n], 0) for n in names]
                        + [with_range(row["ratios"][other]) for other in names[1:]] for row in rows])


def markdown(data):
    a = data["about"]
    norm = " CPU time over threads stands in place of wall time." if a["norm"] else ""
    parts = [f"{a['cpu']}, {a['cpus']} CPUs, load average before {a['load']:.1f}; {a['date']}. {a['frames']} frames, "
             f"medians of {counted(a['reps'], 'interleaved pair')}; ratios are medians of the pairs' (range).{norm}",
             "Versions: " + ", ".join(f"{name} {version}" for name, version in a["versions"].items()) + "."]
    for entry in data["compare"]:
        parts += [f"### {title(entry)}", compare_table(entry)]
        if entry["bounds"]:
            parts += ["What the machine allows, and how many times as long it took:", bound_table(entry)]
    if data["first_audio"]:
        first = data["first_audio"]
        parts += ["### First audio of other requests", first_table(first["rows"])]
    if data["busy"]:
        b = data["busy"]
        processes = "1 busy process" if b["processes"] == 1 else f"{b['processes']} busy processes"
        parts += [f"### Beside {processes} ({title(b)}, {b['frames']} frames)", busy_table(b)]
    if data["machine"]:
        parts += ["### The machine", machine_table(data["machine"])]
    return "\n\n".join(p.rstrip("\n") for p in parts) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        print(markdown(json.load(f)), end="")


if __name__ == "__main__":
    main()
