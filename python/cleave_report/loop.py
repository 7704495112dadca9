"""Loops that are watched."""

import os
import sys

from .checkpoint import VARIABLE as CHECKPOINT_VARIABLE
from .line import whole
from .progress import memory_of, progress


def allocator():
    """The memory that PyTorch's allocator reports, in programs that use it."""
    if "torch" not in sys.modules:
        return None
    from . import torch

    return torch.memory()


def start_allocator():
    """What was requested until now does not belong to the first iteration."""
    if "torch" in sys.modules:
        from . import torch

        torch.start()


class Iterations:
    """See cleave_report.iterations, which makes one."""

    def __init__(self, what=None, total=None, start=None, memory=None, every=0.1):
        self.what = what
        self.length = whole(what) if not hasattr(what, "__iter__") else None
        self.said = whole(total)
        self.start = whole(start)
        self.memory = memory if callable(memory) else allocator
        try:
            self.every = max(0.0, float(every))
        except Exception:
            self.every = 0.1
        self.total = self.said
        self.begun = False
        self.depth = 0
        self.explicit = False  # counted by itself, not by a hook
        self.hooked = 0

    def source(self):
        if self.length is not None:
            return range(min(self.start or 0, self.length), self.length)
        return self.what

    def begin(self):
        """Sets where its numbers begin and end, the first time, once it owns the count."""
        if self.start is not None and not self.begun:
            progress.done = max(0, self.start)
        self.begun = True
        if self.memory is allocator:
            start_allocator()
        if self.said is None and self.length is not None:
            self.total = progress.done + len(self.source())

    def __enter__(self):
        try:
            progress.attend()
            if progress.enter(self):
                if self.depth == 0:
                    self.explicit, self.hooked = False, 0
                    self.begin()
                self.depth += 1
        except Exception:
            pass
        return self

    def __exit__(self, *failure):
        if progress.owner is self:
            self.depth -= 1
            if self.depth <= 0:
                self.depth = 0
                progress.leave(self)
        return False

    def __call__(self, requested=None, allocated=None, **parts):
        """One iteration has ended. Bytes may be given: requested in total, and allocated for that; one alone counts
        for both. `context=` and `workspace=` are parts of their own; without a context, `allocated` includes it."""
        if progress.owner is not self or not progress.live():
            return
        try:
            if not self.explicit:
                self.explicit = True
                if self.hooked:  # a hook has counted this one
                    self.hooked = 0
                    return
            given = None
            if requested is not None or allocated is not None:
                given = memory_of(dict(parts, requested=requested, allocated=allocated))
        except Exception:
            return
        progress.tick(self, self.memory, given)

    step = __call__

    def over(self, source):
        """Iterates over `source` and counts each item when the next one is asked for."""
        with self:
            if progress.owner is self:
                self.explicit = True
            for item in source:
                yield item
                self()

    def __iter__(self):
        if not progress.attend() and CHECKPOINT_VARIABLE not in os.environ:
            return iter(self.source())
        return self.over(self.source())

    def __len__(self):
        return len(self.source())

    def __bool__(self):
        return True
