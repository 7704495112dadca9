#include "study/reproduce/physics_data.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// The cells of one row, by the names that the reader asked for.
class Cells {
 public:
  Cells(const std::vector<std::string>& names, const std::vector<std::string>& cells,
        std::string place)
      : names_(&names), cells_(&cells), place_(std::move(place)) {}

  [[nodiscard]] const std::string& text(std::string_view name) const {
    return (*cells_)[static_cast<std::size_t>(std::ranges::find(*names_, name) - names_->begin())];
  }
  /// Zero or more; remembers the first that is not.
  double number(std::string_view name) {
    const auto value = parse_number(text(name));
    if (value && *value >= 0) return *value;
    refuse(name, "a number of zero or more");
    return 0;
  }
  double positive(std::string_view name) {
    const auto value = parse_number(text(name));
    if (value && *value > 0) return *value;
    refuse(name, "a number above zero");
    return 1;
  }
  int count(std::string_view name) {
    const auto value = parse_integer(text(name));
    if (value && *value >= 1 && *value <= 1'000'000) return static_cast<int>(*value);
    refuse(name, "a whole number from 1");
    return 1;
  }
  void refuse(std::string_view name, std::string_view expected) {
    if (!error)
      error = Error{ErrorKind::bad_input,
                    place_,
                    fmt::format("'{}' is not {}, as {} must be", shown(text(name)), expected, name),
                    {}};
  }
  std::optional<Error> error;

 private:
  const std::vector<std::string>*names_, *cells_;
  std::string place_;
};

using TakeRow = std::function<void(Cells&)>;

/// Calls `take` with each row of the file, whose columns `names` must be there. False without file.
Result<bool> read_rows(const std::string& file, const std::vector<std::string>& names,
                       const TakeRow& take) {
  if (!std::filesystem::exists(file)) return false;
  const auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  auto csv = CsvReader::open(*text, shown(file, 200));
  if (!csv) return std::unexpected(csv.error());
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto column = csv->column(name);
    if (!column) return std::unexpected(column.error());
    places.push_back(*column);
  }
  std::vector<std::string> all, wanted(names.size());
  while (true) {
    const auto more = csv->next(all);
    if (!more) return std::unexpected(more.error());
    if (!*more) return true;
    for (std::size_t i = 0; i < places.size(); ++i) wanted[i] = all[places[i]];
    Cells cells(names, wanted, csv->place());
    take(cells);
    if (cells.error) return std::unexpected(*cells.error);
  }
}

/// The size of "2g.10gb" or of the number of its compute slices.
std::optional<std::size_t> size_of(std::string_view profile) {
  const std::string_view slices = profile.substr(0, profile.find('g'));
  for (std::size_t size = 0; size < a100_sizes; ++size)
    if (slices == std::to_string(a100_compute[size])) return size;
  return std::nullopt;
}

std::size_t size_in(Cells& cells, std::string_view name) {
  const auto size = size_of(cells.text(name));
  if (!size) cells.refuse(name, "a profile of an A100");
  return size.value_or(0);
}

struct Source {
  std::string_view file;
  std::vector<std::string> columns;
};
const Source miso_source = {"mig-miso-a100-40gb/training_batch_time.csv",
                            {"model", "batch_size", "profile", "median_s"}};
const Source inference_source = {
    "mig-parvagpu-a100-80gb/inference_profiles.csv",
    {"model", "mig_gpcs", "batch_size", "mps_processes", "throughput_rps_per_process"}};
const Source layout_source = {"mig-reconfig-a100-40gb/gi_create_destroy.csv",
                              {"op", "instances", "layout", "median_s"}};
const Source stream_source = {"mig-reconfig-a100-40gb/stream_bandwidth.csv",
                              {"setting", "kernel", "median_s"}};
const Source resnet_source = {"mig-reconfig-a100-40gb/resnet50_corun_per_layout.csv",
                              {"layout", "instance_profile", "median_s"}};

/// Batches of deepspeech2 differ so much in length that their times mean little.
constexpr std::string_view left_out = "deepspeech2";

using JobsByName = std::map<std::pair<std::string, int>, JobTimes>;

JobTimes& job_in(JobsByName& jobs, const std::string& model, int batch) {
  JobTimes& job = jobs[{model, batch}];
  job.model = model;
  job.batch = batch;
  return job;
}

