// The mixes of MIGM (5 and A.1) on one A100-40GB, with all jobs arriving at time 0. The paper gives
// the number of jobs of each size; run times, memory within a size and speeds on slices are open
// (docs/workloads.md).

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "model/gpu_model.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"

namespace cleave {

namespace {

const GpuModel& a100() {
  static const GpuModel& model = **find_gpu_model("A100-40GB");
  return model;
}

constexpr std::int64_t whole_mib = 40320;

constexpr OptionRow spread_row = {
    "spread", "NUMBER", "0.05",
    "run times differ from the stated one by up to this share, either way"};
constexpr OptionRow mig_off_row = {"mig-off", "NUMBER", "1",
                                   "speed of the whole GPU with MIG off, relative to 7g.40gb"};

SpeedTable with_mig_off(SpeedTable speeds, double mig_off_speed) {
  speeds.insert_or_assign(std::string(mig_off), mig_off_speed);
  return speeds;
}

template <class Thing>
void shuffle(std::vector<Thing>& things, Random& random) {
  for (std::size_t i = things.size(); i > 1; --i) std::swap(things[i - 1], things[random.below(i)]);
}

// ---- Rodinia ----

/// Kernel time of a Rodinia benchmark on a slice, relative to the whole GPU. If the A30 table has
/// the benchmark, its times on 1g and 4g give the fixed and the GPU-bound part, and these keep
/// their proportion on the A100. Otherwise the kernel counts as entirely GPU-bound, which is the
/// cautious choice.
double kernel_time(std::string_view benchmark, const Profile& profile) {
  const double here = gpu_bound_time(a100(), profile);
  const MeasuredSpeed* measured = find_measured(MeasuredSet::rodinia, benchmark);
  if (measured == nullptr || !measured->speeds.contains("1g.6gb")) return here;
  const GpuModel& a30 = **find_gpu_model("A30-24GB");
  const double on_1g = std::pow(1 / measured->speeds.find("1g.6gb")->second, job_overlap);
  const double most = std::pow(gpu_bound_time(a30, *a30.find("1g.6gb")), job_overlap);
  const double bound =
      std::clamp((on_1g - 1) / (most - 1), 0.0, 1.0);  // both to the power of the overlap
  return joined_time(std::pow(1 - bound, 1 / job_overlap), std::pow(bound, 1 / job_overlap), here,
                     job_overlap);
}

/// A job that spends `share` of its time on the whole GPU in kernels; the rest is host work and
/// transfers.
SpeedTable rodinia_speeds(std::string_view benchmark, MiB memory, double share) {
  return speeds_from_times(a100(), memory, [&](const Profile& profile) {
    return 1 - share + share * kernel_time(benchmark, profile);
  });
}

constexpr std::array<OptionRow, 6> homogeneous_options(std::string_view jobs,
                                                       std::string_view seconds,
                                                       std::string_view memory,
                                                       std::string_view share) {
  return {{{"jobs", "COUNT", jobs, "how many jobs"},
           {"seconds", "NUMBER", seconds, "run time of a job on the whole GPU"},
           {"memory", "MIB", memory, "memory that a job is estimated to need"},
           {"kernel-share", "NUMBER", share,
            "share of a job's time that is in kernels and slows on slices"},
           spread_row,
           mig_off_row}};
}

// Table 3: about 3.6 s on the whole GPU, 3.6 ms of it in kernels.
constexpr auto hm1_options = homogeneous_options("50", "3.6", "2048", "0.001");
constexpr auto hm2_options = homogeneous_options("50", "3.6", "2048", "0.001");
constexpr auto hm3_options = homogeneous_options("100", "3.6", "1024", "0.001");
// A kernel share near this one gives the gain of 1.7 (at most 2 is possible, 5.1) on half a GPU.
constexpr auto hm4_options = homogeneous_options("50", "20", "15360", "0.2");

Result<Workload> homogeneous(std::string_view benchmark, std::uint64_t seed,
                             const OptionTexts& options) {
  OptionReader in(options);
  const auto jobs = in.count("jobs", 1, most_jobs);
  const double seconds = in.number("seconds", 0.001, 1e6);
  const MiB memory{in.count("memory", 1, whole_mib)};
  const double share = in.number("kernel-share", 0, 1);
  const double spread = in.number("spread", 0, 0.99);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (in.error()) return std::unexpected(*in.error());
  const SpeedTable speeds = with_mig_off(rodinia_speeds(benchmark, memory, share), mig_off_speed);
  Random random(seed);
  WorkloadMaker maker;
  JobDetails details;
  details.application = benchmark;
  for (std::int64_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}-{:03}", benchmark, i);
    job.duration = whole_ms(seconds * draw_around_one(random, spread));
    maker.add(std::move(job), BySize{memory, {}}, speeds, details);
  }
  return maker.done();
}

/// The sizes of 5: 5, 10, 20 and 40 GB, with the memory that a job of the size may have.
struct Size {
  std::string_view name;
  std::int64_t least_mib, most_mib;
};
constexpr std::array<Size, 4> sizes = {{{"small", 512, 4864},
                                        {"medium", 4865, 9984},
                                        {"large", 9985, 20096},
                                        {"full", 20097, whole_mib}}};

/// Which of the paper's 23 pairs of benchmark and parameters belongs to which size is open; any
/// kernel may belong to any.
constexpr std::array<std::string_view, 8> pool = {
    "particlefilter", "gaussian", "nw", "lu", "huffman", "heartwall", "myocyte", "euler3D"};

using OfSizes = std::array<std::string_view, 4>;

constexpr std::array<OptionRow, 11> heterogeneous_options(OfSizes counts, OfSizes seconds) {
  return {{{"small", "COUNT", counts[0], "jobs of 5 GB"},
           {"medium", "COUNT", counts[1], "jobs of 10 GB"},
           {"large", "COUNT", counts[2], "jobs of 20 GB"},
           {"full", "COUNT", counts[3], "jobs of 40 GB"},
           {"small-s", "NUMBER", seconds[0], "mean run time of a 5 GB job on the whole GPU"},
           {"medium-s", "NUMBER", seconds[1], "mean run time of a 10 GB job on the whole GPU"},
           {"large-s", "NUMBER", seconds[2], "mean run time of a 20 GB job on the whole GPU"},
           {"full-s", "NUMBER", seconds[3], "mean run time of a 40 GB job on the whole GPU"},
           {"kernel-share", "NUMBER", "0.2",
            "share of a job's time that is in kernels and slows on slices"},
           spread_row,
           mig_off_row}};
}

// Ht1: equal time in each group, 11 x 4 s = 2 x 22 s. Its large jobs fill the GPU (A.1). In the
// others all jobs take the same time.
constexpr auto ht1_options = heterogeneous_options({"11", "2", "0", "2"}, {"4", "22", "22", "22"});
constexpr auto ht2_options = heterogeneous_options({"6", "0", "6", "6"}, {"10", "10", "10", "10"});
constexpr auto ht3_options = heterogeneous_options({"24", "0", "6", "6"}, {"10", "10", "10", "10"});

/// Jobs of each size, in a random order.
Result<Workload> heterogeneous(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  std::array<double, 4> seconds{};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto count = in.count(sizes[i].name, 0, most_jobs / 4);
    order.insert(order.end(), static_cast<std::size_t>(count), i);
    seconds[i] = in.number(fmt::format("{}-s", sizes[i].name), 0.001, 1e6);
  }
  if (order.empty()) in.refuse("small", "there are no jobs of any size");
  const double share = in.number("kernel-share", 0, 1);
  const double spread = in.number("spread", 0, 0.99);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (in.error()) return std::unexpected(*in.error());
  Random random(seed);
  shuffle(order, random);
  WorkloadMaker maker;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Size& size = sizes[order[i]];
    const std::string_view benchmark = pool[random.below(pool.size())];
    const auto room = static_cast<std::uint64_t>(size.most_mib - size.least_mib + 1);
    const MiB memory{size.least_mib + static_cast<std::int64_t>(random.below(room))};
    JobDetails details;
    details.application = fmt::format("{}-{}", benchmark, size.name);
    Job job;
    job.id = fmt::format("{}-{:03}", size.name, i);
    job.duration = whole_ms(seconds[order[i]] * draw_around_one(random, spread));
    maker.add(std::move(job), BySize{memory, {}},
              with_mig_off(rodinia_speeds(benchmark, memory, share), mig_off_speed), details);
  }
  return maker.done();
}

