#include "simulate/traces/alibaba2025.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/traces/trace_details.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

struct Instance {
  std::string name, application;
  std::int64_t gpus = 0;
  double cpus = 0, memory_gib = 0;
  std::optional<double> created, scheduled, deleted;

  [[nodiscard]] double arrived() const { return created.value_or(0); }
  [[nodiscard]] double started() const { return scheduled.value_or(arrived()); }
};

/// The columns that are needed.
struct InstanceColumns {
  std::size_t name, gpus, cpus, memory, creation, scheduled, deletion;
  NamingColumns application;
};

Result<Instance> read_instance(const std::vector<std::string>& row, const InstanceColumns& columns,
                               const std::string& place) {
  Cells cells(place);
  Instance instance;
  instance.name = row[columns.name];
  if (!fit_for_a_name(instance.name)) cells.refuse("the instance has no name");
  instance.application = columns.application.name_in(row);
  instance.gpus = cells.whole(row[columns.gpus], "gpu_request", 0, 1024);
  const auto amount = [&](std::size_t column, std::string_view what) {
    const auto number = parse_number(trimmed(row[column]));
    if (!number || !(*number >= 0 && *number <= 1e6))
      cells.refuse(fmt::format("{} is '{}', expected a number", what, shown(row[column])));
    return number.value_or(0);
  };
  instance.cpus = amount(columns.cpus, "cpu_request");
  instance.memory_gib = amount(columns.memory, "memory_request");
  instance.created = cells.seconds_if(row[columns.creation], "creation_time");
  instance.scheduled = cells.seconds_if(row[columns.scheduled], "scheduled_time");
  instance.deleted = cells.seconds_if(row[columns.deletion], "deletion_time");
  if (instance.scheduled && *instance.scheduled < instance.arrived())
    cells.refuse("the instance is scheduled before it is created");
  if (instance.deleted && *instance.deleted < instance.started())
    cells.refuse("the instance ends before it starts");
  if (cells.error) return std::unexpected(*cells.error);
  return instance;
}

std::optional<std::string> left_out_because(const Instance& instance, double ends,
                                            const TraceOptions& options) {
  // What was created before the trace began ran already.
  if (instance.created && !instance.scheduled) return "never scheduled";
  if (ends <= instance.started()) return "no run time";
  return left_out_for_places(instance.gpus, options);
}

TraceDetails::Said said_of(const Instance& instance) {
  TraceDetails::Said said{.application = instance.application};
  said.processes = static_cast<std::uint32_t>(std::max<std::int64_t>(1, instance.gpus));
  if (instance.cpus > 0) said.cpus = instance.cpus;
  if (instance.memory_gib > 0)
    said.memory = MiB{static_cast<std::int64_t>(instance.memory_gib * 1024)};
  return said;
}

/// The instances with a GPU, and the last instant of all.
struct Instances {
  std::vector<Instance> all;
  double last_instant = 0;
  NamingColumns application;
};

Result<Instances> read_instances(std::string_view text, const std::string& place,
                                 const TraceOptions& options, std::size_t& without_gpu) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  InstanceColumns columns{};
  const auto found = find_columns(*csv,
                                  {{"instance_sn", &columns.name},
                                   {"gpu_request", &columns.gpus},
                                   {"cpu_request", &columns.cpus},
                                   {"memory_request", &columns.memory},
                                   {"creation_time", &columns.creation},
                                   {"scheduled_time", &columns.scheduled},
                                   {"deletion_time", &columns.deletion}},
                                  "disaggregated_DLRM_trace.csv is needed");
  if (!found) return std::unexpected(found.error());
  constexpr std::string_view usual[] = {"app_name"};
  auto naming = NamingColumns::of(options, usual, column_finder(*csv), place);
  if (!naming) return std::unexpected(naming.error());
  columns.application = *std::move(naming);
  Instances instances;
  std::unordered_set<std::string> names;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        auto instance = read_instance(row, columns, csv->place());
        if (!instance) return std::unexpected(instance.error());
        if (!names.insert(instance->name).second)
          return fail(ErrorKind::bad_input, csv->place(),
                      fmt::format("there are two instances named '{}'", shown(instance->name)),
                      "remove one of the two");
        for (const auto& time : {instance->created, instance->scheduled, instance->deleted})
          instances.last_instant = std::max(instances.last_instant, time.value_or(0));
        if (instance->gpus == 0)
          ++without_gpu;
        else
          instances.all.push_back(std::move(*instance));
        return {};
      });
  if (!read) return std::unexpected(read.error());
  instances.application = columns.application;
  return instances;
}

}  // namespace

Result<Workload> read_alibaba2025(std::string_view text, const std::string& place,
                                  const TraceOptions& options) {
  Workload workload;
  auto instances = read_instances(text, place, options, workload.notes["no_gpu"]);
  if (!instances) return std::unexpected(instances.error());
  if (instances->all.empty())
    return fail(ErrorKind::bad_input, place, "the trace has no instance with a GPU",
                "those of role HN have one");
  order(instances->all, &Instance::arrived, options);

  workload.notes["censored"] = 0;
  workload.notes["began_before"] = 0;
  Intake intake(workload, options, place);
  TraceDetails details(workload);
  for (const Instance& instance : instances->all) {
    const double ends = instance.deleted.value_or(instances->last_instant);
    const double seconds = std::max(0.0, ends - instance.started());
    const auto gpus = static_cast<double>(instance.gpus);
    if (const auto reason = left_out_because(instance, ends, options)) {
      intake.leave_out(*reason, gpus, seconds);
      continue;
    }
    if (!instance.deleted) ++workload.notes["censored"];
    if (!instance.created) ++workload.notes["began_before"];
    const Request each{ByShare{whole_gpu_share, options.rule}, {}};
    const auto taken =
        intake.take({.id = instance.name,
                     .after = instance.arrived(),
                     .seconds = seconds,
                     .gpus = gpus,
                     .request = request_of_several(each, instance.gpus, Together::node, options),
                     .speed = as_recorded(),
                     .details = details.of(said_of(instance))});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "alibaba2025", options, {{"rule", std::string(name(options.rule))}});
  details.note(instances->application);
  return workload;
}

}  // namespace cleave
