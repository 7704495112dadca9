"""What watching costs a loop, in microseconds per iteration. Not a test; run it by hand:

    PYTHONPATH=python python3 python/tests/overhead.py
"""

import os
import statistics
import threading
import time

import cleave_report as cleave
from cleave_report import torch as hooks
from cleave_report.progress import progress
from reader import Reader


def cost(loop, iterations):
    """Microseconds per iteration, the median of nine runs."""
    runs = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in loop(iterations):
            pass
        runs.append((time.perf_counter() - begin) / iterations * 1e6)
    return statistics.median(runs)


def main():
    reader = Reader()
    socket = reader.socket
    socket.setblocking(True)

    def read():
        while socket.recv(4096) != b"end":
            pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()

    def watched(every):
        return lambda n: cleave.iterations(n, memory=lambda: (1 << 30, 1 << 31), every=every)

    os.environ.pop("CLEAVE_REPORT", None)
    bare = cost(range, 200000)
    print("without CLEAVE_REPORT      %6.2f" % (cost(watched(0.1), 200000) - bare))
    os.environ["CLEAVE_REPORT"] = reader.path
    print("between reports            %6.2f" % (cost(watched(0.1), 200000) - bare))
    print("a report each iteration    %6.2f" % (cost(watched(0), 20000) - bare))
    progress.sender.send(b"end")
    thread.join()
    reader.close()
    print("  nobody at the socket     %6.2f" % (cost(watched(0), 20000) - bare))
    reader.open()
    while progress.sender.send(b"full"):
        pass
    print("  the socket is full       %6.2f" % (cost(watched(0), 20000) - bare))
    try:
        import torch

        if torch.cuda.is_available():
            torch.ones(1, device="cuda")
            memory = hooks.AllocatorMemory()
            print("asking PyTorch's allocator %6.2f" % cost(lambda n: (memory() for _ in range(n)), 2000))
    except ImportError:
        pass
    reader.close()
    os.rmdir(reader.folder)


if __name__ == "__main__":
    main()
