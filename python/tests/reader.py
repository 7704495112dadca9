"""What the tests share: the reading end of the socket, and a package as if it had just been imported."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from cleave_report import torch as hooks
from cleave_report.progress import progress

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Reader:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-")
        self.path = os.path.join(self.folder, "reports")
        self.socket = None
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)

    def close(self):
        self.socket.close()
        os.unlink(self.path)

    def lines(self):
        found = []
        while True:
            try:
                found.append(self.socket.recv(4096))
            except BlockingIOError:
                return found

    def reports(self):
        """(iteration, iterations, requested, allocated) of each."""
        return [
            (r["iteration"], r.get("iterations"), r["requested_bytes"], r["allocated_bytes"])
            for r in map(json.loads, self.lines())
        ]

    def parts(self, *names):
        """The named parts of each, in bytes; None where a report does not have one."""
        return [tuple(r.get(name + "_bytes") for name in names) for r in map(json.loads, self.lines())]

    def numbers(self):
        return [report[0] for report in self.reports()]


class Reported(unittest.TestCase):
    """Each test has its own reader, and nothing is counted yet."""

    def setUp(self):
        self.reader = Reader()
        self.environment = dict(os.environ)
        os.environ["CLEAVE_REPORT"] = self.reader.path
        os.environ.pop("CLEAVE_CHECKPOINT_SIGNAL", None)
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        progress.__init__()
        hooks._memory = None

    def tearDown(self):
        progress.in_child()  # forgets all
        os.environ.clear()
        os.environ.update(self.environment)
        self.reader.socket.close()
        shutil.rmtree(self.reader.folder)

    def python(self, program, **environment):
        """Runs a program and returns what it printed."""
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()
