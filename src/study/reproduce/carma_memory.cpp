#include "study/reproduce/carma_memory.hpp"

#include <algorithm>
#include <cmath>

#include "base/csv.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct TaskRow {
  std::string_view model;
  std::string_view by_name, by_script;
};

constexpr TaskRow task_rows[] = {
    {"efficientNet", "efficientnet_b0:224", "efficientnet_b0:224"},
    {"efficientNet_cifar100", "efficientnet_b0:32:100", "efficientnet_b0:32:100"},
    {"Inception", "inception_v3:299", "inception_v3:299"},
    {"mobilenet", "mobilenet_v2:224", "mobilenet_v2:224"},
    {"mobilenet_cifar100", "mobilenet_v2:32:100", "mobilenet_v3_small:32:100"},
    {"resnet18_cifar100", "resnet18:32:100", "resnet18:32:100"},
    {"resnet34_cifar100", "resnet34:32:100", "resnet34:32:100"},
    {"resnet50", "resnet50:224", "resnet50:224"},
    {"resnet50_cifar100", "resnet50:32:100", "efficientnet_b0:32:100"},
    {"vgg", "vgg16:224", "vgg16:224"},
    {"Xception", "xception:299", "xception:224"},
};

// Why the others have no forecast.
constexpr std::pair<std::string_view, std::string_view> lacking_rows[] = {
    {"UNet", "batch size and size of the images"},
    {"dlrm", "sizes of the embedding tables"},
    {"detection", "sizes of the images and numbers of objects in them"},
    {"", "batch size and number of tokens"},  // language models
};

std::string lacking(std::string_view model) {
  const auto found = std::ranges::find_if(lacking_rows, [&](const auto& row) {
    return model.find(row.first) != std::string_view::npos;
  });
  return std::string(found->second);
}

Result<void> foretell(CarmaTask& task, std::uint64_t moved_copies) {
  const auto network = vision_network(task.network);
  if (!network) return std::unexpected(network.error());
  MemoryOptions options;
  options.batch = task.batch;
  options.train = true;
  options.moved_copies = moved_copies;
  const auto forecast = forecast_memory(*network, options);
  if (!forecast) return std::unexpected(forecast.error());
  task.forecast = forecast->needed();
  return {};
}

/// The sizes of memory that instances come in, ascending.
std::vector<MiB> memory_sizes(const GpuModel& gpu) {
  std::vector<MiB> sizes;
  for (const Profile& profile : gpu.profiles)
    if (profile.usable) sizes.push_back(*profile.usable);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

int CarmaReport::sizes_above(const CarmaTask& task) const {
  const auto sizes = memory_sizes(*gpu);
  const auto place = [&](const Profile* profile) {
    if (profile == nullptr) return static_cast<int>(sizes.size());
    return static_cast<int>(std::ranges::find(sizes, *profile->usable) - sizes.begin());
  };
  return place(task.chosen) - place(task.right);
}

std::size_t CarmaReport::forecasts() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks, [](const CarmaTask& task) { return task.lacking.empty(); }));
}

std::size_t CarmaReport::landed() const {
  return static_cast<std::size_t>(std::ranges::count_if(tasks, [&](const CarmaTask& task) {
    const int above = sizes_above(task);
    return task.chosen != nullptr && above >= 0 && above <= 1;
  }));
}

Result<CarmaReport> carma_memory(std::string_view text, const std::string& place,
                                 CarmaReading reading, std::uint64_t moved_copies) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto model = csv->column("model"), batch = csv->column("batch_size"),
             memory = csv->column("max_memory_mib");
  for (const auto* each : {&model, &batch, &memory})
    if (!*each) return std::unexpected(each->error());
  CarmaReport report;
  const auto gpu = find_gpu_model("A100-40GB");
  if (!gpu) return std::unexpected(gpu.error());
  report.gpu = *gpu;
  std::vector<std::string> cells;
  while (true) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) return report;
    CarmaTask task;
    task.model = cells[*model];
    task.batch = parse_integer(cells[*batch]).value_or(0);
    const auto measured = parse_number(cells[*memory]);
    if (!measured || !(*measured > 0 && *measured < 1e9) || task.batch < 0 ||
        task.batch > 1'000'000)
      return fail(ErrorKind::bad_input, csv->place(),
                  "batch size or memory of the task is not possible");
    task.measured_mib = *measured;
    const auto row = std::ranges::find(task_rows, task.model, &TaskRow::model);
    if (row == std::end(task_rows) || task.batch == 0) {
      task.lacking = lacking(task.model);
    } else {
      task.network = reading == CarmaReading::names ? row->by_name : row->by_script;
      if (const auto told = foretell(task, moved_copies); !told)
        return std::unexpected(told.error());
      task.chosen = smallest_that_holds(task.forecast, **gpu);
    }
    task.right =
        smallest_that_holds({static_cast<std::int64_t>(std::ceil(task.measured_mib))}, **gpu);
    report.tasks.push_back(std::move(task));
  }
}

}  // namespace cleave
