"""Makes three layouts on the three GPUs of the node, runs jobs on most instances, and compares what nvitop,
as a library and as a program, and its exporter for Prometheus show of every MIG device with what was made.
Leaves the layouts there, with one instance of the second GPU destroyed."""

import os
import re
import subprocess
import sys
import time

import prometheus_client
from nvitop import Device
from nvitop_exporter.exporter import PrometheusExporter
from pynvml import *

layouts = [
    [NVML_GPU_INSTANCE_PROFILE_3_SLICE, NVML_GPU_INSTANCE_PROFILE_2_SLICE,
     NVML_GPU_INSTANCE_PROFILE_1_SLICE],
    [NVML_GPU_INSTANCE_PROFILE_1_SLICE] * 7,
    [NVML_GPU_INSTANCE_PROFILE_7_SLICE],
]
whole = {1: 0, 2: 1, 3: 2, 7: 4}


def make(device, number):
    """An instance with one compute instance of all of it, and its memory in bytes."""
    profile = nvmlDeviceGetGpuInstanceProfileInfo(device, number)
    instance = nvmlDeviceCreateGpuInstance(device, profile.id)
    compute = nvmlGpuInstanceCreateComputeInstance(instance, whole[profile.sliceCount])
    return instance, compute, profile.memorySizeMB << 20


def indices():
    """Of the MIG devices of the second GPU, to a program that begins."""
    told = subprocess.run(
        [sys.executable, "-c", "from nvitop import Device\n"
         "print(*[mig.mig_index for mig in Device(1).mig_devices()])"],
        capture_output=True, text=True, check=True)
    return [int(each) for each in told.stdout.split()]


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


nvmlInit()
made = [[make(nvmlDeviceGetHandleByIndex(gpu), number) for number in layout]
        for gpu, layout in enumerate(layouts)]

for gpu, instances in zip(Device.all(), made):
    migs = gpu.mig_devices()
    assert sorted(mig.memory_total() for mig in migs) == sorted(each[2] for each in instances)
    assert [mig.mig_index for mig in migs] == list(range(len(instances)))
    assert isinstance(gpu.temperature(), int), gpu.temperature()
    for mig in migs:
        assert 0 < mig.bar1_memory_total() < gpu.bar1_memory_total()



def run_job(mig, mebibytes):
    return subprocess.Popen(
        ["cleave-job", "--memory", f"{mebibytes}MiB", "--iterations", "1000000", "--seconds", "600",
         "--quiet"], env=dict(os.environ, CUDA_VISIBLE_DEVICES=mig.uuid()))


def compare_library(everywhere, held, pids):
    """Every MIG device's memory, processes and temperature."""
    for mig in everywhere:
        mine = held.get(mig.uuid(), 0)
        assert mig.memory_used() == mine << 20, (mig, mig.memory_used_human(), mine)
        assert mig.memory_free() == mig.memory_total() - (mine << 20)
        there = mig.processes()
        assert list(there) == ([pids[mig.uuid()]] if mine else []), (mig, there)
        assert all(each.gpu_memory() == mine << 20 for each in there.values())
        # A MIG device has no sensor of its own: its GPU's is shown.
        assert mig.temperature() == "N/A" and mig.power_usage() == "N/A"
        warm = nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex(mig.physical_index), 0)
        assert mig.parent.temperature() == warm
    for gpu in Device.all():
        mine = [held.get(mig.uuid(), 0) for mig in gpu.mig_devices()]
        assert gpu.memory_used() == sum(mine) << 20, gpu
        assert sorted(gpu.processes()) == sorted(pids[each.uuid()] for each in gpu.mig_devices()
                                                 if each.uuid() in pids)
        assert gpu.temperature() > 30, "it is busy"


def compare_screen(everywhere, held, pids):
    """The same in what the program prints."""
    screen = subprocess.run([sys.executable, "-m", "nvitop", "-1"], capture_output=True, text=True,
                            check=True, env=dict(os.environ, TERM="xterm", COLUMNS="100")).stdout
    for mig in everywhere:
        name = f"{mig.physical_index}:{mig.mig_index}"
        mine = held.get(mig.uuid(), 0)
        row = re.search(rf"│ {name} +(\S+) @ GI/CI: *(\d+)/(\d+) │ *(\S+) / *(\S+) │", screen)
        assert row, (name, screen)
        assert row[1] == mig.name().split()[-1] and int(row[2]) == mig.gpu_instance_id(), row
        assert row[4] == (f"{mine}.0MiB" if mine else "0B") or row[4] == f"{mine}MiB", row
        jobs = re.findall(rf"│ +{name} +(\d+) +\S* *\S+ +(\S+) ", screen)
        assert [int(pid) for pid, _ in jobs] == ([pids[mig.uuid()]] if mine else []), (name, screen)
    for gpu in Device.all():
        assert f" {gpu.temperature()}C " in screen, screen


everywhere = [mig for gpu in Device.all() for mig in gpu.mig_devices()]
held = {mig.uuid(): 300 + 50 * i for i, mig in enumerate(everywhere) if i % 3 != 2}
jobs = {uuid: run_job(mig, held[uuid]) for mig in everywhere if (uuid := mig.uuid()) in held}
pids = {uuid: each.pid for uuid, each in jobs.items()}
assert len(jobs) == 8 and any(mig.parent == Device(2) for mig in everywhere if mig.uuid() in held)
try:
    wait_for(lambda: all(mig.memory_used() == held.get(mig.uuid(), 0) << 20 for mig in everywhere))
    compare_library(everywhere, held, pids)
    compare_screen(everywhere, held, pids)
    registry = prometheus_client.CollectorRegistry()
    exporter = PrometheusExporter([*Device.all(), *everywhere], registry=registry)
    for device in [*Device.all(), *everywhere]:
        exporter.update_device(device)
    page = prometheus_client.generate_latest(registry).decode()
    total = [line for line in page.splitlines() if line.startswith("gpu_memory_total_MiB{")]
    assert len(total) == 3 + 11, page
    heat = [line for line in page.splitlines() if line.startswith("gpu_temperature_C{")]
    assert sum(not line.endswith("NaN") for line in heat) == 3, heat
finally:
    for each in jobs.values():
        each.kill()
        each.wait()

assert indices() == list(range(7))
instance, compute, _ = made[1][3]
nvmlComputeInstanceDestroy(compute)
nvmlGpuInstanceDestroy(instance)
assert indices() == list(range(6)), "no holes for a program that begins"
nvmlShutdown()
