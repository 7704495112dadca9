"""Set-up and removal by docs/slurm.md, word by word, on a cluster of Slurm that knows nothing of
Cleave: its commands are read from there, and only names and folders put in their place. A job of
Slurm's runs through all of it.

    python3 setup_test.py BIN          77: skipped, with the reason
"""

import os
import re
import shlex
import signal
import subprocess
import sys

from slurm_cluster import Cluster, until, why_not

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/slurm.md")


def commands():
    """The commands of the sections on setting up and on the controller."""
    with open(DOCS, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("\n## Set up\n"):text.index("\n## What Slurm is told\n")]
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S)
            for line in block.splitlines() if line.startswith("cleave ")]


def here(cluster, command):
    for word, instead in (("/etc/slurm/cleave", cluster.path("setup")), ("n[1-8]", "n[1-3]"),
                          ("/shared/slurm/cleave", cluster.path("lease"))):
        command = command.replace(word, instead)
    return [cluster.binaries + "/cleave"] + shlex.split(command)[1:]


def run(cluster, command):
    done = subprocess.run(here(cluster, command), text=True, capture_output=True, timeout=60,
                          env=cluster.environment, check=False)
    print("$ %s: %d" % (command, done.returncode), flush=True)
    return done


def read(cluster, name):
    if not os.path.exists(cluster.path(name)):
        return None
    with open(cluster.path(name), encoding="ascii") as file:
        return file.read()


def merge(cluster):
    """As the comments of slurm.conf.add say."""
    add = read(cluster, "setup/slurm.conf.add")
    gres = re.search(r"^#   NodeName=.* (Gres=\S+)$", add, re.M).group(1)
    weights = re.search(r"^#   PartitionName=.* (TRESBillingWeights=\S+)$", add, re.M).group(1)
    parameter = re.search(r"^#   SchedulerParameters=\.\.\.(,\S+)$", add, re.M).group(1)
    lines = []
    for line in read(cluster, "slurm.conf").splitlines():
        if line.startswith("SchedulerParameters="):
            line += parameter
        if line.startswith("NodeName="):
            line += " " + gres
        if line.startswith("PartitionName="):
            line += " " + weights
        lines.append(line)
    lines += [line for line in add.splitlines() if not line.startswith("#")]
    cluster.write("slurm.conf", "\n".join(lines) + "\n")
    cluster.write("gres.conf", (read(cluster, "gres.conf") or "") +
                  read(cluster, "setup/gres.conf.add"))
    cluster.write("job_submit.lua", read(cluster, "setup/job_submit.lua"))
    for hook in ("prolog", "epilog", "task-prolog"):  # several nodes are on this machine
        cluster.write("setup/" + hook, "%s --socket %s --notes %s\n" % (
            read(cluster, "setup/" + hook).rstrip(), cluster.path("%n.sock"),
            cluster.path("notes")), 0o755)


def restart(cluster):
    for name in ["slurmctld"] + ["slurmd-" + node for node in cluster.nodes]:
        cluster.kill(name, signal.SIGTERM)
        cluster.start_again(name)
    until(lambda: set(cluster.node_states().values()) <= {"idle", "mix"},
          lambda: "nodes: %s" % cluster.node_states(), 60)


def test(cluster):
    before = {name: read(cluster, name) for name in ("slurm.conf", "gres.conf", "job_submit.lua")}
    through = cluster.sbatch("sleep 45; echo whole", "-t", "5")
    write, check, controller = commands()
    assert run(cluster, check).returncode == 1, "nothing is set up yet"
    assert run(cluster, write).returncode == 0
    after = {name: read(cluster, name) for name in before}
    assert after == before, "setup changes nothing of Slurm's"
    merge(cluster)
    restart(cluster)
    checked = run(cluster, check)
    assert checked.returncode == 0, checked.stdout
    os.makedirs(cluster.path("lease"))
    cluster.start("controller", here(cluster, controller) + ["--sockets", cluster.path("%n.sock")])
    job = cluster.sbatch("echo devices=$CUDA_VISIBLE_DEVICES", "--gres=mig:3g.20gb", "-t", "2")
    cluster.wait_state(job, "COMPLETED")
    assert cluster.out(job).startswith("devices=MIG-"), cluster.out(job)

    until(lambda: not any(cluster.claims(node) for node in cluster.nodes), "claims to end")
    cluster.kill("controller", signal.SIGTERM)
    for name, text in before.items():
        if text is None:
            os.unlink(cluster.path(name))
        else:
            cluster.write(name, text)
    restart(cluster)
    said = cluster.run(["scontrol", "-o", "show", "node"]).stdout
    assert "mig:" not in said and "cleave" not in said.replace(cluster.folder, ""), said
    config = cluster.run(["scontrol", "show", "config"]).stdout.replace(cluster.folder, "")
    for key in ("Prolog", "Epilog", "TaskProlog", "JobSubmitPlugins", "GresTypes"):
        assert re.search(r"^%s +=( \(null\)|)$" % key, config, re.M), config
    plain = cluster.sbatch("echo fine", "-t", "2")
    for job, says in ((plain, "fine\n"), (through, "whole\n")):
        cluster.wait_state(job, "COMPLETED", seconds=90)
        assert cluster.out(job) == says, cluster.out(job)
        assert cluster.column(job, "RestartCnt") == "0"


def main():
    if why_not():
        print("skipped: " + why_not())
        return 77
    with Cluster(sys.argv[1], mode="plain") as cluster:
        test(cluster)
        assert not cluster.drained(), cluster.node_states()
    print("set up and removed: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
