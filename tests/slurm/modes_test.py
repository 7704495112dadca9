"""Hooks and controller together on a real Slurm, in both modes: counts, limits, requeueing, shares.

    python3 modes_test.py BIN [node|cluster] [TEST]        77: skipped, with the reason
"""

import os
import random
import re
import subprocess
import sys
import time

from runs import read_runs, script
from slurm_cluster import Cluster, USERS, run_tests, until, why_not

# Shares and limits are what a site writes for itself.
SITE = """PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityFlags=ACCRUE_ALWAYS
PriorityDecayHalfLife=1-0
PriorityCalcPeriod=1
AccountingStorageEnforce=limits"""

MODES = ("node", "cluster")


def runs_folder(cluster):
    folder = cluster.path("runs")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o777)
    return folder


def held(cluster):
    return sum(len(cluster.claims(node)) for node in cluster.nodes)


def enough(told):
    return told["judged"] > 30 and told["most"] > 0


def test_counts_are_never_more_than_is_possible(cluster):
    draw = random.Random(4)
    cluster.start_observer()
    jobs = []
    # A busy machine looks seldom, so there are jobs until it has looked often enough.
    while len(jobs) < 40 or (len(jobs) < 400 and not enough(cluster.seen())):
        profile = draw.choice(["1g.5gb:1", "1g.5gb:2", "2g.10gb:1", "3g.20gb", "7g.40gb"])
        jobs.append(cluster.sbatch(script(runs_folder(cluster), draw.randint(2, 6)), "-t", "2",
                                   "--gres=mig:" + profile, user=USERS[len(jobs) % 2]))
        time.sleep(0.3)
    until(lambda: all(cluster.state(job) == "COMPLETED" for job in jobs), "the jobs", 120, 1)
    told = cluster.end_observer()
    assert enough(told), told
    assert not told["more_than_possible"], told


def test_a_user_puts_a_job_back(cluster):
    job = cluster.sbatch(script(runs_folder(cluster), 8), "--gres=mig:2g.10gb:1", "-t", "2")
    until(lambda: read_runs(runs_folder(cluster), job), "its begin", 30)
    done = cluster.run(["scontrol", "requeue", str(job)], user=USERS[0])
    assert done.returncode == 0, done.stderr
    # Slurm alone would let it wait for two minutes.
    until(lambda: len(read_runs(runs_folder(cluster), job)) == 2, "its second begin", 45)
    cluster.wait_state(job, "COMPLETED")
    assert [run.end is not None for run in read_runs(runs_folder(cluster), job)] == [False, True]


def test_a_job_that_is_nowhere_is_put_back(cluster):
    """Slurm alone would have it stand until its time limit: its slurmd began too soon after it."""
    job = cluster.sbatch(script(runs_folder(cluster), 15), "--gres=mig:1g.5gb", "-t", "20")
    beside = cluster.sbatch("sleep 3000", "--gres=mig:1g.5gb", "-t", "60")
    until(lambda: read_runs(runs_folder(cluster), job), "its begin")
    node = cluster.column(job, "NodeList")
    cluster.wait_state(beside, "RUNNING")
    cluster.kill("slurmd-" + node)
    cluster.kill_processes_of(job)
    cluster.start_slurmd(node)
    if read_runs(runs_folder(cluster), job)[0].end is None:  # else this machine is too slow to try
        cluster.wait_state(job, "COMPLETED", seconds=120)
        assert [run.end is not None for run in read_runs(runs_folder(cluster), job)] == [
            False, True]
    assert cluster.state(beside) == "RUNNING", "what is there stays"
    assert cluster.column(beside, "RestartCnt") == "0"
    cluster.run(["scancel", str(beside)])


def test_a_drain_for_a_forgotten_job_ends(cluster):
    node = cluster.nodes[1]
    cluster.run(["scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=Duplicate jobid"])
    until(lambda: "dr" not in cluster.node_states()[node], "the node to serve again")
    cluster.run(["scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=my own"])
    time.sleep(5)
    assert "dr" in cluster.node_states()[node], "an administrator's drain stays"
    cluster.run(["scontrol", "update", "NodeName=" + node, "State=RESUME"])