template <class Row>
Result<void> read_source(const std::string& folder, const Source& source, Measured<Row>& into,
                         const TakeRow& take) {
  const std::string file = folder + "/" + std::string(source.file);
  const auto found = read_rows(file, source.columns, take);
  if (!found) return std::unexpected(found.error());
  if (!*found) into.missing = fmt::format("{} is not in the folder", source.file);
  return {};
}

InferenceRow inference_row(Cells& cells) {
  InferenceRow row;
  row.model = cells.text("model");
  row.size = size_in(cells, "mig_gpcs");
  row.batch = cells.count("batch_size");
  row.processes = cells.count("mps_processes");
  // latency_s is rounded to 1 ms.
  const double throughput = cells.number("throughput_rps_per_process");
  row.seconds = throughput > 0 ? row.batch / throughput : 0;
  return row;
}

LayoutRow layout_row(Cells& cells) {
  LayoutRow row;
  row.create = cells.text("op") == "create";
  row.layout = cells.text("layout");
  row.instances = cells.count("instances");
  row.median_ms = 1000 * cells.positive("median_s");
  for (const std::string_view profile : split(row.layout, '+')) {
    const auto size = size_of(profile);
    if (!size) cells.refuse("layout", "profiles of an A100, with + between them");
    row.memory_slices += a100_memory[size.value_or(0)];
  }
  return row;
}

}  // namespace

const Profile& a100_profile(const GpuModel& gpu, std::size_t size) {
  return *std::ranges::find_if(gpu.profiles, [&](const Profile& profile) {
    return profile.compute.value == a100_compute[size] && profile.attribute == Attribute::none &&
           !profile.double_memory;
  });
}

std::size_t JobTimes::ran() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(seconds, [](double each) { return each > 0; }));
}

std::size_t JobTimes::smallest() const {
  return static_cast<std::size_t>(
      std::ranges::find_if(seconds, [](double each) { return each > 0; }) - seconds.begin());
}

std::vector<JobTimes> jobs_of(const std::vector<InferenceRow>& rows) {
  JobsByName jobs;
  for (const InferenceRow& row : rows)
    if (row.processes == 1 && row.seconds > 0)
      job_in(jobs, row.model, row.batch).seconds[row.size] = row.seconds;
  std::vector<JobTimes> all;
  for (auto& [name, job] : jobs) all.push_back(std::move(job));
  return all;
}

Result<PhysicsData> read_physics_data(const std::string& folder) {
  if (!std::filesystem::is_directory(folder))
    return fail(ErrorKind::bad_input, shown(folder, 200), "this folder does not exist",
                "give the folder that has mig-miso-a100-40gb and the like in it");
  PhysicsData data;
  JobsByName training;
  const auto miso = read_source(folder, miso_source, data.miso, [&](Cells& cells) {
    if (cells.text("model") == left_out) return;
    const std::size_t size = size_in(cells, "profile");
    job_in(training, cells.text("model"), cells.count("batch_size")).seconds[size] =
        cells.positive("median_s");
  });
  for (auto& [name, job] : training) data.miso.rows.push_back(std::move(job));
  const auto inference = read_source(folder, inference_source, data.inference, [&](Cells& cells) {
    data.inference.rows.push_back(inference_row(cells));
  });
  const auto layouts = read_source(folder, layout_source, data.layouts, [&](Cells& cells) {
    data.layouts.rows.push_back(layout_row(cells));
  });
  const auto stream = read_source(folder, stream_source, data.stream, [&](Cells& cells) {
    data.stream.rows.push_back(
        {cells.text("setting"), cells.text("kernel"), cells.positive("median_s")});
  });
  const auto resnet = read_source(folder, resnet_source, data.resnet, [&](Cells& cells) {
    const std::string layout = cells.text("layout");
    data.resnet.rows.push_back({layout, cells.text("instance_profile"),
                                1 + static_cast<int>(std::ranges::count(layout, '+')),
                                cells.positive("median_s")});
  });
  for (const auto* each : {&miso, &inference, &layouts, &stream, &resnet})
    if (!*each) return std::unexpected(each->error());
  return data;
}

}  // namespace cleave
