"""A job whose memory grows, with a stand-in for PyTorch's allocator.

    growing_job.py parts|older BASE PER_ITERATION ITERATIONS SOCKET

In iteration i its tensors take BASE + i x PER_ITERATION MiB, and it requests them four times in turn. Prints the lines
that it sends: those of the hook, or as the hook's were before the context was a part of its own.
"""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "python", "tests"))
FORM, SOCKET = sys.argv[1], sys.argv[5]
BASE, PER_ITERATION, ITERATIONS = map(int, sys.argv[2:5])
os.environ["CLEAVE_REPORT"] = SOCKET
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)

import cleave_report as cleave  # noqa: E402
from cleave_report import torch as hooks  # noqa: E402
from test_torch import MIB, stub  # noqa: E402

torch, modules = stub()
sys.modules.update(modules)
reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reader.bind(SOCKET)
reader.setblocking(False)


def iterate(i):
    for _ in range(4):
        torch.cuda.malloc("tensors", (BASE + i * PER_ITERATION) * MIB)
        torch.cuda.free("tensors")


def parts():
    torch.cuda.malloc("workspace", hooks.WORKSPACE_BEFORE_HOPPER)
    cleave.torch.hook(total=ITERATIONS, every=0)
    optimizer = torch.optim.SGD()
    for i in range(1, ITERATIONS + 1):
        iterate(i)
        optimizer.step()
        yield


def older():
    with cleave.iterations(ITERATIONS, every=0) as step:
        for i in range(1, ITERATIONS + 1):
            live = (BASE + i * PER_ITERATION) * MIB
            step(requested=live, allocated=live + hooks.USUAL_CONTEXT)
            yield


for _ in {"parts": parts, "older": older}[FORM]():
    print(reader.recv(4096).decode())
