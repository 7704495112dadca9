"""Loops: what is counted, when it is reported, and that nothing can go wrong for the job."""

import ctypes
import gc
import math
import os
import re
import signal
import threading
import time
import unittest

import cleave_report as cleave
from cleave_report.line import report_line
from cleave_report.progress import progress
from reader import PACKAGE, Reported

MEMORY = lambda: (1 << 20, 2 << 20)  # noqa: E731
SAID = (1 << 20, 2 << 20)


class Lines(unittest.TestCase):
    def test_is_as_documented(self):
        self.assertEqual(
            report_line(3, 4294967296, 4508876800, 100),
            b'{"iteration":3,"iterations":100,"requested_bytes":4294967296,"allocated_bytes":4508876800}',
        )
        self.assertEqual(report_line(1, 0, 1), b'{"iteration":1,"requested_bytes":0,"allocated_bytes":1}')
        self.assertEqual(
            report_line(1, 9, 4, reserved=5, workspace=2, context=3.5),
            b'{"iteration":1,"requested_bytes":9,"allocated_bytes":4,'
            b'"context_bytes":4,"workspace_bytes":2,"reserved_bytes":5}',
        )

    def test_a_wrong_context_says_nothing_and_other_parts_are_left_out(self):
        for bad in (-1, (1 << 53) + 1, math.nan, "5", []):
            self.assertIsNone(report_line(1, 1, 1, context=bad))
            self.assertEqual(report_line(1, 1, 1, workspace=bad, reserved=bad), report_line(1, 1, 1))

    def test_says_nothing_where_nothing_is_true(self):
        for bad in (None, -1, (1 << 53) + 1, math.nan, math.inf, "5", b"5", [], object(), 1j):
            self.assertIsNone(report_line(1, bad, 1))
            self.assertIsNone(report_line(1, 1, bad))
            if bad is not None:
                self.assertNotIn(b"iterations", report_line(1, 1, 1, bad) if bad != (1 << 53) + 1 else b"")
        for bad in (0, -1, 10**12 + 1, None):
            self.assertIsNone(report_line(bad, 1, 1))

    def test_fractions_are_rounded_up(self):
        self.assertEqual(report_line(1, 1.25, True), report_line(1, 2, 1))

    def test_a_total_that_was_passed_is_left_out(self):
        self.assertIn(b'"iterations":5', report_line(5, 1, 1, 5))
        self.assertNotIn(b"iterations", report_line(6, 1, 1, 5))

    def test_none_is_longer_than_a_reader_takes(self):
        parts = {"context": 1 << 53, "workspace": 1 << 53, "reserved": 1 << 53}
        self.assertLessEqual(len(report_line(10**12, 1 << 53, 1 << 53, 10**12, **parts)), 512)


