package main

// The kubelet itself, without control groups and images. Its container manager is a stub, except
// that claims go to the kubelet's own manager of dynamic resources; its container runtime is a
// fake, except that containers are processes of this machine with the environment of their CDI
// devices.

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	critest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/kubemark"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

type containerManager struct {
	cm.ContainerManager
	claims *dra.Manager
}

func (m *containerManager) Start(ctx context.Context, node *v1.Node, active cm.ActivePodsFunc,
	getNode cm.GetNodeFunc, ready config.SourcesReady, provider status.PodStatusProvider,
	runtime internalapi.RuntimeService, isolation bool) error {
	err := m.ContainerManager.Start(ctx, node, active, getNode, ready, provider, runtime, isolation)
	if err != nil {
		return err
	}
	return m.claims.Start(ctx, dra.ActivePodsFunc(active), dra.GetNodeFunc(getNode), ready)
}

func (m *containerManager) GetPluginRegistrationHandlers() map[string]cache.PluginHandler {
	return map[string]cache.PluginHandler{registerapi.DRAPlugin: m.claims.GetWatcherHandler()}
}

func (m *containerManager) GetResources(_ context.Context, pod *v1.Pod,
	container *v1.Container) (*kubecontainer.RunContainerOptions, error) {
	info, err := m.claims.GetResources(pod, container)
	if err != nil {
		return nil, err
	}
	return &kubecontainer.RunContainerOptions{CDIDevices: info.CDIDevices}, nil
}

func (m *containerManager) PrepareDynamicResources(ctx context.Context, pod *v1.Pod) error {
	begin := time.Now()
	err := m.claims.PrepareResources(ctx, pod)
	fmt.Printf("prepared %s in %.1f ms: %v\n", pod.Name,
		float64(time.Since(begin).Microseconds())/1000, err)
	return err
}

func (m *containerManager) UnprepareDynamicResources(ctx context.Context, pod *v1.Pod) error {
	return m.claims.UnprepareResources(ctx, pod)
}

func (m *containerManager) PodMightNeedToUnprepareResources(uid types.UID) bool {
	return m.claims.PodMightNeedToUnprepareResources(uid)
}

type containerRuntime struct {
	*critest.FakeRuntimeService
	cdi       string
	mutex     sync.Mutex
	processes map[string]*exec.Cmd
}

// The environment that the specifications in the folder give these devices. They are not applied
// whole: device nodes would have to exist on this machine.
func environment(folder string, devices []*runtimeapi.CDIDevice) ([]string, error) {
	registry, err := cdi.NewCache(cdi.WithSpecDirs(folder), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	var variables []string
	for _, each := range devices {
		device := registry.GetDevice(each.Name)
		if device == nil {
			return nil, fmt.Errorf("there is no CDI device %s", each.Name)
		}
		variables = append(variables, device.GetSpec().ContainerEdits.Env...)
		variables = append(variables, device.ContainerEdits.Env...)
	}
	return variables, nil
}

func (r *containerRuntime) CreateContainer(ctx context.Context, sandbox string,
	container *runtimeapi.ContainerConfig, pod *runtimeapi.PodSandboxConfig) (string, error) {
	command := append(append([]string{}, container.Command...), container.Args...)
	if len(command) == 0 {
		command = []string{"sleep", "600"}
	}
	process := exec.Command(command[0], command[1:]...)
	process.Env = os.Environ()
	for _, each := range container.Envs {
		process.Env = append(process.Env, each.Key+"="+string(each.Value))
	}
	if len(container.CDIDevices) > 0 {
		variables, err := environment(r.cdi, container.CDIDevices)
		if err != nil {
			return "", err
		}
		process.Env = append(process.Env, variables...)
		fmt.Printf("container of %s has %v\n", pod.Metadata.Name, variables)
	}
	id, err := r.FakeRuntimeService.CreateContainer(ctx, sandbox, container, pod)
	if err != nil {
		return "", err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.processes[id] = process
	return id, nil
}

func (r *containerRuntime) process(id string) *exec.Cmd {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.processes[id]
}

func (r *containerRuntime) StartContainer(ctx context.Context, id string) error {
	process := r.process(id)
	process.Stdout = os.Stdout
	if err := process.Start(); err != nil {
		return err
	}
	if err := r.FakeRuntimeService.StartContainer(ctx, id); err != nil {
		return err
	}
	go func() {
		_ = process.Wait()
		r.FakeRuntimeService.Lock()
		defer r.FakeRuntimeService.Unlock()
		if container, ok := r.Containers[id]; ok {
			container.State = runtimeapi.ContainerState_CONTAINER_EXITED
			container.ExitCode = int32(process.ProcessState.ExitCode())
			container.FinishedAt = time.Now().UnixNano()
		}
	}()
	return nil
}

func (r *containerRuntime) StopContainer(ctx context.Context, id string, timeout int64) error {
	if process := r.process(id); process != nil && process.Process != nil {
		_ = process.Process.Signal(syscall.SIGTERM)
	}
	// The fake leaves the exit code as it is, and a Job would be complete.
	r.FakeRuntimeService.Lock()
	container, ok := r.Containers[id]
	if ok && container.State != runtimeapi.ContainerState_CONTAINER_EXITED {
		container.ExitCode = 128 + int32(syscall.SIGTERM)
	}
	r.FakeRuntimeService.Unlock()
	return r.FakeRuntimeService.StopContainer(ctx, id, timeout)
}

func newRuntime(folder string) *containerRuntime {
	fake := critest.NewFakeRuntimeService()
	fake.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Status: true}}}
	return &containerRuntime{FakeRuntimeService: fake, cdi: folder, processes: map[string]*exec.Cmd{}}
}

// kubelet -node NAME -root FOLDER -kubeconfig FILE -cdi FOLDER
func kubelet(args []string) error {
	options := flag.NewFlagSet("kubelet", flag.ExitOnError)
	name := options.String("node", "node-0", "name of the node")
	root := options.String("root", "", "the kubelet's folder")
	kubeconfig := options.String("kubeconfig", "", "how it reaches the API server")
	folder := options.String("cdi", "", "where CDI specifications are")
	if err := options.Parse(args); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	rest, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 500, 1000
	client := kubernetes.NewForConfigOrDie(rest)
	if err := os.MkdirAll(*root, 0o755); err != nil {
		return err
	}
	flags, settings := kubemark.GetHollowKubeletConfig(
		&kubemark.HollowKubeletOptions{NodeName: *name, MaxPods: 200})
	flags.RootDirectory = *root
	settings.EnableServer = false
	settings.FailCgroupV1 = false
	claims, err := dra.NewManager(klog.Background(), client, *root)
	if err != nil {
		return err
	}
	hollow := kubemark.NewHollowKubelet(flags, settings, client, client,
		&cadvisortest.Fake{NodeName: *name}, critest.NewFakeImageService(), newRuntime(*folder),
		&containerManager{ContainerManager: cm.NewStubContainerManager(), claims: claims})
	go hollow.Run(ctx)
	fmt.Printf("kubelet of %s started\n", *name)
	<-ctx.Done()
	return nil
}
