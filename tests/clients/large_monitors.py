"""Makes an instance on the first of the node's GPUs, switches MIG off on the others, runs a job on the
instance and one on the second GPU, and compares what a larger program reads of them with NVML. Prints
how many GPUs the program saw. Usage: large_monitors.py PROGRAM"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from pynvml import *

MiB = 1 << 20
held = {"instance": 5000 * MiB, "gpu": 3000 * MiB}


def gpus():
    return [nvmlDeviceGetHandleByIndex(i) for i in range(nvmlDeviceGetCount())]


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


@contextmanager
def job(device, memory):
    """A simulated job that keeps the device busy."""
    process = subprocess.Popen(
        ["cleave-job", "--memory", f"{memory >> 20}MiB", "--iterations", "1000000", "--seconds",
         "600", "--quiet"], env=dict(os.environ, CUDA_VISIBLE_DEVICES=nvmlDeviceGetUUID(device)))
    try:
        wait_for(lambda: nvmlDeviceGetMemoryInfo(device).used >= memory)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def used(gpu):
    """Without what the driver reserves, as newer programs ask."""
    return nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).used


def close(measured, right, share=0.02):
    return abs(measured - right) <= abs(right) * share


def mlflow(mig, pids):
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

    monitor = GPUMonitor()
    monitor.collect_metrics()
    told = monitor.aggregate_metrics()
    for i, gpu in enumerate(gpus()):
        assert close(told[f"gpu_{i}_memory_usage_megabytes"], nvmlDeviceGetMemoryInfo(gpu).used / 1e6)
        assert close(told[f"gpu_{i}_power_usage_watts"], nvmlDeviceGetPowerUsage(gpu) / 1000)
    assert told["gpu_1_utilization_percentage"] > 50 and told["gpu_2_utilization_percentage"] == 0
    assert "gpu_0_utilization_percentage" not in told, "there is none with MIG"
    return sum(name.endswith("_power_usage_watts") for name in told)


def wandb(mig, pids):
    """Its compiled core measures, and keeps what it measures in a file of records."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=folder,
                          WANDB_CACHE_DIR=folder, WANDB_CONFIG_DIR=folder, WANDB_DATA_DIR=folder,
                          HOME=folder)
        import wandb

        run = wandb.init(project="it", settings=wandb.Settings(x_stats_sampling_interval=0.5))
        time.sleep(5)
        run.finish()
        [records] = Path(folder).glob("wandb/offline-run-*/*.wandb")
        found = re.finditer(rb"gpu\.(\d+)\.(\w+?)\x82\x01(.)", records.read_bytes(), re.DOTALL)
        told = {}
        for each in found:  # the last of each is kept
            text = each.string[each.end():each.end() + each.group(3)[0]]
            told[int(each.group(1)), each.group(2).decode()] = json.loads(text)
    for i, gpu in enumerate(gpus()):
        assert told[i, "memoryAllocatedBytes"] == used(gpu), told
        assert close(told[i, "powerWatts"], nvmlDeviceGetPowerUsage(gpu) / 1000), told
        assert 0 < told[i, "energyJoules"] <= nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000
        assert told[i, "enforcedPowerLimitWatts"] == nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000
        assert abs(told[i, "temp"] - nvmlDeviceGetTemperature(gpu, 0)) <= 1
    assert told[1, "gpu"] > 50 and told[2, "gpu"] == 0
    return len({i for i, _ in told})


