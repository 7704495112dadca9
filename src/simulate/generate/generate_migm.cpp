// The mixes of MIGM (5 and A.1) on one A100-40GB, and its sample on an A30 (1), with all jobs
// arriving at time 0. The paper gives the number of jobs of each size; most run times, memory
// within a size and speeds on slices are open (docs/workloads.md).

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "model/gpu_model.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"
#include "simulate/generate/migm_networks.hpp"

namespace cleave {

namespace {

const GpuModel& a100_model() {
  static const GpuModel& model = **find_gpu_model("A100-40GB");
  return model;
}

const GpuModel& a30_model() {
  static const GpuModel& model = **find_gpu_model("A30-24GB");
  return model;
}

constexpr std::int64_t whole_mib = 40320;

constexpr OptionRow spread_row = {
    "spread", "NUMBER", "0.05",
    "run times differ from the stated one by up to this share, either way"};
constexpr OptionRow mig_off_row = {"mig-off", "NUMBER", "1",
                                   "speed of the whole GPU with MIG off, relative to 7g.40gb"};
constexpr OptionRow transfer_row = {
    "transfer-share", "NUMBER", "0",
    "share of a job's time on the whole GPU in which it uses the host link"};

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
double kernel_time(const GpuModel& model, std::string_view benchmark, const Profile& profile) {
  const double here = gpu_bound_time(model, profile);
  const MeasuredSpeed* measured = find_measured(MeasuredSet::rodinia, benchmark);
  if (measured == nullptr || !measured->speeds.contains("1g.6gb")) return here;
  const double on_1g = std::pow(1 / measured->speeds.find("1g.6gb")->second, job_overlap);
  const double most =
      std::pow(gpu_bound_time(a30_model(), *a30_model().find("1g.6gb")), job_overlap);
  const double bound =
      std::clamp((on_1g - 1) / (most - 1), 0.0, 1.0);  // both to the power of the overlap
  return joined_time(std::pow(1 - bound, 1 / job_overlap), std::pow(bound, 1 / job_overlap), here,
                     job_overlap);
}

/// A job that spends `share` of its time on the whole GPU in kernels; the rest is host work and
/// transfers.
SpeedTable rodinia_speeds(const GpuModel& model, std::string_view benchmark, MiB memory,
                          double share) {
  return speeds_from_times(model, memory, [&](const Profile& profile) {
    return 1 - share + share * kernel_time(model, benchmark, profile);
  });
}

/// How many other instances of the profile there can be, as a share of the six beside a 1g.
double neighbours(const Profile& profile) {
  return static_cast<double>(profile.max_instances - 1) / 6;
}

/// What the homogeneous mixes differ in.
struct Homogeneous {
  std::string_view jobs, seconds, memory, kernel_share, slower_s;
};

constexpr std::array<OptionRow, 8> homogeneous_options(const Homogeneous& mix) {
  return {{{"jobs", "COUNT", mix.jobs, "how many jobs"},
           {"seconds", "NUMBER", mix.seconds, "run time of a job on the whole GPU"},
           {"memory", "MIB", mix.memory, "memory that a job is estimated to need"},
           {"kernel-share", "NUMBER", mix.kernel_share,
            "share of a job's time that is in kernels and slows on slices"},
           {"slower-s", "NUMBER", mix.slower_s,
            "seconds that a job takes longer as one of seven on 1g, apart from kernels; in "
            "proportion to the neighbours on larger slices"},
           transfer_row,
           spread_row,
           mig_off_row}};
}

// Table 3, of Hm1 or Hm3: 3.616 s on the whole GPU, 4.4875 s as one of seven, kernels included.
constexpr auto hm1_options = homogeneous_options({"50", "3.616", "2048", "0", "0.8714"});
constexpr auto hm2_options = homogeneous_options({"50", "3.616", "2048", "0.001", "0"});
constexpr auto hm3_options = homogeneous_options({"100", "3.616", "1024", "0", "0.8714"});
constexpr auto hm4_options = homogeneous_options({"50", "20", "15360", "0.5", "0"});
// A.1: 523,406 us on the whole GPU, 1,171,507 us as one of seven, kernels included.
constexpr auto nw_options = homogeneous_options({"21", "0.523406", "2048", "0", "0.648101"});

Result<Workload> homogeneous(std::string_view benchmark, std::uint64_t seed,
                             const OptionTexts& options) {
  OptionReader in(options);
  const auto jobs = in.count("jobs", 1, most_jobs);
  const double seconds = in.number("seconds", 0.001, 1e6);
  const MiB memory{in.count("memory", 1, whole_mib)};
  const double share = in.number("kernel-share", 0, 1);
  const double slower = in.number("slower-s", 0, 1e6) / seconds;
  const double transfer_share = in.number("transfer-share", 0, 1);
  const double spread = in.number("spread", 0, 0.99);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (in.error()) return std::unexpected(*in.error());
  const SpeedTable speeds = with_mig_off(
      speeds_from_times(a100_model(), memory,
                        [&](const Profile& profile) {
                          return 1 - share + share * kernel_time(a100_model(), benchmark, profile) +
                                 slower * neighbours(profile);
                        }),
      mig_off_speed);
  Random random(seed);
  WorkloadMaker maker;
  JobDetails details;
  details.application = benchmark;
  for (std::int64_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}-{:03}", benchmark, i);
    job.duration = whole_ms(seconds * draw_around_one(random, spread));
    maker.add(std::move(job), BySize{memory, {}}, speeds, details, transfer_share);
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

// Ht1: equal time in each group, 11 x 4 s = 2 x 22 s. Its large jobs fill the GPU (A.1). That is
// the only ratio of run times by size that the paper gives; small jobs are shorter in general
// (5.1), so the others keep it.
constexpr auto ht1_options = heterogeneous_options({"11", "2", "0", "2"}, {"4", "22", "22", "22"});
constexpr auto ht2_options = heterogeneous_options({"6", "0", "6", "6"}, {"4", "22", "22", "22"});
constexpr auto ht3_options = heterogeneous_options({"24", "0", "6", "6"}, {"4", "22", "22", "22"});

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
              with_mig_off(rodinia_speeds(a100_model(), benchmark, memory, share), mig_off_speed),
              details);
  }
  return maker.done();
}

