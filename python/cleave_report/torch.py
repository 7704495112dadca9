"""Reports from PyTorch's caching allocator.

    cleave.torch.hook(total=steps)      at each step of the first optimizer that steps
    cleave.torch.hook(optimizer)        at each step of this one
    cleave.torch.hook(model)            at each forward pass

A report has, from the statistics of the allocator,

    requested   what the program requested during an iteration, in total: requested_bytes.all.allocated now less what
                it was at the last report, over the iterations since then
    allocated   the most that was held for it since the last report, allocated_bytes.all.peak, less the workspace
    reserved    reserved_bytes.all.peak. It decides nothing, since what is not allocated can be given up

and what does not grow:

    workspace   of cuBLAS, which PyTorch 2.0 and later takes from the allocator: as CUBLAS_WORKSPACE_CONFIG says, else
                PyTorch's default for the GPU. Before 2.0 it is outside, and known only with the context
    context     what the process holds outside the allocator: the CUDA context, kernels, other workspaces

Then it resets the peaks. PyTorch before 2.0 does not count requests; the blocks that they became are counted, which
are rounded up to 512 bytes. The allocator backend cudaMallocAsync counts neither; there, what was requested is what
was allocated.

On a MIG instance the context is measured now and then, as memory in use less memory reserved, which is correct for a
job alone on its instance. Elsewhere other processes would be counted, and USUAL_CONTEXT is assumed.
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
#: PyTorch's defaults, :4096:2:16:8 and :4096:8, the same as in `cleave forecast model`.
WORKSPACE_BEFORE_HOPPER = (2 * 4096 + 8 * 16) << 10
WORKSPACE_FROM_HOPPER = 8 * 4096 << 10
#: Seconds from one measurement of the context to the next.
CONTEXT_EVERY = 10.0
#: After this many steps of others, an optimizer that did not step belongs to an earlier part of the training.
FORGOTTEN_AFTER = 100


def on_mig():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").startswith("MIG-")


def configured_workspace(text):
    """The bytes of CUBLAS_WORKSPACE_CONFIG, pairs :KIB:COUNT such as :4096:2:16:8; None if it has none."""
    try:
        first, *numbers = text.split(":")
        if first or not numbers or len(numbers) % 2:
            return None
        return sum(int(kib) * int(count) << 10 for kib, count in zip(numbers[::2], numbers[1::2]))
    except Exception:
        return None


def workspaces_are_allocated():
    """Whether PyTorch takes the workspaces of cuBLAS from its allocator; before 2.0 cuBLAS takes its own."""
    return hasattr(getattr(sys.modules["torch"], "_C", None), "_cuda_clearCublasWorkspaces")


class AllocatorMemory:
    """Returns the memory since it was last asked, as a dict of bytes, or None while CUDA is not in use."""

    def __init__(self, device=None, context=None, reset_peaks=True):
        self.device = device
        self.context = whole(context)
        self.reset_peaks = reset_peaks
        self.requests_before = 0  # in total, and the iterations that were done then
        self.done_before = max(0, progress.done - 1)
        self.workspace = None
        self.measured = None
        self.measure_at = 0.0

    def start(self):
        """An iteration begins with the next request."""
        if progress.pending is not None:
            return  # what was requested belongs to iterations that are still to be reported
        self.done_before = progress.done
        cuda = sys.modules["torch"].cuda
        if cuda.is_initialized():
            self.requests_before = self.requests(cuda.memory_stats(self.device)) or 0

    def __call__(self):
        cuda = sys.modules["torch"].cuda
        # Asking must not start CUDA, nor disturb the capture of a graph.
        if not cuda.is_initialized():
            self.done_before = progress.done
            return None
        capturing = getattr(cuda, "is_current_stream_capturing", None)
        if capturing is not None and capturing():
            return None
        stats = cuda.memory_stats(self.device)
        allocated = stats.get("allocated_bytes.all.peak")
        if allocated is None:
            return None
        requested = self.of_an_iteration(self.requests(stats))
        if self.reset_peaks:
            cuda.reset_peak_memory_stats(self.device)
        if self.workspace is None:
            self.workspace = self.usual_workspace(cuda)
        workspace = min(self.workspace, allocated)
        context, known = self.outside(cuda, stats)
        memory = {
            "requested": allocated - workspace if requested is None else requested,
            "allocated": allocated - workspace,
            "context": context,
        }
        if known or workspaces_are_allocated():
            memory["workspace"] = workspace  # otherwise it is in neither
        reserved = stats.get("reserved_bytes.all.peak")
        if reserved is not None:
            memory["reserved"] = reserved
        return memory

    def requests(self, stats):
        """Bytes requested since the program began; None if the allocator does not count them."""
        for counted in ("requested_bytes", "allocated_bytes"):
            if stats.get(counted + ".all.allocated", 0) > 0:
                return stats[counted + ".all.allocated"]
        return None if stats.get("allocated_bytes.all.peak", 0) > 0 else 0

    def of_an_iteration(self, requests):
        if requests is None:
            return None
        # The program may have set the counters to zero.
        since = requests - self.requests_before if requests >= self.requests_before else requests
        iterations = max(1, progress.done - self.done_before)
        self.requests_before, self.done_before = requests, progress.done
        return -(-since // iterations)

    def usual_workspace(self, cuda):
        """Of cuBLAS, as far as it is in the allocator's memory."""
        try:
            if not workspaces_are_allocated():
                return 0
            configured = configured_workspace(os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""))
            if configured is not None:
                return configured
            major = cuda.get_device_capability(self.device)[0]
            return WORKSPACE_FROM_HOPPER if major >= 9 else WORKSPACE_BEFORE_HOPPER
        except Exception:
            return 0

    def outside(self, cuda, stats):
        """What the process holds outside the allocator, and whether that is known rather than assumed."""
        if self.context is not None:
            return self.context, True
        if not on_mig():
            return USUAL_CONTEXT, False
        now = time.monotonic()
        if self.measured is None or now >= self.measure_at:
            self.measure_at = now + CONTEXT_EVERY
            try:
                free, total = cuda.mem_get_info(self.device)
                self.measured = total - free - stats["reserved_bytes.all.current"]
            except Exception:
                self.measured = None
        # A context takes some memory; otherwise the two numbers do not belong together.
        if self.measured is None or self.measured <= 0:
            return USUAL_CONTEXT, False
        return self.measured, True


_memory = None


def source():
    """The default memory of loops: that of the last hook, if there is one."""
    global _memory
    if _memory is None:
        _memory = AllocatorMemory()
    return _memory


def memory():
    return source()()


def start():
    source().start()


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
        _memory.start()
    except Exception as error:
        installed.why_not = "%s: %s" % (type(error).__name__, error)
    return installed
