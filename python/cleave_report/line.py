"""A report as a line (docs/jobs.md). Never makes a line that Cleave would refuse."""

import math
import operator

# The bounds of Cleave's reader, src/runner/reports/memory_report_line.cpp.
MOST_BYTES = 1 << 53
MOST_ITERATIONS = 1_000_000_000_000


def whole(number):
    """The number rounded up, or None if it is not a finite number: 1.5 is 2, infinity and "3" are None."""
    try:
        return operator.index(number)
    except Exception:
        pass
    try:
        return None if isinstance(number, (str, bytes)) else math.ceil(number)
    except Exception:
        return None


def report_line(iteration, requested, allocated, iterations=None):
    """The line as bytes, or None if nothing is known. A total of iterations that is out of bounds or already
    passed is left out, since it was wrong."""
    iteration, requested, allocated = whole(iteration), whole(requested), whole(allocated)
    if iteration is None or not 1 <= iteration <= MOST_ITERATIONS:
        return None
    if requested is None or not 0 <= requested <= MOST_BYTES:
        return None
    if allocated is None or not 0 <= allocated <= MOST_BYTES:
        return None
    iterations = whole(iterations)
    in_all = ""
    if iterations is not None and iteration <= iterations <= MOST_ITERATIONS:
        in_all = '"iterations":%d,' % iterations
    return (
        '{"iteration":%d,%s"requested_bytes":%d,"allocated_bytes":%d}' % (iteration, in_all, requested, allocated)
    ).encode("ascii")