// ---- The sample on an A30 ----

constexpr std::array<OptionRow, 8> tight_fit_options = {
    {{"jobs", "COUNT", "14", "how many jobs"},
     {"small", "NUMBER", "1", "weight of jobs whose tightest instance is 1g"},
     {"medium", "NUMBER", "1", "weight of those of 2g"},
     {"large", "NUMBER", "1", "weight of those of 4g"},
     {"instance", "tightest|next", "tightest",
      "the instance that a job asks for: the tightest, or the next larger one"},
     {"seconds", "NUMBER", "10", "mean run time of a job on the whole GPU"},
     {"kernel-share", "NUMBER", "0.2",
      "share of a job's time that is in kernels and slows on slices"},
     {"spread", "NUMBER", "0.5",
      "run times differ from the stated one by up to this share, either way"}}};

Result<Workload> tight_fit(std::uint64_t seed, const OptionTexts& options) {
  constexpr std::array<std::string_view, 3> profiles = {"1g.6gb", "2g.12gb", "4g.24gb"};
  OptionReader in(options);
  const auto jobs = in.count("jobs", 1, most_jobs);
  const std::array<double, 3> weights = {in.number("small", 0, 1e6), in.number("medium", 0, 1e6),
                                         in.number("large", 0, 1e6)};
  const double all = weights[0] + weights[1] + weights[2];
  if (!(all > 0)) in.refuse("small", "there are no jobs of any size");
  const std::size_t next = in.is("instance", "next") ? 1 : 0;
  const double seconds = in.number("seconds", 0.001, 1e6);
  const double share = in.number("kernel-share", 0, 1);
  const double spread = in.number("spread", 0, 0.99);
  if (in.error()) return std::unexpected(*in.error());
  Random random(seed);
  WorkloadMaker maker;
  for (std::int64_t i = 0; i < jobs; ++i) {
    const std::string_view benchmark = pool[random.below(pool.size())];
    const double drawn = random.uniform() * all;
    const std::size_t size = drawn < weights[0] ? 0 : drawn < weights[0] + weights[1] ? 1 : 2;
    const std::string_view wanted = profiles[std::min<std::size_t>(size + next, 2)];
    JobDetails details;
    details.application = benchmark;
    Job job;
    job.id = fmt::format("{}-{:03}", benchmark, i);
    job.duration = whole_ms(seconds * draw_around_one(random, spread));
    const MiB memory = *a30_model().find(profiles[size])->usable;
    maker.add(std::move(job), ByProfile{std::string(wanted)},
              rodinia_speeds(a30_model(), benchmark, memory, share), details);
  }
  return maker.done();
}

// ---- Training of deep networks ----

constexpr std::array<OptionRow, 15> network_options(std::string_view small,
                                                    std::string_view large) {
  return {
      {{"small", "COUNT", small, "jobs of 5 GB: BERT"},
       {"large", "COUNT", large, "jobs of 20 GB, drawn from VGG16, ResNet50, InceptionV3 and BERT"},
       {"small-s", "NUMBER", "120", "mean run time of a small job on the whole GPU"},
       {"large-s", "NUMBER", "240", "mean run time of a large job on the whole GPU"},
       // The estimator says 3.5 and 4.7 GiB, as 5.2.1 does.
       {"small-batch", "COUNT", "8", "largest batch of a small BERT; half of them have half of it"},
       {"tokens", "COUNT", "384", "tokens of a sequence of BERT"},
       // The least powers of two of which the estimator says 20 GB.
       {"vgg16-batch", "COUNT", "64", "batch of VGG16"},
       {"resnet50-batch", "COUNT", "128", "batch of ResNet50"},
       {"inceptionv3-batch", "COUNT", "128", "batch of InceptionV3"},
       {"bert-batch", "COUNT", "32", "batch of a large BERT"},
       {"small-row", "2|4|6|8", "2", "MISO's batch of BERT whose speeds a small job has"},
       {"image-row", "128|256|512", "512", "MISO's batch of ResNet whose speeds the others have"},
       transfer_row,
       {"spread", "NUMBER", "0.25",
        "run times differ from the stated one by up to this share, either way"},
       mig_off_row}};
}
constexpr auto ml1_options = network_options("7", "7");
constexpr auto ml2_options = network_options("21", "0");
constexpr auto ml3_options = network_options("0", "18");

