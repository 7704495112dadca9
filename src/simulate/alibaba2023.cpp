#include "simulate/alibaba2023.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct Pod {
  std::string name;
  std::int64_t gpus = 0, thousandths = 0;
  double created = 0;
  std::optional<double> scheduled, deleted;
};

/// Where the trace keeps what; the other columns are not needed.
struct Columns {
  std::size_t name, num_gpu, gpu_milli, creation, deletion, scheduled;
};

Result<Columns> find_columns(const CsvReader& csv) {
  Columns columns{};
  const std::pair<std::string_view, std::size_t*> wanted[] = {{"name", &columns.name},
                                                              {"num_gpu", &columns.num_gpu},
                                                              {"gpu_milli", &columns.gpu_milli},
                                                              {"creation_time", &columns.creation},
                                                              {"deletion_time", &columns.deletion},
                                                              {"scheduled_time", &columns.scheduled}};
  for (const auto& [name, where] : wanted) {
    const auto found = csv.column(name);
    if (!found) {
      Error error = found.error();
      error.remedy = "a pod list with times is needed, such as openb_pod_list_default.csv";
      return std::unexpected(std::move(error));
    }
    *where = *found;
  }
  return columns;
}

/// Reads cells of one row, keeping the first thing that is wrong.
class Cells {
 public:
  Cells(const std::vector<std::string>& cells, std::string place) : cells_(cells), place_(std::move(place)) {}

  std::int64_t whole(std::size_t column, std::string_view name, std::int64_t most) {
    const auto value = parse_integer(trimmed(cells_[column]));
    if (value && *value >= 0 && *value <= most) return *value;
    refuse(
        fmt::format("{} is '{}', expected a whole number from 0 to {}", name, shown(cells_[column]), most));
    return 0;
  }
  std::optional<double> time(std::size_t column, std::string_view name) {
    if (trimmed(cells_[column]).empty()) return std::nullopt;
    const auto value = parse_number(trimmed(cells_[column]));
    if (value && *value >= 0 && *value <= in_seconds(longest_duration)) return *value;
    refuse(
        fmt::format("{} is '{}', expected seconds from the start of the trace", name, shown(cells_[column])));
    return std::nullopt;
  }
  void refuse(std::string message) {
    if (!error)
      error = Error{ErrorKind::bad_input, place_, std::move(message), "correct the line or remove it"};
  }

  std::optional<Error> error;

 private:
  const std::vector<std::string>& cells_;
  std::string place_;
};

Result<Pod> read_pod(const std::vector<std::string>& row, const Columns& columns, const std::string& place) {
  Cells cells(row, place);
  Pod pod;
  pod.name = row[columns.name];
  if (pod.name.empty()) cells.refuse("the pod has no name");
  pod.gpus = cells.whole(columns.num_gpu, "num_gpu", 1024);
  pod.thousandths = cells.whole(columns.gpu_milli, "gpu_milli", 1000);
  const auto created = cells.time(columns.creation, "creation_time");
  if (!created) cells.refuse("creation_time is missing");
  pod.created = created.value_or(0);
  pod.scheduled = cells.time(columns.scheduled, "scheduled_time");
  pod.deleted = cells.time(columns.deletion, "deletion_time");
  if (pod.scheduled && pod.deleted && *pod.deleted < *pod.scheduled)
    cells.refuse(fmt::format("the pod ends at {} before it starts at {}", *pod.deleted, *pod.scheduled));
  if (pod.scheduled && *pod.scheduled < pod.created)
    cells.refuse(
        fmt::format("the pod is scheduled at {} before it is created at {}", *pod.scheduled, pod.created));
  if (pod.gpus == 1 && pod.thousandths == 0)
    cells.refuse("the pod asks for a GPU but for none of its compute");
  if (cells.error) return std::unexpected(*cells.error);
  return pod;
}

std::optional<std::string> left_out_because(const Pod& pod) {
  if (!pod.scheduled) return "never scheduled";
  if (!pod.deleted) return "no recorded end";
  if (pod.gpus > 1) return "several GPUs";
  return std::nullopt;
}

void count(std::vector<ReasonCount>& counts, const std::string& reason) {
  const auto found = std::ranges::find(counts, reason, &ReasonCount::reason);
  if (found == counts.end()) {
    counts.push_back({reason, 1});
  } else {
    ++found->count;
  }
}

}  // namespace

Result<Workload> read_alibaba2023(std::string_view text, const std::string& place,
                                  const TraceOptions& options) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto columns = find_columns(*csv);
  if (!columns) return std::unexpected(columns.error());

  Workload workload;
  std::vector<Pod> pods;
  std::unordered_set<std::string> names;
  double last_instant = 0;
  workload.notes["no_gpu"] = 0;
  for (std::vector<std::string> row;;) {
    const auto more = csv->next(row);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    auto pod = read_pod(row, *columns, csv->place());
    if (!pod) return std::unexpected(pod.error());
    if (!names.insert(pod->name).second)
      return fail(ErrorKind::bad_input, csv->place(),
                  fmt::format("there are two pods named '{}'", shown(pod->name)));
    last_instant = std::max(last_instant, pod->deleted.value_or(0));
    if (pod->gpus == 0) {
      ++workload.notes["no_gpu"];
    } else {
      pods.push_back(std::move(*pod));
    }
  }
  if (pods.empty()) return fail(ErrorKind::bad_input, place, "the trace has no pod that asks for a GPU");
  std::ranges::stable_sort(pods, {}, &Pod::created);
  if (options.limit && pods.size() > *options.limit) pods.resize(*options.limit);

  workload.read = pods.size();
  workload.notes["censored"] = 0;
  SpeedModel as_recorded;
  as_recorded.flat = true;
  const std::uint32_t speed = workload.intern(as_recorded);
  for (Pod& pod : pods) {
    if (const auto reason = left_out_because(pod)) {
      count(workload.left_out, *reason);
      continue;
    }
    if (*pod.deleted == last_instant) ++workload.notes["censored"];
    const auto arrival = duration_from_seconds(pod.created / options.compress.value());
    const auto duration = duration_from_seconds(*pod.deleted - *pod.scheduled);
    if (!arrival || !duration) return fail_at(place, (arrival ? duration : arrival).error());
    Job job;
    job.id = std::move(pod.name);
    job.arrival = Instant{} + *arrival;
    job.duration = *duration;
    job.speed = speed;
    job.request = workload.intern(Request{ByShare{static_cast<int>(pod.thousandths), options.rule}, {}});
    workload.jobs.push_back(std::move(job));
  }
  workload.options = {{"format", "alibaba2023"},
                      {"rule", options.rule == ShareRule::round_up ? "round-up" : "nearest"},
                      {"compress", options.compress.decimal()}};
  if (options.limit) workload.options["limit"] = fmt::format("{}", *options.limit);
  return workload;
}

}  // namespace cleave
