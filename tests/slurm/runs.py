"""What jobs of a test left behind, and what can be told of it: whether each ran once and to its
end, and whether two of them had an instance at the same time."""

import os
import sys

SCRIPT = """say() { echo "$1 $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $(date +%%s.%%N)" \\
    >> %s/$SLURM_JOB_ID; }
say begin
sleep %s || exit 1
say end"""


def script(folder, seconds):
    """A job that notes where it begins and ends, in a file of its own; not where it is stopped."""
    return SCRIPT % (folder, seconds)


class Run:
    """One begin of a job; `end` is None where it was stopped."""

    def __init__(self, job, node, devices, begin):
        self.job, self.node, self.devices, self.begin = job, node, devices, begin
        self.end = None


def read_runs(folder, job):
    runs = []
    try:
        with open(os.path.join(folder, str(job)), encoding="ascii") as file:
            for line in file:
                kind, node, devices, time = line.split(" ")
                if kind == "begin":
                    runs.append(Run(job, node, devices.split(","), float(time)))
                elif runs:
                    runs[-1].end = float(time)
    except FileNotFoundError:
        pass
    return runs


def twice(runs):
    """Whether one job ran to its end more than once, or twice at the same time."""
    ended = [run for run in runs if run.end is not None]
    return len(ended) > 1 or any(a.end is not None and b.begin < a.end
                                 for a, b in zip(runs, runs[1:]))


def shared(runs):
    """Pairs of runs that had an instance at the same time; a stopped run had it while it ran, which
    nobody noted, and so is left to the observer."""
    found = []
    by_device = {}
    for run in runs:
        for device in run.devices:
            if run.end is not None and device:
                by_device.setdefault(device, []).append(run)
    for device, those in by_device.items():
        those.sort(key=lambda run: run.begin)
        found += [(a.job, b.job, device) for a, b in zip(those, those[1:]) if b.begin < a.end]
    return found


def devices_in_use(cluster_folder):
    """By what processes have in their environment: node and instance, with the jobs that see it."""
    seen = {}
    needle = cluster_folder.encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                environment = file.read()
        except OSError:
            continue
        if needle not in environment or b"CUDA_VISIBLE_DEVICES=MIG-" not in environment:
            continue
        words = dict(each.split(b"=", 1) for each in environment.split(b"\0") if b"=" in each)
        job, node = words.get(b"SLURM_JOB_ID"), words.get(b"SLURMD_NODENAME")
        if job is None or node is None:
            continue
        for device in words[b"CUDA_VISIBLE_DEVICES"].decode().split(","):
            seen.setdefault((node.decode(), device), set()).add(job.decode())
    return seen


SIZES = {"1g.5gb": 1, "1g.10gb": 2, "2g.10gb": 2, "3g.20gb": 4, "4g.20gb": 4, "7g.40gb": 8}


if __name__ == "__main__":
    sys.exit("runs: a part of the tests of Slurm")