def test_time_limits_end_jobs(cluster):
    job = cluster.sbatch("sleep 300", "--gres=mig:7g.40gb", "-t", "1")
    cluster.wait_state(job, "TIMEOUT", seconds=120)
    until(lambda: held(cluster) == 0, "its instance to be given back", 30)


def test_memory_is_asked_for_by_an_option(cluster):
    """By the plugin for SPANK: the smallest instance with as much."""
    if not os.path.exists(cluster.plugin()):
        print("skipped: no plugin for SPANK was built, since libslurm-dev is not installed")
        return
    show = "echo devices=$CUDA_VISIBLE_DEVICES"
    job = cluster.sbatch(show, "--mig-memory=9G", "-t", "2")
    cluster.wait_state(job, "COMPLETED")
    assert "mig:1g.10gb:1" in cluster.column(job, "tres-per-node"), cluster.column(
        job, "tres-per-node")
    assert "devices=MIG-" in cluster.out(job), cluster.out(job)
    ran = cluster.run(["srun", "--mig-memory=4000M", "-t", "2", "sh", "-c",
                       show + "; squeue -h -j $SLURM_JOB_ID -O tres-per-node:99"], user=USERS[1])
    assert "devices=MIG-" in ran.stdout and "mig:1g.5gb:1" in ran.stdout, ran.stdout + ran.stderr
    for wrong in ("900G", "much"):
        refused = cluster.run(["sbatch", "--mig-memory=" + wrong, "--wrap", "true"], user=USERS[0])
        assert refused.returncode != 0 and "mig-memory" in refused.stderr, refused.stderr
    plain = cluster.sbatch("true", "-t", "2")
    cluster.wait_state(plain, "COMPLETED")


def usage(cluster, user):
    said = cluster.run(["sshare", "-h", "-P", "-n", "-A", "lab", "-u", user, "-o",
                        "User,RawUsage"]).stdout
    return max([int(line.split("|")[1]) for line in said.splitlines()
                if line.startswith(user + "|")] + [0])


def test_instances_count_in_fair_share_by_size(cluster):
    """Billing weights of the whole GPU and of a seventh; whose use is less begins first."""
    before = {user: usage(cluster, user) for user in USERS}
    large = cluster.sbatch("sleep 20", "--gres=mig:7g.40gb", "-t", "2", user=USERS[0])
    small = cluster.sbatch("sleep 20", "--gres=mig:1g.5gb", "-t", "2", user=USERS[1])
    for job in (large, small):
        cluster.wait_state(job, "COMPLETED")
    used = until(lambda: [grown for grown in [[usage(cluster, user) - before[user]
                                               for user in USERS]] if min(grown) > 0],
                 lambda: "shares: %s" % [usage(cluster, user) for user in USERS], 90, 1)[0]
    assert 4 < used[0] / used[1] < 11, used
    said = cluster.run(["sacct", "-n", "-X", "-P", "-j", str(large), "-o", "AllocTRES"]).stdout
    assert "gres/mig:7g.40gb=1" in said, said
    # All GPUs are busy; then the user with less use goes first, though submitted later.
    fill = [cluster.sbatch("sleep 3000", "--gres=mig:7g.40gb", "-t", "60", user=USERS[0])
            for _ in range(12)]
    until(lambda: all(cluster.state(job) == "RUNNING" for job in fill), "full GPUs", 40)
    # Where it names its node, Slurm may hold it for a moment in node mode.
    later = [cluster.sbatch(script(runs_folder(cluster), 2), "--gres=mig:7g.40gb:4", "-t", "2",
                            "-x", ",".join(cluster.nodes[1:]), user=user) for user in USERS]
    until(lambda: int(cluster.column(later[0], "PriorityLong")) < int(
        cluster.column(later[1], "PriorityLong")), "the order of priorities", 90)
    cluster.run(["scancel"] + [str(job) for job in fill])
    for job in later:
        cluster.wait_state(job, "COMPLETED", seconds=90)
    begins = [read_runs(runs_folder(cluster), job)[0].begin for job in later]
    assert begins[1] < begins[0], begins


