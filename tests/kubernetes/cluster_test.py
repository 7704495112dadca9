"""Pods of a real Kubernetes on simulated GPUs, with instances where their claims say.

    python3 cluster_test.py BIN              exit code 77: skipped, with the reason
"""

import os
import random
import signal
import sys
import time
import urllib.error

import compaction_test
from bare_node import BareNode
from checks import QUIET, allocated, check, clear, places
from kube_cluster import MANIFESTS, run_tests, until


def test_a_pod_has_the_first_device_of_its_profile(cluster):
    for node in cluster.nodes:
        cluster.wait_for_quiet(node)
        first = [each["name"] for each in cluster.devices(node)
                 if each["attributes"]["profile"]["string"] == "3g.40gb"][0]
        name = "first-" + node.name
        begin = time.monotonic()
        cluster.make_pod(name, "3g.40gb", node=node)
        until(name + " runs", 60, lambda n=name: cluster.phase(n) == "Running")
        print("%s runs after %.0f ms" % (name, 1000 * (time.monotonic() - begin)))
        pod = cluster.pod(name)
        claim = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        found = [each for each in cluster.all_claims() if each["metadata"]["name"] == claim][0]
        assert allocated(found) == [first], (allocated(found), first)
        seen = cluster.logs(node.name + ".kubelet")
        assert "container of %s has " % name in seen and "CUDA_VISIBLE_DEVICES=MIG-" in seen, seen
        assert check(cluster) >= 1


def test_an_extended_resource(cluster):
    cluster.make_pod("extended", extended="nvidia.com/mig-1g.10gb")
    until("the pod runs", 60, lambda: cluster.phase("extended") == "Running")
    assert sum(len(held) for held in places(cluster).values()) == len(cluster.nodes) + 1


def test_pods_give_their_instances_back(cluster):
    clear(cluster)
    for node in cluster.nodes:
        assert not [each for each in os.listdir(node.cdi) if each.startswith("cleave.gpu")]


def test_more_than_fits_waits(cluster):
    begin = time.monotonic()
    for i in range(16):
        cluster.make_pod("small-%d" % i, "1g.10gb")
    until("14 pods run", 90, lambda: check(cluster) == 14)
    print("14 pods run after %.1f s" % (time.monotonic() - begin))
    waiting = [pod["metadata"]["name"] for pod in cluster.pods()
               if pod["status"].get("phase") == "Pending"]
    assert len(waiting) == 2, waiting
    cluster.remove_pod("small-0" if "small-0" not in waiting else "small-15")
    until("one more runs", QUIET, lambda: check(cluster) == 14)
    clear(cluster)


def test_the_api_server_is_killed(cluster):
    """What runs goes on, and new pods run once it is back."""
    for i in range(2):
        cluster.make_pod("before-%d" % i, "1g.10gb")
    until("pods run", QUIET, lambda: check(cluster) == 2)
    command = cluster.processes["apiserver"].args
    cluster.stop("apiserver", signal.SIGKILL)
    time.sleep(1)
    cluster.start("apiserver", command)
    until("the API server is back", QUIET, cluster.is_serving)
    for i in range(2):
        cluster.make_pod("after-%d" % i, "2g.20gb")
    until("pods run again", 90, lambda: check(cluster) == 4)


def test_slices_are_written_again(cluster):
    """A kubelet removes those of its node when it starts."""
    removed = set()
    for node in cluster.nodes:
        for number in ("00", "01"):
            path = "/apis/resource.k8s.io/v1/resourceslices/%s-cleave-%s" % (number, node.name)
            removed.add(cluster.ask("GET", path)["metadata"]["uid"])
            cluster.ask("DELETE", path)
    needed = {device for claim in cluster.all_claims() for device in allocated(claim)}

    def written():
        slices = [each for each in cluster.slices() if each["metadata"]["uid"] not in removed]
        published = {device["name"] for each in slices for device in each["spec"].get("devices", [])}
        return len(slices) == len(removed) and needed <= published
    until("both slices of each node are there, with all that is allocated", 20, written)
    clear(cluster)


