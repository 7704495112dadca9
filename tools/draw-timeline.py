#!/usr/bin/env python3
"""Draws what runs on the slices of GPUs over time, as SVG.

    tools/draw-timeline.py OUT.svg TITLE=TRACE.json...

Each TRACE.json is written by `cleave simulate --trace-events`; each becomes a panel with one band
per GPU and one row per memory slice. Jobs are coloured by kind: "train-7" is a "train". All panels
share one time axis. The picture of README.md is made with this script by tools/update-docs.sh.
"""
import json
import re
import sys
from html import escape

WIDTH, LEFT, RIGHT = 960, 72, 14
SLICE, GPU_GAP, PANEL_GAP, TITLE = 9, 10, 26, 24
COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f"]


def read(path):
    """GPU names with their slices, and the boxes (gpu, first slice, last slice, from, to, job)."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "process_name"}
    boxes = {}
    for event in events:
        if event["ph"] != "X" or event.get("cat") not in ("running", "starting"):
            continue
        # A job that finds its instance there at once is one event, and so is one on a whole GPU.
        key = (event["pid"], event["name"], event["ts"], event["dur"])
        first, last = boxes.get(key, (event["tid"], event["tid"]))
        boxes[key] = (min(first, event["tid"]), max(last, event["tid"]))
    slices = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            slices.setdefault(event["pid"], set()).add(event["tid"])
    gpus = [(pid, names[pid], sorted(slices[pid])) for pid in sorted(names)
            if len(slices.get(pid, ())) > 1]
    return gpus, [(pid, first, last, ts / 1e6, (ts + dur) / 1e6, job)
                  for (pid, job, ts, dur), (first, last) in sorted(boxes.items())]


def kind(job):
    return re.sub(r"-?[0-9]+$", "", job)


def box(job, colour, x, y, width, height):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.8):.1f}" height="{height:.1f}" '
            f'rx="1.5" fill="{colour}" stroke="#fff" stroke-width="0.8">'
            f'<title>{escape(job)}</title></rect>')


def legend(colours, y):
    x, lines = LEFT, []
    for name, colour in colours.items():
        lines.append(f'<rect x="{x}" y="{y}" width="11" height="11" rx="1.5" fill="{colour}"/>'
                     f'<text x="{x + 16}" y="{y + 10}">{escape(name)}</text>')
        x += 34 + 7 * len(name)
    return lines


def panel(title, gpus, boxes, colours, y, scale):
    lines = [f'<text x="{LEFT}" y="{y + 15}" class="title">{escape(title)}</text>']
    y += TITLE
    top = y
    end = max(to for *_, to, _ in boxes)
    for pid, name, slices in gpus:
        height = SLICE * len(slices)
        lines.append(f'<text x="{LEFT - 8}" y="{y + height / 2 + 4:.1f}" class="gpu">'
                     f'{escape(name.split()[0])}</text>')
        lines.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{height}" '
                     f'fill="#eef0f2"/>')
        for gpu, first, last, start, to, job in boxes:
            if gpu == pid:
                low = slices.index(first)
                lines.append(box(job, colours[kind(job)], LEFT + start * scale, y + low * SLICE,
                                 (to - start) * scale, (slices.index(last) - low + 1) * SLICE))
        y += height + GPU_GAP
    x = LEFT + end * scale
    lines.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y - GPU_GAP}" '
                 f'stroke="#333" stroke-dasharray="3 3"/>')
    return lines, y - GPU_GAP


def axis(y, longest, scale):
    step = next(each for each in (600, 1800, 3600, 7200, 14400, 43200) if longest / each <= 14)
    lines = []
    for tick in range(0, int(longest) + 1, step):
        x = LEFT + tick * scale
        text = f"{tick // 3600}:{tick % 3600 // 60:02} h"
        lines.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 4}" stroke="#333"/>'
                     f'<text x="{x:.1f}" y="{y + 16}" class="tick">{text}</text>')
    return lines


def main(out, *panels):
    read_panels = []
    for each in panels:
        title, path = each.rsplit("=", 1)
        read_panels.append((title, *read(path)))
    longest = max(to for _, _, boxes in read_panels for *_, to, _ in boxes)
    scale = (WIDTH - LEFT - RIGHT) / longest
    kinds = sorted({kind(job) for _, _, boxes in read_panels for *_, job in boxes})
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(kinds)}
    body, y = legend(colours, 8), 26
    for title, gpus, boxes in read_panels:
        lines, y = panel(title, gpus, boxes, colours, y, scale)
        body += lines
        y += PANEL_GAP
    y -= PANEL_GAP - 6
    body += axis(y, longest, scale)
    height = y + 22
    style = ("text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:13px}"
             ".gpu{text-anchor:end}.tick{text-anchor:middle;font-size:11px}")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                   f'width="{WIDTH}" height="{height}">\n<style>{style}</style>\n'
                   f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
                   + "\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
