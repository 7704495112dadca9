#include "simulate/traces/gpu_samples.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/clock_text.hpp"
#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

/// What a column may be called, in lower case; the first that is there counts.
constexpr std::string_view names_of_time[] = {"timestamp", "time", "ts", "date"};
constexpr std::string_view names_of_job[] = {"hpc_job", "slurm_job_id", "job_id",
                                             "jobid",   "slurm_jobid",  "job"};
constexpr std::string_view names_of_node[] = {"hostname", "node", "host", "nodename", "instance"};
constexpr std::string_view names_of_gpu[] = {"gpu", "gpu_id", "gpuid", "uuid", "device"};
constexpr std::string_view names_of_memory[] = {"dcgm_fi_dev_fb_used", "fb_used", "fbusd",
                                                "gpu_memory", "memory_used_mib"};
/// A metric of how busy a GPU is, and how much of it is 100 %.
struct BusyColumn {
  std::string_view name;
  double whole;
};
constexpr BusyColumn names_of_busy[] = {
    {"dcgm_fi_prof_gr_engine_active", 1}, {"gr_engine_active", 1}, {"gract", 1},
    {"dcgm_fi_dev_gpu_util", 100},        {"gpu_util", 100},       {"gputl", 100}};

struct SampleColumns {
  std::optional<std::size_t> time, job, node, gpu, memory, busy;
  double whole = 100;
};

struct Sample {
  std::string_view job, node, gpu;
  std::optional<double> time, busy_percent;
  std::optional<MiB> memory;
};

std::optional<std::size_t> find_any(const CsvReader& csv, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < csv.columns().size(); ++i)
      if (lowercase(trimmed(csv.columns()[i])) == name) return i;
  return std::nullopt;
}

Result<SampleColumns> find_columns(const CsvReader& csv) {
  SampleColumns columns;
  columns.time = find_any(csv, names_of_time);
  columns.job = find_any(csv, names_of_job);
  columns.node = find_any(csv, names_of_node);
  columns.gpu = find_any(csv, names_of_gpu);
  columns.memory = find_any(csv, names_of_memory);
  for (const BusyColumn& busy : names_of_busy) {
    columns.busy = find_any(csv, std::span(&busy.name, 1));
    columns.whole = busy.whole;
    if (columns.busy) break;
  }
  if (!columns.busy && !columns.memory)
    return fail(ErrorKind::bad_input, csv.place(),
                "no column says how busy a GPU is, or its memory",
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE or DCGM_FI_DEV_GPU_UTIL, and DCGM_FI_DEV_FB_USED, "
                "are read");
  if (!columns.job && !(columns.time && columns.node))
    return fail(ErrorKind::bad_input, csv.place(), "no column says which job a sample is of",
                "a column hpc_job or job_id does, or timestamp and Hostname together");
  return columns;
}

/// ISO 8601, or seconds or milliseconds since 1970.
std::optional<double> time_of(std::string_view cell) {
  if (const auto clock = parse_clock(cell)) return clock->seconds;
  const auto number = parse_number(cell);
  if (!number || !(*number >= 0 && *number < 1e14)) return std::nullopt;
  constexpr double first_milliseconds = 1e11;  // seconds of the year 5138
  return *number < first_milliseconds ? *number : *number / 1000;
}

Result<Sample> read_sample(const std::vector<std::string>& row, const SampleColumns& columns,
                           const std::string& place) {
  Cells cells(place);
  const auto cell = [&](std::optional<std::size_t> column) {
    return column ? trimmed(row[*column]) : std::string_view();
  };
  Sample sample{cell(columns.job), cell(columns.node), cell(columns.gpu), {}, {}, {}};
  // dcgm-exporter's instance is HOST:PORT.
  sample.node = sample.node.substr(0, sample.node.find(':'));
  if (const auto text = cell(columns.time); !text.empty()) {
    sample.time = time_of(text);
    if (!sample.time)
      cells.refuse(
          fmt::format("the time is '{}', expected 2024-01-31T12:00:00 or seconds since "
                      "1970",
                      shown(text)));
  }
  // A GPU that did not answer leaves its cell empty.
  if (const auto text = cell(columns.busy); !text.empty()) {
    const auto busy = parse_number(text);
    if (!busy || !(*busy >= 0 && *busy <= columns.whole))
      cells.refuse(fmt::format("how busy the GPU is, is '{}', expected 0 to {}", shown(text),
                               columns.whole));
    sample.busy_percent = 100 / columns.whole * busy.value_or(0);
  }
  if (const auto text = cell(columns.memory); !text.empty()) {
    const auto memory = parse_size(text);
    if (!memory)
      cells.refuse(fmt::format("the memory used is '{}', expected MiB", shown(text)));
    else
      sample.memory = *memory;
  }
  if (cells.error) return std::unexpected(*cells.error);
  return sample;
}

/// The samples of one GPU.
struct SumOfGpu {
  double busy_percent = 0;
  std::size_t busy_samples = 0;
  std::optional<MiB> memory;

