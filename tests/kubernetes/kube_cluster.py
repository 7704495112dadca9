"""A Kubernetes cluster on loopback: the real servers in one program, kubelets that run host
processes, and on each node a daemon with simulated GPUs and `cleave-kube node`."""

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
MANIFESTS = os.path.join(HERE, "../../packaging/kubernetes")
TOKENS = {"admin": 'admintoken,admin,1,"system:masters"',
          "scheduler": "schedulertoken,system:kube-scheduler,2",
          "manager": "managertoken,system:kube-controller-manager,3",
          "cleave": "cleavetoken,system:serviceaccount:cleave-system:cleave-kube,4",
          "controller": "controllertoken,"
                        "system:serviceaccount:cleave-system:cleave-kube-controller,5"}
CONTROLLERS = ("resourceclaim-controller,serviceaccount-controller,serviceaccount-token-controller,"
               "namespace-controller,garbage-collector-controller,pod-garbage-collector-controller,"
               "disruption-controller,deployment-controller,replicaset-controller,job-controller")
BUILD_FLAGS = ["-p", "2", "-trimpath",
               "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3"]

GROUPS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def go_version():
    go = shutil.which("go")
    if not go:
        return None
    text = subprocess.run([go, "env", "GOVERSION"], cwd="/", capture_output=True, text=True).stdout
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def go(words, seconds):
    """What it printed, its exit code; None where it takes longer, and then nothing is left of it."""
    process = subprocess.Popen(["nice", "go", *words], cwd=HERE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True,
                               env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"})
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def build_servers(folder):
    """The program's file; or why there is none. Without CLEAVE_LONG only what Go has cached.
    Sources that cannot be had are a reason to skip; sources that do not compile are a failure."""
    if (go_version() or (0, 0)) < (1, 26):
        return None, "the servers of Kubernetes need Go 1.26"
    program = os.path.join(folder, "kubernetes-servers")
    sources = [os.path.join(HERE, each) for each in os.listdir(HERE) if each.startswith("go.")
               or each.endswith(".go")]
    if os.path.exists(program) and os.path.getmtime(program) > max(map(os.path.getmtime, sources)):
        return program, None
    patience = 1800 if os.environ.get("CLEAVE_LONG") == "1" else 90
    listed = go(["list", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", "."], patience)
    if listed is None:
        return None, "Go's module proxy has not given the sources of Kubernetes in %d s" % patience
    if listed[1] != 0:
        said = [line for line in listed[0].splitlines() if line.strip()]
        return None, "the sources of Kubernetes are not to be had: " + (said or ["go list"])[-1]
    # Under another name until it is whole.
    made = go(["build", *BUILD_FLAGS, "-o", program + ".part", "."], patience)
    if made is None:
        return None, "Go has not compiled the servers of Kubernetes yet; CLEAVE_LONG=1 does"
    if made[1] != 0:
        raise AssertionError("the servers of Kubernetes do not compile:\n" + made[0][-3000:])
    os.replace(program + ".part", program)
    return program, None


def until(what, seconds, condition):
    """Its value, once that is something. Where a server does not answer it is not yet. The deadline
    is one of looks too, ten for each second, so that a busy machine has more time."""
    begin, looks, trouble = time.monotonic(), 0, ""
    while True:
        try:
            found = condition()
            if found:
                return found
            trouble = ""
        except (OSError, http.client.HTTPException) as error:
            trouble = " (%s)" % error
        looks += 1
        waited = time.monotonic() - begin
        if waited > seconds and (looks > 10 * seconds or waited > 10 * seconds):
            raise AssertionError("not within %.0f s: %s%s" % (waited, what, trouble))
        time.sleep(0.05)


TAKEN_PORTS = set()


def free_port():
    """Below those that the system gives to connections, which could take it before its server has
    it, or while that is restarted: a client that tries again and again may even meet itself."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        below = int(file.read().split()[0])
    for _ in range(1000):
        port = random.SystemRandom().randrange(min(10000, below - 2000), below)
        if port in TAKEN_PORTS:
            continue
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        TAKEN_PORTS.add(port)
        return port
    raise AssertionError("no port is free below %d" % below)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("daemon", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


class Node:
    """What runs on one node."""

    def __init__(self, cluster, name, gpus):
        self.cluster, self.name, self.gpus = cluster, name, gpus
        self.folder = os.path.join(cluster.folder, name)
        os.makedirs(self.folder)
        self.socket = os.path.join(self.folder, "d.sock")
        self.cdi = os.path.join(self.folder, "cdi")
        self.log = os.path.join(cluster.folder, "log", name)

    def start(self):
        self.start_daemon()
        self.cluster.start(self.name + ".kubelet", [
            self.cluster.servers, "kubelet", "-node", self.name, "-root", self.folder + "/k",
            "-kubeconfig", self.cluster.kubeconfig(self.name), "-cdi", self.cdi])
        self.start_driver()

    def start_daemon(self):
        state = os.path.join(self.folder, "s")
        self.cluster.start(self.name + ".daemon", [
            self.cluster.bin + "/cleaved", "--simulate", self.gpus, "--instant", "--state", state,
            "--socket", self.socket], CLEAVE_CONFIG="")

    def start_driver(self):
        sim_node = os.path.join(self.folder, "s/sim-node")
        self.cluster.start(self.name + ".driver", [
            self.cluster.bin + "/cleave-kube", "node", "--server", self.cluster.url, "--ca",
            self.cluster.ca, "--token", self.cluster.token_file("cleave"), "--socket", self.socket,
            "--node", self.name, "--kubelet-root", self.folder + "/k", "--cdi", self.cdi,
            "--sim-node", sim_node])

    def ask(self, path):
        connection = UnixConnection(self.socket)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def claims(self):
        return self.ask("/v1/claims")["claims"]

    def gpus_now(self):
        return self.ask("/v1/gpus")["gpus"]


class Cluster:
    def __init__(self, servers, programs, nodes=2, gpus="1xH100-80GB-SXM5"):
        self.servers, self.bin = servers, programs
        self.folder = tempfile.mkdtemp(prefix="cleave-kube-")
        os.makedirs(self.folder + "/log")
        self.ports = [free_port() for _ in range(5)]
        self.url = "https://127.0.0.1:%d" % self.ports[0]
        self.ca = self.folder + "/certs/apiserver.crt"
        self.processes = {}
        self.nodes = [Node(self, "node-%d" % i, gpus) for i in range(nodes)]
        self.tls = None

    # Processes.

    def start_controller(self, name="controller", *options):
        """A replica of the controller, which looks for pods that have waited for a second."""
        self.start(name, [self.bin + "/cleave-kube", "controller", *self.access("controller"),
                          "--when-waiting", "1s", *options], NODE_NAME=name)

    def access(self, who):
        """Options by which a program of Cleave's reaches the API server."""
        return ["--server", self.url, "--ca", self.ca, "--token", self.token_file(who)]

    def start(self, name, command, **variables):
        with open(os.path.join(self.folder, "log", name), "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "GOMAXPROCS": "2", **variables})

    def stop(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name)
        process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def logs(self, name):
        """What it has said; nothing where it never began."""
        path = os.path.join(self.folder, "log", name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def token_file(self, who):
        path = os.path.join(self.folder, who + ".token")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as out:
                out.write(who.replace("node-", "node") + "token\n")
        return path

    def kubeconfig(self, who):
        path = os.path.join(self.folder, who + ".kubeconfig")
        token = who.replace("node-", "node") + "token"
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
                  "clusters": [{"name": "c", "cluster": {"server": self.url,
                                                        "certificate-authority": self.ca}}],
                  "users": [{"name": "u", "user": {"token": token}}],
                  "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out)
        return path

    def begin(self):
        with open(self.folder + "/tokens.csv", "w", encoding="utf-8") as out:
            for line in TOKENS.values():
                out.write(line + "\n")
            for node in self.nodes:
                out.write('%stoken,system:node:%s,%s,"system:nodes"\n'
                          % (node.name.replace("-", ""), node.name, node.name))
        subprocess.run(["openssl", "genrsa", "-out", self.folder + "/sa.key", "2048"], check=True,
                       capture_output=True)
        self.start_servers()
        for name in ("rbac.yaml", "classes.yaml", "controller.yaml"):
            self.apply(os.path.join(MANIFESTS, name))
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            until("slices of " + node.name, 60, lambda n=node: self.devices(n))
            until("the kubelet of %s takes the driver" % node.name, 60,
                  lambda n=node: "has taken the driver" in self.logs(n.name + ".driver"))
            until(node.name + " is ready", 60, lambda n=node: self.is_ready(n))

    def start_servers(self):
        etcd, peer = ("http://127.0.0.1:%d" % port for port in self.ports[1:3])
        self.start("etcd", [self.servers, "etcd", self.folder, etcd, peer])
        key = self.folder + "/sa.key"
        self.start("apiserver", [
            self.servers, "apiserver", "--etcd-servers=" + etcd, "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", "--secure-port=%d" % self.ports[0],
            "--cert-dir=" + self.folder + "/certs", "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=Node,RBAC",
            "--token-auth-file=" + self.folder + "/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-signing-key-file=" + key, "--service-account-key-file=" + key,
            "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"])
        until("the API server is ready", 120, self.is_serving)
        self.start_scheduler()
        self.start_secured("manager", self.ports[4], [
            "--kubeconfig=" + self.kubeconfig("manager"), "--leader-elect=false",
            "--use-service-account-credentials=true", "--kube-api-qps=500",
            "--kube-api-burst=1000", "--service-account-private-key-file=" + key,
            "--root-ca-file=" + self.ca, "--controllers=" + CONTROLLERS])

    def start_scheduler(self):
        scheduler = {"apiVersion": "kubescheduler.config.k8s.io/v1",
                     "kind": "KubeSchedulerConfiguration",
                     "leaderElection": {"leaderElect": False},
                     "clientConnection": {"kubeconfig": self.kubeconfig("scheduler"), "qps": 1000,
                                          "burst": 2000}}
        with open(self.folder + "/scheduler.json", "w", encoding="utf-8") as out:
            json.dump(scheduler, out)
        self.start_secured("scheduler", self.ports[3],
                           ["--config=" + self.folder + "/scheduler.json"])

    def start_secured(self, name, port, own):
        config = self.kubeconfig(name)
        self.start(name, [
            self.servers, name, "--authentication-kubeconfig=" + config,
            "--authorization-kubeconfig=" + config, "--bind-address=127.0.0.1",
            "--secure-port=%d" % port, "--cert-dir=%s/certs-%s" % (self.folder, name), *own])

    def show_state(self):
        """What may say why a test failed."""
        for name in sorted(os.listdir(self.folder + "/log")):
            if name != "etcd":
                print("--- %s\n%s" % (name, self.logs(name)[-2500:]), flush=True)
        try:
            for pod in self.pods():
                print("--- pod " + pod["metadata"]["name"], json.dumps(pod["status"])[:1500])
        except (OSError, http.client.HTTPException) as error:
            print("--- the API server does not answer: %s" % error, flush=True)

    def end(self):
        """The API server before etcd: it hangs where that goes first."""
        last = ["scheduler", "manager", "apiserver", "etcd"]
        for name in [each for each in list(self.processes) if each not in last] + last:
            if name in self.processes:
                self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The API.

    def ask(self, method, path, body=None, kind="application/json", raw=False):
        if self.tls is None:
            self.tls = ssl.create_default_context(cafile=self.ca)
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else None
        request = urllib.request.Request(
            self.url + path, data=data, method=method,
            headers={"Authorization": "Bearer admintoken", "Content-Type": kind})
        with urllib.request.urlopen(request, context=self.tls, timeout=60) as answer:
            text = answer.read()
            return text if raw else json.loads(text or b"null")

    def is_serving(self):
        if self.processes["apiserver"].poll() is not None:
            raise AssertionError(self.logs("apiserver")[-2000:])
        try:
            self.ask("GET", "/readyz", raw=True)  # with its roles made
            return True
        except (OSError, urllib.error.URLError, ssl.SSLError):
            self.tls = None
            return False

    def apply(self, file):
        """Each document of a manifest, as it is: the server reads YAML itself."""
        with open(file, encoding="utf-8") as text:
            for document in re.split(r"(?m)^---$", text.read()):
                if not re.search(r"(?m)^kind:", document):
                    continue
                kind = re.search(r"(?m)^kind: (\w+)", document)[1]
                if kind == "Deployment":  # its program is started beside the cluster
                    continue
                self.ask("POST", {
                    "Namespace": "/api/v1/namespaces",
                    "ServiceAccount": "/api/v1/namespaces/cleave-system/serviceaccounts",
                    "Role": RBAC + "/namespaces/cleave-system/roles",
                    "RoleBinding": RBAC + "/namespaces/cleave-system/rolebindings",
                    "ClusterRole": RBAC + "/clusterroles",
                    "ClusterRoleBinding": RBAC + "/clusterrolebindings",
                    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
                    "Service": "/api/v1/namespaces/cleave-system/services",
                    "ValidatingAdmissionPolicy": ADMISSION + "/validatingadmissionpolicies",
                    "ValidatingAdmissionPolicyBinding":
                        ADMISSION + "/validatingadmissionpolicybindings",
                    "DaemonSet": "/apis/apps/v1/namespaces/cleave-system/daemonsets",
                }[kind], document.encode(), "application/yaml")

    def slices(self):
        return self.ask("GET", "/apis/resource.k8s.io/v1/resourceslices")["items"]

    def devices(self, node):
        for each in self.slices():
            if each["metadata"]["name"] == "01-cleave-" + node.name:
                return each["spec"].get("devices", [])
        return []

    def wait_for_quiet(self, node):
        """Until the node's devices have been the same for two of its driver's rounds."""
        latest = [None, 0.0]

        def quiet():
            devices = self.devices(node)
            if devices != latest[0]:
                latest[:] = [devices, time.monotonic()]
            return devices and time.monotonic() - latest[1] > 2.5
        until("devices of %s stay as they are" % node.name, 60, quiet)

    def is_ready(self, node):
        status = self.ask("GET", "/api/v1/nodes/" + node.name).get("status", {})
        return any(each["type"] == "Ready" and each["status"] == "True"
                   for each in status.get("conditions", []))

    def pods(self):
        return self.ask("GET", "/api/v1/namespaces/default/pods")["items"]

    def pod(self, name):
        return self.ask("GET", "/api/v1/namespaces/default/pods/" + name)

    def all_claims(self):
        where = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        return self.ask("GET", where)["items"]

    def make_pod(self, name, profile=None, extended=None, command=("sleep", "600"), node=None):
        self.ask("POST", "/api/v1/namespaces/default/pods",
                 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                  "spec": self.pod_spec(profile, extended, command, node)})

    def make_owner(self, kind, name, profile, replicas=1, labels=None, **more):
        """A Deployment, ReplicaSet or Job, whose pods have the label "app" with its name."""
        restart = "Never" if kind == "Job" else "Always"
        labels = {"app": name, **(labels or {})}
        template = {"metadata": {"labels": labels},
                    "spec": {**self.pod_spec(profile), "restartPolicy": restart}}
        spec = {"template": template, **more}
        if kind != "Job":
            spec.update(replicas=replicas, selector={"matchLabels": {"app": name}})
        self.ask("POST", self.owners(kind), {"apiVersion": GROUPS[kind], "kind": kind,
                                             "metadata": {"name": name}, "spec": spec})

    def owners(self, kind, name=""):
        return "/apis/%s/namespaces/default/%ss%s" % (GROUPS[kind], kind.lower(),
                                                     "/" + name if name else "")

    def remove_owner(self, kind, name):
        self.ask("DELETE", self.owners(kind, name) + "?propagationPolicy=Background")

    def pods_of(self, name):
        return [pod for pod in self.pods()
                if pod["metadata"].get("labels", {}).get("app") == name]

    def patch(self, path, body):
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def pod_spec(self, profile=None, extended=None, command=("sleep", "600"), node=None):
        """With a claim of its own for the profile, or by the extended resource."""
        container = {"name": "c", "image": "none", "command": list(command)}
        spec = {"terminationGracePeriodSeconds": 1, "restartPolicy": "Never",
                "automountServiceAccountToken": False, "containers": [container]}
        if node:
            spec["nodeSelector"] = {"kubernetes.io/hostname": node.name}
        if extended:
            container["resources"] = {"limits": {extended: "1"}}
        else:
            name = "t-" + profile.replace(".", "-").replace("+", "-")
            self.make_template(name, profile)
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": name}]
            container["resources"] = {"claims": [{"name": "gpu"}]}
        return spec

    def make_template(self, name, profile):
        where = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
        device = {"name": "gpu", "exactly": {
            "deviceClassName": "mig-%s.cleave.gpu" % profile.replace("+", ".")}}
        try:
            self.ask("POST", where, {"apiVersion": "resource.k8s.io/v1",
                                     "kind": "ResourceClaimTemplate", "metadata": {"name": name},
                                     "spec": {"spec": {"devices": {"requests": [device]}}}})
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise

    def remove_pod(self, name):
        try:
            self.ask("DELETE", "/api/v1/namespaces/default/pods/" + name)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def phase(self, name):
        return self.pod(name)["status"].get("phase")


def run_tests(tests, programs, **options):
    """Each in its turn on one cluster. The exit code: 77 where it is skipped, with the reason."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and ends what it began
    if not os.path.exists(programs + "/cleave-kube"):
        print("skipped: cleave-kube was not built")
        return 77
    servers, why = build_servers(programs)
    if not servers:
        print("skipped: " + why)
        return 77
    cluster = Cluster(servers, programs, **options)
    failed = True
    try:
        cluster.begin()
        for test in tests:
            begin = time.monotonic()
            test(cluster)
            print("%s: %.1f s" % (test.__name__, time.monotonic() - begin), flush=True)
        failed = False
    finally:
        if failed:
            traceback.print_exc()
            cluster.show_state()
        cluster.end()
    return 0
