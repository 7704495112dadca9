"""What tests ask of a cluster: who has which devices, and whether daemons and claims agree."""

from kube_cluster import until

QUIET = 60


def name_of(device):
    """The name that the driver gives a place of the daemon's."""
    profile = device["profile"].replace("-", "-without-").replace(".", "-").replace("+", "-")
    return "gpu%s-%s-%d" % (device["gpu_uuid"].replace("GPU-", "").replace("-", ""), profile,
                            device["start"])


def places(cluster):
    """By UID of a claim the devices that a daemon holds for it."""
    held = {}
    for node in cluster.nodes:
        for claim in node.claims():
            if claim["key"].startswith("kube:") and claim["state"] == "held":
                held[claim["key"][5:]] = sorted(name_of(each) for each in claim["instances"])
    return held


def allocated(claim):
    allocation = claim.get("status", {}).get("allocation")
    results = allocation["devices"]["results"] if allocation else []
    return sorted(each["device"] for each in results)


def check(cluster):
    """Each running pod has its instance where its claim says; no slice is used twice. Pods are read
    first, then what they have had since before they ran."""
    pods = cluster.pods()
    claims = {each["metadata"]["name"]: each for each in cluster.all_claims()}
    held = places(cluster)
    running = 0
    for pod in pods:
        if pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
            continue
        running += 1
        for each in pod["status"].get("resourceClaimStatuses", []):
            claim = claims[each["resourceClaimName"]]
            assert held.get(claim["metadata"]["uid"]) == allocated(claim), (pod["metadata"]["name"],
                                                                           claim, held)
    for node in cluster.nodes:
        for gpu in node.gpus_now():
            used = []
            for each in gpu["instances"]:
                size = int(each["profile"][0]) if each["profile"][0] != "7" else 8
                size = {3: 4}.get(size, size) if "1g.20gb" not in each["profile"] else 2
                used += range(each["start"], each["start"] + size)
            assert len(used) == len(set(used)), gpu["layout"]
    return running


def clear(cluster):
    for pod in cluster.pods():
        cluster.remove_pod(pod["metadata"]["name"])
    until("all pods are gone", QUIET, lambda: not cluster.pods())
    until("all instances are given back", QUIET,
          lambda: not any(node.claims() for node in cluster.nodes))
