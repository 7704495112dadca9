"""Reports from PyTorch's caching allocator.

    cleave.torch.hook(total=steps)      at each step of the first optimizer that steps
    cleave.torch.hook(optimizer)        at each step of this one
    cleave.torch.hook(model)            at each forward pass

A report has two of the allocator's statistics since the last report: requested_bytes.all.peak, what tensors asked
for, and allocated_bytes.all.peak, the blocks that hold them. Then it resets the peaks. What the allocator has
reserved beyond that does not count, since it can be given up. PyTorch before 2.0 and the allocator backend
cudaMallocAsync do not count requests; there both are what was allocated.

Memory outside the allocator is added to what was allocated: the CUDA context, kernels, workspaces of libraries. On
a MIG instance it is measured now and then, as memory in use less memory reserved, which is correct for a job alone
on its instance. Elsewhere other processes would be counted, and USUAL_CONTEXT is assumed.
"""

import functools
import os
import sys
import threading
import time
import weakref

from .checkpoint import VARIABLE as CHECKPOINT_VARIABLE
from .line import whole
from .loop import Iterations
from .progress import progress

#: The same as in `cleave forecast model`: a context takes about 0.3 to 0.6 GiB.
USUAL_CONTEXT = 615 << 20
#: Seconds from one measurement of the context to the next.
CONTEXT_EVERY = 10.0
#: After this many steps of others, an optimizer that did not step belongs to an earlier part of the training.
FORGOTTEN_AFTER = 100


def on_mig():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").startswith("MIG-")


class AllocatorMemory:
    """Returns (requested, allocated) bytes since it was last asked, or None while CUDA is not in use."""

    def __init__(self, device=None, context=None, reset_peaks=True):
        self.device = device
        self.context = whole(context)
        self.reset_peaks = reset_peaks
        self.counts_requests = None  # whether PyTorch does; None until asked
        self.measured = None
        self.measure_at = 0.0

    def __call__(self):
        cuda = sys.modules["torch"].cuda
        # Asking must not start CUDA, nor disturb the capture of a graph.
        if not cuda.is_initialized():
            return None
        capturing = getattr(cuda, "is_current_stream_capturing", None)
        if capturing is not None and capturing():
            return None
        stats = cuda.memory_stats(self.device)
        allocated = stats.get("allocated_bytes.all.peak")
        if allocated is None:
            return None
        requested = stats.get("requested_bytes.all.peak", 0)
        self.counts_requests = requested > 0 or allocated == 0
        if self.reset_peaks:
            cuda.reset_peak_memory_stats(self.device)
        return requested if self.counts_requests else allocated, allocated + self.outside(cuda, stats)

    def outside(self, cuda, stats):
        """What the process holds outside the allocator."""
        if self.context is not None:
            return self.context
        if not on_mig():
            return USUAL_CONTEXT
        now = time.monotonic()
        if self.measured is None or now >= self.measure_at:
            self.measure_at = now + CONTEXT_EVERY
            try:
                free, total = cuda.mem_get_info(self.device)
                self.measured = total - free - stats["reserved_bytes.all.current"]
            except Exception:
                self.measured = None
        # A context takes some memory; otherwise the two numbers do not belong together.
        return self.measured if self.measured is not None and self.measured > 0 else USUAL_CONTEXT


_memory = None


def memory():
    """The default memory of loops: that of the last hook, if there is one."""
    global _memory
    if _memory is None:
        _memory = AllocatorMemory()
    return _memory()


class Hook:
    """What hook() has installed."""

    def __init__(self, loop, source):
        self.loop = loop
        self.memory = source
        self.handle = None
        self.why_not = None  # in words, if nothing could be installed
        self.followed = None  # a weak reference to the optimizer that counts
        self.others = 0

    def remove(self):
        try:
            if self.handle is not None:
                self.handle.remove()
        except Exception:
            pass
        self.handle = None
        progress.flush()

    def tick(self, *ignored):
        """After a step or a forward pass."""
        loop = progress.owner
        if loop is None:
            loop = self.loop
        elif loop.explicit:
            return  # it counts itself
        else:
            loop.hooked += 1
        progress.tick(loop, self.memory)

    def stepped(self, optimizer, *ignored):
        """After a step of any optimizer: one is followed, so that a step of each of two is one iteration."""
        followed = self.followed() if self.followed is not None else None
        if followed is not optimizer:
            self.others += 1
            if followed is not None and self.others < FORGOTTEN_AFTER:
                return
            self.followed = weakref.ref(optimizer)
        self.others = 0
        self.tick()


