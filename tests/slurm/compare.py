"""The same jobs on a real cluster of Slurm with 12 simulated A100 on three nodes, four ways: fixed
layouts, node mode, cluster mode, and cluster mode in Cleave's simulator. The ways of a seed run
side by side, each on a cluster of its own, so that all have the same machine.

    python3 compare.py BIN --seeds 1,2 --jobs 300 --out DIR      a line of JSON for each run
    python3 compare.py --table DIR [--page docs/slurm.md]        the table, printed or put there
"""

import argparse
import concurrent.futures
import contextlib
import heapq
import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time

from runs import SIZES, read_runs, script
from slurm_cluster import Cluster, PROFILES, USERS, until

MIX = {"1g.5gb": 0.4, "2g.10gb": 0.2, "3g.20gb": 0.25, "7g.40gb": 0.15}
SPAN = 0.8  # seconds of arrivals for each job
SECONDS = (25, 55)  # how long a job runs
GPUS_OF_NODE = 4
STARTING = threading.Lock()
MARK = "<!-- comparison -->"
GPUS = [{"7g.40gb": 1}, {"3g.20gb": 2}, {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1},
        {"2g.10gb": 3, "1g.5gb": 1}, {"1g.5gb": 7}]
ALL = 3 * GPUS_OF_NODE
THIRDS = [GPUS[kind] for kind in (4, 1, 0) for _ in range(ALL // 3)]
WAYS = ["fixed-thirds", "fixed-best", "node", "cluster", "simulator"]


def jobs_of(seed, count):
    draw = random.Random(seed)
    arrivals = sorted(draw.uniform(0, SPAN * count) for _ in range(count))
    sizes = list(MIX)
    return [(at, draw.choices(sizes, MIX.values())[0], round(draw.uniform(*SECONDS), 1),
             draw.choice(USERS)) for at in arrivals]


def rounded(size, there):
    """The smallest instance of those there that has as much; None: refused."""
    return next((name for name in list(MIX)[list(MIX).index(size):] if name in there), None)


def instances_of(layout):
    counts = dict.fromkeys(MIX, 0)
    for gpu in layout:
        for name, count in gpu.items():
            counts[name] += count
    return {name: count for name, count in counts.items() if count}


def queued(jobs, instances):
    """The sum of waits where this number of instances serves the jobs in their order."""
    free, waits = [0.0] * instances, 0.0
    for at, _, seconds, _ in jobs:
        begin = max(at, heapq.heappop(free))
        heapq.heappush(free, begin + seconds)
        waits += begin - at
    return waits


def best_layout(jobs):
    """With knowledge of all jobs: the least mean wait. Each kind of instance is a queue of its own,
    for those jobs that ask for it or for less, where what they ask for is not there."""
    known = {}

    def waits(layout):
        counts = instances_of(layout)
        there = tuple(counts)
        if rounded("7g.40gb", there) is None:
            return float("inf")
        total = 0.0
        for name, count in counts.items():
            if (there, name, count) not in known:
                known[there, name, count] = queued(
                    [job for job in jobs if rounded(job[1], there) == name], count)
            total += known[there, name, count]
        return total

    return list(min(itertools.combinations_with_replacement(GPUS, ALL), key=waits))


def measures(waits, last, jobs, refused):
    waits = sorted(waits)
    used = sum(SIZES[size] * seconds for _, size, seconds, _ in jobs)
    return {"mean_wait_s": sum(waits) / len(waits), "p95_wait_s": waits[int(0.95 * len(waits))],
            "makespan_s": last, "idle": 1 - used / (8 * ALL * last), "refused": refused}


def on_slurm(binaries, jobs, mode, layout):
    counts = None
    if layout:
        counts = []
        for node in range(3):  # GPUs of each kind on each node
            of = {}
            for gpu in layout[node::3]:
                for name, count in gpu.items():
                    of[name] = of.get(name, 0) + count
            counts.append({name: of.get(name, 0) for name in MIX})
    with contextlib.ExitStack() as stack:
        with STARTING:  # two databases cannot be made at the same time
            cluster = stack.enter_context(Cluster(
                binaries, gpus=GPUS_OF_NODE, mode=mode, counts=counts,
                controller=["--period", "0.2"]))
        runs = cluster.path("runs")
        os.mkdir(runs)
        os.chmod(runs, 0o777)
        time.sleep(2)
        begun, numbers, refused = time.time(), {}, []

        def submit(i):
            at, size, seconds, user = jobs[i]
            profile = rounded(size, instances_of(layout)) if layout else size
            try:
                numbers[i] = (time.time(), cluster.sbatch(
                    script(runs, seconds), "--gres=mig:%s:1" % profile, "-t", "2", user=user))
            except AssertionError:
                refused.append(i)

        for i, (at, *_) in enumerate(jobs):
            time.sleep(max(0.0, begun + at - time.time()))
            thread = threading.Thread(target=submit, args=(i,))
            thread.start()
            thread.join()
        until(lambda: cluster.run(["squeue", "-h"]).stdout == "", "the jobs", 900, 1)
        waits, last, lost, kept = [], 0.0, 0, []
        for at, number in numbers.values():
            found = [run for run in read_runs(runs, number) if run.end is not None]
            if not found:
                lost += 1
                continue
            waits.append(found[-1].begin - at)
            last = max(last, found[-1].end)
            kept.append([at - begun, found[-1].node, found[-1].devices, found[-1].begin - begun,
                         found[-1].end - begun, len(found)])
        result = measures(waits, last - begun, jobs, len(refused))
        result["lost"] = lost
        result["runs"] = kept
        return result


def in_simulator(binaries, jobs, overhead):
    """With Slurm's priorities, which are those of arrival here. `overhead`: seconds by which an
    instance is held longer than its job runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "jobs.jsonl")
        with open(path, "w", encoding="ascii") as file:
            for i, (at, size, seconds, _) in enumerate(jobs):
                file.write(json.dumps({"id": str(i), "arrival_s": at, "profile": size,
                                       "duration_s": seconds + overhead,
                                       "priority": len(jobs) - i,
                                       "speed": dict.fromkeys(PROFILES, 1.0)}) + "\n")
        subprocess.run([binaries + "/cleave", "simulate", "--fleet",
                        "3x%dxA100-40GB" % GPUS_OF_NODE, "--workload", path, "--may", "none",
                        "--reconfiguration", "0",
                        "--profiles", ",".join(MIX), "--know", "times=unknown",
                        "--outcomes", path + ".out"], check=True, capture_output=True)
        with open(path + ".out", encoding="ascii") as file:
            done = {int(each["job"]): each for each in map(json.loads, file)}
    return measures([each["wait_s"] for each in done.values()],
                    max(jobs[i][0] + each["turnaround_s"] for i, each in done.items()), jobs, 0)


def run(binaries, seed, count, way, overhead):
    jobs = jobs_of(seed, count)
    if way == "simulator":
        return in_simulator(binaries, jobs, overhead)
    layout = {"fixed-thirds": THIRDS, "fixed-best": None}.get(way)
    if way == "fixed-best":
        layout = best_layout(jobs)
    return on_slurm(binaries, jobs, "fixed" if layout else way, layout)


NAMES = {"fixed-thirds": "fixed: thirds of 1g, 3g and 7g", "fixed-best": "fixed: the best by the jobs",
         "node": "node mode", "cluster": "cluster mode", "simulator": "cluster mode, simulated"}


def read_rows(folder):
    rows = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            rows += map(json.loads, file)
    return sorted(rows, key=lambda row: (row["seed"], WAYS.index(row["way"])))


def table(rows):
    lines = ["| seed | way | mean wait | p95 | makespan | idle slices | refused | not ended |",
             "|---|---|---|---|---|---|---|---|"]
    lines += ["| %d | %s | %.1f s | %.1f s | %.0f s | %.0f %% | %d | %d |" % (
        row["seed"], NAMES[row["way"]], row["mean_wait_s"], row["p95_wait_s"], row["makespan_s"],
        100 * row["idle"], row["refused"], row.get("lost", 0)) for row in rows]
    by = {}
    for row in rows:
        by.setdefault(row["way"], {})[row["seed"]] = row["mean_wait_s"]
    longer = ["%.0f %%" % (100 * (by["cluster"][seed] / by["simulator"][seed] - 1))
              for seed in sorted(by["cluster"])]
    lines += ["", "Seed by seed jobs waited longer in cluster mode than in its simulation by",
              ", ".join(longer) + "."]
    return "\n".join(lines)


def write_into(path, text):
    """Between the two lines of a page that are there for it."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    begin = page.index(MARK) + len(MARK)
    end = page.index("\n<!-- end -->", begin)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page[:begin] + "\n" + text + page[end:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", nargs="?")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--overhead", type=float, default=0.0)
    parser.add_argument("--at-once", type=int, help="runs at a time; all ways of a seed otherwise")
    parser.add_argument("--out", default=".")
    parser.add_argument("--table")
    parser.add_argument("--page")
    options = parser.parse_args()
    if options.table:
        text = table(read_rows(options.table))
        return write_into(options.page, text) if options.page else print(text)
    binaries = os.path.abspath(options.binaries)
    ways = options.ways.split(",")

    def write(seed, way):
        result = dict(run(binaries, seed, options.jobs, way, options.overhead), seed=seed, way=way)
        name = os.path.join(options.out, "seed-%d-%s.jsonl" % (seed, way))
        with open(name, "w", encoding="ascii") as file:
            file.write(json.dumps(result) + "\n")
        result.pop("runs", None)
        print(result, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.at_once or len(ways)) as pool:
        runs = [pool.submit(write, seed, way)
                for seed in map(int, options.seeds.split(",")) for way in ways]
        for each in runs:
            each.result()


if __name__ == "__main__":
    main()
