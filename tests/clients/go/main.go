// What NVIDIA's programs for MIG do on a node, with the Go libraries that they are made of: go-nvlib and
// go-nvml. mig-parted, the Kubernetes device plugin, the DRA driver and HAMi themselves cannot be had
// everywhere; these are the calls that they make, in their order. Each subcommand prints JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// By its path in the driver root, as the DRA driver opens it.
const library = "/dev/cleave/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"

var (
	lib     = nvml.New(nvml.WithLibraryPath(library))
	devices = device.New(lib)
)

// What main reports and ends with; everything below is one step of a program that gives up there.
type failure struct{ error }

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func ok(ret nvml.Return, what string, about ...any) {
	if ret != nvml.SUCCESS {
		panic(failure{fmt.Errorf("%s: %v", fmt.Sprintf(what, about...), ret)})
	}
}

// Whether the driver has such a profile; it refuses the others in either of two ways.
func has(ret nvml.Return, what string, about ...any) bool {
	if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_INVALID_ARGUMENT {
		return false
	}
	ok(ret, what, about...)
	return true
}

func values[T any](value T, err error) T {
	must(err)
	return value
}

func answer[T any](what string) func(T, nvml.Return) T {
	return func(value T, ret nvml.Return) T {
		ok(ret, "%s", what)
		return value
	}
}

// The GPUs as the bus shows them and what the libraries take the host for: before NVML is asked at all.
func host() any {
	type gpu struct {
		Address, Driver string
		Device          uint16
		Numa            int
	}
	found := struct {
		Platform string
		Nvml     bool
		GPUs     []gpu
	}{}
	host := info.New(info.WithNvmlLib(lib), info.WithDeviceLib(devices), info.WithRoot("/dev/cleave"))
	found.Platform = string(host.ResolvePlatform())
	found.Nvml, _ = host.HasNvml()
	for _, each := range values(nvpci.New().GetGPUs()) {
		if !each.IsGPU() || !each.Is3DController() {
			panic(failure{fmt.Errorf("%s is no GPU of a server", each.Address)})
		}
		found.GPUs = append(found.GPUs, gpu{each.Address, each.Driver, each.Device, int(each.NumaNode)})
	}
	return found
}

type instance struct {
	gpuProfile, profile, engine int
	name                        string
	gpu                         nvml.GpuInstance
	compute                     nvml.ComputeInstance
}

// Every compute instance of the GPU, by asking for the instances of each profile.
func instances(gpu device.Device) []instance {
	var all []instance
	memory := answer[nvml.Memory]("memory")(gpu.GetMemoryInfo())
	for i := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		profile, ret := gpu.GetGpuInstanceProfileInfo(i)
		if !has(ret, "GPU instance profile %d", i) {
			continue
		}
		made, ret := gpu.GetGpuInstances(&profile)
		ok(ret, "instances of profile %d", i)
		for _, each := range made {
			for j := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
				for k := range nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT {
					part, ret := each.GetComputeInstanceProfileInfo(j, k)
					if !has(ret, "compute instance profile %d", j) {
						continue
					}
					parts, ret := each.GetComputeInstances(&part)
					ok(ret, "compute instances of profile %d", j)
					for _, compute := range parts {
						name := values(devices.NewMigProfile(i, j, k, profile.MemorySizeMB, memory.Total)).String()
						all = append(all, instance{i, j, k, name, each, compute})
					}
				}
			}
		}
	}
	return all
}

// mig-parted's export: how many there are of each profile.
func layout(gpu device.Device) map[string]int {
	counts := map[string]int{}
	for _, each := range instances(gpu) {
		counts[each.name]++
	}
	return counts
}

func remove(gpu device.Device) {
	for i := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		profile, ret := gpu.GetGpuInstanceProfileInfo(i)
		if !has(ret, "GPU instance profile %d", i) {
			continue
		}
		for _, each := range answer[[]nvml.GpuInstance]("instances")(gpu.GetGpuInstances(&profile)) {
			for j := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
				part, ret := each.GetComputeInstanceProfileInfo(j, 0)
				if !has(ret, "compute instance profile %d", j) {
					continue
				}
				for _, compute := range answer[[]nvml.ComputeInstance]("computes")(each.GetComputeInstances(&part)) {
					ok(compute.Destroy(), "destroying a compute instance")
				}
			}
			ok(each.Destroy(), "destroying a GPU instance")
		}
	}
}

func profileOf(gpu device.Device, name string) device.MigProfileInfo {
	for _, each := range values(gpu.GetMigProfiles()) {
		if each.Matches(name) {
			return each.GetInfo()
		}
	}
	panic(failure{fmt.Errorf("no profile %s", name)})
}