class Loops(Reported):
    def test_a_loop_over_anything(self):
        seen = [item for item in cleave.iterations("abc", total=3, memory=MEMORY, every=0)]
        self.assertEqual(seen, ["a", "b", "c"])
        self.assertEqual(self.reader.reports(), [(i, 3) + SAID for i in (1, 2, 3)])

    def test_a_number_of_iterations(self):
        loop = cleave.iterations(4, memory=MEMORY, every=0)
        self.assertEqual((len(loop), list(loop)), (4, [0, 1, 2, 3]))
        self.assertEqual(self.reader.reports(), [(i, 4) + SAID for i in (1, 2, 3, 4)])

    def test_steps(self):
        with cleave.iterations(3, every=0) as step:
            step(requested=5, allocated=7)
            step(requested=8)
            step.step(allocated=9)
        self.assertEqual(self.reader.reports(), [(1, 3, 5, 7), (2, 3, 8, 8), (3, 3, 9, 9)])

    def test_parts(self):
        with cleave.iterations(every=0) as step:
            step(requested=50, allocated=7, context=3)
            step(requested=8, workspace=1)
            step(context=1)
        self.assertEqual(
            self.reader.parts("requested", "allocated", "context", "workspace"),
            [(50, 7, 3, None), (8, 8, None, 1)],
        )
        memory = {"requested": 9, "allocated": 4, "context": 2.5, "reserved": 6, "another": 1}
        list(cleave.iterations(1, memory=lambda: memory))
        self.assertEqual(self.reader.parts("allocated", "context", "reserved"), [(4, 3, 6)])

    def test_the_most_of_each_part_until_a_report(self):
        with cleave.iterations(every=60) as step:
            step(requested=1, allocated=1, context=1)
            step(requested=9, allocated=4, context=1)
            step(requested=2, allocated=5, context=3)
        self.assertEqual(self.reader.parts("requested", "allocated", "context"), [(1, 1, 1), (9, 5, 3)])
        with cleave.iterations(every=60) as step:
            step(requested=100, allocated=100)
            step(requested=5, allocated=4, context=1)  # another form: not to be compared
        self.assertEqual(self.reader.parts("allocated", "context"), [(4, 1)])

    def test_with_and_over(self):
        with cleave.iterations(4, memory=MEMORY, every=0) as it:
            for _ in it.over("ab"):
                pass
            for _ in it.over("cd"):
                pass
        self.assertEqual(self.reader.reports(), [(i, 4) + SAID for i in (1, 2, 3, 4)])

    def test_a_loader_for_each_epoch_counts_on(self):
        loader = [7, 8, 9]
        for _ in range(2):
            for _ in cleave.iterations(loader, total=2 * len(loader), memory=MEMORY, every=0):
                pass
        self.assertEqual(self.reader.reports(), [(i, 6) + SAID for i in range(1, 7)])
        for _ in cleave.iterations(loader, memory=MEMORY, every=0):
            break
        for _ in cleave.iterations(2, memory=MEMORY, every=0):
            pass
        self.assertEqual(self.reader.reports(), [(7, 8) + SAID, (8, 8) + SAID])

    def test_only_the_outer_loop_of_two_is_watched(self):
        for _ in cleave.iterations(2, memory=MEMORY, every=0):
            for _ in cleave.iterations("abc", memory=MEMORY, every=0):
                pass
        self.assertEqual(self.reader.numbers(), [1, 2])

    def test_a_run_that_goes_on(self):
        self.assertEqual(list(cleave.iterations(5, start=3, memory=MEMORY, every=0)), [3, 4])
        self.assertEqual(self.reader.reports(), [(4, 5) + SAID, (5, 5) + SAID])

    def test_a_loop_that_is_gone_through_again(self):
        loop = cleave.iterations("ab", total=7, start=3, memory=MEMORY, every=0)
        for _ in range(2):
            list(loop)
        self.assertEqual(self.reader.reports(), [(i, 7) + SAID for i in (4, 5, 6, 7)])

    def test_breaking_off_raising_and_forgetting_end_a_loop(self):
        with self.assertRaises(KeyError):
            for _ in cleave.iterations(9, memory=MEMORY):
                raise KeyError
        self.assertIsNone(progress.owner)
        with self.assertRaises(KeyError), cleave.iterations(9):
            raise KeyError
        self.assertIsNone(progress.owner)
        begun = iter(cleave.iterations(9, memory=MEMORY))
        next(begun)
        del begun
        gc.collect()
        self.assertIsNone(progress.owner)

    def test_at_most_one_in_an_interval_and_what_is_left_at_the_end(self):
        with cleave.iterations(1000, every=60) as step:
            for i in range(1, 1001):
                step(requested=i, allocated=2000 - i)
        # The second has the last iteration, and the most of all since the first.
        self.assertEqual(self.reader.reports(), [(1, 1000, 1, 1999), (1000, 1000, 1000, 1998)])

    def test_intervals(self):
        begin = time.monotonic()
        with cleave.iterations(every=0.05, memory=MEMORY) as step:
            while time.monotonic() - begin < 0.3:
                step()
        self.assertLessEqual(len(self.reader.lines()), (time.monotonic() - begin) / 0.05 + 2)

    def test_memory_is_asked_only_for_reports(self):
        asked = []
        for _ in cleave.iterations(100, memory=lambda: asked.append(1) or SAID, every=60):
            pass
        self.assertEqual(len(asked), 2)
        self.assertEqual(self.reader.numbers(), [1, 100])

    def test_memory_as_one_number(self):
        list(cleave.iterations(1, memory=lambda: 2.5))
        self.assertEqual(self.reader.reports(), [(1, 1, 3, 3)])

    def test_nothing_is_said_of_memory_that_nobody_knows(self):
        list(cleave.iterations(3, every=0))
        self.assertEqual(self.reader.lines(), [])

    def test_nothing_that_memory_says_or_raises_ends_the_job(self):
        def raises():
            raise RuntimeError

        for memory in (raises, lambda: "much", lambda: (1, 2, 3), lambda: (-1, 1), lambda: None, 7):
            self.assertEqual(list(cleave.iterations(2, memory=memory, every=0)), [0, 1])
        with cleave.iterations("x", total="many", start="late", every="often") as step:
            step(requested="much")
            step(requested=object(), allocated=[])
            step(requested=-1)
        self.assertEqual(self.reader.lines(), [])

    def test_without_a_socket_nothing_is_done(self):
        del os.environ["CLEAVE_REPORT"]
        loader = [1, 2]
        self.assertIs(type(iter(cleave.iterations(loader))), type(iter(loader)))
        asked = []
        with cleave.iterations(2, memory=lambda: asked.append(1)) as step:
            step()
        self.assertEqual((asked, progress.done, progress.sender), ([], 0, None))

    def test_at_exit_what_is_left_is_said(self):
        self.python(
            "import cleave_report as c\n"
            "step = c.iterations(9, memory=lambda: 1, every=60).__enter__()\n"
            "for _ in range(5): step()\n"
        )
        self.assertEqual(self.reader.numbers(), [1, 5])


