"""What cleave_report makes of numbers at every edge: for each, JSON of what it was asked to say and of its line,
null where it says nothing."""

import itertools
import json

from cleave_report.line import report_line

MIB = 1 << 20
ITERATIONS = (-1, 0, 1, 2, 10**6, 10**12 - 1, 10**12, 10**12 + 1, 1 << 63, 1 << 64)
BYTES = (-1, 0, 1, MIB - 1, MIB, MIB + 1, (1 << 31) - 1, 1 << 32, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1 << 63)

for asked in itertools.product(ITERATIONS, (None,) + ITERATIONS, BYTES, BYTES):
    iteration, iterations, requested, allocated = asked
    line = report_line(iteration, requested, allocated, iterations)
    print(json.dumps({"asked": asked, "line": None if line is None else line.decode()}))
