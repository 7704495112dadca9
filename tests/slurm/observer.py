"""An observer of the counts that Slurm sees. It knows nothing of Cleave: it asks Slurm what its
nodes have and have given away, the driver what instances there are and could be, and the system
which instances processes of jobs see.

    python3 observer.py FOLDER LIBRARY NODE=DIRECTORY...      until SIGTERM; then a line of JSON

Until then FOLDER/observed has what it has seen so far.

What Slurm may still give away, together with what it has given to jobs of which no process is there
yet, must be possible beside what jobs see. Where Slurm or the driver changed during a look, the
look is not judged."""

import ctypes
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

from runs import devices_in_use


class ProfileInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in (
        "id", "p2p", "slices", "instances", "multiprocessors", "copy", "decoder", "encoder", "jpeg",
        "ofa")] + [("memory_mb", ctypes.c_ulonglong)]


class Placement(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint), ("size", ctypes.c_uint)]


class InstanceInfo(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("id", ctypes.c_uint), ("profile", ctypes.c_uint),
                ("placement", Placement)]


class Driver:
    """NVML of one node, asked anew at each look."""

    def __init__(self, library):
        self.nvml = ctypes.CDLL(library)

    def ask(self, name, *words):
        """0, or the number of what went wrong."""
        return getattr(self.nvml, name)(*words)

    def count(self, name, *words):
        number = ctypes.c_uint()
        assert self.ask(name, *words, ctypes.byref(number)) == 0, name
        return number.value

    def profiles(self, device):
        """By name: the profile's number, its slices, the places where it could ever be."""
        found = {}
        for index in range(16):
            info = ProfileInfo()
            if self.ask("nvmlDeviceGetGpuInstanceProfileInfo", device, index,
                        ctypes.byref(info)) != 0:
                continue
            name = "%dg.%dgb" % (info.slices, math.ceil(info.memory_mb / 1024))
            if name in found:  # with media extensions
                continue
            places, count = (Placement * 32)(), ctypes.c_uint(32)
            assert self.ask("nvmlDeviceGetGpuInstancePossiblePlacements_v2", device, info.id,
                            places, ctypes.byref(count)) == 0
            found[name] = (info.id, info.slices,
                           [(place.start, place.size) for place in places[:count.value]])
        return found

    def instances(self, device, profiles):
        """By number: the place and slices of each instance."""
        found = {}
        for number, slices, _ in profiles.values():
            those, count = (ctypes.c_void_p * 32)(), ctypes.c_uint(32)
            if self.ask("nvmlDeviceGetGpuInstances", device, number, those,
                        ctypes.byref(count)) != 0:
                continue
            for handle in those[:count.value]:
                info = InstanceInfo()
                if self.ask("nvmlGpuInstanceGetInfo", ctypes.c_void_p(handle),
                            ctypes.byref(info)) == 0:
                    found[info.id] = (info.placement.start, info.placement.size, slices)
        return found

    def seen_as(self, device):
        """By the UUID that a job sees: the number of its instance."""
        found = {}
        for index in range(self.count("nvmlDeviceGetMaxMigDeviceCount", device)):
            mig, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
            if self.ask("nvmlDeviceGetMigDeviceHandleByIndex", device, index,
                        ctypes.byref(mig)) != 0:
                continue
            if self.ask("nvmlDeviceGetUUID", mig, text, 96) == 0:
                found[text.value.decode()] = self.count("nvmlDeviceGetGpuInstanceId", mig)
        return found

    def look(self, directory):
        """Of each GPU: its profiles, its instances, what UUIDs stand for."""
        os.environ["CLEAVE_SIM_NODE"] = directory
        assert self.ask("nvmlInit_v2") == 0, directory
        gpus = []
        for index in range(self.count("nvmlDeviceGetCount_v2")):
            device = ctypes.c_void_p()
            assert self.ask("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device)) == 0
            profiles = self.profiles(device)
            gpus.append((profiles, self.instances(device, profiles), self.seen_as(device)))
        self.ask("nvmlShutdown")
        return gpus


def slurm_look():
    """By node: what it has and what of that jobs have, by profile."""
    said = subprocess.run(["scontrol", "-o", "-d", "show", "node"], text=True, timeout=20,
                          capture_output=True, check=False).stdout
    nodes = {}
    for line in said.splitlines():
        name = re.match(r"NodeName=(\S+)", line)
        numbers = [dict((profile, int(count)) for profile, count in re.findall(
            r"mig:(\d+g\.\d+gb):(\d+)", re.search(" %s=(\\S*)" % key, line + " ").group(1)))
                   for key in ("Gres", "GresUsed")]
        nodes[name.group(1)] = numbers
    return nodes


def possible(gpus, more):
    """Whether instances of these profiles fit at once on GPUs of which each is its profiles and
    what is there as (start, size, slices): by trying."""
    busy = [sum(((1 << size) - 1) << start for start, size, _ in there) for _, there in gpus]
    left = [7 - sum(slices for _, _, slices in there) for _, there in gpus]
    sizes = {name: (places[0][1], slices) for profiles, _ in gpus
             for name, (_, slices, places) in profiles.items()}
    if any(count > 0 and name not in sizes for name, count in more.items()):
        return False
    wanted = sorted((name for name, count in more.items() for _ in range(count)),
                    key=lambda name: (sizes[name], name), reverse=True)
    known = set()

    def fits(i):
        if i == len(wanted):
            return True
        state = (i, tuple(sorted(zip(busy, left))))
        if state in known:
            return False
        known.add(state)
        for gpu, (profiles, _) in enumerate(gpus):
            _, slices, places = profiles[wanted[i]]
            if left[gpu] < slices:
                continue
            for start, size in places:
                place = ((1 << size) - 1) << start
                if busy[gpu] & place:
                    continue
                busy[gpu], left[gpu] = busy[gpu] | place, left[gpu] - slices
                done = fits(i + 1)
                busy[gpu], left[gpu] = busy[gpu] & ~place, left[gpu] + slices
                if done:
                    return True
        return False

    return fits(0)


def judge(node, numbers, gpus, uses):
    """Why the counts are more than is possible; None: they are not. "changing": no telling."""
    has, used = numbers
    seen = [set() for _ in gpus]  # numbers of instances that jobs see
    for (where, uuid), _ in uses.items():
        if where != node:
            continue
        at = [i for i, (_, _, uuids) in enumerate(gpus) if uuid in uuids]
        if not at:
            return "changing"
        seen[at[0]].add(gpus[at[0]][2][uuid])
    held, counts = [], dict.fromkeys(has, 0)
    for (profiles, instances, _), numbers_here in zip(gpus, seen):
        names = {slices_places: name for name, (_, slices, places) in profiles.items()
                 for slices_places in [(places[0][1], slices)]}
        there = [instances[number] for number in numbers_here if number in instances]
        held.append((profiles, there))
        for _, size, slices in there:
            counts[names[size, slices]] = counts.get(names[size, slices], 0) + 1
    if any(count > used.get(name, 0) for name, count in counts.items()):
        return "changing"
    more = {name: max(count, used.get(name, 0)) - counts.get(name, 0)
            for name, count in has.items()}
    if possible(held, more):
        return None
    return "%s has %s, of it given %s; jobs see %s" % (node, has, used, counts)


def main():
    folder, library = sys.argv[1:3]
    directories = dict(word.split("=", 1) for word in sys.argv[3:])
    driver, over = Driver(library), []
    told = {"looks": 0, "judged": 0, "most": 0, "more_than_possible": over}
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while not ended:
        for node, directory in directories.items():
            told["looks"] += 1
            try:
                slurm, gpus = slurm_look().get(node), driver.look(directory)
                uses = devices_in_use(folder)
                same = slurm is not None and slurm == slurm_look().get(node) and \
                    [gpu[1:] for gpu in gpus] == [gpu[1:] for gpu in driver.look(directory)]
            except (AssertionError, subprocess.TimeoutExpired):
                continue  # one of both is being started again
            said = judge(node, slurm, gpus, uses) if same else "changing"
            if said == "changing":
                continue
            told["judged"] += 1
            told["most"] = max(told["most"], sum(slurm[0].values()))
            if said is not None:
                over.append(said)
        with open(os.path.join(folder, "observed.new"), "w", encoding="ascii") as file:
            json.dump(told, file)
        os.rename(file.name, os.path.join(folder, "observed"))
        time.sleep(0.05)
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
