"""Tells Cleave how far a job is and how much GPU memory it needs.

    import cleave_report as cleave

    for batch in cleave.iterations(loader, total=epochs * len(loader)):
        ...

or, with PyTorch and no change to the loop, cleave.torch.hook(total=...). Outside Cleave, where CLEAVE_REPORT is
not set, nothing is done. docs/reporting.md has the rest.
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
                step()                      # or step(requested=BYTES, allocated=BYTES)
        with cleave.iterations(n) as it:
            for batch in it.over(loader): ...

    what     whatever can be gone through, or the number of iterations of this loop
    total    iterations of all loops of the program together; nothing is guessed from a loader's length, as most
             are gone through once an epoch
    start    iterations that an earlier run has done, where this one goes on from a checkpoint; a number of
             iterations then counts them too, and the loop is over range(start, n)
    memory   a function that says (requested, allocated) bytes, or one number that is both; asked only when a
             report is due. Without it, PyTorch's allocator is asked where the program uses PyTorch, and where it
             does not nothing is reported but what step() was given
    every    seconds from one report to the next, at least

    Reporting never raises and never waits. A loop inside a loop is not watched, the outer one is."""
    return _Iterations(what, total, start, memory, every)


def on_checkpoint(callback):
    """`callback()` runs at the end of the iteration in which Cleave's checkpoint signal comes, in the loop's
    thread. To be called in the main thread; returns whether the signal will be heeded."""
    return not _progress.silent and _progress.checkpoint.install(callback)


def report_here():
    """For a process that was forked, or started by multiprocessing, and yet is the one that does the work. Such
    processes are silent otherwise: they are mostly workers that load data."""
    _progress.here()


def __getattr__(name):
    if name == "torch":
        from importlib import import_module

        return import_module(__name__ + ".torch")
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
