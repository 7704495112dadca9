"""What Zeus or codecarbon measures of the first GPU in a time, beside what its counter says: "TOOL
joules counted". Usage: energy.py zeus|codecarbon SECONDS"""

import sys
import time

from pynvml import (nvmlDeviceGetHandleByIndex, nvmlDeviceGetTotalEnergyConsumption, nvmlInit)

tool, seconds = sys.argv[1], float(sys.argv[2])
nvmlInit()
gpu = nvmlDeviceGetHandleByIndex(0)


def counter():
    return nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000


def zeus():
    from zeus.monitor import ZeusMonitor

    monitor = ZeusMonitor(gpu_indices=[0])
    before = counter()
    monitor.begin_window("it", sync_execution=False)  # that would need PyTorch
    time.sleep(seconds)
    measured = monitor.end_window("it", sync_execution=False).gpu_energy[0]
    return measured, counter() - before


def codecarbon():
    from codecarbon import OfflineEmissionsTracker

    tracker = OfflineEmissionsTracker(country_iso_code="DEU", gpu_ids=[0], measure_power_secs=1,
                                      save_to_file=False, log_level="critical")
    tracker.start()
    before = counter()
    time.sleep(seconds)
    after = counter()
    tracker.stop()
    return tracker._total_gpu_energy.kWh * 3.6e6, after - before


measured, counted = {"zeus": zeus, "codecarbon": codecarbon}[tool]()
print(tool, measured, counted)