// ---- Training of deep networks ----

struct Network {
  std::string_view name;
  MiB memory;
  int batch;
};
// Sizes as in 5.2.1; megabytes within the size, and batches, are open.
constexpr std::array<Network, 1> small_networks = {{{"bert", MiB{4096}, 4}}};
constexpr std::array<Network, 4> large_networks = {{{"vgg16", MiB{15360}, 32},
                                                    {"resnet50", MiB{12288}, 32},
                                                    {"inceptionv3", MiB{13312}, 32},
                                                    {"bert", MiB{16384}, 32}}};

/// ParvaGPU's speeds of the network: its A100 of 80 GB has the same slices with twice the memory.
/// They are of inference, since only BERT and a ResNet were measured in training (MISO).
SpeedTable network_speeds(const Network& network) {
  const MeasuredSpeed& measured =
      *find_measured(MeasuredSet::parvagpu, network.name, network.batch);
  const GpuModel& a80 = **find_gpu_model(measured.reference);
  return speeds_from_times(a100(), network.memory, [&](const Profile& profile) {
    for (const auto& [name, speed] : measured.speeds) {
      const Profile& there = *a80.find(name);
      if (there.compute == profile.compute && !there.double_memory)
        // One measured job was 6 % faster on the 1g with twice the memory (slice_law.cpp). Some
        // larger slices measured up to 7 % slower; that is noise, and no slice counts as faster
        // than 1.
        return 1 / std::min(1.0, speed * (profile.double_memory ? 1.06 : 1));
    }
    return gpu_bound_time(a100(), profile);
  });
}

