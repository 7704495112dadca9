"""Nodes that are objects of the API alone."""

import hashlib
import json
import re

from checks import QUIET, allocated
from kube_cluster import until

SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def renamed(one, like, name):
    """A slice of a node as that of another, whose GPUs have other UUIDs."""
    def other(found):
        plain = found[0].replace("GPU-", "").replace("gpu", "").replace("-", "")
        new = hashlib.md5((name + plain).encode()).hexdigest()
        return ("gpu" + new if found[0].startswith("gpu") else
                "GPU-%s-%s-%s-%s-%s" % (new[:8], new[8:12], new[12:16], new[16:20], new[20:]))
    text = re.sub(r"gpu[0-9a-f]{32}|GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", other,
                  json.dumps(one))
    made = json.loads(text)
    made["metadata"] = {"name": one["metadata"]["name"].replace(like, name)}
    made["spec"].update(nodeName=name)
    made["spec"]["pool"].update(name=name)
    return made


class BareNode:
    """A node without kubelet and driver: a pool that a test publishes, and pods that only the
    scheduler sees."""

    def __init__(self, cluster, like, name, slices=None):
        """With the slices of the node `like`, or these of it, and other GPUs."""
        self.cluster, self.name = cluster, name
        slices = slices or [each for each in cluster.slices() if each["spec"]["nodeName"] == like]
        self.slices = [renamed(each, like, name) for each in slices]
        capacity = {"cpu": "8", "memory": "8Gi", "pods": "100"}
        cluster.ask("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}}})
        cluster.patch("/api/v1/nodes/%s/status" % self.name, {"status": {
            "capacity": capacity, "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True"}]}})
        for each in self.slices:
            cluster.ask("POST", SLICES, each)

    def publish_without(self, device):
        """All other devices, or all."""
        name = "01-cleave-" + self.name
        there = self.cluster.ask("GET", SLICES + "/" + name)
        whole = [each for each in self.slices if each["metadata"]["name"] == name][0]
        there["spec"]["devices"] = [each for each in whole["spec"]["devices"]
                                    if each["name"] != device]
        self.cluster.ask("PUT", SLICES + "/" + name, there)

    def claim_of(self, pod):
        """Devices of its claim, once the scheduler has allocated it."""
        named = self.cluster.pod(pod)["status"].get("resourceClaimStatuses", [])
        return [device for claim in self.cluster.all_claims() for device in allocated(claim)
                if named and claim["metadata"]["name"] == named[0]["resourceClaimName"]]

    def remove_pod(self, pod):
        self.cluster.ask("DELETE", "/api/v1/namespaces/default/pods/%s?gracePeriodSeconds=0" % pod)
        until("its claim is gone", QUIET, lambda: not [
            each for each in self.cluster.all_claims() if pod in each["metadata"]["name"]])

    def end(self):
        for each in self.slices:
            self.cluster.ask("DELETE", SLICES + "/" + each["metadata"]["name"])
        self.cluster.ask("DELETE", "/api/v1/nodes/" + self.name)