class Sockets(Reported):
    def test_a_reader_that_does_not_read(self):
        begin = time.monotonic()
        with cleave.iterations(20000, every=0) as step:
            for i in range(5000):
                step(requested=i)
            self.assertLess(time.monotonic() - begin, 5)
            self.assertGreater(progress.sender.lost, 0)
            read = self.reader.reports()
            self.assertLess(len(read), 5000)
            step(requested=1)
            # What was lost is in the next: the most of all of them.
            self.assertEqual(self.reader.reports(), [(5001, 20000, 4999, 4999)])

    def test_a_reader_that_goes_and_comes_back(self):
        with cleave.iterations(4, every=0) as step:
            step(requested=1)
            self.assertEqual(self.reader.numbers(), [1])
            self.reader.close()
            step(requested=5)
            step(requested=2)
            self.reader.open()
            step(requested=3)
        self.assertEqual(self.reader.reports(), [(4, 4, 5, 5)])

    def test_what_was_asked_for_a_lost_report_is_in_the_next(self):
        said = iter([(1, 2), (9, 5), (3, 7)])
        loop = iter(cleave.iterations(3, memory=lambda: next(said), every=0))
        next(loop), next(loop)
        self.reader.close()
        next(loop)
        self.reader.open()
        self.assertEqual(list(loop), [])
        self.assertEqual(self.reader.reports(), [(3, 3, 9, 7)])

    def test_what_is_said_while_a_report_is_sent_is_in_the_next(self):
        with cleave.iterations(3, every=0) as step:
            send = progress.sender.send

            def busy(line):
                progress.sender.send = send
                step(requested=50)
                return send(line)

            progress.sender.send = busy
            step(requested=1)
            step(requested=2)
        self.assertEqual(self.reader.reports(), [(1, 3, 1, 1), (3, 3, 50, 50)])

    def test_paths_that_nobody_can_have(self):
        for path in ("/nonexistent/reports", "/" + "x" * 200, self.reader.folder, "\udcff", ""):
            os.environ["CLEAVE_REPORT"] = path
            self.assertEqual(list(cleave.iterations(2, memory=MEMORY, every=0)), [0, 1])

    def test_without_descriptors(self):
        self.python(
            "import resource, cleave_report as c\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
            "assert list(c.iterations(3, memory=lambda: 1, every=0)) == [0, 1, 2]\n"
        )
        self.assertEqual(self.reader.lines(), [])


