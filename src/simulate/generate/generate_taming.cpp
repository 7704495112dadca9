// The mixes of the Taming paper (V): seven of each application at once on an H100 with 96 GB. What
// it says of an application is in taming_applications.cpp; run times and power are open
// (docs/workloads.md).

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "model/gpu_model.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"
#include "simulate/generate/taming_applications.hpp"

namespace cleave {

namespace {

constexpr std::array<OptionRow, 7> options_table = {{
    {"application", "NAME", "all", "an application of table III, or all of them"},
    {"jobs", "COUNT", "7", "how many jobs of each application"},
    {"larger", "COUNT", "0", "how many of each variant above 12 GB: Qiskit, FAISS, Llama3"},
    {"scaling", "least|usual|most", "usual",
     "the GPU-bound part of a job within the range of what the paper leaves open"},
    {"seconds", "NUMBER", "100", "run time of a job on the whole GPU"},
    {"spread", "NUMBER", "0.05",
     "run times differ from the stated one by up to this share, either way"},
    {"power-factor", "NUMBER", "1", "what a job draws, relative to work that reaches the cap"},
}};

/// The options as values.
struct Mix {
  std::int64_t jobs, larger;
  double seconds, spread, power_factor;
  std::string scaling;
};

double bound_of(const TamingScaling& scaling, const std::string& which) {
  if (which == "usual") return scaling.part();
  return which == "least" ? scaling.bound.front() : scaling.bound.back();
}

SpeedModel speed_of(const TamingApplication& application, MiB memory, const Mix& mix) {
  const GpuModel& gpu = **find_gpu_model(taming_gpu);
  const double bound = bound_of(application.scaling, mix.scaling);
  SpeedModel speed;
  speed.table = speeds_from_times(gpu, memory, [&](const Profile& profile) {
    return joined_time(1 - bound, bound, gpu_bound_time(gpu, profile), job_overlap);
  });
  speed.transfer_share = application.transfer_share;
  speed.kappa = mix.power_factor;
  return speed;
}

void add_jobs(WorkloadMaker& maker, Random& random, const TamingApplication& application,
              const Mix& mix) {
  const auto add = [&](std::int64_t count, MiB memory, std::string_view suffix) {
    JobDetails details;
    details.application = fmt::format("{}{}", application.name, suffix);
    const SpeedModel speed = speed_of(application, memory, mix);
    for (std::int64_t i = 0; i < count; ++i) {
      Job job;
      job.id = fmt::format("{}-{:03}", *details.application, i);
      job.duration = whole_ms(mix.seconds * draw_around_one(random, mix.spread));
      maker.add(std::move(job), BySize{memory, {}}, speed, details);
    }
  };
  add(mix.jobs, application.memory, "");
  if (application.larger) add(mix.larger, application.larger->memory, "-larger");
}

Result<Workload> mix(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const std::string& only = in.text("application");
  const auto applications = taming_applications();
  if (only != "all" &&
      std::ranges::find(applications, only, &TamingApplication::name) == applications.end()) {
    std::vector<std::string> names;
    for (const TamingApplication& each : applications) names.emplace_back(each.name);
    in.refuse("application", no_such("application", only, names).message);
  }
  Mix asked{};
  asked.jobs = in.count("jobs", 0, most_jobs / 20);
  asked.larger = in.count("larger", 0, most_jobs / 20);
  asked.scaling = in.text("scaling");
  asked.seconds = in.number("seconds", 0.001, 1e6);
  asked.spread = in.number("spread", 0, 0.99);
  asked.power_factor = in.number("power-factor", 0, 10);
  if (in.error()) return std::unexpected(*in.error());
  Random random(seed);
  WorkloadMaker maker;
  for (const TamingApplication& each : applications)
    if (only == "all" || each.name == only) add_jobs(maker, random, each, asked);
  Workload workload = maker.done();
  if (workload.jobs.empty()) {
    in.refuse("jobs", "there is no job, neither of the usual size nor larger");
    return std::unexpected(*in.error());
  }
  return workload;
}

constexpr GeneratorRow taming_generator_rows[] = {
    {.name = "taming",
     .summary = "seven of each application of the Taming paper at once",
     .source = "Taming GPU Underutilization, III-B and V, table III",
     .fleet = "1xH100-96GB-GH200",
     .options = options_table,
     .make = mix},
};

}  // namespace

std::span<const GeneratorRow> taming_generators() {
  return taming_generator_rows;
}

}  // namespace cleave
