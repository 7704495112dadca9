// `cleave bench nvml`: what a call costs through the simulated library, whose node is instant, and
// what Cleave's door adds to it. What is timed is the product's own path: the library as programs
// load it, and the door as every command uses it.

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "cli/columns.hpp"
#include "cli/live/live.hpp"
#include "device/nvml_door.hpp"
#include "nvmlsim/sim_node.hpp"
#include "study/bench/bench_full_node.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchNvmlCommandOptions {
  std::string library, model = "A100-40GB";
  double seconds = 0.05;
  bool json = false;
};

struct NvmlBench {
  std::string operation;
  int calls = 0;          // of the library, in the least that does the operation
  double library_ns = 0;  // of these calls together
  double door_ns = 0;     // of the operation through the door

  [[nodiscard]] double call_ns() const { return library_ns / calls; }
};

const Columns<NvmlBench> columns = {
    {"operation", "operation", &NvmlBench::operation},
    {"calls", "calls", &NvmlBench::calls},
    {"library_ns", "library ns", &NvmlBench::library_ns, decimals(0)},
    {"call_ns", "ns a call", &NvmlBench::call_ns, decimals(0)},
    {"door_ns", "door ns", &NvmlBench::door_ns, decimals(0)}};

using nvml::Return;
constexpr GpuIndex full_gpu{0}, empty_gpu{1};

/// Does the operation once; false when it was refused.
using Once = std::function<bool()>;

/// Median over rounds of 16; empty when it was refused.
std::optional<double> median_ns(const Once& once, Duration time) {
  constexpr int a_round = 16;
  std::vector<double> rounds;
  const auto end = BenchClock::now() + time;
  do {
    const auto begin = BenchClock::now();
    for (int i = 0; i < a_round; ++i)
      if (!once()) return std::nullopt;
    rounds.push_back(seconds_since(begin) * 1e9 / a_round);
  } while (BenchClock::now() < end);
  return median(std::move(rounds));
}

/// One operation, through the library and through the door.
struct Operation {
  std::string name;
  int calls;
  Once library, door;
};

/// What the operations work on.
struct Bench {
  std::unique_ptr<BenchNode> node;
  std::unique_ptr<NvmlLibrary> library;
  std::unique_ptr<NvmlDoor> door;
  nvml::Device full = nullptr, empty = nullptr, mig = nullptr;
  DriverProfile smallest;
  Span place;  // where it may be
  LiveGpuInstance instance;
  ComputeInstanceId compute{};
  std::uint32_t compute_profile = 0;
  std::vector<SimProcess> processes;

  [[nodiscard]] const nvml::Functions& nvml() const { return library->functions(); }
};

bool ok(Return code) {
  return code == Return::success;
}

std::unexpected<Error> not_so(const Refusal& refusal) {
  return std::unexpected(error_of(refusal, "bench"));
}

/// Fills the first GPU with instances of the smallest profile.
Result<void> fill(Bench& bench) {
  const auto profiles = bench.door->profiles(full_gpu);
  if (!profiles) return not_so(profiles.error());
  bench.smallest = *std::ranges::max_element(*profiles, {}, &DriverProfile::most);
  const auto places = bench.door->placements(full_gpu, bench.smallest.id);
  if (!places) return not_so(places.error());
  bench.place = places->front();
  for (std::uint32_t i = 0; i < bench.smallest.most; ++i) {
    const auto made = bench.door->create_gpu_instance(full_gpu, bench.smallest.id, {});
    if (!made) return not_so(made.error());
    const auto computes = bench.door->compute_profiles(full_gpu, made->id);
    if (!computes) return not_so(computes.error());
    bench.compute_profile = static_cast<std::uint32_t>(computes->front().id);
    const auto compute =
        bench.door->create_compute_instance(full_gpu, made->id, computes->front().id, {});
    if (!compute) return not_so(compute.error());
    bench.instance = *made;
    bench.compute = compute->id;
  }
  return {};
}

