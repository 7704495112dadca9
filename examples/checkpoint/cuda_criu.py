#!/usr/bin/env python3
"""Saves a CUDA process and brings it back, for --checkpoint-command and --restore-command.

    cuda_criu.py save FOLDER [SECONDS]   $CLEAVE_PID and its children go to FOLDER, and end
    cuda_criu.py restore FOLDER          they go on from there, as children of this process

The memory of the GPU is brought to the host by the driver's own checkpoints (cuCheckpointProcess*,
driver 570 and later), and the processes are written by CRIU, which needs root or
CAP_CHECKPOINT_RESTORE. Whether a machine can do that is not known before it is tried: if anything
fails, the process goes on where it was, this program says what failed, and exits with 1; what was
saved before stays. That takes SECONDS at most (100): the job's --checkpoint-grace must be longer, or
this program is killed before it can let the process go on.

Python's standard library is enough. The processes have their old numbers again, and their files at
the same paths; what they print goes where this process prints.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time

LOCK_WITHIN_MS = 30_000
WITHIN_S = 100
NOTES = "cuda_criu.json"


class LockArgs(ctypes.Structure):
    _fields_ = [("timeout_ms", ctypes.c_uint), ("reserved0", ctypes.c_uint),
                ("reserved1", ctypes.c_uint64 * 7)]


class Driver:
    """The driver's checkpoints of other processes."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.cuda = None  # then nothing is on a GPU
            return
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name, *args):
        try:
            function = getattr(self.cuda, name)
        except AttributeError:
            raise RuntimeError(f"this driver has no {name}: it is too old") from None
        code = function(*args)
        if code != 0:
            words = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(words))
            said = words.value.decode() if words.value else str(code)
            raise RuntimeError(f"{name}: {said}")

    def save(self, pid):
        self.call("cuCheckpointProcessLock", ctypes.c_int(pid), ctypes.byref(LockArgs(LOCK_WITHIN_MS)))
        try:
            self.call("cuCheckpointProcessCheckpoint", ctypes.c_int(pid), None)
        except RuntimeError:
            self.call("cuCheckpointProcessUnlock", ctypes.c_int(pid), None)
            raise

    def bring_back(self, pid):
        self.call("cuCheckpointProcessRestore", ctypes.c_int(pid), None)
        self.call("cuCheckpointProcessUnlock", ctypes.c_int(pid), None)

    def uses(self, pid):
        """Whether the process has anything on a GPU."""
        if self.cuda is None:
            return False
        state = ctypes.c_int()
        try:
            self.call("cuCheckpointProcessGetState", ctypes.c_int(pid), ctypes.byref(state))
        except RuntimeError:
            return False
        return True


def tree(pid):
    """The process and all below it, parents first."""
    found = [pid]
    for each in found:
        for task in os.listdir(f"/proc/{each}/task"):
            with open(f"/proc/{each}/task/{task}/children", encoding="ascii") as children:
                found += [int(child) for child in children.read().split()]
    return found


def pipes(pid):
    """What the process reads and prints to: {"1": "pipe:[4711]"}, where that is a pipe."""
    ends = {}
    for number in ("0", "1", "2"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        if target.startswith("pipe:"):
            ends[number] = target
    return ends


def criu(*arguments, within=None):
    try:
        done = subprocess.run(["criu", *arguments], check=False, timeout=within)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"criu {arguments[0]} took longer than {within:.0f} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"criu {arguments[0]} exited with {done.returncode}")


def save(folder, within=WITHIN_S):
    until = time.monotonic() + within
    pid = int(os.environ["CLEAVE_PID"])
    new = folder + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    ends = pipes(pid)
    driver, saved = Driver(), []
    try:
        for each in tree(pid):
            if driver.uses(each):
                driver.save(each)
                saved.append(each)
        with open(os.path.join(new, NOTES), "w", encoding="ascii") as notes:
            json.dump({"pid": pid, "pipes": ends, "on_gpu": saved}, notes)
        outside = [word for end in sorted(set(ends.values())) for word in ("--external", end)]
        criu("dump", "--tree", str(pid), "--images-dir", new, "--shell-job",
             "--log-file", "dump.log", *outside, within=max(1.0, until - time.monotonic()))
    except (RuntimeError, OSError):
        for each in reversed(saved):
            try:
                driver.bring_back(each)
            except RuntimeError as wrong:
                print(f"cuda_criu: process {each}: {wrong}", file=sys.stderr)
        raise
    old = folder + ".old"
    shutil.rmtree(old, ignore_errors=True)
    if os.path.exists(folder):
        os.rename(folder, old)
    os.rename(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def restore(folder):
    with open(os.path.join(folder, NOTES), encoding="ascii") as file:
        notes = json.load(file)
    pid = notes["pid"]
    inherited = [word for number, end in notes["pipes"].items()
                 for word in ("--inherit-fd", f"fd[{number}]:{end}")]
    # As a child of this process, which hears how it ends; some processes die with their parent.
    criu("restore", "--images-dir", folder, "--shell-job", "--restore-detached",
         "--restore-sibling", "--log-file", "restore.log", *inherited)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, lambda got, _: os.kill(pid, got))
    try:
        driver = Driver()
        for each in notes["on_gpu"]:
            driver.bring_back(each)
    except RuntimeError:
        os.kill(pid, signal.SIGKILL)
        raise
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main():
    words = sys.argv[1:]
    try:
        if words[:1] == ["save"] and len(words) in (2, 3):
            save(words[1], *[float(each) for each in words[2:]])
            return 0
        if words[:1] == ["restore"] and len(words) == 2:
            return restore(words[1])
    except (RuntimeError, OSError, KeyError, ValueError) as wrong:
        print(f"cuda_criu: {wrong}", file=sys.stderr)
        return 1
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
