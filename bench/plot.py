"""Results as a plot: plot.py RESULTS.json OUT.svg draws ms per frame by stage, and the line of real time at 80 ms."""

import json
import sys
from html import escape

from bounds import FRAME_MS
from report import title

STAGES = {"talker": "talker", "predictor": "predictor", "codec": "codec", "frame": "whole frame"}
COLOURS = ("#2563a8", "#c9853a", "#5a9367", "#8a6fa8")  # of the libraries, in their order
LEFT, WIDTH, RIGHT, BAR, GAP = 110, 520, 64, 13, 14  # pixels; WIDTH is the axis'
FONT = "font-family='Helvetica,Arial,sans-serif'"


def nice_step(limit):
    """Distance of the axis' ticks: 1, 2 or 5 times a power of ten, at most eight of them."""
    step = 1
    while limit / step > 8:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


class Picture:
    """Shapes from top to bottom; y is where the next one goes."""

    def __init__(self):
        self.shapes, self.y = [], 0.0

    def text(self, x, y, s, size=12, anchor="start", colour="#222", weight="normal"):
        self.shapes.append(f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' font-weight='{weight}' "
                           f"text-anchor='{anchor}' fill='{colour}'>{escape(s)}</text>")

    def rect(self, x, y, w, h, colour):
        self.shapes.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h:.1f}' fill='{colour}'/>")

    def line(self, x1, y1, x2, y2, colour, width=1.0, dash=""):
        dashes = f" stroke-dasharray='{dash}'" if dash else ""
        self.shapes.append(f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' "
                           f"stroke-width='{width}'{dashes}/>")

    def svg(self):
        w, h = LEFT + WIDTH + RIGHT, self.y
        return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{w}' height='{h:.0f}' viewBox='0 0 {w} {h:.0f}'>\n"
                f"<rect width='{w}' height='{h:.0f}' fill='white'/>\n" + "\n".join(self.shapes) + "\n</svg>\n")


def legend(p, names):
    x = LEFT
    for i, name in enumerate(names):
        p.rect(x, p.y, 12, 12, COLOURS[i % len(COLOURS)])
        p.text(x + 17, p.y + 10, name)
        x += 34 + 7 * len(name)
    p.line(x, p.y, x, p.y + 12, "#111", 2.5)
    p.text(x + 7, p.y + 10, "the machine's bound")
    p.y += 26


def bars(p, stage, libraries, bound, scale):
    """The bars of one stage, one a library, with a whisker over the range and a tick at the bound."""
    top = p.y
    for i, metrics in enumerate(libraries.values()):
        s = metrics.get(stage)
        if s:
            p.rect(LEFT, p.y, s["median"] * scale, BAR - 2, COLOURS[i % len(COLOURS)])
            middle = p.y + BAR / 2 - 1
            if s["max"] > s["min"]:
                p.line(LEFT + s["min"] * scale, middle, LEFT + s["max"] * scale, middle, "#222")
            p.text(LEFT + s["max"] * scale + 6, p.y + BAR - 3, f"{s['median']:.1f}", 11)
        p.y += BAR
    if bound:
        p.line(LEFT + bound * scale, top - 2, LEFT + bound * scale, p.y, "#111", 2.5)
    p.text(LEFT - 8, (top + p.y) / 2 + 3, STAGES[stage], anchor="end")
    p.y += GAP


def axis(p, top, limit, scale):
    p.line(LEFT, top - 6, LEFT, p.y, "#888")
    p.line(LEFT, p.y, LEFT + WIDTH, p.y, "#888")
    step = nice_step(limit)
    for i in range(int(limit / step) + 1):
        x = LEFT + i * step * scale
        p.line(x, p.y, x, p.y + 4, "#888")
        p.text(x, p.y + 17, str(i * step), 11, "middle", "#555")
    x = LEFT + FRAME_MS * scale
    p.line(x, top - 8, x, p.y, "#b02a2a", 1.5, "5 3")
    p.text(x, top - 12, "real time, 80 ms", 11, "middle", "#b02a2a")
    p.y += 42


def panel(p, entry):
    """One model in the mode that was measured last: streaming, if it was measured."""
    mode, measured = list(entry["modes"].items())[-1]
    libraries, bounds = measured["libraries"], entry["bounds"] or {}
    longest = max([s["max"] for m in libraries.values() for n, s in m.items() if n in STAGES], default=FRAME_MS)
    limit = max(1.02 * longest, 1.2 * FRAME_MS)
    scale = WIDTH / limit
    p.text(LEFT, p.y + 8, f"{title(entry)}, {mode}: ms per frame", 13, weight="bold")
    p.y += 46
    top = p.y
    for stage in STAGES:
        bars(p, stage, libraries, bounds.get(stage), scale)
    axis(p, top, limit, scale)


def svg(data):
    """The plot as text: a panel a model and number of threads."""
    p = Picture()
    p.y = 16
    legend(p, list(data["about"]["versions"]))
    for entry in data["compare"]:
        panel(p, entry)
    a = data["about"]
    p.text(LEFT, p.y, f"{a['cpu']}, {a['frames']} frames, medians of {a['reps']}, lines are ranges; {a['date']}", 10,
           colour="#555")
    p.y += 14
    return p.svg()


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        text = svg(json.load(f))
    with open(target, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
