#!/usr/bin/env python3
"""A training without PyTorch and without a GPU, to try `cleave submit` with: a loop that reports, and a made-up
allocator whose memory grows like that of a training with longer and longer inputs. In a real training one line is
enough: docs/reporting.md."""

import os
import time

import cleave_report as cleave

MIB = 1 << 20


class Allocator:
    """Stands in for a framework's caching allocator."""

    context = 500 * MIB

    def __init__(self):
        self.requested = 2500 * MIB

    def grow(self, step):
        self.requested = (2500 + 180 * step) * MIB

    def __call__(self):
        # Blocks are larger than what was asked for, and the context of the GPU comes on top.
        return self.requested, int(self.requested * 1.05) + self.context


steps = int(os.environ.get("STEPS", "30"))
allocator = Allocator()
print("training on", os.environ.get("CUDA_VISIBLE_DEVICES", "nothing"), flush=True)
for step in cleave.iterations(steps, memory=allocator):
    time.sleep(0.15)
    allocator.grow(step)
print("trained", steps, "steps, peak", allocator.requested // MIB, "MiB", flush=True)
