"""Room made by evictions on the real servers: which pods go, how many, and when nobody does.

    python3 compaction_test.py BIN           exit code 77: skipped, with the reason

Each test has one GPU on each of two nodes: on the first what may be moved, on the second a bare pod
with half of the GPU, and a pod that waits for a whole one.
"""

import json
import os
import signal
import subprocess
import sys
import time

from checks import allocated, check, clear
from kube_cluster import run_tests, until

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/api/v1/namespaces/default/events"
CONTROLLER = "controller"
IGNORED = {"rules": [{"action": "Ignore",
                      "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


class Scene:
    """The pods of a test, and which of them have gone."""

    def __init__(self, cluster, owners, waiting="7g.80gb", extended=False, opted=True):
        """`owners`: kind, name, profile, and what else an owner has."""
        self.cluster, self.owners, self.seen = cluster, owners, set()
        self.first, self.second = cluster.nodes[0].name, cluster.nodes[1].name
        self.opt_in(opted)
        cluster.make_pod("wall", "3g.40gb", node=cluster.nodes[1])
        until("the wall stands", 60, lambda: cluster.phase("wall") == "Running")
        self.cordon(self.second, True)
        for kind, name, profile, more in owners:
            cluster.make_owner(kind, name, profile, **more)
            count = more.get("replicas", 1)
            until(name + " runs", 60, lambda n=name, c=count: self.running(n) == c)
        self.cordon(self.second, False)
        self.gone()
        if extended:
            cluster.make_pod("big", extended="nvidia.com/mig-" + waiting)
        else:
            cluster.make_pod("big", waiting)
        until("the scheduler finds no devices for it", 60, self.is_refused)

    def opt_in(self, yes):
        label = {"cleave.gpu/compact": "true" if yes else None}
        self.cluster.patch("/api/v1/namespaces/default", {"metadata": {"labels": label}})

    def cordon(self, node, yes):
        self.cluster.patch("/api/v1/nodes/" + node, {"spec": {"unschedulable": yes}})

    def running(self, name):
        return sum(pod["status"].get("phase") == "Running" and
                   "deletionTimestamp" not in pod["metadata"]
                   for pod in self.cluster.pods_of(name))

    def is_refused(self):
        conditions = self.cluster.pod("big")["status"].get("conditions", [])
        return any("cannot allocate all claims" in each.get("message", "") for each in conditions)

    def gone(self):
        """How many pods of the owners went, of all that were ever seen."""
        alive = {pod["metadata"]["uid"] for _, name, _, _ in self.owners
                 for pod in self.cluster.pods_of(name)
                 if "deletionTimestamp" not in pod["metadata"]
                 and pod["status"].get("phase") not in ("Failed", "Succeeded")}
        self.seen |= alive
        return len(self.seen - alive)

    def compacted(self):
        return [each for each in self.cluster.ask("GET", EVENTS)["items"]
                if each["reason"] == "Compacted"]

    def serve(self, seconds=90):
        """Until the pod that waited runs; what goes meanwhile is seen."""
        until("room is made", seconds,
              lambda: self.gone() is not None and self.cluster.phase("big") == "Running")
        until("all have a place", seconds, lambda: self.gone() is not None and all(
            self.running(name) == more.get("replicas", 1) for _, name, _, more in self.owners))
        assert check(self.cluster) >= 2

    def end(self, *controllers):
        """Nothing is kept for anybody afterwards."""
        for each in controllers:
            self.cluster.stop(each)
            os.remove(os.path.join(self.cluster.folder, "log", each))
        for kind, name, _, _ in self.owners:
            self.cluster.remove_owner(kind, name)
        clear(self.cluster)
        for each in self.cluster.ask("GET", BUDGETS)["items"]:
            self.cluster.ask("DELETE", BUDGETS + "/" + each["metadata"]["name"])
        self.cluster.ask("DELETE", EVENTS)
        for node in self.cluster.nodes:
            until("%s offers all again" % node.name, 60, lambda n=node: not any(
                "taints" in each for each in self.cluster.devices(n)))


def budget(cluster, name, **rule):
    """A budget for an owner's pods, once its controller has counted."""
    path = BUDGETS + "/" + name
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, **rule}}
    there = [each["metadata"]["name"] for each in cluster.ask("GET", BUDGETS)["items"]]
    made = (cluster.patch(path, {"spec": rule}) if name in there
            else cluster.ask("POST", BUDGETS, body))

    def counted():
        found = cluster.ask("GET", path)
        return found.get("status", {}).get("observedGeneration") == made["metadata"]["generation"]
    until("the budget is counted", 30, counted)


def plan(cluster, *words, program="cleave-kube"):
    """What a user with a token is told."""
    command = {"cleave-kube": ["cleave-kube", "plan"],
               "cleave": ["cleave", "plan", "compact", "--kubernetes"]}[program]
    done = subprocess.run([os.path.join(cluster.bin, command[0]), *command[1:],
                           *cluster.access("admin"), *words], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def said(cluster, text, name=CONTROLLER):
    return text in cluster.logs(name)


def test_budgets_and_labels_decide(cluster):
    """Nobody goes without the label, nor while a budget allows no disruption; then one pod does."""
    scene = Scene(cluster, [("Deployment", "web", "1g.10gb", {})], opted=False)
    budget(cluster, "web", minAvailable=1)
    cluster.start_controller()
    until("the controller finds nothing to do", 60,
          lambda: said(cluster, "nor its namespace has the label"))
    told = plan(cluster)
    assert "No pod is to be evicted" in told, told
    assert "default/wall" in told and "it is a bare pod: nobody makes it again" in told, told
    scene.opt_in(True)
    until("the budget is what keeps it", 60,
          lambda: said(cluster, "budget web allows no disruption"))
    time.sleep(2)  # it would act at once
    assert scene.gone() == 0 and cluster.phase("big") == "Pending"
    assert "budget web allows no disruption" in plan(cluster, program="cleave")

    budget(cluster, "web", minAvailable=0)
    scene.serve()
    assert scene.gone() == 1 and cluster.phase("wall") == "Running"
    # The one that went may still be listed.
    there = [pod["spec"]["nodeName"] for pod in cluster.pods_of("web")
             if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Running"]
    assert there == [scene.second], there
    until("the pod's event", 30, lambda: len(scene.compacted()) == 1)
    assert "to make room for pod default/big" in scene.compacted()[0]["message"]
    scene.end(CONTROLLER)


def test_a_dry_run_evicts_nobody(cluster):
    scene = Scene(cluster, [("Deployment", "web", "1g.10gb", {})])
    decision = json.loads(plan(cluster, "--json"))
    assert [each["pod"]["name"] for each in decision["plan"]["evictions"]] == \
        [cluster.pods_of("web")[0]["metadata"]["name"]], decision
    cluster.start_controller(CONTROLLER, "--dry-run")
    until("it says what it would do", 60, lambda: said(cluster, "for pod default/big, by evicting"))
    time.sleep(3)
    assert scene.gone() == 0 and cluster.phase("big") == "Pending"
    scene.end(CONTROLLER)


def test_one_at_a_time_where_a_budget_says_so(cluster):
    scene = Scene(cluster, [("Deployment", "web", "1g.10gb", {"replicas": 2})])
    budget(cluster, "web", maxUnavailable=1)
    cluster.start_controller()
    fewest = [2]

    def watched():
        ready = cluster.ask("GET", cluster.owners("Deployment", "web"))["status"]
        fewest[0] = min(fewest[0], ready.get("readyReplicas", 0))
        scene.gone()
        return cluster.phase("big") == "Running"
    until("room is made", 120, watched)
    assert fewest[0] >= 1, fewest
    scene.serve()
    assert scene.gone() == 2, scene.gone()
    scene.end(CONTROLLER)


def test_jobs(cluster):
    """A pod of a Job counts as failed, unless its policy ignores disruptions."""
    for policy, failed in ((None, 1), (IGNORED, 0)):
        more = {"podFailurePolicy": policy} if policy else {}
        scene = Scene(cluster, [("Job", "work", "2g.20gb", {"backoffLimit": 6, **more})])
        cluster.start_controller()
        scene.serve()
        assert scene.gone() == 1
        job = cluster.ask("GET", cluster.owners("Job", "work"))
        assert job["status"].get("failed", 0) == failed, job["status"]
        scene.end(CONTROLLER)


def test_for_an_extended_resource(cluster):
    scene = Scene(cluster, [("Deployment", "web", "1g.10gb", {})], extended=True)
    cluster.start_controller()
    scene.serve()
    assert scene.gone() == 1
    scene.end(CONTROLLER)


def test_successors_that_come_back_otherwise(cluster):
    """With another profile, or only where they were: one pod each goes, and nobody is chased."""
    for change, back in (({"resourceClaims": [
            {"name": "gpu", "resourceClaimTemplateName": "t-3g-40gb"}]}, True),
                         ({"nodeSelector": {"kubernetes.io/hostname": "node-0"}}, False)):
        scene = Scene(cluster, [("ReplicaSet", "web", "1g.10gb", {})])
        cluster.patch(cluster.owners("ReplicaSet", "web"), {"spec": {"template": {"spec": change}}})
        cluster.start_controller()
        if back:
            scene.serve()
            claims = [each for each in cluster.all_claims() if "web" in each["metadata"]["name"]]
            assert len(claims) == 1 and "-3g-40gb-" in allocated(claims[0])[0], claims
        else:
            until("room is made", 90, lambda s=scene: s.gone() is not None
                  and cluster.phase("big") == "Running")
            assert check(cluster) == 2 and scene.running("web") == 0
        time.sleep(5)
        assert scene.gone() == 1, scene.gone()
        scene.end(CONTROLLER)


def test_the_acting_replica_is_killed(cluster):
    """Another takes over and goes on from what it finds."""
    scene = Scene(cluster, [("Deployment", "web", "1g.10gb", {})])
    budget(cluster, "web", minAvailable=1)
    cluster.start_controller("one")
    until("one acts", 60, lambda: said(cluster, "it holds the lease", "one"))
    cluster.start_controller("two")
    until("two stands by", 60, lambda: said(cluster, "stands by", "two"))
    time.sleep(3)
    assert not said(cluster, "it holds the lease", "two")
    cluster.stop("one", signal.SIGKILL)
    begin = time.monotonic()
    until("two acts", 60, lambda: said(cluster, "it holds the lease", "two"))
    print("another acts after %.1f s" % (time.monotonic() - begin))
    budget(cluster, "web", minAvailable=0)
    scene.serve()
    assert scene.gone() == 1
    scene.end("two")


SHORT = [test_budgets_and_labels_decide]
TESTS = SHORT + [test_a_dry_run_evicts_nobody, test_one_at_a_time_where_a_budget_says_so, test_jobs,
                 test_for_an_extended_resource, test_successors_that_come_back_otherwise,
                 test_the_acting_replica_is_killed]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, os.path.abspath(sys.argv[1])))