def counted(cluster, node, profile):
    """How many of these Slurm is told that the node has."""
    said = cluster.run(["scontrol", "-o", "show", "node", node]).stdout
    return int((re.search(r"mig:%s:(\d+)" % re.escape(profile), said) or ["", "0"])[1])


def test_a_job_that_names_its_node_outlasts_low_counts(cluster):
    """Slurm holds it for good where its node is told to have less in all than it asks for, which
    is a matter of a moment. In cluster mode it is not looked at before it may begin."""
    node = cluster.nodes[0]
    fill = [cluster.sbatch("sleep 3000", "--gres=mig:7g.40gb", "-t", "60") for _ in range(12)]
    until(lambda: all(cluster.state(job) == "RUNNING" for job in fill), "full GPUs", 40)
    job = cluster.sbatch(script(runs_folder(cluster), 2), "--gres=mig:7g.40gb:4", "-t", "2",
                         "-w", node, user=USERS[1])
    there = [each for each in fill if cluster.column(each, "NodeList") == node]
    cluster.run(["scancel"] + [str(each) for each in there[:2]])
    until(lambda: counted(cluster, node, "7g.40gb") < 4, "counts that fall")
    if cluster.mode == "node":
        until(lambda: cluster.column(job, "Reason") == "BadConstraints", "Slurm to hold it")
    cluster.run(["scancel"] + [str(each) for each in fill])
    cluster.wait_state(job, "COMPLETED", seconds=90)


def test_a_job_names_nodes_of_an_idle_cluster(cluster):
    """They have no instances then, and Slurm would refuse it."""
    if cluster.mode == "node":
        print("skipped: in node mode Slurm may refuse it, as the docs say")
        return
    until(lambda: held(cluster) == 0, "an idle cluster", 60)
    named = cluster.sbatch(script(runs_folder(cluster), 1), "--gres=mig:3g.20gb", "-t", "2",
                           "-w", "n3", "--comment", "mine")
    two = cluster.sbatch("srun true", "--gres=mig:1g.5gb", "-t", "2", "-N2", "-w", "n2")
    for job in (named, two):
        cluster.wait_state(job, "COMPLETED")
    assert read_runs(runs_folder(cluster), named)[0].node == "n3"
    assert cluster.column(two, "NodeList") in ("n[1-2]", "n[2-3]"), cluster.column(two, "NodeList")
    assert cluster.column(named, "Comment").startswith("mine"), cluster.column(named, "Comment")


def test_jobs_ask_for_more_than_an_instance(cluster):
    """CPUs, memory, tasks, nodes: also where no node has an instance yet."""
    until(lambda: held(cluster) == 0, "an idle cluster", 60)
    jobs = [cluster.sbatch("srun true", "--gres=mig:1g.5gb", "-t", "2", *more.split())
            for more in ("-c 4", "--mem 500", "-n 3", "-N 2", "-N 3 -n 6 -c 2", "-B 1:2")]
    for job in jobs:
        cluster.wait_state(job, "COMPLETED")


def test_arrays_run_each_element_once(cluster):
    folder = runs_folder(cluster)
    array = cluster.sbatch(script(folder, 1), "--array=1-30", "--gres=mig:1g.5gb:1", "-t", "2")
    until(lambda: not cluster.run(["squeue", "-h", "-j", str(array)]).stdout, "the array", 60)
    said = until(lambda: [line for lines in [cluster.run(
        ["sacct", "-n", "-X", "-D", "-P", "-j", str(array), "-o", "JobIDRaw,State"]).stdout.split()]
                          if len(lines) >= 30 and all("COMPL" in line for line in lines)
                          for line in lines], "its accounting")
    assert len(said) == 30, "none was put back: %s" % said
    runs = [read_runs(folder, int(line.split("|")[0])) for line in said]
    assert [len(each) for each in runs] == [1] * 30, runs


