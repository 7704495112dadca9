"""The lines of cleave_report for numbers at every edge.

For each combination, JSON of the arguments (iteration, iterations, requested, allocated, context) and of the line;
null if it sends none.
"""

import itertools
import json

from cleave_report.line import report_line

MIB = 1 << 20
ITERATIONS = (-1, 0, 1, 2, 10**6, 10**12 - 1, 10**12, 10**12 + 1, 1 << 63, 1 << 64)
BYTES = (-1, 0, 1, MIB - 1, MIB, MIB + 1, (1 << 31) - 1, 1 << 32)
BYTES += ((1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1 << 63)

older = itertools.product(ITERATIONS, (None,) + ITERATIONS, BYTES, BYTES, (None,))
with_context = itertools.product((1,), (None, 2), BYTES, BYTES, BYTES)
for asked in itertools.chain(older, with_context):
    iteration, iterations, requested, allocated, context = asked
    line = report_line(iteration, requested, allocated, iterations, context=context)
    print(json.dumps({"asked": asked, "line": None if line is None else line.decode()}))