// Where the driver likes, or at a start.
func create(gpu device.Device, profile device.MigProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance,
	nvml.ComputeInstance, error) {
	whole, ret := gpu.GetGpuInstanceProfileInfo(profile.GIProfileID)
	ok(ret, "GPU instance profile %d", profile.GIProfileID)
	var made nvml.GpuInstance
	if at == nil {
		made, ret = gpu.CreateGpuInstance(&whole)
	} else {
		made, ret = gpu.CreateGpuInstanceWithPlacement(&whole, at)
	}
	if ret != nvml.SUCCESS {
		return nil, nil, fmt.Errorf("GPU instance: %v", ret)
	}
	compute, err := createPart(made, profile)
	return made, compute, err
}

// Each order once, until one can be made.
func inSomeOrder(names []string, from int, try func() bool) bool {
	if from == len(names) {
		return try()
	}
	for i := from; i < len(names); i++ {
		if slices.Contains(names[from:i], names[i]) {
			continue
		}
		names[from], names[i] = names[i], names[from]
		if inSomeOrder(names, from+1, try) {
			return true
		}
		names[from], names[i] = names[i], names[from]
	}
	return false
}

// In this order; a part goes into the GPU instance of the part before it where that has room.
func createAll(gpu device.Device, names []string) error {
	var last nvml.GpuInstance
	kind := -1
	for _, each := range names {
		profile := profileOf(gpu, each)
		if last != nil && kind == profile.GIProfileID {
			if _, err := createPart(last, profile); err == nil {
				continue
			}
		}
		made, _, err := create(gpu, profile, nil)
		if err != nil {
			return err
		}
		last, kind = made, profile.GIProfileID
	}
	return nil
}

func createPart(instance nvml.GpuInstance, profile device.MigProfileInfo) (nvml.ComputeInstance, error) {
	part, ret := instance.GetComputeInstanceProfileInfo(profile.CIProfileID, profile.CIEngProfileID)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("profile of the compute instance: %v", ret)
	}
	compute, ret := instance.CreateComputeInstance(&part)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("compute instance: %v", ret)
	}
	return compute, nil
}

// mig-parted's apply on one GPU. What cannot be made in any order is cleared away again.
func apply(index string, names []string) any {
	gpu := values(devices.GetDevices())[values(strconv.Atoi(index))]
	if !values(gpu.IsMigEnabled()) {
		ok(nvml.ERROR_NOT_SUPPORTED, "MIG is off")
	}
	told := struct {
		Before, After map[string]int
		Orders        int
		Last          string
	}{Before: layout(gpu)}
	inSomeOrder(names, 0, func() bool {
		told.Orders++
		remove(gpu)
		told.Last = ""
		if err := createAll(gpu, names); err != nil {
			told.Last = err.Error()
		}
		return told.Last == ""
	})
	if told.Last != "" {
		remove(gpu)
	}
	told.After = layout(gpu)
	return told
}

// What the device plugin registers and the DRA driver publishes.
func list() any {
	type mig struct {
		UUID, Profile, Parent string
		Memory                uint64
		GPU, Compute, Index   int
		Processors            uint32
	}
	type gpu struct {
		UUID, Bus, Brand, Architecture, Capability, Addressing string
		Minor                                                  int
		Enabled, Fabric, Coherent                              bool
		Profiles                                               map[string][]uint32
		Near                                                   []int
		MIG                                                    []mig
	}
	var all []gpu
	gpus := values(devices.GetDevices())
	for _, each := range gpus {
		mode, ret := each.GetVirtualizationMode()
		ok(ret, "virtualization mode")
		if mode != nvml.GPU_VIRTUALIZATION_MODE_NONE {
			panic(failure{errors.New("it is virtual")})
		}
		one := gpu{
			UUID: answer[string]("UUID")(each.GetUUID()), Bus: values(each.GetPCIBusID()),
			Brand: values(each.GetBrandAsString()), Architecture: values(each.GetArchitectureAsString()),
			Capability: values(each.GetCudaComputeCapabilityAsString()),
			Addressing: values(each.GetAddressingModeAsString()),
			Minor:      answer[int]("minor")(each.GetMinorNumber()), Enabled: values(each.IsMigEnabled()),
			Fabric: values(each.IsFabricAttached()), Coherent: values(each.IsCoherent()),
			Profiles: map[string][]uint32{},
		}
		for _, profile := range values(each.GetMigProfiles()) {
			if what := profile.GetInfo(); what.C == what.G {
				one.Profiles[profile.String()] = starts(each, what.GIProfileID)
			}
		}
		for _, other := range gpus {
			if uuid, _ := other.GetUUID(); uuid != one.UUID {
				one.Near = append(one.Near, int(answer[nvml.GpuTopologyLevel]("link")(each.GetTopologyCommonAncestor(other))))
			}
		}
		must(each.VisitMigDevices(func(at int, each device.MigDevice) error {
			parent := answer[nvml.Device]("parent")(each.GetDeviceHandleFromMigDeviceHandle())
			facts := answer[nvml.DeviceAttributes]("attributes")(each.GetAttributes())
			one.MIG = append(one.MIG, mig{
				answer[string]("UUID")(each.GetUUID()), values(each.GetProfile()).String(),
				answer[string]("UUID")(parent.GetUUID()), facts.MemorySizeMB,
				answer[int]("GPU instance")(each.GetGpuInstanceId()),
				answer[int]("compute instance")(each.GetComputeInstanceId()), at, facts.MultiprocessorCount})
			return nil
		}))
		all = append(all, one)
	}
	return all
}