class Processes(Reported):
    def forked(self, work):
        child = os.fork()
        if child == 0:
            try:
                work()
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def test_who_was_forked_off_says_nothing(self):
        with cleave.iterations(9, memory=MEMORY, every=60) as step:
            step()
            step()

            def work():
                step()
                list(cleave.iterations(3, memory=MEMORY, every=0))
                progress.flush()

            self.forked(work)
            self.assertEqual(self.reader.numbers(), [1])
        self.assertEqual(self.reader.numbers(), [2])

    def test_nor_who_was_forked_without_pythons_knowing(self):
        with cleave.iterations(9, memory=MEMORY, every=0) as step:
            step()
            child = ctypes.PyDLL(None).fork()
            if child == 0:
                step()
                os._exit(0)
            os.waitpid(child, 0)
            self.assertEqual(self.reader.numbers(), [1])

    def test_unless_it_is_the_one_who_works(self):
        def work():
            cleave.report_here()
            list(cleave.iterations(2, memory=MEMORY, every=0))

        self.forked(work)
        self.assertEqual(self.reader.numbers(), [1, 2])

    def test_a_fork_while_another_thread_reports(self):
        inside, go = threading.Event(), threading.Event()

        def slow():
            inside.set()
            go.wait(20)
            return SAID

        thread = threading.Thread(target=lambda: list(cleave.iterations(1, memory=slow, every=0)))
        thread.start()
        inside.wait(20)

        def work():
            signal.alarm(10)
            cleave.report_here()
            list(cleave.iterations(1, memory=MEMORY))

        self.forked(work)
        self.assertEqual(self.reader.numbers(), [1])
        go.set()
        thread.join()
        self.assertEqual(self.reader.numbers(), [1])

    def test_workers_of_multiprocessing_say_nothing(self):
        program = (
            "import multiprocessing, sys\n"
            "def work(n):\n"
            "    import cleave_report as c\n"
            "    return len(list(c.iterations(n, memory=lambda: 1, every=0)))\n"
            "if __name__ == '__main__':\n"
            "    for kind in ('fork', 'spawn', 'forkserver'):\n"
            "        with multiprocessing.get_context(kind).Pool(2) as pool: pool.map(work, [3, 4])\n"
            "    work(2)\n"
        )
        path = os.path.join(self.reader.folder, "program.py")
        with open(path, "w") as file:
            file.write(program)
        self.python("import sys, runpy; sys.path.insert(0, %r); runpy.run_path(%r, run_name='__main__')"
                    % (self.reader.folder, path))
        self.assertEqual(self.reader.numbers(), [1, 2])

    def test_threads(self):
        with cleave.iterations(8000, memory=MEMORY, every=0.001) as step:
            threads = [threading.Thread(target=lambda: [step() for _ in range(1000)]) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            numbers = self.reader.numbers()  # and there is room for the last again
        numbers += self.reader.numbers()
        self.assertEqual(progress.done, 8000)
        self.assertEqual(numbers[-1], 8000)
        self.assertEqual(numbers, sorted(set(numbers)))


class Checkpoints(Reported):
    def setUp(self):
        super().setUp()
        os.environ["CLEAVE_CHECKPOINT_SIGNAL"] = "USR1"
        self.before = signal.getsignal(signal.SIGUSR1)

    def tearDown(self):
        signal.signal(signal.SIGUSR1, self.before)
        super().tearDown()

    def test_runs_at_the_end_of_the_iteration(self):
        saved, at = [], []
        self.assertTrue(cleave.on_checkpoint(lambda: saved.append(at[-1])))
        for i in cleave.iterations(6):
            at.append(i)
            if i in (2, 4):
                os.kill(os.getpid(), signal.SIGUSR1)
            self.assertEqual(saved, [x for x in (2, 4) if x < i])
        self.assertEqual(saved, [2, 4])

    def test_also_where_nobody_wants_reports(self):
        del os.environ["CLEAVE_REPORT"]
        saved = []
        cleave.on_checkpoint(lambda: saved.append(1))
        for _ in cleave.iterations("ab"):
            os.kill(os.getpid(), signal.SIGUSR1)
        self.assertEqual(saved, [1, 1])

    def test_one_that_fails_does_not_end_the_job(self):
        out = self.python(
            "import os, signal, cleave_report as c\n"
            "def save(): raise OSError('disk full')\n"
            "c.on_checkpoint(save)\n"
            "for i in c.iterations(2): os.kill(os.getpid(), signal.SIGUSR1)\n"
            "print(i)\n"
        )
        self.assertEqual(out, "1\n")

    def test_one_that_ends_the_job_ends_it(self):
        def save():
            raise SystemExit(3)

        cleave.on_checkpoint(save)
        with self.assertRaises(SystemExit):
            for _ in cleave.iterations(3):
                os.kill(os.getpid(), signal.SIGUSR1)

    def test_a_handler_that_was_there_is_called_too(self):
        heard = []
        signal.signal(signal.SIGUSR1, lambda *_: heard.append("theirs"))
        cleave.on_checkpoint(lambda: heard.append("ours"))
        for _ in cleave.iterations(1):
            os.kill(os.getpid(), signal.SIGUSR1)
        self.assertEqual(heard, ["theirs", "ours"])

    def test_where_nothing_is_installed(self):
        for name in ("", "KILL", "NOTHING", "99999", "-1"):
            os.environ["CLEAVE_CHECKPOINT_SIGNAL"] = name
            self.assertFalse(cleave.on_checkpoint(lambda: None), name)
        del os.environ["CLEAVE_CHECKPOINT_SIGNAL"]
        self.assertFalse(cleave.on_checkpoint(lambda: None))
        os.environ["CLEAVE_CHECKPOINT_SIGNAL"] = "SIGUSR1"
        self.assertFalse(cleave.on_checkpoint("no function"))
        answers = []
        thread = threading.Thread(target=lambda: answers.append(cleave.on_checkpoint(lambda: None)))
        thread.start()
        thread.join()
        self.assertEqual(answers, [False])
        self.assertEqual(signal.getsignal(signal.SIGUSR1), self.before)

    def test_the_checkpoint_is_not_a_childs(self):
        mark = os.path.join(self.reader.folder, "saved")
        cleave.on_checkpoint(lambda: open(mark, "w").close())
        child = os.fork()
        if child == 0:
            try:
                cleave.report_here()
                for _ in cleave.iterations(1, memory=MEMORY):
                    os.kill(os.getpid(), signal.SIGUSR1)
            finally:
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.reader.numbers(), [1])
        self.assertFalse(os.path.exists(mark))

    def test_names(self):
        for name in ("10", "sigusr1", " USR1 "):
            os.environ["CLEAVE_CHECKPOINT_SIGNAL"] = name
            self.assertTrue(cleave.on_checkpoint(lambda: None), name)


class Documents(Reported):
    """The programs of docs/reporting.md compile; the first does what the page says."""

    def setUp(self):
        super().setUp()
        path = os.path.join(PACKAGE, os.pardir, "docs", "reporting.md")
        with open(path) as file:
            self.programs = re.findall(r"```python\n(.*?)```", file.read(), re.S)

    def test_they_compile(self):
        self.assertGreaterEqual(len(self.programs), 3)
        for program in self.programs:
            compile(program, "docs/reporting.md", "exec")

    def test_the_first_runs(self):
        exec(compile(self.programs[0], "docs/reporting.md", "exec"), {})
        self.assertEqual(self.reader.reports()[-1][:2], (30, 30))


if __name__ == "__main__":
    unittest.main()
