#!/usr/bin/env python3
"""Prints what `cleave compare --seeds N --json` found as a Markdown table, a row for each scheduler.

    tools/seed-table.py FIGURE TITLE=COMPARISON.json...

FIGURE is one of the comparison's, such as turnaround_mean_s. Each file gives two columns: the ratio to
the first scheduler with the same seed, as median and quartiles over the seeds, and in how many seeds
the figure was lower. The table of README.md is made with this script by tools/update-docs.sh.
"""
import json
import sys


def cells(figure):
    ratio = figure.get("ratio")
    if ratio is None:
        return ["1", "-"]
    return [f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})",
            f"{figure['lower']} of {figure['seeds']}"]


def main(figure, *columns):
    head, rows = ["scheduler"], {}
    for each in columns:
        title, path = each.rsplit("=", 1)
        with open(path, encoding="utf-8") as file:
            comparison = json.load(file)["comparison"]
        head += [title, "lower in"]
        for row in comparison["schedulers"]:
            rows.setdefault(row["scheduler"], []).extend(cells(row["figures"][figure]))
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for name, texts in rows.items():
        print(f"| `{name}` | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