def ray(mig, pids):
    from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager as Manager
    from ray.dashboard.modules.reporter.gpu_providers import NvidiaGpuProvider

    assert Manager.get_current_node_accelerator_type() == "A100"
    provider = NvidiaGpuProvider()
    assert provider.is_available()
    told = {each["uuid"]: each for each in provider.get_gpu_utilization()}
    instance = told.pop(nvmlDeviceGetUUID(mig))
    assert instance["name"].endswith("MIG 3g.20gb")
    assert instance["memory_total"] == nvmlDeviceGetMemoryInfo(mig).total // MiB
    assert instance["memory_used"] == 5000 and list(instance["processes_pids"]) == [pids["instance"]]
    for i, gpu in enumerate(gpus()[1:], 1):
        each = told.pop(nvmlDeviceGetUUID(gpu))
        assert close(each["power_mw"], nvmlDeviceGetPowerUsage(gpu)), each
        assert abs(each["temperature_c"] - nvmlDeviceGetTemperature(gpu, 0)) <= 1
        assert list(each["processes_pids"] or []) == ([pids["gpu"]] if i == 1 else [])
        assert (each["utilization_gpu"] > 50) == (i == 1), each
    assert not told
    return Manager.get_current_node_num_accelerators()


def nvdashboard(mig, pids):
    """The handlers of its web sockets, without their server."""
    from jupyterlab_nvdashboard.apps import gpu as pages

    nvmlDeviceSetMigMode(gpus()[0], 0)  # it asks for what there is not with MIG

    def told(page):
        handler, messages = object.__new__(page), []
        handler.write_message = messages.append
        handler.send_data()
        return json.loads(messages[0])

    usage = told(pages.GPUUsageWebSocketHandler)
    assert usage["memory_usage"] == [nvmlDeviceGetMemoryInfo(each).used for each in gpus()], usage
    busy = told(pages.GPUUtilizationWebSocketHandler)["gpu_utilization"]
    assert busy[1] > 50 and sum(busy) == busy[1], busy
    resources = told(pages.GPUResourceWebSocketHandler)
    assert resources["gpu_utilization_individual"][1] > 50 and resources["rx_total"] == 0
    assert len(told(pages.PCIStatsWebSocketHandler)["pci_tx"]) == len(busy)
    return pages.ngpus


def cuda_core(mig, pids):
    from cuda.core import system

    devices = list(system.Device.get_all_devices())
    for told, gpu in zip(devices, gpus(), strict=True):
        assert told.uuid == nvmlDeviceGetUUID(gpu) and told.name == nvmlDeviceGetName(gpu)
        assert told.pci_bus_id == nvmlDeviceGetPciInfo(gpu).busId
        assert told.memory_info.used == used(gpu)
        assert told.bar1_memory_info.total == nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total
        assert told.index == nvmlDeviceGetIndex(gpu) and told.addressing_mode is None
        assert told.current_clock_event_reasons is not None
    assert [each.pid for each in devices[1].compute_running_processes] == [pids["gpu"]]
    assert [bool(each.mig.mode) for each in devices[:2]] == [True, False]
    [instance] = devices[0].mig.get_all_devices()
    assert instance.uuid == nvmlDeviceGetUUID(mig) and instance.memory_info.used == used(mig)
    assert [each.pid for each in instance.compute_running_processes] == [pids["instance"]]
    return system.get_num_devices()


program = {"mlflow": mlflow, "wandb": wandb, "ray": ray, "nvdashboard": nvdashboard,
           "cuda-core": cuda_core}[sys.argv[1]]
nvmlInit()
first, second, *others = gpus()
for gpu in [second, *others]:
    assert nvmlDeviceSetMigMode(gpu, 0) == NVML_SUCCESS
with job(second, held["gpu"]) as on_gpu:
    if program is nvdashboard:
        print(program(None, {"gpu": on_gpu}))
    else:
        profile = nvmlDeviceGetGpuInstanceProfileInfo(first, NVML_GPU_INSTANCE_PROFILE_3_SLICE)
        instance = nvmlDeviceCreateGpuInstance(first, profile.id)
        nvmlGpuInstanceCreateComputeInstance(instance, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE)
        mig = nvmlDeviceGetMigDeviceHandleByIndex(first, 0)
        with job(mig, held["instance"]) as on_instance:
            time.sleep(1)  # utilisation is that of the last moments
            print(program(mig, {"gpu": on_gpu, "instance": on_instance}))