Result<Bench> prepare(const std::string& file, const GpuModel& model) {
  Bench bench;
  auto node = BenchNode::make(model, 2);
  if (!node) return std::unexpected(node.error());
  bench.node = std::move(*node);
  auto library = NvmlLibrary::open(file);
  if (!library) return std::unexpected(library.error());
  bench.library = std::move(*library);
  auto door = NvmlDoor::open(file);
  if (!door) return std::unexpected(door.error());
  bench.door = std::move(*door);
  const auto gpus = bench.door->gpu_count();
  const auto first = bench.door->gpu(full_gpu);
  const auto view = look_at_sim_node(bench.node->folder());
  if (!gpus || *gpus != 2 || !first || !view || view->gpus[0].uuid != first->uuid)
    return fail(ErrorKind::bad_input, file, "it does not show the simulated node",
                "name Cleave's simulated library with --nvml");
  if (const auto filled = fill(bench); !filled) return std::unexpected(filled.error());
  if (!ok(bench.nvml().nvmlDeviceGetHandleByIndex_v2(0, &bench.full)) ||
      !ok(bench.nvml().nvmlDeviceGetHandleByIndex_v2(1, &bench.empty)) ||
      !ok(bench.nvml().nvmlDeviceGetMigDeviceHandleByIndex(bench.full, 0, &bench.mig)))
    return fail(ErrorKind::internal, "bench", "a GPU or an instance has no handle");
  return bench;
}

/// This process on every instance of the first GPU.
Result<void> occupy(Bench& bench) {
  const auto view = look_at_sim_node(bench.node->folder());
  if (!view) return std::unexpected(view.error());
  for (const SimGpuInstanceView& instance : view->gpus[0].instances) {
    auto process = SimProcess::start(bench.node->folder(), instance.compute_instances.front().uuid,
                                     static_cast<std::uint32_t>(::getpid()));
    if (!process) return std::unexpected(process.error());
    if (const auto held = process->hold(MiB{100}); !held) return std::unexpected(held.error());
    bench.processes.push_back(std::move(*process));
  }
  return {};
}

std::vector<Operation> reading(Bench& b) {
  const nvml::Functions& nvml = b.nvml();
  return {
      {"count GPUs", 1,
       [&] {
         std::uint32_t count = 0;
         return ok(nvml.nvmlDeviceGetCount_v2(&count));
       },
       [&] { return b.door->gpu_count().has_value(); }},
      {"a GPU's name and UUID", 2,
       [&] {
         std::array<char, nvml::name_size> text;
         return ok(nvml.nvmlDeviceGetName(b.full, text.data(), nvml::name_size)) &&
                ok(nvml.nvmlDeviceGetUUID(b.full, text.data(), nvml::name_size));
       },
       [&] { return b.door->gpu(full_gpu).has_value(); }},
      {"MIG mode", 1,
       [&] {
         std::uint32_t current = 0, pending = 0;
         return ok(nvml.nvmlDeviceGetMigMode(b.full, &current, &pending));
       },
       [&] { return b.door->mig_mode(full_gpu).has_value(); }},
      {"GPU instances of a full GPU", 1,
       [&] {
         std::array<nvml::GpuInstance, 16> list;
         std::uint32_t count = list.size();
         return ok(nvml.nvmlDeviceGetGpuInstances(b.full, static_cast<std::uint32_t>(b.smallest.id),
                                                  list.data(), &count));
       },
       [&] { return b.door->gpu_instances(full_gpu).has_value(); }},
      {"memory of an instance", 1,
       [&] {
         nvml::Memory memory;
         return ok(nvml.nvmlDeviceGetMemoryInfo(b.mig, &memory));
       },
       [&] { return b.door->memory(full_gpu, b.instance.id, b.compute).has_value(); }},
      {"power", 1,
       [&] {
         std::uint32_t milliwatts = 0;
         return ok(nvml.nvmlDeviceGetPowerUsage(b.full, &milliwatts));
       },
       [&] { return b.door->power_milliwatts(full_gpu).has_value(); }},
  };
}

Operation processes(Bench& b) {
  return {
      fmt::format("processes of a GPU, {} there", b.processes.size()), 1,
      [&] {
        std::array<nvml::ProcessInfo, 64> list;
        std::uint32_t count = list.size();
        return ok(b.nvml().nvmlDeviceGetComputeRunningProcesses_v3(b.full, &count, list.data()));
      },
      [&] { return b.door->processes(full_gpu).has_value(); }};
}

bool make_raw(Bench& b, bool with_compute) {
  const nvml::Functions& nvml = b.nvml();
  const nvml::GpuInstancePlacement at{b.place.start, b.place.size};
  nvml::GpuInstance instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  return ok(nvml.nvmlDeviceCreateGpuInstanceWithPlacement(
             b.empty, static_cast<std::uint32_t>(b.smallest.id), &at, &instance)) &&
         (!with_compute ||
          (ok(nvml.nvmlGpuInstanceCreateComputeInstance(instance, b.compute_profile, &compute)) &&
           ok(nvml.nvmlComputeInstanceDestroy(compute)))) &&
         ok(nvml.nvmlGpuInstanceDestroy(instance));
}

