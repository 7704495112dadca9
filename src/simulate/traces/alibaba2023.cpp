#include "simulate/traces/alibaba2023.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/traces/trace_details.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

struct Pod {
  std::string name, application;
  std::int64_t gpus = 0, thousandths = 0;
  double created = 0;
  std::optional<double> scheduled, deleted;
};

/// The columns that are needed.
struct PodColumns {
  std::size_t name, num_gpu, gpu_milli, creation, deletion, scheduled;
};

Result<Pod> read_pod(const std::vector<std::string>& row, const PodColumns& columns,
                     const std::string& place) {
  Cells cells(place);
  Pod pod;
  pod.name = row[columns.name];
  if (pod.name.empty()) cells.refuse("the pod has no name");
  pod.gpus = cells.whole(row[columns.num_gpu], "num_gpu", 0, 1024);
  pod.thousandths = cells.whole(row[columns.gpu_milli], "gpu_milli", 0, 1000);
  const auto created = cells.seconds_if(row[columns.creation], "creation_time");
  if (!created) cells.refuse("creation_time is missing");
  pod.created = created.value_or(0);
  pod.scheduled = cells.seconds_if(row[columns.scheduled], "scheduled_time");
  pod.deleted = cells.seconds_if(row[columns.deletion], "deletion_time");
  if (pod.scheduled && pod.deleted && *pod.deleted < *pod.scheduled)
    cells.refuse(
        fmt::format("the pod ends at {} before it starts at {}", *pod.deleted, *pod.scheduled));
  if (pod.scheduled && *pod.scheduled < pod.created)
    cells.refuse(fmt::format("the pod is scheduled at {} before it is created at {}",
                             *pod.scheduled, pod.created));
  if (pod.gpus > 0 && pod.thousandths == 0)
    cells.refuse("the pod asks for a GPU but for none of its compute");
  if (cells.error) return std::unexpected(*cells.error);
  return pod;
}

std::optional<std::string> left_out_because(const Pod& pod, const TraceOptions& options) {
  if (!pod.scheduled) return "never scheduled";
  if (!pod.deleted) return "no recorded end";
  return left_out_for_places(pod.gpus, options);
}

double seconds_run(const Pod& pod) {
  return pod.scheduled && pod.deleted ? *pod.deleted - *pod.scheduled : 0;
}

double gpus_of(const Pod& pod) {
  return static_cast<double>(pod.gpus * pod.thousandths) / whole_gpu_share;
}

}  // namespace

Result<Workload> read_alibaba2023(std::string_view text, const std::string& place,
                                  const TraceOptions& options) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  PodColumns columns{};
  const auto found =
      find_columns(*csv,
                   {{"name", &columns.name},
                    {"num_gpu", &columns.num_gpu},
                    {"gpu_milli", &columns.gpu_milli},
                    {"creation_time", &columns.creation},
                    {"deletion_time", &columns.deletion},
                    {"scheduled_time", &columns.scheduled}},
                   "a pod list with times is needed, such as openb_pod_list_default.csv");
  if (!found) return std::unexpected(found.error());
  const auto naming = NamingColumns::of(options, {}, column_finder(*csv), place);
  if (!naming) return std::unexpected(naming.error());

  Workload workload;
  std::vector<Pod> pods;
  std::unordered_set<std::string> names;
  double last_instant = 0;
  workload.notes["no_gpu"] = 0;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        auto pod = read_pod(row, columns, csv->place());
        if (!pod) return std::unexpected(pod.error());
        pod->application = naming->name_in(row);
        if (!names.insert(pod->name).second)
          return fail(ErrorKind::bad_input, csv->place(),
                      fmt::format("there are two pods named '{}'", shown(pod->name)));
        last_instant = std::max(last_instant, pod->deleted.value_or(0));
        if (pod->gpus == 0) {
          ++workload.notes["no_gpu"];
        } else {
          pods.push_back(std::move(*pod));
        }
        return {};
      });
  if (!read) return std::unexpected(read.error());
  if (pods.empty())
    return fail(ErrorKind::bad_input, place, "the trace has no pod that asks for a GPU");
  order(pods, &Pod::created, options);

  workload.notes["censored"] = 0;
  Intake intake(workload, options, place);
  TraceDetails details(workload);
  for (Pod& pod : pods) {
    if (const auto reason = left_out_because(pod, options)) {
      intake.leave_out(*reason, gpus_of(pod), seconds_run(pod));
      continue;
    }
    if (*pod.deleted == last_instant) ++workload.notes["censored"];
    const Request each{ByShare{static_cast<int>(pod.thousandths), options.rule}, {}};
    const auto taken =
        intake.take({.id = std::move(pod.name),
                     .after = pod.created,
                     .seconds = seconds_run(pod),
                     .gpus = gpus_of(pod),
                     .request = request_of_several(each, pod.gpus, Together::node, options),
                     .speed = as_recorded(),
                     .details = details.of({.application = pod.application})});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "alibaba2023", options, {{"rule", std::string(name(options.rule))}});
  details.note(*naming);
  return workload;
}

}  // namespace cleave
