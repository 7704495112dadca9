"""How far this process is, and when it reports that.

A process has one count of iterations. The loop that is entered first owns it until it ends; loops inside it, and
in other threads meanwhile, run unwatched. Later loops continue the count.

At most once in `every` seconds, memory is asked for and a line is sent. In between, iterations are only counted:
an allocator keeps its own peaks, and the maxima of given values are kept here. What is left is sent when the loop
or the process ends. What a lost line said is in the next one.
"""

import atexit
import os
import sys
import threading
import time

from .checkpoint import Checkpoint
from .line import PARTS, report_line, whole
from .sender import VARIABLE, Sender


def larger(one, other):
    """The larger of each part of two memories; None counts as nothing. If the context is a part of only one of
    them, the others cannot be compared, and the later one counts."""
    if one is None or other is None:
        return other if one is None else one
    if ("context" in one) != ("context" in other):
        return other
    return {part: max(one.get(part, 0), other.get(part, 0)) for part in {**one, **other}}


def memory_of(value):
    """A program's memory as a dict of whole bytes; None if it is not known. It is given as a dict with
    "requested", "allocated" and what is known of PARTS, as (requested, allocated), or as one number for both."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            return None
        value = {"requested": value[0], "allocated": value[1]}
    elif not isinstance(value, dict):
        value = {"requested": value}
    requested, allocated = value.get("requested"), value.get("allocated")
    memory = {
        "requested": whole(allocated if requested is None else requested),
        "allocated": whole(requested if allocated is None else allocated),
    }
    if None in memory.values():
        return None
    for part in PARTS:
        if value.get(part) is not None:
            memory[part] = whole(value[part])
            if memory[part] is None:
                return None
    return memory


def is_worker():
    """A process that Python's multiprocessing started. Only who has imported it can be one."""
    module = sys.modules.get("multiprocessing.process")
    try:
        return module is not None and module.parent_process() is not None
    except Exception:
        return False


class Progress:
    def __init__(self):
        self.checkpoint = Checkpoint()
        self.sender = None
        self.done = 0
        self.owner = None
        self.pending = None  # the loop with unreported iterations
        self.pending_memory = None
        self.held = None
        self.next = 0.0
        self.silent = is_worker()
        self.renew_locks()

    def renew_locks(self):
        # The first is reentrant: collecting a forgotten loop ends that loop at any moment.
        self.counting = threading.RLock()
        self.sending = threading.Lock()

    def attend(self):
        """Finds out whether reports are wanted."""
        path = os.environ.get(VARIABLE)
        if self.silent or not path:
            path = None
        if path != (self.sender.path if self.sender else None):
            if self.sender:
                self.sender.close()
            self.sender = Sender(path) if path else None
        return self.sender is not None

    def live(self):
        return self.sender is not None or self.checkpoint.callback is not None

    def tick(self, loop, memory, given=None):
        """An iteration of `loop` has ended. `memory` is called for the memory; `given` is known already."""
        if self.silent:
            return
        with self.counting:
            self.done += 1
            if given is not None:
                self.held = larger(self.held, given)
            self.pending, self.pending_memory = loop, memory
        if self.sender is not None and time.monotonic() >= self.next:
            self.report(given is None)
        self.checkpoint.poll()

    def report(self, ask):
        """Sends the current count, unless another thread is doing so."""
        sending = self.sending
        if not sending.acquire(blocking=False):
            return
        try:
            loop, done = self.pending, self.done
            if loop is None or self.sender is None:
                return
            self.next = time.monotonic() + loop.every
            asked = None
            if ask and self.pending_memory is not None:
                asked = memory_of(self.pending_memory())
            with self.counting:
                self.held = held = larger(self.held, asked)
            if held is None:
                return
            line = report_line(done, iterations=loop.total, **held)
            if line is not None and not self.sender.send(line):
                return
            with self.counting:
                if self.held is held:
                    self.held = None
                if self.done == done:
                    self.pending = self.pending_memory = None
        except Exception:
            pass  # a report is worth less than the job
        finally:
            sending.release()

    def flush(self):
        if self.pending is not None and not self.silent:
            self.report(self.held is None)

    def enter(self, loop):
        with self.counting:
            if self.owner is None:
                self.owner = loop
                return True
            return self.owner is loop

    def leave(self, loop):
        with self.counting:
            if self.owner is not loop:
                return
            self.owner = None
        self.flush()

    def in_child(self):
        """After a fork: the child is not the job."""
        self.silent = True
        self.renew_locks()
        self.checkpoint.forget()
        self.done = 0
        self.pending = self.pending_memory = self.held = self.owner = None
        if self.sender:
            self.sender.close()
        self.sender = None

    def here(self):
        self.silent = False
        self.attend()


progress = Progress()
atexit.register(progress.flush)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=progress.in_child)