bool make_by_door(Bench& b, bool with_compute) {
  const auto made = b.door->create_gpu_instance(empty_gpu, b.smallest.id, b.place);
  if (!made) return false;
  if (with_compute) {
    const auto compute =
        b.door->create_compute_instance(empty_gpu, made->id, ProfileId{b.compute_profile}, {});
    if (!compute || !b.door->destroy_compute_instance(empty_gpu, made->id, compute->id))
      return false;
  }
  return b.door->destroy_gpu_instance(empty_gpu, made->id).has_value();
}

std::vector<Operation> changing(Bench& b) {
  return {{"create and destroy a GPU instance", 2, [&] { return make_raw(b, false); },
           [&] { return make_by_door(b, false); }},
          {"the same with a compute instance", 4, [&] { return make_raw(b, true); },
           [&] { return make_by_door(b, true); }}};
}

Result<void> measure(const std::vector<Operation>& operations, Duration time,
                     std::vector<NvmlBench>& results) {
  for (const Operation& each : operations) {
    const auto library = median_ns(each.library, time), door = median_ns(each.door, time);
    if (!library || !door)
      return fail(ErrorKind::internal, "bench", fmt::format("'{}' was refused", each.name));
    results.push_back({each.name, each.calls, *library, *door});
  }
  return {};
}

/// Medians over many rounds. On a node of its own, which is gone afterwards: one GPU full of the
/// model's smallest profile for what reads, and an empty one for what creates and destroys. Sets
/// CLEAVE_SIM_NODE for the time; fails where the library is not the simulated one.
Result<std::vector<NvmlBench>> bench_all(const std::string& file, const GpuModel& model,
                                         Duration time) {
  auto bench = prepare(file, model);
  if (!bench) return std::unexpected(bench.error());
  std::vector<NvmlBench> results;
  std::vector<Operation> operations = reading(*bench);
  operations.push_back(processes(*bench));
  if (const auto done = measure(operations, time, results); !done)
    return std::unexpected(done.error());
  if (const auto occupied = occupy(*bench); !occupied) return std::unexpected(occupied.error());
  operations = changing(*bench);
  operations.insert(operations.begin(), processes(*bench));
  if (const auto done = measure(operations, time, results); !done)
    return std::unexpected(done.error());
  return results;
}

Result<int> nvml(const BenchNvmlCommandOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto time = duration_from_seconds(given.seconds);
  if (!time) return fail_at("--seconds", time.error());
  const auto runs = bench_all(given.library.empty() ? simulated_library().string() : given.library,
                              **model, *time);
  if (!runs) return std::unexpected(runs.error());
  const auto full = bench_full_node(
      given.library.empty() ? simulated_library().string() : given.library, **model, *time);
  if (!full) return std::unexpected(full.error());
  const double slowest = std::ranges::max_element(*runs, {}, &NvmlBench::call_ns)->call_ns();
  if (given.json)
    print(Json{{"model", (*model)->key},
               {"runs", json_rows(columns, *runs)},
               {"slowest_call_ns", slowest},
               {"full_node",
                {{"gpus", full->gpus},
                 {"instances", full->instances},
                 {"calls", full->calls},
                 {"enumeration_ms", full->enumeration_ms},
                 {"median_call_ns", full->median_call_ns}}}});
  else
    fmt::print(
        "The simulated library on an instant node with two {}, medians\n\n{}\n"
        "slowest call: {:.0f} ns\n\n"
        "A node of {} GPUs with {} instances: all of them with their UUIDs, memory and processes\n"
        "in {:.2f} ms, {} calls, {:.0f} ns for the median one\n",
        (*model)->key, text_rows(columns, *runs), slowest, full->gpus, full->instances,
        full->enumeration_ms, full->calls, full->median_call_ns);
  return 0;
}

}  // namespace

void add_bench_nvml(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "nvml", "Calls to simulated GPUs, through the library and the door",
                  "cleave bench nvml --seconds 0.02", nvml);
  command
      ->add_option("--nvml", options.library,
                   "The simulated library; by default the one that was built")
      ->check(not_empty());
  add_bench_model(*command, options.model, "node");
  command->add_option("--seconds", options.seconds, "Seconds for each operation, each way")
      ->check(Check::range(0.0001, 60.0))
      ->default_str("0.05");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
