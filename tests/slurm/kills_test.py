"""Jobs through the deaths of daemons, with hooks and controller together, in both modes.

    python3 kills_test.py BIN --mode node --jobs 20 --kills 10 --seed 1        77: skipped

CLEAVE_LONG=1: 300 jobs and 200 kills in each mode.

slurmctld saves what happens up to five seconds later. Two kinds of runs are then in no book of
Slurm's, and the job runs once more, with or without Cleave; they are counted by themselves, and are
no failure: one that began in the seconds before a kill of slurmctld and ended before slurmctld was
back; and one that ended in the seconds before such a kill while slurmdbd was away, too.
"""

import argparse
import os
import random
import sys
import time

from runs import devices_in_use, read_runs, script, shared, twice
from slurm_cluster import Cluster, USERS, until, why_not

PROFILES = ["1g.5gb:1", "1g.5gb:2", "2g.10gb:1", "3g.20gb", "7g.40gb"]
AT_ONCE = 30  # jobs that are submitted before kills go on


def submit(cluster, draw, folder, count):
    jobs = [cluster.sbatch(script(folder, draw.randint(2, 8)), "-t", "2",
                           "--gres=mig:" + draw.choice(PROFILES), user=draw.choice(USERS))
            for _ in range(count)]
    cluster.until_saved()
    return jobs


def through_kills(cluster, draw, count, kills):
    """Numbers of the jobs, what the observer saw doubly used, and when slurmctld was away, with
    when slurmdbd was killed."""
    folder = cluster.path("runs")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    jobs, double, away, unaccounted = [], [], [], []
    rounds = -(-count // AT_ONCE)
    for part in range(rounds):
        jobs += submit(cluster, draw, folder, min(AT_ONCE, count - len(jobs)))
        for _ in range(kills * (part + 1) // rounds - kills * part // rounds):
            name = draw.choice(cluster.daemons())
            killed = time.time()
            print("kill %s at %.1f" % (name, killed), flush=True)
            cluster.kill(name)
            if name == "slurmdbd":
                unaccounted.append(killed)
            time.sleep(draw.uniform(0.2, 1.5))
            cluster.start_again(name)
            if name == "slurmctld":
                away.append((killed, time.time()))
            double += [use for use, by in devices_in_use(cluster.folder).items() if len(by) > 1]
            time.sleep(draw.uniform(0.2, 1.5))
    return jobs, double, (away, unaccounted)


def forgotten(run, gone):
    """Whether its start was not saved, and it ended before that could be noticed: nodes register
    within moments after slurmctld is back. Or its end was not saved, and slurmctld had not found
    slurmdbd again to tell it."""
    unsaved, unnoticed, found_again = 6, 5, 15
    away, unaccounted = gone
    return any(killed - unsaved < run.begin < back and
               killed - unsaved < run.end < back + unnoticed for killed, back in away) or any(
                   killed - unsaved < run.end <= killed and
                   any(0 < run.end - at < found_again for at in unaccounted)
                   for killed, _ in away)


def without_forgotten(runs, gone):
    """The last that ended stays."""
    ended = [run for run in runs if run.end is not None]
    return [run for run in runs if run not in ended[:-1] or not forgotten(run, gone)]


def left(cluster):
    return cluster.run(["squeue", "-h", "-o", "%i %T %r %N"])


def check(cluster, jobs, double, gone):
    until(lambda: left(cluster).returncode == 0 and not left(cluster).stdout,
          lambda: "jobs: %s" % left(cluster).stdout, 200, 1)
    runs = {job: read_runs(cluster.path("runs"), job) for job in jobs}
    lost = [(job, cluster.state(job)) for job in jobs
            if cluster.state(job) != "COMPLETED" or not any(run.end for run in runs[job])]
    again = [job for job in jobs if twice(without_forgotten(runs[job], gone))]
    starts = [job for job in jobs if twice(runs[job]) and job not in again]
    both = shared([run for those in runs.values() for run in those])
    until(lambda: all(cluster.instance_count(node) == 0 for node in cluster.nodes),
          "all instances to go, as the simulated driver has them", 40)
    drained = cluster.drained()
    bare = [job for job in jobs if any(not any(run.devices) for run in runs[job])]
    print("jobs %d lost %s twice %s doubly used %s %s drained %s begun again %d of these "
          "that Slurm forgot %d begun without an instance %s" % (
              len(jobs), lost, again, double, both, drained,
              sum(len(those) > 1 for those in runs.values()), len(starts), bare), flush=True)
    for job in again + [job for job, _ in lost]:
        print("job %d: %s" % (job, "; ".join(
            "%s from %.1f to %s" % (run.node, run.begin, run.end) for run in runs[job])))
        print(cluster.run(["sacct", "-n", "-D", "-P", "-j", str(job), "-o",
                           "JobID,State,ExitCode,Submit,Start,End,NodeList"]).stdout, flush=True)
    assert not (lost or again or double or both or drained or bare), cluster.run(
        ["sinfo", "-h", "-N", "-o", "%n %t %E"]).stdout


def main():
    long = os.environ.get("CLEAVE_LONG", "") not in ("", "0")
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--mode", choices=["node", "cluster"])
    parser.add_argument("--jobs", type=int, default=300 if long else 20)
    parser.add_argument("--kills", type=int, default=200 if long else 10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if why_not():
        print("skipped: " + why_not())
        return 77
    for mode in [options.mode] if options.mode else ["node", "cluster"]:
        with Cluster(options.binaries, mode=mode) as cluster:
            check(cluster, *through_kills(cluster, random.Random(options.seed), options.jobs,
                                          options.kills))
    return 0


if __name__ == "__main__":
    sys.exit(main())
