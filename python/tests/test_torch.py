"""Hooks into PyTorch: with a stub of it whose allocator has the statistics of the real one, and with PyTorch
itself where there is one. `python3 test_torch.py Real` runs the latter alone."""

import gc
import importlib
import os
import sys
import types
import unittest
from unittest import mock

import cleave_report as cleave
from cleave_report import torch as hooks
from cleave_report.progress import progress
from reader import Reported

MIB = 1 << 20


class Cuda:
    """torch.cuda, its caching allocator first of all: blocks of 512 bytes, segments of 2 MiB."""

    def __init__(self, requests=True, totals=True):
        self.requests, self.totals = requests, totals
        self.capability = (8, 0)
        self.ever = {"requested_bytes": 0, "allocated_bytes": 0}
        self.started = True
        self.outside, self.total = 300 * MIB, 4864 * MIB
        self.live = {}
        self.now = {"requested_bytes": 0, "allocated_bytes": 0, "reserved_bytes": 0}
        self.peaks = dict(self.now)
        self.asked = self.measured = 0

    def malloc(self, name, size):
        self.live[name] = size
        block = -(-size // 512) * 512
        for key, more in (("requested_bytes", size), ("allocated_bytes", block)):
            self.now[key] += more
            self.ever[key] += more
        self.now["reserved_bytes"] = max(
            self.now["reserved_bytes"], -(-self.now["allocated_bytes"] // (2 * MIB)) * 2 * MIB
        )
        for key, value in self.now.items():
            self.peaks[key] = max(self.peaks[key], value)

    def free(self, name):
        size = self.live.pop(name)
        self.now["requested_bytes"] -= size
        self.now["allocated_bytes"] -= -(-size // 512) * 512

    def is_initialized(self):
        return self.started

    def memory_stats(self, device=None):
        self.asked += 1
        stats = {}
        for key in self.now:
            if key != "requested_bytes" or self.requests:
                stats[key + ".all.current"] = self.now[key]
                stats[key + ".all.peak"] = self.peaks[key]
                if key in self.ever:
                    stats[key + ".all.allocated"] = self.ever[key] if self.totals else 0
        return stats

    def get_device_capability(self, device=None):
        return self.capability

    def reset_peak_memory_stats(self, device=None):
        self.peaks = dict(self.now)

    def mem_get_info(self, device=None):
        self.measured += 1
        return self.total - self.outside - self.now["reserved_bytes"], self.total


class Handle:
    def __init__(self, hooks_, hook):
        self.hooks, self.hook = hooks_, hook
        hooks_.append(hook)

    def remove(self):
        self.hooks.remove(self.hook)


def stub(new=True, requests=True):
    """A torch module, of a version with hooks for steps or without."""
    torch = types.ModuleType("torch")
    torch.cuda = Cuda(requests)
    torch._C = types.SimpleNamespace()
    if new:
        torch._C._cuda_clearCublasWorkspaces = None
    torch.optim = types.ModuleType("torch.optim")
    module = types.ModuleType("torch.optim.optimizer")
    everywhere = []

    class Optimizer:
        def __init__(self):
            self.mine = []

        def after(self):
            for hook in (self.mine + everywhere) if new else ():
                hook(self, (), {})

    class SGD(Optimizer):
        def step(self, closure=None):
            self.after()
            return "stepped"

    class Sub(SGD):
        def step(self, closure=None):
            return super().step(closure)

    class Module:
        def __init__(self):
            self.hooks = []

        def register_forward_hook(self, hook):
            return Handle(self.hooks, hook)

        def __call__(self, given):
            for hook in self.hooks:
                assert hook(self, (given,), given) is None
            return given

    if new:
        Optimizer.register_step_post_hook = lambda self, hook: Handle(self.mine, hook)
        module.register_optimizer_step_post_hook = lambda hook: Handle(everywhere, hook)
    torch.optim.Optimizer, torch.optim.SGD, torch.optim.Sub = Optimizer, SGD, Sub
    torch.Module = Module
    torch.everywhere = everywhere
    return torch, {"torch": torch, "torch.optim": torch.optim, "torch.optim.optimizer": module}


class Stubbed(Reported):
    new = True
    requests = True

    def setUp(self):
        super().setUp()
        self.kept = {k: v for k, v in sys.modules.items() if k == "torch" or k.startswith("torch.")}
        for name in self.kept:
            del sys.modules[name]
        self.torch, modules = stub(self.new, self.requests)
        self.cuda = self.torch.cuda
        self.workspace = hooks.WORKSPACE_BEFORE_HOPPER if self.new else 0
        sys.modules.update(modules)

    def tearDown(self):
        for name in [k for k in sys.modules if k == "torch" or k.startswith("torch.")]:
            del sys.modules[name]
        sys.modules.update(self.kept)
        super().tearDown()

    def train(self, optimizer, iterations, grow=1000, times=3):
        """Keeps `grow` bytes more each time, and 10 MiB several times in the middle of it."""
        for _ in range(iterations):
            self.cuda.malloc(len(self.cuda.live) + 1, grow)
            for _ in range(times):
                self.cuda.malloc("activations", 10 * MIB)
                self.cuda.free("activations")
            self.assertEqual(optimizer.step(), "stepped")

    def expected(self, first, last, total=None):
        """Requests are those of the iteration, over and over; what is held is there once."""
        grown = 1000 if self.requests else 1024
        return [
            (i, total, grown + 30 * MIB, i * 1024 + 10 * MIB - self.workspace)
            for i in range(first, last + 1)
        ]


class Hooks(Stubbed):
    def test_every_step(self):
        hook = cleave.torch.hook(total=5, every=0)
        self.assertIsNone(hook.why_not)
        self.train(self.torch.optim.SGD(), 5)
        self.assertEqual(self.reader.reports(), self.expected(1, 5, 5))
        hook.remove()
        self.train(self.torch.optim.SGD(), 5)
        self.assertEqual(self.reader.reports(), [])

    def test_optimizers_that_were_there_and_of_classes_to_come(self):
        before = self.torch.optim.Sub()
        cleave.torch.hook(every=0)
        self.train(before, 2)
        self.assertEqual(self.reader.numbers(), [1, 2])

        class Later(self.torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        del before
        gc.collect()
        self.train(Later(), 2)
        self.assertEqual(self.reader.numbers(), [3, 4])

    def test_of_two_optimizers_one_counts(self):
        cleave.torch.hook(every=0)
        one, other = self.torch.optim.SGD(), self.torch.optim.SGD()
        for _ in range(3):
            one.step()
            other.step()
        self.assertEqual(self.reader.numbers(), [1, 2, 3])
        for _ in range(hooks.FORGOTTEN_AFTER + 1):  # the second part of a training
            other.step()
        self.assertGreaterEqual(progress.done, 4)

    def test_one_optimizer(self):
        one, other = self.torch.optim.Sub(), self.torch.optim.SGD()
        hook = cleave.torch.hook(one, every=0)
        for _ in range(3):
            other.step()
            one.step()
        self.assertEqual(self.reader.numbers(), [1, 2, 3])
        hook.remove()
        one.step()
        self.assertEqual(self.reader.numbers(), [])

    def test_a_model(self):
        model = self.torch.Module()
        hook = cleave.torch.hook(model, total=2, every=0)
        self.assertEqual([model(1), model(2)], [1, 2])
        self.assertEqual([report[:2] for report in self.reader.reports()], [(1, 2), (2, 2)])
        hook.remove()
        model(3)
        self.assertEqual(self.reader.numbers(), [])

    def test_the_number_of_iterations_around_a_hook(self):
        cleave.torch.hook(every=0)
        with cleave.iterations(3, every=0):
            self.train(self.torch.optim.SGD(), 3)
        self.assertEqual(self.reader.reports(), self.expected(1, 3, 3))

    def test_loops_that_count_themselves_take_only_the_numbers(self):
        cleave.torch.hook(every=0, context=0)
        optimizer = self.torch.optim.SGD()
        for _ in cleave.iterations(2, every=0):
            self.train(optimizer, 3)
        self.assertEqual([r[:2] for r in self.reader.reports()], [(1, 2), (2, 2)])
        with cleave.iterations(2, every=0) as step:
            for _ in range(2):
                self.train(optimizer, 1)
                step()
        reports = self.reader.reports()
        self.assertEqual([r[:2] for r in reports], [(3, 4), (4, 4)])
        self.assertLess(reports[-1][3], 11 * MIB)

    def test_what_was_set_up_before_is_not_requested_by_the_first_iteration(self):
        self.cuda.malloc("weights", 900 * MIB)
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 1)
        with cleave.iterations(1, every=0):
            self.cuda.malloc("more", 50 * MIB)
            self.torch.optim.SGD().step()
        self.cuda.malloc("validation", 700 * MIB)
        for _ in cleave.iterations(1, every=0):
            self.cuda.malloc("last", 4 * MIB)
        self.assertEqual([r[2] >> 20 for r in self.reader.reports()], [30, 50, 4])

    def test_requests_are_those_of_one_iteration_on_average(self):
        cleave.torch.hook(every=60)
        optimizer = self.torch.optim.SGD()
        self.train(optimizer, 1)
        for size in (1, 2, 3, 6):
            self.cuda.malloc("batch", size * MIB)
            self.cuda.free("batch")
            optimizer.step()
        progress.flush()
        self.assertEqual([r[2] >> 20 for r in self.reader.reports()], [30, 3])

    def test_counters_that_the_program_sets_to_zero(self):
        cleave.torch.hook(every=0)
        optimizer = self.torch.optim.SGD()
        self.train(optimizer, 1)
        self.cuda.ever = {"requested_bytes": 0, "allocated_bytes": 0}
        self.train(optimizer, 1, times=1)
        self.assertEqual([r[2] >> 20 for r in self.reader.reports()], [30, 10])

    def test_an_allocator_that_counts_no_requests(self):
        self.cuda.requests = self.cuda.totals = False
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 2)
        for report in self.reader.reports():
            self.assertEqual(report[2], report[3])

    def test_loops_find_the_allocator_without_a_hook(self):
        optimizer = self.torch.optim.SGD()
        for _ in cleave.iterations(2, every=0):
            self.train(optimizer, 1)
        self.assertEqual(self.reader.reports(), self.expected(1, 2, 2))

    def test_peaks_between_reports_are_in_the_next(self):
        cleave.torch.hook(every=60)
        self.cuda.asked = 0
        optimizer = self.torch.optim.SGD()
        optimizer.step()
        self.cuda.malloc("much", 700 * MIB)
        self.cuda.free("much")
        for _ in range(50):
            optimizer.step()
        self.assertEqual(self.cuda.asked, 1)
        progress.flush()
        at_most = 700 * MIB - self.workspace
        self.assertEqual([r[0] for r in self.reader.reports() if r[3] == at_most], [51])

    def test_each_report_has_its_own_peaks(self):
        cleave.torch.hook(every=0, context=0)
        optimizer = self.torch.optim.SGD()
        for size in (7, 3, 5):
            self.cuda.malloc("batch", size * MIB)
            self.cuda.free("batch")
            optimizer.step()
        sizes = [(s * MIB, max(0, s * MIB - self.workspace)) for s in (7, 3, 5)]
        self.assertEqual([r[2:] for r in self.reader.reports()], sizes)

    def test_a_loop_first_counted_by_a_hook_and_then_by_itself(self):
        cleave.torch.hook(every=0)
        loop = cleave.iterations(total=3, every=0)
        with loop:
            self.train(self.torch.optim.SGD(), 2)
        with loop as step:
            step()
        self.assertEqual(self.reader.numbers(), [1, 2, 3])

    def test_the_context_is_measured_on_an_instance(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "MIG-11111111-2222-3333-4444-555555555555"
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 5)
        self.assertEqual(self.reader.parts("context", "reserved"), [(300 * MIB, 12 * MIB)] * 5)
        self.assertEqual(self.cuda.measured, 1)

    def test_workspaces_are_no_part_of_what_grows(self):
        small, large = hooks.WORKSPACE_BEFORE_HOPPER, hooks.WORKSPACE_FROM_HOPPER
        for capability, configured, size in (
            ((8, 6), "", small),
            ((9, 0), "", large),
            ((12, 0), "", large),
            ((8, 0), ":4096:2", 8 * MIB),
            ((8, 0), ":0:0", 0),
            ((8, 0), ":4096", small),
            ((8, 0), "much", small),
        ):
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = configured
            self.cuda.capability = capability
            hook = cleave.torch.hook(every=0)
            self.cuda.malloc("batch", 100 * MIB)
            self.torch.optim.SGD().step()
            self.cuda.free("batch")
            hook.remove()
            held, size = (100 * MIB - size, size) if self.new else (100 * MIB, None)
            found = self.reader.parts("allocated", "workspace")
            self.assertEqual(found, [(held, size)], (capability, configured))

    def test_workspaces_that_cublas_takes_itself_are_in_a_measured_context(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "MIG-11111111-2222-3333-4444-555555555555"
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 1)
        self.assertEqual(self.reader.parts("workspace"), [(self.workspace,)])

    def test_a_context_that_cannot_be_is_the_usual_one(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "MIG-11111111-2222-3333-4444-555555555555"
        self.cuda.outside = -1
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 1)
        self.assertEqual(self.reader.parts("context"), [(hooks.USUAL_CONTEXT,)])

    def test_a_context_that_is_known(self):
        cleave.torch.hook(every=0, context=5)
        self.train(self.torch.optim.SGD(), 1)
        self.assertEqual(self.reader.parts("context"), [(5,)])

    def test_on_a_whole_gpu_the_usual_context_is_assumed(self):
        cleave.torch.hook(every=0)
        self.train(self.torch.optim.SGD(), 1)
        self.assertEqual(self.reader.parts("context"), [(hooks.USUAL_CONTEXT,)])
        self.assertEqual(self.cuda.measured, 0)

    def test_peaks_that_the_program_wants_itself(self):
        cleave.torch.hook(every=0, reset_peaks=False)
        optimizer = self.torch.optim.SGD()
        self.cuda.malloc("much", 700 * MIB)
        self.cuda.free("much")
        self.train(optimizer, 2)
        self.assertEqual([r[3] for r in self.reader.reports()], [700 * MIB - self.workspace] * 2)

    def test_cuda_that_was_never_started_is_not(self):
        self.cuda.started = False
        self.cuda.memory_stats = None
        cleave.torch.hook(every=0)
        self.torch.optim.SGD().step()
        self.assertEqual(self.reader.lines(), [])

    def test_an_allocator_that_fails_does_not_end_the_job(self):
        def fails(device=None):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        self.cuda.memory_stats = fails
        cleave.torch.hook(every=0)
        self.assertEqual(self.torch.optim.SGD().step(), "stepped")

    def test_nothing_without_a_socket(self):
        del os.environ["CLEAVE_REPORT"]
        step = self.torch.optim.SGD.step
        hook = cleave.torch.hook()
        self.assertIn("CLEAVE_REPORT", hook.why_not)
        self.assertEqual((self.torch.everywhere, self.torch.optim.SGD.step), ([], step))
        hook.remove()

    def test_what_cannot_be_hooked(self):
        self.assertIsNotNone(cleave.torch.hook("a model").why_not)


class WithoutStepHooks(Hooks):
    """PyTorch before 2.0, by wrapping."""

    new = False
    requests = False

    def test_removed_as_if_never_there(self):
        optim = self.torch.optim
        before = (optim.SGD.step, optim.Sub.step, optim.Optimizer.__init__, "step" in vars(optim.Optimizer))
        cleave.torch.hook().remove()
        self.assertEqual(
            before, (optim.SGD.step, optim.Sub.step, optim.Optimizer.__init__, "step" in vars(optim.Optimizer))
        )
        one = optim.SGD()
        cleave.torch.hook(one).remove()
        self.assertNotIn("step", vars(one))


def real():
    """PyTorch, or why there is none."""
    try:
        return importlib.import_module("torch"), ""
    except Exception as error:
        return None, "PyTorch cannot be imported: %s" % error


class Real(Reported):
    """PyTorch's own optimizers and modules; its allocator where there is a GPU, else that of the stub."""

    def setUp(self):
        self.torch, why = real()
        if self.torch is None:
            self.skipTest(why)
        super().setUp()
        self.cuda = None
        if not self.torch.cuda.is_available():
            self.cuda = Cuda()
            names = ("is_initialized", "memory_stats", "reset_peak_memory_stats", "mem_get_info")
            stubbed = {name: getattr(self.cuda, name) for name in names}
            stubbed["is_current_stream_capturing"] = lambda: False
            patch = mock.patch.multiple(self.torch.cuda, **stubbed)
            patch.start()
            self.addCleanup(patch.stop)

    def test_a_training(self):
        torch = self.torch
        device = "cuda" if self.cuda is None else "cpu"
        hook = cleave.torch.hook(total=4, every=0)
        self.assertIsNone(hook.why_not)
        self.addCleanup(hook.remove)
        model = torch.nn.Linear(64, 64).to(device)
        kept = []
        for kind in (torch.optim.SGD, torch.optim.Adam):
            optimizer = kind(model.parameters(), lr=0.01)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for _ in range(2):
                if self.cuda is None:
                    kept.append(torch.empty(1 << 20, dtype=torch.uint8, device=device))
                else:
                    kept.append(1)
                    self.cuda.malloc(len(kept), 1 << 20)
                model(torch.ones(8, 64, device=device)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
            del optimizer, scheduler
            gc.collect()
        reports = self.reader.reports()
        self.assertEqual([r[:2] for r in reports], [(i, 4) for i in (1, 2, 3, 4)])
        for before, after in zip(reports, reports[1:]):
            self.assertGreaterEqual(after[3] - before[3], 1 << 19)
        for report in reports:
            self.assertGreaterEqual(report[2], 1 << 20)

    def test_one_optimizer_and_a_closure(self):
        torch = self.torch
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.LBFGS(model.parameters())
        hook = cleave.torch.hook(optimizer, every=0, context=1)
        self.addCleanup(hook.remove)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(4)).square().sum()
            loss.backward()
            return loss

        for _ in range(2):
            self.assertIsNotNone(optimizer.step(closure))
        self.assertEqual(progress.done, 2)

    def test_forward_passes(self):
        model = self.torch.nn.Sequential(self.torch.nn.Linear(4, 4), self.torch.nn.ReLU())
        hook = cleave.torch.hook(model, every=0)
        for _ in range(3):
            self.assertEqual(model(self.torch.ones(2, 4)).shape, (2, 4))
        hook.remove()
        model(self.torch.ones(2, 4))
        self.assertEqual(progress.done, 3)

    def test_workers_of_a_loader_say_nothing(self):
        data = self.torch.utils.data.TensorDataset(self.torch.arange(12.0))
        loader = self.torch.utils.data.DataLoader(data, batch_size=3, num_workers=2)
        seen = sum(len(batch[0]) for batch in cleave.iterations(loader, total=4, memory=lambda: 1, every=0))
        self.assertEqual(seen, 12)
        self.assertEqual(self.reader.numbers(), [1, 2, 3, 4])


if __name__ == "__main__":
    unittest.main()
