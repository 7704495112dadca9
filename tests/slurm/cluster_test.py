"""Jobs of a real Slurm on simulated GPUs, by the claims that its prolog and epilog make.

    python3 cluster_test.py BIN              exit code 77: skipped, with the reason
"""

import re
import sys

from slurm_cluster import Cluster, USERS, run_tests, until, why_not

SHOW = "echo devices=$CUDA_VISIBLE_DEVICES"


def devices(text):
    return [each.split(",") for each in re.findall(r"devices=(\S*)", text)]


def held(cluster):
    return [claim for node in cluster.nodes for claim in cluster.claims(node)]


def done(cluster, job, state="COMPLETED"):
    found = cluster.wait_state(job, "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", seconds=90)
    assert found == state, "job %s is %s: %s" % (job, found, cluster.out(job))
    return cluster.out(job)


def test_a_job_sees_its_instances(cluster):
    one = cluster.sbatch(SHOW, "--gres=mig:3g.20gb:1")
    three = cluster.sbatch(SHOW, "--gres=mig:1g.5gb:3", user=USERS[1])
    none = cluster.sbatch("echo devices=${CUDA_VISIBLE_DEVICES-none}")
    assert len(devices(done(cluster, one))[0]) == 1, cluster.out(one)
    assert cluster.out(one).startswith("devices=MIG-"), cluster.out(one)
    assert len(set(devices(done(cluster, three))[0])) == 3, cluster.out(three)
    assert "devices=none" in done(cluster, none)


def test_an_array_and_steps(cluster):
    array = cluster.sbatch(SHOW, "--gres=mig:1g.5gb:1", "--array=0-3", "-o", "a%a.out")
    steps = cluster.sbatch("srun sh -c '%s'; srun sh -c '%s'" % (SHOW, SHOW), "--gres=mig:2g.10gb:1")
    assert len(set(map(tuple, devices(done(cluster, steps))))) == 1, cluster.out(steps)
    until(lambda: cluster.run(["squeue", "-h", "-j", str(array)]).stdout == "", "the array", 90)
    for task in range(4):
        with open(cluster.path("out/a%d.out" % task), encoding="utf-8") as file:
            assert len(devices(file.read())[0]) == 1


def test_interactive_jobs(cluster):
    ran = cluster.run(["srun", "--gres=mig:3g.20gb:1", "sh", "-c", SHOW], user=USERS[0])
    assert "devices=MIG-" in ran.stdout, ran.stderr
    ran = cluster.run(["salloc", "--gres=mig:3g.20gb:1", "srun", "sh", "-c", SHOW], user=USERS[0])
    assert "devices=MIG-" in ran.stdout, ran.stderr


def test_two_nodes(cluster):
    job = cluster.sbatch("srun sh -c '%s'" % SHOW, "-N2", "--gres=mig:2g.10gb:1")
    seen = devices(done(cluster, job))
    assert len(set(map(tuple, seen))) == 2, seen


def test_a_cancelled_job(cluster):
    cancelled = cluster.sbatch("sleep 300", "--gres=mig:3g.20gb:1")
    cluster.wait_state(cancelled, "RUNNING")
    cluster.run(["scancel", str(cancelled)])
    done(cluster, cancelled, "CANCELLED")


def test_a_daemon_dies_under_a_job(cluster):
    job = cluster.sbatch("%s; while [ ! -e go ]; do sleep 0.2; done; %s" % (SHOW, SHOW),
                         "--gres=mig:4g.20gb:1")
    cluster.wait_state(job, "RUNNING")
    node = cluster.column(job, "NodeList")
    before = until(lambda: cluster.claims(node), "the claim")
    cluster.kill("cleaved-" + node)
    cluster.start_cleaved(node)
    until(lambda: cluster.claims(node) == before, "the same claim after the restart")
    with open(cluster.path("out/go"), "w", encoding="ascii"):
        pass
    done(cluster, job)


def test_no_room_requeues_and_never_drains(cluster):
    """Slurm is told of four times as much as the node can have in combination."""
    node = cluster.nodes[0]
    full = cluster.sbatch("sleep 3000", "--gres=mig:7g.40gb:4", "-w", node)
    cluster.wait_state(full, "RUNNING")
    until(lambda: cluster.claims(node), "its claim")
    waits = cluster.sbatch(SHOW, "--gres=mig:1g.5gb:1", "-w", node)
    until(lambda: "cleave on" in cluster.column(waits, "admin_comment"), "the reason", 30)
    cluster.wait_state(waits, "PENDING", seconds=30)
    assert cluster.column(waits, "PriorityLong") != "0", "it is not held"
    cluster.run(["scancel", str(full)])
    done(cluster, full, "CANCELLED")
    cluster.run(["scancel", str(waits)])


def test_the_observer_sees_counts_of_too_many(cluster):
    """Here Slurm is told of what each node could have of each profile alone."""
    cluster.start_observer()
    until(lambda: cluster.seen()["judged"] > 0, "a look")
    told = cluster.end_observer()
    assert told["more_than_possible"], told


TESTS = [each for name, each in sorted(globals().items()) if name.startswith("test_")]


def main():
    reason = why_not()
    if reason:
        print("skipped: " + reason)
        return 77
    with Cluster(sys.argv[1]) as cluster:
        failed = run_tests(cluster, TESTS, sys.argv[2] if len(sys.argv) > 2 else "")
        try:
            until(lambda: not held(cluster), lambda: "claims to end: %s" % held(cluster), 40)
            assert not cluster.drained(), "drained: %s" % cluster.node_states()
            until(lambda: all(cluster.instance_count(node) == 0 for node in cluster.nodes),
                  "all instances to go, as the simulated driver has them", 20)
            print("nothing is left over: ok")
        except AssertionError as wrong:
            failed += 1
            print("left over: FAILED: %s" % wrong)
            if failed:
                cluster.show_logs()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