def test_jobs_that_may_not_run_everywhere(cluster):
    """Nodes that are excluded, and a partition with one node."""
    until(lambda: held(cluster) == 0, "an idle cluster", 60)
    cluster.run(["scontrol", "create", "partition=third", "Nodes=n3,cleave-template[1-4]"])
    try:
        jobs = [cluster.sbatch("true", "--gres=mig:7g.40gb:1", "-t", "2", *more.split())
                for more in ("-x n1,n2", "-p third")]
        for job in jobs:
            cluster.wait_state(job, "COMPLETED", seconds=30)
            assert cluster.column(job, "NodeList") == "n3", cluster.column(job, "NodeList")
        forged = cluster.run(["sbatch", "--gres=mig:1g.5gb:1", "-w", "n1 cleave:1:n1=0@0",
                              "--wrap", "true"], user=USERS[0])
        assert forged.returncode != 0, "a user's node list is no mark"
    finally:
        cluster.run(["scontrol", "delete", "PartitionName=third"])


def test_jobs_that_wait_for_others_take_no_room(cluster):
    first = cluster.sbatch("sleep 60", "-t", "2")
    waiting = [cluster.sbatch("true", "--gres=mig:7g.40gb:4", "-t", "2",
                              "--dependency=afterok:%d" % first) for _ in range(3)]
    beside = cluster.sbatch(script(runs_folder(cluster), 1), "--gres=mig:1g.5gb", "-t", "2")
    cluster.wait_state(beside, "COMPLETED")
    assert cluster.state(first) == "RUNNING", "else this shows nothing"
    cluster.run(["scancel", str(first)] + [str(job) for job in waiting])


def test_limits_of_an_account_hold(cluster):
    """Slurm's own limits, by the names of profiles. In cluster mode a job that a limit holds back
    goes behind the gate again, and begins when the limit lets it."""
    cluster.run(["sacctmgr", "-i", "modify", "user", USERS[1], "set",
                 "GrpTRES=gres/mig:3g.20gb=1"])
    until(lambda: "gres/mig:3g.20gb=1(" in cluster.run(
        ["scontrol", "-o", "show", "assoc_mgr", "users=" + USERS[1], "flags=assoc"]).stdout,
          "slurmctld to know the limit")
    try:
        both = [cluster.sbatch(script(runs_folder(cluster), 6), "--gres=mig:3g.20gb", "-t", "2",
                               user=USERS[1]) for _ in range(2)]
        for job in both:
            cluster.wait_state(job, "COMPLETED", seconds=90)
        first, second = sorted((read_runs(runs_folder(cluster), job)[0] for job in both),
                               key=lambda run: run.begin)
        assert first.end <= second.begin, (first.end, second.begin)
    finally:
        cluster.run(["sacctmgr", "-i", "modify", "user", USERS[1], "set",
                     "GrpTRES=gres/mig:3g.20gb=-1"])


TESTS = [each for name, each in sorted(globals().items()) if name.startswith("test_")]


def run_mode(binaries, mode, wanted):
    """Says what failed, and returns how much."""
    with Cluster(binaries, mode=mode, extra=SITE,
                 controller=["--period", "0.3", "--patience", "8"]) as cluster:
        failed = run_tests(cluster, TESTS, wanted, ", %s mode" % mode)
        assert not cluster.drained(), cluster.node_states()
        if failed:
            cluster.show_logs()
    return failed


def main():
    if why_not():
        print("skipped: " + why_not())
        return 77
    wanted = sys.argv[-1] if sys.argv[-1].startswith("test_") else ""
    modes = [mode for mode in MODES if mode in sys.argv[2:]]
    if len(modes) == 1:
        return 1 if run_mode(sys.argv[1], modes[0], wanted) else 0
    # Side by side, each on a cluster of its own: they mostly wait.
    both = [subprocess.Popen([sys.executable, __file__, sys.argv[1], mode] + [wanted] * bool(wanted))
            for mode in MODES]
    return max([each.wait() for each in both])


if __name__ == "__main__":
    sys.exit(main())
