"""From runs to figures: what a run's log says, medians, and the ratios of runs that were measured as pairs."""

import re
import statistics

HOP, RATE = 1920, 24000

# The libraries' log lines: total, and for the loops the time per frame.
STAGES = {
    "prefill": re.compile(r"\[Perf\] Prefill ([\d.]+) ms"),
    "talker": re.compile(r"\[Perf\] TalkerDecode [\d.]+ ms \(\d+ frames, ([\d.]+) ms/frame\)"),
    "predictor": re.compile(r"\[Perf\] CodePredictor [\d.]+ ms \((?:\d+ frames, )?([\d.]+) ms/frame"),
    "codec": re.compile(r"\[Perf\] CodecDecode ([\d.]+) ms"),
    "positions": re.compile(r"\[Perf\] Prefill [\d.]+ ms \((\d+) positions\)"),
}

# Metric: what tables call it, and digits behind the point. Of xRT more is better, of the others less.
METRICS = {
    "load": ("load, s", 2),
    "prefill": ("prefill, ms", 0),
    "talker": ("talker, ms/frame", 1),
    "predictor": ("predictor, ms/frame", 1),
    "lm": ("talker + predictor, ms/frame", 1),
    "codec": ("codec, ms/frame", 1),
    "first": ("first audio, ms", 0),
    "frame": ("whole, ms/frame", 1),
    "xrt": ("xRT", 3),
    "cpu": ("CPU time, ms/frame", 0),
    "peak": ("peak RSS, MiB", 0),
    "anon": ("of it anonymous, MiB", 0),
}


def stages(lines):
    """The figures of the [Perf] lines; of several, the last."""
    found = {}
    for name, pattern in STAGES.items():
        for line in lines:
            if m := pattern.search(line):
                found[name] = float(m.group(1))
    return found


def metrics(result, threads, norm=False):
    """The figures of one run of worker.py, those that it has: {metric: number}. With norm, wall times are replaced by
    CPU time over threads: those of stages, which nobody measured, by the share of the run's wall time."""
    share = result["cpu"] / result["wall"] / threads if norm else 1.0
    frames, wall = result["samples"] / HOP, result["wall"] * share

    def time(pair):
        return pair[1] / threads if norm else pair[0]

    m = {k: v if k == "positions" else v * share for k, v in stages(result["perf"]).items()}
    if "codec" in m:
        m["codec"] /= frames
    if "talker" in m and "predictor" in m:
        m["lm"] = m["talker"] + m["predictor"]
    if "first" in result:
        m["first"] = 1000 * time(result["first"])
        m["first_request"] = 1000 * time(result["firsts"][0])
    m |= {"load": time(result["load"]), "frame": 1000 * wall / frames, "xrt": frames * HOP / RATE / wall,
          "cpu": 1000 * result["cpu"] / frames, "peak": result["peak_mib"], "anon": result["anon_mib"]}
    return {k: float(f"{v:.5g}") for k, v in m.items()}


def spread(values):
    """Median and range; None of nothing."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)} if values else None


def summary(runs):
    """{metric: spread} over the runs; a run that failed is None."""
    done = [r for r in runs if r]
    names = dict.fromkeys(k for r in done for k in r)
    return {k: spread([r[k] for r in done if k in r]) for k in names}


def ratio(a, b, metric):
    """Spread of a : b over the pairs (a[i], b[i]) where both have the metric, or None."""
    pairs = [(x.get(metric), y.get(metric)) for x, y in zip(a, b, strict=True) if x and y]
    return spread([x / y for x, y in pairs if x is not None and y])


def ratios(a, b):
    """{metric: spread of the pairs' ratios a : b}, of the metrics that tables show."""
    found = {k: ratio(a, b, k) for k in METRICS}
    return {k: v for k, v in found.items() if v}
