"""Creates, lists and destroys instances of every profile at every placement of every GPU of
the node, and causes each refusal that NVML documents. Uses pynvml only, like any other program.

The last line is JSON: how many placements each GPU had, and which refusals were met."""

import json
import os
import subprocess
import sys
import time
from ctypes import byref, c_uint

from pynvml import *

met = []


def refused(code, case, call, *arguments):
    try:
        call(*arguments)
    except NVMLError as error:
        assert error.value == code, f"{case}: refused with {error.value} ({error}), expected {code}"
        met.append(case)
        return
    raise AssertionError(f"{case}: not refused, expected {code}")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def profiles(device):
    """Those of the GPU, by NVML's numbers, until NVML says that there are no more."""
    number = 0
    while True:
        try:
            yield nvmlDeviceGetGpuInstanceProfileInfo(device, number)
        except NVMLError_NotSupported:
            pass
        except NVMLError_InvalidArgument:
            assert number >= NVML_GPU_INSTANCE_PROFILE_COUNT, number
            return
        number += 1


def placements(device, profile):
    count = c_uint()
    nvmlDeviceGetGpuInstancePossiblePlacements(device, profile.id, None, byref(count))
    room = (c_nvmlGpuInstancePlacement_t * count.value)()
    nvmlDeviceGetGpuInstancePossiblePlacements(device, profile.id, room, byref(count))
    return list(room)[: count.value]


def instances(device, profile):
    count = c_uint(profile.instanceCount)
    room = (c_nvmlGpuInstance_t * profile.instanceCount)()
    nvmlDeviceGetGpuInstances(device, profile.id, room, byref(count))
    return list(room)[: count.value]


def create(device, profile, placement):
    return nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, byref(placement))


def compute_profile(instance, slices):
    """The one that is the whole instance."""
    for number in range(NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        try:
            info = nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, number, 0)
        except NVMLError_NotSupported:
            continue
        if info.sliceCount == slices:
            return info
    raise AssertionError(f"no compute profile of {slices} slices")


def mig_devices(device):
    for index in range(nvmlDeviceGetMaxMigDeviceCount(device)):
        try:
            yield nvmlDeviceGetMigDeviceHandleByIndex(device, index)
        except NVMLError_NotFound:
            pass


def try_placement(device, profile, placement, uuids):
    left = nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile.id)
    instance = create(device, profile, placement)
    assert nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile.id) < left
    info = nvmlGpuInstanceGetInfo(instance)
    assert (info.profileId, info.placement.start, info.placement.size) == (
        profile.id, placement.start, placement.size)
    assert not list(mig_devices(device)), "without compute instance there is no MIG device"
    assert len(instances(device, profile)) == 1

    number = compute_profile(instance, profile.sliceCount).id
    compute = nvmlGpuInstanceCreateComputeInstance(instance, number)
    [mig] = mig_devices(device)
    uuid = text(nvmlDeviceGetUUID(mig))
    assert uuid.startswith("MIG-") and uuid not in uuids, uuid
    uuids.add(uuid)
    assert nvmlDeviceGetGpuInstanceId(mig) == info.id
    assert nvmlDeviceGetComputeInstanceId(mig) == 0
    attributes = nvmlDeviceGetAttributes(mig)
    assert attributes.gpuInstanceSliceCount == profile.sliceCount
    assert attributes.memorySizeMB == profile.memorySizeMB
    assert nvmlDeviceGetMemoryInfo(mig).total == profile.memorySizeMB << 20
    parent = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    assert nvmlDeviceGetIndex(parent) == nvmlDeviceGetIndex(device)

    refused(NVML_ERROR_IN_USE, "an instance with a compute instance", nvmlGpuInstanceDestroy,
            instance)
    nvmlComputeInstanceDestroy(compute)
    nvmlGpuInstanceDestroy(instance)
    assert not instances(device, profile)
    refused(NVML_ERROR_NOT_FOUND, "the UUID of what is gone", nvmlDeviceGetHandleByUUID,
            uuid.encode())


