"""A cluster of Slurm as Debian has it, on loopback: munged, MariaDB, slurmdbd, slurmctld, and for
each node a slurmd and a cleaved with simulated GPUs. All lies in one folder, is started by hand and
ends with this program; processes are ended by their numbers only.

    python3 slurm_cluster.py BIN             starts one, says how to reach it, ends it at Ctrl+C
"""

import contextlib
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NEEDED = ["munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd", "mariadb-install-db", "mariadb",
          "sbatch", "srun", "salloc", "scontrol", "sacctmgr", "sacct"]
PROFILES = {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}  # of one A100-40GB
HERE = os.path.dirname(os.path.abspath(__file__))
USERS = ["nobody", "games"]  # who submit; Debian has both


def which(program):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(program, path=path)


def why_not():
    """Why there can be no cluster here; empty where there can."""
    if os.geteuid() != 0:
        return "only root can start slurmd and run jobs as other users"
    missing = [each for each in NEEDED if which(each) is None]
    if missing:
        return "not installed: " + ", ".join(missing) + " (tools/setup.sh test)"
    try:
        socket.getaddrinfo(socket.gethostname(), None)  # Slurm's daemons look each other up by it
    except OSError as wrong:
        return "this machine's own name, %s, has no address: %s" % (socket.gethostname(), wrong)
    return ""


def release():
    """Slurm's, such as 22.05.8."""
    return subprocess.run([which("slurmctld"), "-V"], capture_output=True, text=True,
                          check=True).stdout.split()[1]


class Ports:
    """Ports that stay this cluster's while its daemons die and come back. Those that the system
    gives to outgoing connections would be taken meanwhile, and so are left out; a socket without a
    file keeps a block of the others from the clusters beside this one."""

    BLOCK, FIRST, BLOCKS = 32, 12000, 500

    def __init__(self):
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            low, high = map(int, file.read().split())
        for block in random.sample(range(self.BLOCKS), self.BLOCKS):
            ports = range(self.FIRST + block * self.BLOCK, self.FIRST + (block + 1) * self.BLOCK)
            if ports[0] <= high and ports[-1] >= low:
                continue
            self.mine = socket.socket(socket.AF_UNIX)
            try:
                self.mine.bind("\0cleave-slurm-ports-%d" % block)
                for port in ports:
                    with socket.socket() as probe:
                        probe.bind(("127.0.0.1", port))
                self.next = iter(ports)
                return
            except OSError:
                self.mine.close()
        raise AssertionError("no %d ports in a row are free" % self.BLOCK)


PATIENCE = 4  # times as long as an idle machine needs at most: bounds, which a pass never waits for