  void add(const Sample& sample) {
    if (sample.busy_percent) {
      busy_percent += *sample.busy_percent;
      ++busy_samples;
    }
    if (sample.memory) memory = std::max(memory.value_or(MiB{0}), *sample.memory);
  }
  [[nodiscard]] double mean() const {
    return busy_samples == 0 ? -1 : busy_percent / static_cast<double>(busy_samples);
  }
};

/// Which job was alone on a node at a time.
class NodeTimes {
 public:
  static constexpr std::size_t nobody = SIZE_MAX, several = SIZE_MAX - 1;

  explicit NodeTimes(std::span<const SampledJob> jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (!jobs[i].node.empty())
        nodes_[jobs[i].node].push_back({jobs[i].from, jobs[i].until, jobs[i].until, i});
    for (auto& [node, times] : nodes_) {
      std::ranges::sort(times, {}, &Time::from);
      for (std::size_t i = 1; i < times.size(); ++i)
        times[i].latest = std::max(times[i].latest, times[i - 1].latest);
    }
  }

  [[nodiscard]] std::size_t job_at(std::string_view node, double time) const {
    auto found = nodes_.find(node);
    // Slurm calls a node by the first part of its name.
    if (found == nodes_.end()) found = nodes_.find(node.substr(0, node.find('.')));
    if (found == nodes_.end()) return nobody;
    const std::vector<Time>& times = found->second;
    std::size_t job = nobody;
    auto at = std::ranges::upper_bound(times, time, {}, &Time::from);
    // Until no earlier job reaches this far.
    while (at != times.begin() && (at - 1)->latest > time) {
      --at;
      if (at->until <= time) continue;
      if (job != nobody) return several;
      job = at->job;
    }
    return job;
  }

 private:
  struct Time {
    double from, until;
    double latest;  // at which a job ends that begins no later than this
    std::size_t job;
  };
  std::map<std::string_view, std::vector<Time>> nodes_;
};

/// Adds samples to jobs.
class SampleJoin {
 public:
  explicit SampleJoin(std::span<const SampledJob> jobs) : jobs_(jobs), nodes_(jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      for (const std::string_view id : {jobs[i].id, jobs[i].other_id})
        if (!id.empty()) by_id_.emplace(id, i);
    named_.resize(jobs.size());
    on_node_.resize(jobs.size());
    joined_.by_job.resize(jobs.size());
  }

  void add(const Sample& sample) {
    ++joined_.read;
    const auto named = by_id_.find(sample.job);
    if (!sample.job.empty() && named != by_id_.end()) return named_[named->second].add(sample);
    if (!sample.job.empty() || !sample.time) {
      ++joined_.of_no_job;
      return;
    }
    const std::size_t job = nodes_.job_at(sample.node, *sample.time);
    if (job == NodeTimes::several) {
      ++joined_.ambiguous;
    } else if (job == NodeTimes::nobody) {
      ++joined_.of_no_job;
    } else {
      on_node_[job][std::string(sample.gpu)].add(sample);
    }
  }

  [[nodiscard]] JoinedSamples finish() && {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      SumOfGpu sum = named_[i];
      if (sum.busy_samples == 0 && !sum.memory) sum = busiest_of(i);
      SeenUse& use = joined_.by_job[i];
      if (sum.busy_samples > 0) use.busy_percent = sum.mean();
      use.memory = sum.memory;
    }
    return std::move(joined_);
  }

 private:
  /// Those of the node's GPUs that the job had, as far as one can tell.
  [[nodiscard]] SumOfGpu busiest_of(std::size_t job) const {
    std::vector<const SumOfGpu*> gpus;
    for (const auto& [name, sum] : on_node_[job]) gpus.push_back(&sum);
    std::ranges::stable_sort(gpus, [](const SumOfGpu* a, const SumOfGpu* b) {
      return std::pair(a->mean(), a->memory) > std::pair(b->mean(), b->memory);
    });
    SumOfGpu all;
    for (std::size_t k = 0; k < std::min(gpus.size(), jobs_[job].gpus); ++k) {
      all.busy_percent += gpus[k]->busy_percent;
      all.busy_samples += gpus[k]->busy_samples;
      if (gpus[k]->memory) all.memory = std::max(all.memory.value_or(MiB{0}), *gpus[k]->memory);
    }
    return all;
  }

  std::span<const SampledJob> jobs_;
  NodeTimes nodes_;
  std::unordered_map<std::string_view, std::size_t> by_id_;  // only looked up
  std::vector<SumOfGpu> named_;
  std::vector<std::map<std::string, SumOfGpu>> on_node_;  // by job, by GPU
  JoinedSamples joined_;
};

}  // namespace

Result<JoinedSamples> join_samples(std::string_view text, const std::string& place,
                                   std::span<const SampledJob> jobs, BadLines* bad) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto columns = find_columns(*csv);
  if (!columns) return std::unexpected(columns.error());
  SampleJoin join(jobs);
  TraceOptions options;
  options.bad_lines = bad;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        const auto sample = read_sample(row, *columns, csv->place());
        if (!sample) return std::unexpected(sample.error());
        join.add(*sample);
        return {};
      });
  if (!read) return std::unexpected(read.error());
  return std::move(join).finish();
}

}  // namespace cleave