def every_placement(device):
    done, uuids = 0, set()
    for profile in profiles(device):
        for placement in placements(device, profile):
            try_placement(device, profile, placement, uuids)
            done += 1
    return done


def illegal_placements(device):
    known = list(profiles(device))
    for profile in known:
        possible = placements(device, profile)
        starts = {each.start for each in possible}
        instance = create(device, profile, possible[0])
        refused(NVML_ERROR_INSUFFICIENT_RESOURCES, "an occupied placement", create, device,
                profile, possible[0])
        nvmlGpuInstanceDestroy(instance)
        for start in range(20):
            wrong = c_nvmlGpuInstancePlacement_t(start=start, size=possible[0].size)
            if start not in starts:
                refused(NVML_ERROR_INVALID_ARGUMENT, "a start that is not listed", create, device,
                        profile, wrong)
        wrong = c_nvmlGpuInstancePlacement_t(start=possible[0].start, size=possible[0].size + 1)
        refused(NVML_ERROR_INVALID_ARGUMENT, "a size that is not the profile's", create, device,
                profile, wrong)
    largest = max(known, key=lambda each: each.memorySizeMB)
    whole = create(device, largest, placements(device, largest)[0])
    for profile in known:
        assert nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile.id) == 0
        refused(NVML_ERROR_INSUFFICIENT_RESOURCES, "a full GPU", nvmlDeviceCreateGpuInstance,
                device, profile.id)
    nvmlGpuInstanceDestroy(whole)


def past_the_end(device):
    for number in (99, 0xFFFFFFFF):
        refused(NVML_ERROR_INVALID_ARGUMENT, "a profile number past the end",
                nvmlDeviceGetGpuInstanceProfileInfo, device, number)
    refused(NVML_ERROR_NOT_FOUND, "a GPU instance that is not there", nvmlDeviceGetGpuInstanceById,
            device, 77)
    refused(NVML_ERROR_NOT_FOUND, "an unknown UUID", nvmlDeviceGetHandleByUUID,
            b"GPU-00000000-0000-0000-0000-000000000000")
    refused(NVML_ERROR_INVALID_ARGUMENT, "a GPU past the end", nvmlDeviceGetHandleByIndex, 64)
    refused(NVML_ERROR_INVALID_ARGUMENT, "a bus id that is none", nvmlDeviceGetHandleByPciBusId,
            b"1:0")
    refused(NVML_ERROR_NOT_FOUND, "a bus id in another domain", nvmlDeviceGetHandleByPciBusId,
            b"00000001:01:00.0")
    refused(NVML_ERROR_NOT_FOUND, "an empty MIG index", nvmlDeviceGetMigDeviceHandleByIndex,
            device, 0)


def stale(device):
    profile = next(profiles(device))
    instance = create(device, profile, placements(device, profile)[0])
    whole = compute_profile(instance, profile.sliceCount).id
    compute = nvmlGpuInstanceCreateComputeInstance(instance, whole)
    [mig] = mig_devices(device)
    refused(NVML_ERROR_INSUFFICIENT_RESOURCES, "a second whole compute instance",
            nvmlGpuInstanceCreateComputeInstance, instance, whole)
    refused(NVML_ERROR_NOT_FOUND, "a compute instance that is not there",
            nvmlGpuInstanceGetComputeInstanceById, instance, 7)
    nvmlComputeInstanceDestroy(compute)
    refused(NVML_ERROR_INVALID_ARGUMENT, "a compute instance that is gone",
            nvmlComputeInstanceDestroy, compute)
    refused(NVML_ERROR_INVALID_ARGUMENT, "a MIG device that is gone", nvmlDeviceGetMemoryInfo, mig)
    nvmlGpuInstanceDestroy(instance)
    refused(NVML_ERROR_INVALID_ARGUMENT, "a GPU instance that is gone", nvmlGpuInstanceGetInfo,
            instance)
    refused(NVML_ERROR_INVALID_ARGUMENT, "a GPU instance destroyed twice", nvmlGpuInstanceDestroy,
            instance)
    again = create(device, profile, placements(device, profile)[0])
    refused(NVML_ERROR_INVALID_ARGUMENT, "the old handle of a number used again",
            nvmlGpuInstanceGetInfo, instance)
    nvmlGpuInstanceDestroy(again)