class Wrapped:
    """Calls `after(optimizer)` after each step if PyTorch has no hook for that (before 2.0): wraps the method of
    one optimizer, or of every class, including those defined later."""

    def __init__(self, after, optimizer=None):
        self.after = after
        self.inside = threading.local()
        self.undo = []
        if optimizer is not None:
            self.replace(optimizer, "step", self.around(optimizer.step, optimizer))
            return
        base = sys.modules["torch"].optim.Optimizer
        classes = [base]
        while classes:
            kind = classes.pop()
            classes.extend(kind.__subclasses__())
            self.wrap(kind)
        made = base.__init__

        @functools.wraps(made)
        def init(this, *arguments, **options):
            self.wrap(*type(this).__mro__)
            made(this, *arguments, **options)

        self.replace(base, "__init__", init)

    def wrap(self, *kinds):
        for kind in kinds:
            step = vars(kind).get("step")
            if callable(step) and getattr(step, "cleave", None) is not self:
                self.replace(kind, "step", self.around(step))

    def around(self, step, optimizer=None):
        # A bound method has its optimizer already, a function gets it as its first argument.
        @functools.wraps(step)
        def wrapped(*arguments, **options):
            outer = not getattr(self.inside, "a_step", False)
            self.inside.a_step = True
            try:
                result = step(*arguments, **options)
            finally:
                if outer:
                    self.inside.a_step = False
            if outer and self.undo:
                self.after(arguments[0] if optimizer is None else optimizer)
            return result

        wrapped.cleave = self
        return wrapped

    def replace(self, where, name, function):
        before = vars(where).get(name)
        setattr(where, name, function)
        self.undo.append((where, name, function, before))

    def remove(self):
        for where, name, function, before in reversed(self.undo):
            if vars(where).get(name) is not function:
                continue  # wrapped again by somebody else; ours then only calls through
            if before is None:
                delattr(where, name)
            else:
                setattr(where, name, before)
        self.undo = []


def install(hook, what):
    import torch

    if what is None:
        register = getattr(
            sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None
        )
        return register(hook.stepped) if register else Wrapped(hook.stepped)
    if isinstance(what, torch.optim.Optimizer):
        register = getattr(what, "register_step_post_hook", None)
        return register(hook.tick) if register else Wrapped(hook.tick, what)
    return what.register_forward_hook(hook.tick)


def hook(what=None, total=None, *, start=None, every=0.1, device=None, context=None, reset_peaks=True):
    """Reports requested and allocated bytes of PyTorch's allocator at each iteration.

    what         nothing: every step of the first optimizer that steps; an optimizer: its steps; a module: its
                 forward passes
    total        iterations in all, if known; within `with cleave.iterations(n)` that n counts
    start        iterations that an earlier run has done
    every        least number of seconds between reports
    device       of the allocator; the current one by itself
    context      bytes that the process holds outside the allocator, if known better than by measuring
    reset_peaks  False leaves torch.cuda.max_memory_allocated() alone; reports then hold the peaks since the start

    Loops that count themselves, with cleave.iterations(loader) or step(), take only the memory from here. Returns
    an object with remove(). If nothing was installed, because neither CLEAVE_REPORT nor CLEAVE_CHECKPOINT_SIGNAL is
    set or because it failed, `why_not` says so."""
    global _memory
    installed = Hook(Iterations(None, total, start, None, every), AllocatorMemory(device, context, reset_peaks))
    try:
        if progress.silent or not (progress.attend() or CHECKPOINT_VARIABLE in os.environ):
            installed.why_not = "CLEAVE_REPORT is not set, or this process is a worker of another"
            return installed
        if start is not None:
            installed.loop.begin()
        installed.handle = install(installed, what)
        _memory = installed.memory
    except Exception as error:
        installed.why_not = "%s: %s" % (type(error).__name__, error)
    return installed
