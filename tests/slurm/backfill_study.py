"""Whether updates of nodes end cycles of Slurm's backfill, with and without bf_continue: a queue of
jobs that cannot start, beside which the counts of a node change as often as a controller may change
them. No Cleave takes part.

    python3 backfill_study.py [--jobs 300] [--seconds 30]      a line for each way, as JSON
"""

import argparse
import itertools
import json
import re
import threading
import time

from slurm_cluster import Cluster, PROFILES, USERS, until, why_not

EVERY = 0.2  # seconds between two updates


class Counted(Cluster):
    """Counts alone: neither daemons of Cleave's nor hooks."""

    def start_cleaved(self, node):
        pass

    def cleaved_is_ready(self, node):
        return True

    def claims(self, node):
        return []

    def write_setup(self):
        self.write("gres.conf", "".join("Name=mig Type=%s Count=8 Flags=CountOnly\n" % name
                                        for name in PROFILES))
        return ",".join("mig:%s:8" % name for name in PROFILES), "", "GresTypes=mig\n"


def said(text, name):
    return float(re.search(re.escape(name) + r":\s*([\d.]+)", text).group(1))


def measure(jobs, seconds, goes_on, updates):
    extra = ("SchedulerParameters=bf_interval=1,sched_interval=1,bf_max_job_test=%d,"
             "bf_yield_interval=1000,bf_yield_sleep=50000%s" % (
                 2 * jobs, ",bf_continue" if goes_on else ""))
    with Counted("/", mode="counted", accounting=False, extra=extra) as cluster:
        cluster.sbatch("sleep 3000", "-N3", "--exclusive", "-t", "60")
        until(lambda: "RUNNING" in cluster.run(["squeue", "-h", "-o", "%T"]).stdout, "full nodes")
        for _ in range(jobs):
            cluster.sbatch("true", "-n", "3", "-t", "30", "--gres=mig:1g.5gb:1", user=USERS[0])
        ended = threading.Event()

        def change():
            for count in itertools.cycle((7, 8)):
                if ended.wait(EVERY):
                    return
                cluster.run(["scontrol", "update", "NodeName=n1", "Gres=" + ",".join(
                    "mig:%s:%d" % (profile, count) for profile in PROFILES)])

        thread = threading.Thread(target=change)
        if updates:
            thread.start()
        cluster.run(["sdiag", "--reset"])
        time.sleep(seconds)
        text = cluster.run(["sdiag"]).stdout
        ended.set()
        if updates:
            thread.join()
        backfill = text[text.index("Backfilling stats"):]
        return {"bf_continue": goes_on, "updates": updates,
                "cycles": said(backfill, "Total cycles"),
                "tested_mean": said(backfill, "Depth Mean")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    if why_not():
        print("skipped: " + why_not())
        return
    for goes_on, updates in itertools.product((False, True), repeat=2):
        print(json.dumps(measure(options.jobs, options.seconds, goes_on, updates)), flush=True)


if __name__ == "__main__":
    main()