func starts(gpu device.Device, number int) []uint32 {
	profile, ret := gpu.GetGpuInstanceProfileInfo(number)
	ok(ret, "GPU instance profile %d", number)
	all := []uint32{}
	for _, each := range answer[[]nvml.GpuInstancePlacement]("placements")(gpu.GetGpuInstancePossiblePlacements(&profile)) {
		all = append(all, each.Start)
	}
	return all
}

// The DRA driver's dynamic MIG: each placement is made, found among the MIG devices, and taken away.
func dynamic(index string) any {
	gpu := values(devices.GetDevices())[values(strconv.Atoi(index))]
	made := map[string]int{}
	refused := map[string]string{}
	for _, each := range values(gpu.GetMigProfiles()) {
		profile := each.GetInfo()
		if profile.C != profile.G {
			continue
		}
		whole, ret := gpu.GetGpuInstanceProfileInfo(profile.GIProfileID)
		ok(ret, "GPU instance profile %d", profile.GIProfileID)
		places, ret := gpu.GetGpuInstancePossiblePlacements(&whole)
		ok(ret, "placements")
		for _, place := range places {
			instance, compute, err := create(gpu, profile, &place)
			if err != nil {
				refused[fmt.Sprintf("%v(%d,%d)", each, profile.CIProfileID, profile.CIEngProfileID)] = err.Error()
				if instance != nil {
					ok(instance.Destroy(), "destroying half of %v", each)
				}
				continue
			}
			found := find(gpu, instance, compute)
			if !each.Equals(values(found.GetProfile())) && profile.CIEngProfileID == 0 {
				panic(failure{fmt.Errorf("%v looks like %v", each, values(found.GetProfile()))})
			}
			ok(compute.Destroy(), "destroying %v", each)
			ok(instance.Destroy(), "destroying %v", each)
			made[fmt.Sprintf("%v@%d", each, place.Start)]++
		}
	}
	return map[string]any{"Made": made, "Refused": refused}
}

// The MIG device with the numbers of what was just made.
func find(gpu device.Device, instance nvml.GpuInstance, compute nvml.ComputeInstance) device.MigDevice {
	whole, part := answer[nvml.GpuInstanceInfo]("instance")(instance.GetInfo()),
		answer[nvml.ComputeInstanceInfo]("compute instance")(compute.GetInfo())
	for _, each := range values(gpu.GetMigDevices()) {
		if answer[int]("GPU instance")(each.GetGpuInstanceId()) == int(whole.Id) &&
			answer[int]("compute instance")(each.GetComputeInstanceId()) == int(part.Id) {
			return each
		}
	}
	panic(failure{errors.New("what was made is no MIG device")})
}

// The device plugin's health: it registers for every GPU, says so, and tells which MIG device an Xid is of.
func health() any {
	set := answer[nvml.EventSet]("event set")(lib.EventSetCreate())
	defer set.Free()
	for _, each := range values(devices.GetDevices()) {
		supported := answer[uint64]("kinds of events")(each.GetSupportedEventTypes())
		wanted := uint64(nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeSingleBitEccError)
		ok(each.RegisterEvents(wanted&supported, set), "registering")
	}
	fmt.Println("ready")
	event := answer[nvml.EventData]("waiting")(set.Wait(30000))
	told := map[string]any{"Xid": event.EventData, "GPU": answer[string]("UUID")(event.Device.GetUUID())}
	for _, each := range values(values(devices.NewDevice(event.Device)).GetMigDevices()) {
		if answer[int]("GPU instance")(each.GetGpuInstanceId()) == int(event.GpuInstanceId) &&
			answer[int]("compute instance")(each.GetComputeInstanceId()) == int(event.ComputeInstanceId) {
			told["MIG"] = answer[string]("UUID")(each.GetUUID())
		}
	}
	return told
}

func run(arguments []string) any {
	if arguments[0] == "host" {
		return host()
	}
	ok(lib.Init(), "NVML")
	defer lib.Shutdown()
	switch arguments[0] {
	case "apply":
		return apply(arguments[1], arguments[2:])
	case "list":
		return list()
	case "dynamic":
		return dynamic(arguments[1])
	case "health":
		return health()
	}
	panic(failure{fmt.Errorf("no subcommand %s", arguments[0])})
}

func main() {
	defer func() {
		switch said := recover().(type) {
		case nil:
		case failure:
			fmt.Fprintln(os.Stderr, said.error)
			os.Exit(1)
		default:
			panic(said)
		}
	}()
	if len(os.Args) < 2 {
		panic(failure{errors.New("host, list, apply GPU PROFILE..., dynamic GPU, or health")})
	}
	must(json.NewEncoder(os.Stdout).Encode(run(os.Args[1:])))
}