def test_kills(cluster):
    """Drivers and daemons are killed while pods come and go."""
    seed = int(os.environ.get("CLEAVE_KUBE_SEED", "1"))
    long = os.environ.get("CLEAVE_LONG") == "1"
    chance = random.Random(seed)
    profiles = ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb", "1g.20gb"]
    kills, pods = (60, 120) if long else (10, 20)
    names, killed = [], 0
    for i in range(pods):
        names.append("kill-%d" % i)
        cluster.make_pod(names[-1], chance.choice(profiles))
        if len(names) > 6:
            cluster.remove_pod(names.pop(chance.randrange(len(names))))
        time.sleep(chance.random() * 0.3)
        while killed * pods < kills * (i + 1):
            killed += 1
            node = chance.choice(cluster.nodes)
            what = chance.choice(["driver", "daemon"])
            cluster.stop("%s.%s" % (node.name, what), signal.SIGKILL)
            time.sleep(chance.random() * 0.5)
            node.start_driver() if what == "driver" else node.start_daemon()

    def settled():
        phases = [pod["status"].get("phase") for pod in cluster.pods()
                  if "deletionTimestamp" not in pod["metadata"]]
        bound = [pod for pod in cluster.pods() if pod["spec"].get("nodeName")]
        return (len(phases) == len(names) and len(bound) == phases.count("Running")
                and len(cluster.pods()) == len(names))
    until("no pod is stuck", 120, settled)
    running = until("each pod that runs has its instance", 60, lambda: settled() and check(cluster))
    print("%d kills: %d pods run, %d wait" % (killed, running, len(names) - running))
    clear(cluster)


def refused(cluster, pod):
    return any("cannot allocate all claims" in each.get("message", "")
               for each in cluster.pod(pod)["status"].get("conditions", []))


def test_what_is_left_out_is_given_twice(cluster):
    """Why a driver publishes what is allocated: the scheduler subtracts only counters of devices
    that it sees."""
    bare = BareNode(cluster, cluster.nodes[0].name, "bare")
    cluster.make_pod("small", "1g.10gb", node=bare)
    small = until("a small one is allocated", QUIET, lambda: bare.claim_of("small"))

    bare.publish_without(small[0])
    cluster.make_pod("twice", "7g.80gb", node=bare)
    twice = until("the whole GPU is allocated too", QUIET, lambda: bare.claim_of("twice"))
    assert small == bare.claim_of("small") and small[0].split("-")[0] == twice[0].split("-")[0]
    bare.remove_pod("twice")

    bare.publish_without(None)
    cluster.make_pod("kept-out", "7g.80gb", node=bare)
    until("the whole GPU is refused", QUIET, lambda: refused(cluster, "kept-out"))
    assert bare.claim_of("kept-out") == []
    for pod in ("kept-out", "small"):
        bare.remove_pod(pod)
    bare.end()


def test_only_one_scheduler_allocates(cluster):
    """By the admission policy: what the scheduler may, nobody else may, and other changes go on."""
    cluster.apply(os.path.join(MANIFESTS, "admission.yaml"))
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    device = cluster.devices(cluster.nodes[0])[0]["name"]
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
             "metadata": {"name": "by-hand"}, "spec": {"devices": {"requests": [
                 {"name": "gpu", "exactly": {"deviceClassName": "mig.cleave.gpu"}}]}}}

    def allocate_by_hand():
        """What the API server says to one that is no scheduler; the claim is as before."""
        made = cluster.ask("POST", claims, claim)
        made["status"] = {"allocation": {"devices": {"results": [
            {"request": "gpu", "driver": "cleave.gpu", "pool": cluster.nodes[0].name,
             "device": device}]}}}
        try:
            cluster.ask("PUT", claims + "/by-hand/status", made)
            return ""
        except urllib.error.HTTPError as error:
            return error.read().decode()
        finally:
            cluster.ask("DELETE", claims + "/by-hand")
    until("another may not", QUIET, lambda: "only system:kube-scheduler" in allocate_by_hand())
    cluster.make_pod("by-the-scheduler", "1g.10gb")
    until("the scheduler may", QUIET, lambda: cluster.phase("by-the-scheduler") == "Running")
    assert check(cluster) == 1
    clear(cluster)


COMPACTION = (compaction_test.TESTS if os.environ.get("CLEAVE_LONG") == "1"
              else compaction_test.SHORT)
TESTS = [test_a_pod_has_the_first_device_of_its_profile, test_an_extended_resource,
         test_pods_give_their_instances_back, test_more_than_fits_waits,
         test_what_is_left_out_is_given_twice, test_only_one_scheduler_allocates,
         *COMPACTION,
         test_the_api_server_is_killed, test_slices_are_written_again, test_kills]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, os.path.abspath(sys.argv[1])))
