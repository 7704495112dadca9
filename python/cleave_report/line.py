"""A report as a line (docs/jobs.md). Never makes a line that Cleave would refuse."""

import math
import operator

# The bounds of Cleave's reader, src/runner/reports/memory_report_line.cpp.
MOST_BYTES = 1 << 53
MOST_ITERATIONS = 1_000_000_000_000
#: What a report may have besides, in the order of the line.
PARTS = ("context", "workspace", "reserved")


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


def size(number):
    """The number of bytes rounded up, or None if it is none that a report may have."""
    number = whole(number)
    return number if number is not None and 0 <= number <= MOST_BYTES else None


def report_line(iteration, requested, allocated, iterations=None, **parts):
    """The line as bytes, or None if nothing is known. A total of iterations that is out of bounds or already
    passed is left out, since it was wrong; so are the workspace and what is reserved. A wrong context makes the
    report useless, since without it `allocated` would mean something else."""
    iteration, requested, allocated = whole(iteration), size(requested), size(allocated)
    if iteration is None or not 1 <= iteration <= MOST_ITERATIONS or requested is None or allocated is None:
        return None
    line = '{"iteration":%d,' % iteration
    iterations = whole(iterations)
    if iterations is not None and iteration <= iterations <= MOST_ITERATIONS:
        line += '"iterations":%d,' % iterations
    line += '"requested_bytes":%d,"allocated_bytes":%d' % (requested, allocated)
    for part in PARTS:
        if parts.get(part) is None:
            continue
        given = size(parts[part])
        if given is not None:
            line += ',"%s_bytes":%d' % (part, given)
        elif part == "context":
            return None
    return (line + "}").encode("ascii")
