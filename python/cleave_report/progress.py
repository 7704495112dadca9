"""How far this process is, and when that is said.

There is one count of iterations in a process. The loop that is entered first owns it until it ends; loops inside
it, and in other threads meanwhile, run as if they were not watched. Later loops count on from there.

Memory is asked for and a line sent at most once in `every` seconds. Between, an iteration is counted and nothing
else: an allocator's peaks wait in the allocator, values that were given wait here, as their maxima. What is left
over is sent when the loop or the process ends. A line that did not arrive goes with the next.
"""

import atexit
import os
import sys
import threading
import time

from .checkpoint import Checkpoint
from .line import report_line, whole
from .sender import VARIABLE, Sender


def larger(one, other):
    """Of two pairs of bytes, each the larger; None is nothing."""
    if one is None or other is None:
        return other if one is None else one
    return max(one[0], other[0]), max(one[1], other[1])


def pair(value):
    """What a program says of its memory, (requested, allocated) or one number that is both, as whole bytes; None
    where it is neither."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            return None
        requested, allocated = whole(value[0]), whole(value[1])
    else:
        requested = allocated = whole(value)
    return None if requested is None or allocated is None else (requested, allocated)


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
        self.pending = None  # the loop that has iterations nobody was told of
        self.pending_memory = None
        self.held = None
        self.next = 0.0
        self.silent = is_worker()
        self.renew_locks()

    def renew_locks(self):
        # The first may be taken again by its holder, as collecting a forgotten loop ends it at any moment.
        self.counting = threading.RLock()
        self.sending = threading.Lock()

    def attend(self):
        """Looks whether anybody wants reports."""
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
        """An iteration of `loop` has ended. `memory` says pair() of what, when asked; `given` is known already."""
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
        """Sends where the count stands. Who finds another thread at it leaves it to that one."""
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
                asked = pair(self.pending_memory())
            with self.counting:
                self.held = held = larger(self.held, asked)
            if held is None:
                return
            line = report_line(done, held[0], held[1], loop.total)
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
        """After a fork: whoever was forked off is not the job."""
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