def wait_for_process(mig, job):
    for _ in range(500):
        if nvmlDeviceGetComputeRunningProcesses(mig):
            return
        assert job.poll() is None, "cleave-job ended early"
        time.sleep(0.02)
    raise AssertionError("cleave-job did not appear on its instance")


def in_use(device):
    profile = next(profiles(device))
    instance = create(device, profile, placements(device, profile)[0])
    number = compute_profile(instance, profile.sliceCount).id
    compute = nvmlGpuInstanceCreateComputeInstance(instance, number)
    [mig] = mig_devices(device)
    job = subprocess.Popen(
        ["cleave-job", "--memory", "700MiB", "--iterations", "1", "--seconds", "600", "--quiet"],
        env=dict(os.environ, CUDA_VISIBLE_DEVICES=text(nvmlDeviceGetUUID(mig))))
    try:
        wait_for_process(mig, job)
        for _ in range(500):
            [process] = nvmlDeviceGetComputeRunningProcesses(mig)
            if process.usedGpuMemory:
                break
            time.sleep(0.02)
        assert (process.pid, process.usedGpuMemory) == (job.pid, 700 << 20)
        assert nvmlDeviceGetMemoryInfo(mig).used >= 700 << 20
        refused(NVML_ERROR_IN_USE, "a compute instance with a process", nvmlComputeInstanceDestroy,
                compute)
        assert nvmlDeviceSetMigMode(device, NVML_DEVICE_MIG_DISABLE) == NVML_ERROR_IN_USE
        met.append("MIG mode of a busy GPU")
        assert nvmlDeviceGetMigMode(device)[0] == NVML_DEVICE_MIG_ENABLE
        assert nvmlDeviceSetMigMode(device, NVML_DEVICE_MIG_ENABLE) == NVML_SUCCESS
    finally:
        job.kill()
        job.wait()
    time.sleep(0.01)  # who is alive is looked up once a millisecond
    assert not nvmlDeviceGetComputeRunningProcesses(mig), "the dead hold nothing"
    nvmlComputeInstanceDestroy(compute)
    nvmlGpuInstanceDestroy(instance)


def mig_off(device):
    known = list(profiles(device))
    possible = placements(device, known[0])
    assert nvmlDeviceSetMigMode(device, NVML_DEVICE_MIG_DISABLE) == NVML_SUCCESS
    assert nvmlDeviceGetMigMode(device) == [NVML_DEVICE_MIG_DISABLE, NVML_DEVICE_MIG_DISABLE]
    refused(NVML_ERROR_NOT_SUPPORTED, "an instance with MIG off", create, device, known[0],
            possible[0])
    for profile in known:
        room = nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile.id)
        assert room == profile.instanceCount, "room is told with MIG off too"
    assert nvmlDeviceGetMaxMigDeviceCount(device) == 0
    assert placements(device, known[0]), "placements are listed with MIG off too"
    assert nvmlDeviceSetMigMode(device, NVML_DEVICE_MIG_ENABLE) == NVML_SUCCESS


def main():
    refused(NVML_ERROR_UNINITIALIZED, "a call before nvmlInit", nvmlDeviceGetCount)
    nvmlInit()
    done = {}
    for index in range(nvmlDeviceGetCount()):
        device = nvmlDeviceGetHandleByIndex(index)
        name = text(nvmlDeviceGetName(device))
        done[name] = every_placement(device)
        for law in (illegal_placements, past_the_end, stale, in_use, mig_off):
            law(device)
            left = [each for profile in profiles(device) for each in instances(device, profile)]
            assert not left, law
        print(f"{name}: {done[name]} placements", file=sys.stderr)
    nvmlShutdown()
    refused(NVML_ERROR_UNINITIALIZED, "a call after nvmlShutdown", nvmlDeviceGetCount)
    print(json.dumps({"placements": done, "refusals": sorted(set(met))}))


main()
