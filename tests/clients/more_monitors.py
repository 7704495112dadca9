"""What one more program reads of the node, as one line of JSON: names of GPUs, and how many there
are. Usage: more_monitors.py PROGRAM"""

import json
import os
import sys


def pynvml_utils():
    import pynvml
    from pynvml_utils import nvidia_smi

    # Names are only told with the brand, and its table of brands ends before that of an A100.
    told = nvidia_smi.getInstance().DeviceQuery("memory.total, power.draw")["gpu"]
    assert all(each["power_readings"]["power_draw"] > 0 for each in told)
    assert all(each["fb_memory_usage"]["total"] > 40000 for each in told)
    return [pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(i))
            for i in range(len(told))]


def py3nvml():
    from py3nvml import py3nvml as nvml

    nvml.nvmlInit()
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    assert all(nvml.nvmlDeviceGetPowerUsage(each) > 0 for each in handles)
    return [nvml.nvmlDeviceGetName(each) for each in handles]


def glances():
    from glances.plugins.gpu.cards.nvidia import NvidiaGPU

    told = NvidiaGPU().get_device_stats()
    assert all(isinstance(each["temperature"], int) for each in told)
    return [each["name"] for each in told]


def distributed():
    from distributed.diagnostics import nvml

    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    assert nvml.device_get_count() > 0
    return [nvml.one_time()["name"]]


names = {"pynvml_utils": pynvml_utils, "py3nvml": py3nvml, "glances": glances,
         "distributed": distributed}[sys.argv[1]]()
print(json.dumps([name.decode() if isinstance(name, bytes) else name for name in names]))