constexpr std::array<OptionRow, 6> network_options(std::string_view small, std::string_view large) {
  return {
      {{"small", "COUNT", small, "jobs of 5 GB: BERT"},
       {"large", "COUNT", large, "jobs of 20 GB, drawn from VGG16, ResNet50, InceptionV3 and BERT"},
       {"small-s", "NUMBER", "120", "mean run time of a small job on the whole GPU"},
       {"large-s", "NUMBER", "240", "mean run time of a large job on the whole GPU"},
       {"spread", "NUMBER", "0.25",
        "run times differ from the stated one by up to this share, either way"},
       mig_off_row}};
}
constexpr auto ml1_options = network_options("7", "7");
constexpr auto ml2_options = network_options("21", "0");
constexpr auto ml3_options = network_options("0", "18");

Result<Workload> networks(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const auto small = in.count("small", 0, most_jobs / 2);
  const auto large = in.count("large", 0, most_jobs / 2);
  const double small_s = in.number("small-s", 0.001, 1e6);
  const double large_s = in.number("large-s", 0.001, 1e6);
  const double spread = in.number("spread", 0, 0.99);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (small + large == 0) in.refuse("small", "there is no job, neither small nor large");
  if (in.error()) return std::unexpected(*in.error());
  Random random(seed);
  std::vector<const Network*> order;
  for (std::int64_t i = 0; i < small; ++i)
    order.push_back(&small_networks[random.below(small_networks.size())]);
  for (std::int64_t i = 0; i < large; ++i)
    order.push_back(&large_networks[random.below(large_networks.size())]);
  shuffle(order, random);
  WorkloadMaker maker;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Network& network = *order[i];
    const bool is_small = network.memory.value <= sizes[0].most_mib;
    JobDetails details;
    details.application = fmt::format("{}-{}", network.name, is_small ? "small" : "large");
    details.batch = network.batch;
    Job job;
    job.id = fmt::format("{}-{:03}", *details.application, i);
    job.duration = whole_ms((is_small ? small_s : large_s) * draw_around_one(random, spread));
    maker.add(std::move(job), BySize{network.memory, {}},
              with_mig_off(network_speeds(network), mig_off_speed), details);
  }
  return maker.done();
}