/// A training with what follows from it.
struct Network {
  Training training;
  MiB memory{};
  SpeedTable speeds{};
};

constexpr int large_bert_row = 8;  // MISO's largest

/// The small ones first, two of them.
Result<std::vector<Network>> networks_of(OptionReader& in) {
  constexpr std::int64_t most_batch = 4096;
  const auto batch = [&](std::string_view name) { return in.count(name, 1, most_batch); };
  const std::int64_t small = batch("small-batch"), tokens = in.count("tokens", 1, 512);
  const int small_row = static_cast<int>(in.count("small-row", 2, 8));
  const int image_row = static_cast<int>(in.count("image-row", 128, 512));
  std::vector<Network> all = {{{"bert", std::max<std::int64_t>(1, small / 2), tokens}},
                              {{"bert", small, tokens}},
                              {{"vgg16", batch("vgg16-batch"), 0}},
                              {{"resnet50", batch("resnet50-batch"), 0}},
                              {{"inceptionv3", batch("inceptionv3-batch"), 0}},
                              {{"bert", batch("bert-batch"), tokens}}};
  if (in.error()) return std::unexpected(*in.error());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Network& each = all[i];
    const auto memory = training_memory(each.training);
    if (!memory) return std::unexpected(memory.error());
    each.memory = *memory;
    if (each.memory.value > whole_mib) {
      in.refuse(i < 2 ? "small-batch" : fmt::format("{}-batch", each.training.network),
                fmt::format("{} MiB are more than the GPU has", each.memory.value));
      return std::unexpected(*in.error());
    }
    const bool bert = each.training.network == "bert";
    each.speeds = training_speeds(bert ? "bert" : "resnet",
                                  i < 2  ? small_row
                                  : bert ? large_bert_row
                                         : image_row,
                                  each.memory);
  }
  return all;
}

Result<Workload> networks(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const auto small = in.count("small", 0, most_jobs / 2);
  const auto large = in.count("large", 0, most_jobs / 2);
  const double small_s = in.number("small-s", 0.001, 1e6);
  const double large_s = in.number("large-s", 0.001, 1e6);
  const double spread = in.number("spread", 0, 0.99);
  const double transfer_share = in.number("transfer-share", 0, 1);
  const double mig_off_speed = in.number("mig-off", 0.01, 100);
  if (small + large == 0) in.refuse("small", "there is no job, neither small nor large");
  if (in.error()) return std::unexpected(*in.error());
  const auto all = networks_of(in);
  if (!all) return std::unexpected(all.error());
  Random random(seed);
  std::vector<std::size_t> order;
  for (std::int64_t i = 0; i < small; ++i) order.push_back(random.below(2));
  for (std::int64_t i = 0; i < large; ++i) order.push_back(2 + random.below(all->size() - 2));
  shuffle(order, random);
  WorkloadMaker maker;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_small = order[i] < 2;
    const Network& network = (*all)[order[i]];
    JobDetails details;
    details.application =
        fmt::format("{}-{}", network.training.network, is_small ? "small" : "large");
    details.batch = network.training.batch;
    Job job;
    job.id = fmt::format("{}-{:03}", *details.application, i);
    job.duration = whole_ms((is_small ? small_s : large_s) * draw_around_one(random, spread));
    maker.add(std::move(job), BySize{network.memory, {}},
              with_mig_off(network.speeds, mig_off_speed), details, transfer_share);
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
      speeds_from_times(a100_model(), base,
                        [&](const Profile& profile) {
                          return joined_time(1, gpu_bound, gpu_bound_time(a100_model(), profile),
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

constexpr GeneratorRow migm_generator_rows[] = {
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
    {.name = "nw",
     .summary = "21 Needleman-Wunsch of 5 GB",
     .source = "MIGM, 5.1 and A.1",
     .fleet = one,
     .options = nw_options,
     .make = [](Seed seed, Texts options) { return homogeneous("nw", seed, options); }},
    {.name = "tight-fit",
     .summary = "14 Rodinia jobs on an A30, on the tightest instance or on the next larger one",
     .source = "MIGM, 1",
     .fleet = "1xA30-24GB",
     .options = tight_fit_options,
     .make = tight_fit},
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
  return migm_generator_rows;
}

}  // namespace cleave
