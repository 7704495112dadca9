"""Makes three layouts on the three GPUs of the node, runs a job, and compares what nvitop and its
exporter for Prometheus show of every MIG device with what was made. Leaves the layouts there, with
one instance of the second GPU destroyed."""

import os
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

target = Device(0).mig_devices()[0]
job = subprocess.Popen(
    ["cleave-job", "--memory", "700MiB", "--iterations", "1", "--seconds", "600", "--quiet"],
    env=dict(os.environ, CUDA_VISIBLE_DEVICES=target.uuid()))
try:
    wait_for(lambda: target.memory_used() >= 700 << 20)
    assert list(target.processes()) == [job.pid]
    assert job.pid in Device(0).processes()
    others = [mig for gpu in Device.all() for mig in gpu.mig_devices() if mig != target]
    assert not any(mig.processes() for mig in others)
    registry = prometheus_client.CollectorRegistry()
    exporter = PrometheusExporter([*Device.all(), *others, target], registry=registry)
    for device in [*Device.all(), *others, target]:
        exporter.update_device(device)
    page = prometheus_client.generate_latest(registry).decode()
    total = [line for line in page.splitlines() if line.startswith("gpu_memory_total_MiB{")]
    assert len(total) == 3 + 11, page
    heat = [line for line in page.splitlines() if line.startswith("gpu_temperature_C{")]
    assert sum(not line.endswith("NaN") for line in heat) == 3, heat
finally:
    job.kill()
    job.wait()

assert indices() == list(range(7))
instance, compute, _ = made[1][3]
nvmlComputeInstanceDestroy(compute)
nvmlGpuInstanceDestroy(instance)
assert indices() == list(range(6)), "no holes for a program that begins"
nvmlShutdown()