def until(condition, what, seconds=30.0, pause=0.1):
    """Waits for it, PATIENCE times `seconds` at most; what it returned. Fails with `what`, which
    may be a function."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("waited %.0f s for %s" % (
                seconds, what() if callable(what) else what))
        time.sleep(pause)


def run_tests(cluster, tests, wanted, where=""):
    """Runs those whose names have `wanted`, says what came of each, and returns how many failed."""
    failed = 0
    for test in tests:
        if wanted not in test.__name__:
            continue
        begun = time.monotonic()
        try:
            test(cluster)
            said = "ok"
        except (AssertionError, subprocess.SubprocessError) as wrong:
            failed += 1
            said = "FAILED: %s" % wrong
            with contextlib.suppress(AssertionError):
                cluster.cancel_all()  # or the next ones would find the GPUs taken
        print("%s%s: %s (%.1f s)" % (test.__name__, where, said, time.monotonic() - begun),
              flush=True)
    return failed


class Cluster:
    """`counts`: how many instances of each profile Slurm is told that a node has. By default what
    its GPUs could have of each alone, which is more than they can have together: what Slurm then
    promises too much, the prolog turns away.

    `mode`: "node" or "cluster", with the files of `cleave slurm setup`, the submit plugin and a
    controller; counts begin at 0 then. "fixed": `counts` has those of each node, and they stay. The
    hooks ask the daemons as in the other modes, of which each has a GPU for each instance: what a
    fixed layout has room for is said by the counts alone. "plain": Slurm as if Cleave were unknown,
    with the daemons beside it."""

    def __init__(self, binaries, nodes=3, gpus=4, counts=None, accounting=True, mode=None,
                 extra="", controller=()):
        self.binaries = os.path.abspath(binaries)
        self.nodes = ["n%d" % (i + 1) for i in range(nodes)]
        self.gpus = gpus
        self.counts = counts or {name: most * gpus for name, most in PROFILES.items()}
        self.accounting, self.mode, self.extra = accounting, mode, extra
        self.controller = list(controller)  # more of its options
        self.folder = tempfile.mkdtemp(prefix="cleave-slurm-")
        os.chmod(self.folder, 0o755)
        self.running = {}  # by name: Popen
        self.observer = None
        self.reserved = Ports()
        self.ports = dict(zip(self.nodes + ["ctld", "dbd", "sql"], self.reserved.next))
        self.environment = dict(os.environ, SLURM_CONF=self.path("slurm.conf"),
                                PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        for name in list(self.environment):
            if name.startswith(("SLURM_", "SBATCH_", "SRUN_")) and name != "SLURM_CONF":
                del self.environment[name]

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.show_logs()
            self.end()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.show_logs()
        self.end()

    # Starting and ending.

    def start(self, name, words, **more):
        log = open(self.path(name + ".log"), "ab")
        environment = dict(self.environment, **more.pop("environment", {}))
        self.running[name] = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True, cwd=self.folder, **more)
        log.close()
        return self.running[name]

    def kill(self, name, how=signal.SIGKILL):
        """Ends one of the daemons, by its number."""
        process = self.running.pop(name, None)
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def begin(self):
        os.mkdir(self.path("out"))
        os.chmod(self.path("out"), 0o1777)
        self.write_files()
        self.start_munged()
        if self.accounting:
            self.start_database()
        for node in self.nodes:
            self.start_cleaved(node)
        self.start_slurmctld()
        for node in self.nodes:
            self.start_slurmd(node)
        for node in self.nodes:
            until(lambda: self.cleaved_is_ready(node), "cleaved of " + node)
        until(lambda: set(self.node_states().values()) == {"idle"},
              lambda: "idle nodes: %s" % self.node_states(), 60)
        if self.mode in ("node", "cluster"):
            self.start_controller()

    def end(self):
        for node in self.nodes:  # jobs that still run, by the numbers of their steps
            for pid in self.stepds(node):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if self.observer is not None and self.observer.poll() is None:
            self.observer.kill()
        self.kill("controller", signal.SIGTERM)
        for name in ["slurmctld"] + ["slurmd-" + node for node in self.nodes]:
            self.kill(name)
        for name in ["slurmdbd"] + ["cleaved-" + node for node in self.nodes]:
            self.kill(name, signal.SIGTERM)
        for name in list(self.running):
            self.kill(name, signal.SIGTERM)
        self.reserved.mine.close()
        if not os.environ.get("CLEAVE_KEEP_SLURM"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def stepds(self, node):
        """slurmstepd processes, whose command lines say so, and what runs in jobs: they know our
        folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    words = file.read()
                with open("/proc/%s/environ" % pid, "rb") as file:
                    environment = file.read()
            except OSError:
                continue
            if self.folder.encode() in environment and (
                    b"slurmstepd" in words or b"\0SLURM_JOB_ID=" in environment):
                found.append(int(pid))
        return found

    def kill_processes_of(self, job):
        """All that a job has on this machine, its slurmstepd first, as if it had never begun."""
        for needle, name in ((b"slurmstepd: [%d." % job, "cmdline"),
                             (b"SLURM_JOB_ID=%d\0" % job, "environ")):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/%s/environ" % pid, "rb") as file:
                        environment = file.read()
                    with open("/proc/%s/%s" % (pid, name), "rb") as file:
                        found = needle in file.read()
                    if found and self.folder.encode() in environment:
                        os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    continue

    def start_munged(self):
        if not os.path.exists(self.path("munge.key")):
            with open(self.path("munge.key"), "wb") as key:
                key.write(os.urandom(1024))
            os.chmod(self.path("munge.key"), 0o600)
        self.start("munged", [which("munged"), "--foreground", "--force",
                              "--key-file", self.path("munge.key"),
                              "--socket", self.path("munge.sock"),
                              "--pid-file", self.path("munged.pid"),
                              "--log-file", self.path("munged.own.log"),
                              "--seed-file", self.path("munged.seed")])
        until(self.munged_answers, "munged")

    def munged_answers(self):
        """The socket's file is left where it was killed."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.path("munge.sock")) == 0

    def start_database(self):
        install = [which("mariadb-install-db"), "--no-defaults", "--user=root",
                   "--datadir=" + self.path("db"), "--skip-test-db",
                   "--auth-root-authentication-method=normal"]
        # Several servers at once may ask the kernel for more than it has for asynchronous files.
        for last in (False, True):
            done = subprocess.run(install, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=self.environment)
            if done.returncode == 0:
                break
            assert not last, "mariadb-install-db: exit %d: %s" % (done.returncode, done.stdout)
            shutil.rmtree(self.path("db"), ignore_errors=True)
        self.start("mariadbd", [which("mariadbd"), "--no-defaults", "--user=root",
                                "--datadir=" + self.path("db"), "--socket=" + self.path("db.sock"),
                                "--bind-address=127.0.0.1", "--port=%d" % self.ports["sql"],
                                "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
                                "--pid-file=" + self.path("mariadbd.pid")])
        sql = ("create database slurm_acct_db; create user slurm@'127.0.0.1' identified by 'slurm';"
               "create user slurm@localhost identified by 'slurm';"
               "grant all on slurm_acct_db.* to slurm@'127.0.0.1';"
               "grant all on slurm_acct_db.* to slurm@localhost;")
        until(lambda: subprocess.run(
            [which("mariadb"), "--no-defaults", "-u", "root", "--socket=" + self.path("db.sock"),
             "-e", sql], capture_output=True, env=self.environment).returncode == 0, "MariaDB")
        self.start_slurmdbd()
        until(lambda: self.run(["sacctmgr", "-n", "list", "cluster"]).returncode == 0, "slurmdbd")
        self.run(["sacctmgr", "-i", "add", "cluster", "cleave"])
        self.run(["sacctmgr", "-i", "add", "account", "lab", "cluster=cleave"])
        for user in USERS:
            self.run(["sacctmgr", "-i", "add", "user", user, "account=lab"])

    def start_slurmdbd(self):
        self.start("slurmdbd", [which("slurmdbd"), "-D"])

    def start_slurmctld(self, fresh=True):
        """It ends at once where slurmdbd is not there yet; a site's service starts it again."""
        words = [which("slurmctld"), "-D"] + (["-c"] if fresh else [])
        self.start("slurmctld", words)

        def is_up():
            if self.running["slurmctld"].poll() is not None:
                self.start("slurmctld", words)
            return self.run(["scontrol", "ping"]).stdout.find("UP") >= 0

        until(is_up, "slurmctld", 60, 0.5)

    def start_slurmd(self, node):
        self.start("slurmd-" + node, [which("slurmd"), "-D", "-N", node])

    def start_cleaved(self, node):
        gpus = self.gpus
        if self.mode == "fixed":
            gpus = sum(self.counts[self.nodes.index(node)].values())
        self.start("cleaved-" + node,
                   [self.binaries + "/cleaved", "--simulate", "%dxA100-40GB" % gpus,
                    "--instant", "--state", self.path("state-" + node),
                    "--socket", self.socket(node), "--config", self.path("cleaved.toml")])

    def start_controller(self):
        os.makedirs(self.path("lease"), exist_ok=True)
        self.start("controller", [self.binaries + "/cleave", "slurm", "controller", "--mode",
                                  self.mode, "--lease", self.path("lease"), "--sockets",
                                  self.path("%n.sock")] + self.controller)

    def start_observer(self):
        """Of the counts, beside whatever runs."""
        library = os.path.join(self.binaries, "..", "lib", "cleave-nvmlsim", "libnvidia-ml.so.1")
        self.observer = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "observer.py"), self.folder, library] +
            ["%s=%s" % (node, self.path("state-%s/sim-node" % node)) for node in self.nodes],
            stdout=subprocess.PIPE, text=True, env=self.environment)

    def end_observer(self):
        """What it saw."""
        self.observer.send_signal(signal.SIGTERM)
        return json.loads(self.observer.communicate(timeout=60 * PATIENCE)[0])

    def seen(self):
        """What it has seen so far."""
        try:
            with open(self.path("observed"), encoding="ascii") as file:
                return json.load(file)
        except FileNotFoundError:
            return {"judged": 0, "most": 0}

    def until_saved(self):
        """Until slurmctld has saved what was there when this was called: that survives it."""
        now = time.time()

        def saved():
            try:
                return os.stat(self.path("ctld/job_state")).st_mtime > now
            except FileNotFoundError:
                return False

        until(saved, "slurmctld to save its state")

    def daemons(self):
        """The names of what may die and come back."""
        return (["munged", "slurmctld"] + (["slurmdbd"] if self.accounting else []) +
                (["controller"] if self.mode else []) +
                [kind + node for kind in ("slurmd-", "cleaved-") for node in self.nodes])

    def start_again(self, name):
        if name == "slurmctld":
            self.start_slurmctld(fresh=False)
        elif "-" in name:
            kind, node = name.split("-")
            {"slurmd": self.start_slurmd, "cleaved": self.start_cleaved}[kind](node)
        else:
            {"munged": self.start_munged, "slurmdbd": self.start_slurmdbd,
             "controller": self.start_controller}[name]()

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def write_files(self):
        host = socket.gethostname()
        self.write("cleaved.toml", "keep_idle_s = 1\n")
        lines = ["ClusterName=cleave",
                 "SlurmctldHost=%s(127.0.0.1)" % host, "SlurmctldPort=%d" % self.ports["ctld"],
                 "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge",
                 "AuthInfo=socket=" + self.path("munge.sock"), "CredType=cred/munge",
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none",
                 "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
                 "SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000,"
                 "batch_sched_delay=1,bf_continue" +
                 (",nohold_on_prolog_fail" if self.mode in ("node", "cluster") else ""),
                 "ReturnToService=2",
                 "JobAcctGatherType=jobacct_gather/none",
                 "StateSaveLocation=" + self.path("ctld"),
                 "SlurmdSpoolDir=" + self.path("spool-%n"), "SlurmdPidFile=" + self.path("%n.pid"),
                 "SlurmctldPidFile=" + self.path("ctld.pid"),
                 "SlurmctldTimeout=60", "SlurmdTimeout=120", "KillWait=2", "InactiveLimit=0",
                 "MinJobAge=3600", "Waittime=0", "JobRequeue=1", "OverTimeLimit=0",
                 "UnkillableStepTimeout=60", "SlurmdParameters=config_overrides", self.extra]
        if self.accounting:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd",
                      "AccountingStorageHost=127.0.0.1",
                      "AccountingStoragePort=%d" % self.ports["dbd"],
                      "AccountingStoragePass=" + self.path("munge.sock")]
        if os.path.exists(self.plugin()):
            self.write("plugstack.conf", "required %s\n" % self.plugin())
            lines.append("PlugStackConfig=" + self.path("plugstack.conf"))
        gres, partition, more = {
            None: self.write_hooks, "fixed": self.write_fixed,
            "plain": lambda: ("", "", "")}.get(self.mode, self.write_setup)()
        for i, node in enumerate(self.nodes):
            lines.append("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d "
                         "CoresPerSocket=%d RealMemory=1000 %sState=UNKNOWN" % (
                             node, host, self.ports[node], 7 * self.gpus, 7 * self.gpus,
                             "Gres=%s " % (gres if isinstance(gres, str) else gres[i])
                             if gres else ""))
        lines.append("PartitionName=mig Nodes=ALL Default=YES MaxTime=INFINITE State=UP" +
                     partition)
        self.write("slurm.conf", "\n".join(lines) + "\n" + more)
        self.write("slurmdbd.conf", "\n".join([
            "AuthType=auth/munge", "AuthInfo=socket=" + self.path("munge.sock"),
            "DbdHost=" + host, "DbdAddr=127.0.0.1", "DbdPort=%d" % self.ports["dbd"],
            "SlurmUser=root", "StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1",
            "StoragePort=%d" % self.ports["sql"], "StorageUser=slurm", "StoragePass=slurm",
            "StorageLoc=slurm_acct_db", "PidFile=" + self.path("slurmdbd.pid"), ""]), 0o600)
        # Later releases look for control groups of systemd's even where nothing uses them.
        if tuple(map(int, release().split(".")[:2])) >= (23, 11):
            self.write("cgroup.conf", "CgroupPlugin=disabled\n")
        os.mkdir(self.path("ctld"))
        for node in self.nodes:
            os.mkdir(self.path("spool-" + node))

    def write_hooks(self):
        """The hooks alone, with counts that stay: GRES of a node, more of the partition, lines."""
        self.write("gres.conf", "".join("Name=mig Type=%s Count=%d Flags=CountOnly\n" % each
                                        for each in self.counts.items()))
        gres = ",".join("mig:%s:%d" % each for each in self.counts.items())
        return gres, "", self.hook_lines()

    def hook_lines(self):
        for hook in ["prolog", "epilog", "task-prolog"]:
            more = " --wait 6 --batch-wait 2" if hook == "prolog" else ""
            self.write(hook, "#!/bin/sh\nexec %s/cleave slurm %s --socket %s --notes %s%s\n" % (
                self.binaries, hook, self.path("%n.sock"), self.path("notes"), more), 0o755)
        lines = ["GresTypes=mig", "PrologFlags=Alloc", "Prolog=" + self.path("prolog"),
                 "Epilog=" + self.path("epilog"), "TaskProlog=" + self.path("task-prolog")]
        if self.accounting:
            lines.append("AccountingStorageTRES=gres/mig," + ",".join(
                "gres/mig:" + name for name in PROFILES))
        return "\n".join(lines) + "\n"

    def write_fixed(self):
        self.write("gres.conf", "".join(
            "NodeName=%s Name=mig Type=%s Count=%d Flags=CountOnly\n" % (node, *each)
            for node, counts in zip(self.nodes, self.counts) for each in counts.items()))
        return [",".join("mig:%s:%d" % each for each in counts.items())
                for counts in self.counts], "", self.hook_lines()

    def write_setup(self):
        """What `cleave slurm setup` writes, put where the docs say. Nodes on one machine have
        sockets of their own, which the hooks are told."""
        subprocess.run([self.binaries + "/cleave", "slurm", "setup", "--write", self.path("setup"),
                        "--nodes", "n[1-%d]" % len(self.nodes), "--gpus",
                        "%dxA100-40GB" % self.gpus, "--mode", self.mode],
                       check=True, capture_output=True)
        for hook in os.listdir(self.path("setup")):
            with open(self.path("setup/" + hook), encoding="ascii") as file:
                text = file.read()
            if text.startswith("#!"):
                self.write("setup/" + hook, "%s --socket %s --notes %s\n" % (
                    text.rstrip(), self.path("%n.sock"), self.path("notes")), 0o755)
            elif hook == "gres.conf.add":
                self.write("gres.conf", text)
            elif hook == "job_submit.lua":
                self.write(hook, text)
            else:
                lines = text
        comments = "\n".join(line for line in lines.splitlines() if line.startswith("#  "))
        gres = re.search("Gres=(\\S+)", comments).group(1)
        return gres, " " + re.search("TRESBillingWeights=\\S+", comments).group(0), lines

    def plugin(self):
        """SPANK's, which is built where Slurm's headers are, for their release."""
        if os.environ.get("CLEAVE_WITHOUT_SPANK"):
            return ""
        return os.path.join(self.binaries, "..", "lib", "cleave-slurm", "cleave_mig_memory.so")

    # Using it.

    def socket(self, node):
        return self.path(node + ".sock")

    def run(self, words, user=None, seconds=60 * PATIENCE, text=None):
        """A tool of Slurm's; as a user, in the folder for outputs."""
        more = {}
        if user is not None:
            entry = pwd.getpwnam(user)
            more = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        return subprocess.run([which(words[0]) or words[0]] + words[1:], input=text, text=True,
                              capture_output=True, env=self.environment, timeout=seconds,
                              cwd=self.path("out"), check=False, **more)

    def sbatch(self, script, *options, user=USERS[0]):
        done = self.run(["sbatch", "--parsable", "-o", "%j.out", "-e", "%j.out"] + list(options),
                        user=user, text="#!/bin/sh\n" + script + "\n")
        assert done.returncode == 0, done.stderr
        return int(done.stdout.strip().split(";")[0])

    def out(self, job):
        try:
            with open(self.path("out/%s.out" % job), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def state(self, job):
        """The state of a job, by scontrol: MinJobAge keeps it an hour."""
        said = self.run(["squeue", "-h", "-t", "all", "-j", str(job), "-O", "State:40"]).stdout
        return said.split()[0] if said.split() else ""

    def column(self, job, name):
        return self.run(["squeue", "-h", "-t", "all", "-j", str(job), "-O",
                         name + ":400"]).stdout.strip()

    def wait_state(self, job, *states, seconds=60):
        return until(lambda: self.state(job) in states and self.state(job),
                     lambda: "job %s to be %s: it is %s, %s (%s)" % (
                         job, states, self.state(job), self.column(job, "Reason"),
                         self.column(job, "admin_comment")), seconds)

    def cancel_all(self):
        jobs = self.run(["squeue", "-h", "-o", "%i"]).stdout.split()
        if jobs:
            self.run(["scancel"] + jobs)
            until(lambda: not self.run(["squeue", "-h", "-o", "%i"]).stdout, "jobs to end")

    def node_states(self):
        said = self.run(["sinfo", "-h", "-N", "-n", ",".join(self.nodes), "-o", "%N %t"]).stdout
        return dict(line.split() for line in said.splitlines())

    def drained(self):
        return [node for node, state in self.node_states().items()
                if "dr" in state or "down" in state or "inval" in state]

    def ask(self, node, words):
        done = subprocess.run([self.binaries + "/cleave"] + words +
                              ["--socket", self.socket(node), "--json"], text=True,
                              capture_output=True, timeout=60 * PATIENCE, check=False)
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def cleaved_is_ready(self, node):
        return len(self.ask(node, ["claim", "list"]).get("claims", [0])) == 0

    def claims(self, node):
        return self.ask(node, ["claim", "list"]).get("claims", [])

    def instance_count(self, node):
        """How many instances the simulated driver has, as another program sees them."""
        library = os.path.join(self.binaries, "..", "lib", "cleave-nvmlsim", "libnvidia-ml.so.1")
        done = subprocess.run([self.binaries + "/cleave", "instances", "--json", "--nvml", library],
                              text=True, capture_output=True, timeout=60 * PATIENCE, check=True,
                              env=dict(os.environ,
                                       CLEAVE_SIM_NODE=self.path("state-%s/sim-node" % node)))
        return len(json.loads(done.stdout)["instances"])

    def show_logs(self):
        for name in sorted(os.listdir(self.folder)):
            if not name.endswith(".log"):
                continue
            with open(self.path(name), errors="replace", encoding="utf-8") as file:
                lines = file.readlines()[-25:]
            sys.stderr.write("--- %s\n%s" % (name, "".join(lines)))


if __name__ == "__main__":
    if why_not():
        sys.exit("slurm_cluster: " + why_not())
    with Cluster(sys.argv[1]) as cluster:
        print("SLURM_CONF=%s" % cluster.path("slurm.conf"), flush=True)
        print("sockets: %s" % cluster.path("%n.sock"), flush=True)
        signal.pause()