// ---- Language models whose memory grows ----

/// Memory at iteration i is base + i x per-iteration, with noise. The paper gives the iteration at
/// which the slice overflows, and for two models the final peak, but not base, slope, number of
/// iterations or the slice. Nor does it give the context, or how often the allocator reuses what it
/// holds: those are ours.
struct Growth {
  std::string_view jobs, base, per_iteration, iterations, seconds;
};
constexpr std::array<OptionRow, 11> growing_options(const Growth& growth) {
  return {{{"jobs", "COUNT", growth.jobs, "how many jobs"},
           {"base", "MIB", growth.base, "memory before the first iteration; what the job asks for"},
           {"context", "MIB", "615", "of that, the CUDA context, which is reported apart"},
           {"reuse-ratio", "NUMBER", "4.76",
            "requests of an iteration as a multiple of the rest that it holds"},
           {"per-iteration", "MIB", growth.per_iteration, "what each iteration adds"},
           {"noise", "MIB", "10", "how much the memory of an iteration strays"},
           {"iterations", "COUNT", growth.iterations, "iterations of a job"},
           {"iteration-s", "NUMBER", growth.seconds, "time of an iteration on the whole GPU"},
           {"gpu-bound", "NUMBER", "0.5", "GPU-bound part of an iteration over its fixed part"},
           spread_row,
           mig_off_row}};
}

// 5 GB slice (4,864 MiB) taken for both FLAN-T5, passed at iterations 41 and 27; peaks within 10
// GB.
constexpr auto flan_train_options = growing_options({"4", "2839", "50", "100", "3"});
constexpr auto flan_options = growing_options({"6", "3274", "60", "80", "2"});
// 10 GB slice (9,984 MiB), passed at 94 and 72; peaks of 12.23 and 16.63 GB = 12,524 and 17,029
// MiB.
constexpr auto qwen2_options = growing_options({"1", "6244", "40", "157", "2"});
constexpr auto llama3_options = growing_options({"1", "5694", "60", "189", "2"});

Result<Workload> growing(std::string_view name, std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const auto jobs = in.count("jobs", 1, most_jobs);
  MemoryGrowth growth;
  const MiB base{in.count("base", 1, whole_mib)};
  growth.context = std::min(base, MiB{in.count("context", 0, whole_mib)});
  growth.base = base - *growth.context;
  growth.reuse_ratio = in.number("reuse-ratio", least_reuse_ratio, most_reuse_ratio);
  growth.per_iteration = MiB{in.count("per-iteration", 0, whole_mib)};
  growth.noise = MiB{in.count("noise", 0, whole_mib)};
  growth.iterations = in.count("iterations", 1, 1'000'000);
  const double iteration_s = in.number("iteration-s", 1e-6, 1e4);
  const double gpu_bound = in.number("gpu-bound", 0, 1000);
  const double spread = in.number("spread", 0, 0.99);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (in.error()) return std::unexpected(*in.error());
  const SpeedTable speeds = with_mig_off(
      speeds_from_times(a100(), base,
                        [&](const Profile& profile) {
                          return joined_time(1, gpu_bound, gpu_bound_time(a100(), profile),
                                             job_overlap);
                        }),
      mig_off_speed);
  Random random(seed);
  WorkloadMaker maker;
  JobDetails details;
  details.application = name;
  details.growth = growth;
  details.restartable = true;
  for (std::int64_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}-{:03}", name, i);
    job.duration = whole_ms(static_cast<double>(growth.iterations) * iteration_s *
                            draw_around_one(random, spread));
    maker.add(std::move(job), BySize{base, {}}, speeds, details);
  }
  return maker.done();
}

