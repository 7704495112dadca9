"""Tells Cleave how far a job is and how much GPU memory it needs.

    import cleave_report as cleave

    for batch in cleave.iterations(loader, total=epochs * len(loader)):
        ...

With PyTorch the loop need not change: cleave.torch.hook(total=...). If CLEAVE_REPORT is not set, nothing is
done. docs/reporting.md describes the rest.
"""

from .loop import Iterations as _Iterations
from .progress import progress as _progress

__all__ = ["iterations", "on_checkpoint", "report_here", "torch"]
__version__ = "0.1.0"


def iterations(what=None, total=None, *, start=None, memory=None, every=0.1):
    """A loop that reports after each iteration, as one of

        for batch in cleave.iterations(loader, total=n): ...
        for i in cleave.iterations(n): ...
        with cleave.iterations(n) as step:
            while ...:
                ...
                step()                      # or step(requested=BYTES, allocated=BYTES, context=BYTES)
        with cleave.iterations(n) as it:
            for batch in it.over(loader): ...

    what     an iterable, or the number of iterations of this loop
    total    iterations of all loops of the program together; a loader's length is not taken for it, since most
             are gone through once per epoch
    start    iterations that an earlier run has done, if this one continues from a checkpoint; a number of
             iterations then includes them, and the loop is over range(start, n)
    memory   a function that returns {"requested": BYTES, "allocated": BYTES, "context": BYTES}; called only when a
             report is due. "workspace" and "reserved" may be there too. (requested, allocated), or one number for
             both, includes the context. Without it, PyTorch's allocator is asked if the program uses PyTorch;
             otherwise only what step() was given is reported
    every    least number of seconds between reports

    Reporting never raises and never waits. Of nested loops, the outermost is watched."""
    return _Iterations(what, total, start, memory, every)


def on_checkpoint(callback):
    """Runs `callback()` at the end of the iteration in which Cleave's checkpoint signal arrives, in the loop's
    thread. Call it in the main thread; returns whether the signal will be handled."""
    return not _progress.silent and _progress.checkpoint.install(callback)


def report_here():
    """For a process that was forked, or started by multiprocessing, and does the job's work nevertheless.
    Otherwise such processes report nothing, since most are workers that load data."""
    _progress.here()


def __getattr__(name):
    if name == "torch":
        from importlib import import_module

        return import_module(__name__ + ".torch")
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
