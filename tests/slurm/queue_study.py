"""How long squeue takes with a long queue in cluster mode, with and without Cleave's controller, in
turns; and how long a round of the controller takes.

    python3 queue_study.py BIN [--jobs 1000] [--calls 100]      a line of JSON
"""

import argparse
import json
import statistics
import subprocess
import time

from slurm_cluster import Cluster, USERS, until, why_not

TURNS = 6


def squeue_ms(cluster, calls):
    took = []
    for _ in range(calls):
        begun = time.monotonic()
        assert cluster.run(["squeue", "-h"]).returncode == 0
        took.append((time.monotonic() - begun) * 1000)
    return took


def spread(values):
    ordered = sorted(values)
    return {"median": round(statistics.median(values), 2),
            "p95": round(ordered[int(0.95 * len(ordered))], 2)}


def round_seconds(cluster, binaries):
    """Of one that looks and decides, and changes nothing."""
    done = subprocess.run([binaries + "/cleave", "slurm", "controller", "--mode", "cluster",
                           "--dry-run", "--json", "--sockets", cluster.path("%n.sock")],
                          capture_output=True, text=True, check=True, env=cluster.environment)
    return json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    if why_not():
        print("skipped: " + why_not())
        return
    with Cluster(options.binaries, mode="cluster") as cluster:
        fill = [cluster.sbatch("sleep 3000", "--gres=mig:7g.40gb", "-t", "60") for _ in range(12)]
        until(lambda: all(cluster.state(job) == "RUNNING" for job in fill), "full GPUs")
        for i in range(options.jobs):
            cluster.sbatch("true", "-t", "30", "--gres=mig:1g.5gb:1", user=USERS[i % 2])
        time.sleep(10)  # until all have their priority
        found = {"with": [], "without": []}
        for _ in range(TURNS):
            found["with"] += squeue_ms(cluster, options.calls)
            cluster.kill("controller")
            found["without"] += squeue_ms(cluster, options.calls)
            cluster.start_controller()
            time.sleep(5)  # until it acts again
        print(json.dumps({
            "jobs": options.jobs,
            "squeue_ms": {name: spread(values) for name, values in found.items()},
            "round_ms": spread([1000 * round_seconds(cluster, options.binaries)
                                for _ in range(20)])}))
        cluster.run(["scancel", "-u", ",".join(USERS)])


if __name__ == "__main__":
    main()