using Texts = const OptionTexts&;
using Seed = std::uint64_t;
constexpr std::string_view rodinia_source = "MIGM, 5.1 and A.1, table 1";
constexpr std::string_view ml_source = "MIGM, 5.2.1 and A.1, table 2";
constexpr std::string_view growing_source = "MIGM, 5.2.2 and A.1, table 2";
constexpr std::string_view one = "1xA100-40GB";

constexpr GeneratorRow table[] = {
    {.name = "hm1",
     .summary = "50 particle filters of 5 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = hm1_options,
     .make = [](Seed seed, Texts options) { return homogeneous("particlefilter", seed, options); }},
    {.name = "hm2",
     .summary = "50 Gaussian eliminations of 5 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = hm2_options,
     .make = [](Seed seed, Texts options) { return homogeneous("gaussian", seed, options); }},
    {.name = "hm3",
     .summary = "100 myocytes of 5 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = hm3_options,
     .make = [](Seed seed, Texts options) { return homogeneous("myocyte", seed, options); }},
    {.name = "hm4",
     .summary = "50 euler3D of 20 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = hm4_options,
     .make = [](Seed seed, Texts options) { return homogeneous("euler3D", seed, options); }},
    {.name = "ht1",
     .summary = "15 Rodinia jobs: 11 of 5 GB, 2 of 10 GB, 2 of 40 GB, equal time in each group",
     .source = rodinia_source,
     .fleet = one,
     .options = ht1_options,
     .make = heterogeneous},
    {.name = "ht2",
     .summary = "18 Rodinia jobs, 6 each of 5, 20 and 40 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = ht2_options,
     .make = heterogeneous},
    {.name = "ht3",
     .summary = "36 Rodinia jobs: 24 of 5 GB, 6 each of 20 and 40 GB",
     .source = rodinia_source,
     .fleet = one,
     .options = ht3_options,
     .make = heterogeneous},
    {.name = "ml1",
     .summary = "14 trainings, 7 of 5 GB and 7 of 20 GB",
     .source = ml_source,
     .fleet = one,
     .options = ml1_options,
     .make = networks},
    {.name = "ml2",
     .summary = "21 trainings of 5 GB",
     .source = ml_source,
     .fleet = one,
     .options = ml2_options,
     .make = networks},
    {.name = "ml3",
     .summary = "18 trainings of 20 GB",
     .source = ml_source,
     .fleet = one,
     .options = ml3_options,
     .make = networks},
    {.name = "flan-t5-train",
     .summary = "4 trainings of FLAN-T5 whose memory grows",
     .source = growing_source,
     .fleet = one,
     .options = flan_train_options,
     .make = [](Seed seed, Texts options) { return growing("flan-t5-train", seed, options); }},
    {.name = "flan-t5",
     .summary = "6 FLAN-T5 inference jobs whose memory grows",
     .source = growing_source,
     .fleet = one,
     .options = flan_options,
     .make = [](Seed seed, Texts options) { return growing("flan-t5", seed, options); }},
    {.name = "qwen2",
     .summary = "1 Qwen2-7B inference job whose memory grows",
     .source = growing_source,
     .fleet = one,
     .options = qwen2_options,
     .make = [](Seed seed, Texts options) { return growing("qwen2", seed, options); }},
    {.name = "llama3",
     .summary = "1 Llama 3 inference job whose memory grows",
     .source = growing_source,
     .fleet = one,
     .options = llama3_options,
     .make = [](Seed seed, Texts options) { return growing("llama3", seed, options); }},
};

}  // namespace

std::span<const GeneratorRow> migm_generators() {
  return table;
}

}  // namespace cleave
