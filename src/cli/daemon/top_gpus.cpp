#include "cli/daemon/top_gpus.hpp"

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/blocks.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/table.hpp"
#include "model/gpu_model.hpp"

namespace cleave::cli {

namespace {

using Lines = std::vector<std::string>;

bool in_use(const ApiInstance& instance) {
  return instance.held || instance.claim || !instance.jobs.empty() || !instance.processes.empty();
}

/// The instances by start, as the picture has them.
std::vector<ApiInstance> by_start(const ApiGpu& gpu) {
  std::vector<ApiInstance> sorted = gpu.instances;
  std::ranges::stable_sort(sorted, {}, [](const ApiInstance& each) { return each.start; });
  return sorted;
}

/// The letter of an instance in the picture: the nth, in use or idle; '#' if it is not Cleave's.
char letter(const ApiInstance& instance, std::size_t nth) {
  if (instance.owner != "ours") return '#';
  return static_cast<char>((in_use(instance) ? 'A' : 'a') + static_cast<int>(nth % 26));
}

std::optional<double> share_used(const ApiInstance& instance) {
  if (!instance.used || !instance.total || instance.total->value <= 0) return std::nullopt;
  return static_cast<double>(instance.used->value) / static_cast<double>(instance.total->value);
}

std::string power_of(const ApiGpu& gpu) {
  return gpu.power_w ? fmt::format("{:.0f} W", *gpu.power_w) : "-";
}

std::string short_percent(const std::optional<double>& share) {
  return share ? fmt::format("{}%", static_cast<int>(*share * 100 + 0.5)) : "-";
}

/// "A 37%  B 12%  c -": a share of each instance.
std::string shares_of(const ApiGpu& gpu,
                      const std::function<std::optional<double>(const ApiInstance&)>& share) {
  Lines parts;
  std::size_t nth = 0;
  for (const ApiInstance& instance : by_start(gpu)) {
    const char name = letter(instance, nth);
    if (instance.owner == "ours") ++nth;
    parts.push_back(fmt::format("{} {}", name, short_percent(share(instance))));
  }
  return fmt::format("{}", fmt::join(parts, "  "));
}

/// The share of the GPU's compute slices at work; nothing where that of an instance in use is not
/// known.
std::optional<double> busy_of(const ApiGpu& gpu) {
  const auto model = find_gpu_model(gpu.model);
  if (!model || !gpu.mig) return std::nullopt;
  double slices = 0;
  for (const ApiInstance& instance : gpu.instances) {
    if (!in_use(instance) && instance.owner == "ours") continue;
    const auto& profiles = (*model)->profiles;
    const auto profile = std::ranges::find(profiles, instance.profile, &Profile::name);
    if (!instance.activity || profile == profiles.end()) return std::nullopt;
    slices += *instance.activity * profile->compute.value;
  }
  return slices / (*model)->compute.value;
}

bool counts(const ApiGpu& gpu) {
  return std::ranges::any_of(gpu.instances,
                             [](const ApiInstance& each) { return each.activity.has_value(); });
}

std::string jobs_on(const ApiInstance& instance, std::span<const ApiJob> jobs) {
  Lines names;
  for (const std::int64_t id : instance.jobs) {
    const auto job = std::ranges::find(jobs, id, &ApiJob::id);
    names.push_back(job == jobs.end() || job->name.empty()
                        ? fmt::format("job {}", id)
                        : fmt::format("job {} {}", id, visible(job->name)));
  }
  if (instance.claim)
    names.push_back(claim_text(*instance.claim, instance.claim_holder.value_or("")));
  if (names.empty() && !instance.processes.empty())
    names.push_back(fmt::format("{} processes of no job", instance.processes.size()));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string drawn(const std::optional<double>& share) {
  constexpr std::size_t bar_width = 8;
  const std::string filled = share ? bar(*share, bar_width, shows_unicode()) : "";
  return filled + std::string(bar_width - columns_of(filled), ' ');
}

/// "12.0 of 19.5 GiB"
std::string memory_in_use(const ApiInstance& instance) {
  if (!instance.used || !instance.total) return "memory not known";
  const auto gib = [](MiB size) { return static_cast<double>(size.value) / 1024; };
  return fmt::format("{:.1f} of {:.1f} GiB", gib(*instance.used), gib(*instance.total));
}

/// With `busy`, the use of the processors beside that of the memory.
Lines instance_lines(const ApiGpu& gpu, std::span<const ApiJob> jobs, bool busy) {
  Lines lines;
  std::size_t nth = 0;
  for (const ApiInstance& instance : by_start(gpu)) {
    const char name = letter(instance, nth);
    if (instance.owner == "ours") ++nth;
    const std::string at_work =
        busy ? fmt::format("  {} {:>4}", drawn(instance.activity),
                           in_use(instance) ? short_percent(instance.activity) : "")
             : "";
    lines.push_back(fmt::format("     {} {:10} {} {:16}{}  {}", name, visible(instance.profile),
                                drawn(share_used(instance)), memory_in_use(instance), at_work,
                                jobs_on(instance, jobs)));
  }
  return lines;
}

/// What is said of a GPU and its instances.
enum class Detail : std::uint8_t {
  lines,   // a line for each instance
  shares,  // of each instance its shares, in the GPU's line
  gpu,     // the same, but how busy the GPU is
};

std::string table_of_gpus(std::span<const ApiGpu> gpus, Detail detail, bool busy) {
  const bool lines = detail == Detail::lines;
  const Instant now = std::chrono::system_clock::now();
  Lines header{"GPU", "layout", "power", "busy", "memory in use", "state"};
  if (lines) header = {"GPU", "model", "layout", "power", "busy", "state"};
  const auto busy_column = std::ranges::find(header, "busy") - header.begin();
  if (!busy) header.erase(header.begin() + busy_column);
  Table table(header);
  for (const ApiGpu& gpu : gpus) {
    Lines cells{fmt::format("{}", gpu.index), picture(gpu), power_of(gpu),
                detail == Detail::shares ? shares_of(gpu, &ApiInstance::activity)
                                         : short_percent(busy_of(gpu))};
    if (lines)
      cells.insert(cells.begin() + 1, visible(gpu.model));
    else
      cells.push_back(shares_of(gpu, share_used));
    cells.push_back(gpu_state_text(gpu, now));
    if (!busy) cells.erase(cells.begin() + busy_column);
    table.add(std::move(cells));
  }
  return table.text(0);
}

/// A line for each GPU, and perhaps its instances below it.
Lines lines_of_gpus(std::span<const ApiGpu> gpus, std::span<const ApiJob> jobs, Detail detail) {
  const bool busy = std::ranges::any_of(gpus, counts);
  const std::string text = table_of_gpus(gpus, detail, busy);
  Lines lines;
  std::size_t at = 0;
  for (const std::string_view line : split(trimmed(text), '\n')) {
    lines.emplace_back(line);
    if (detail == Detail::lines && at > 0)
      for (std::string& below : instance_lines(gpus[at - 1], jobs, busy))
        lines.push_back(std::move(below));
    ++at;
  }
  return lines;
}

/// One line for each GPU, with as much as fits.
Lines one_line_each(std::span<const ApiGpu> gpus, std::size_t width) {
  Lines lines = lines_of_gpus(gpus, {}, Detail::shares);
  const bool fits = std::ranges::all_of(
      lines, [width](const std::string& line) { return columns_of(line) <= width; });
  return fits ? lines : lines_of_gpus(gpus, {}, Detail::gpu);
}

/// How a GPU in the grid says how busy it is: " 63%", one of the levels, or not.
enum class BusyForm : std::uint8_t { number, level, none };

std::string busy_text(const ApiGpu& gpu, BusyForm form) {
  if (form == BusyForm::none || !gpu.mig) return "";
  const auto busy = busy_of(gpu);
  if (form == BusyForm::number) return fmt::format("{:>4}", short_percent(busy));
  return busy ? level(*busy, shows_unicode()) : "-";
}

/// "12 [AAAABBb.] 63%"; "12 lost" where that is more than the layout.
Lines grid_with(std::span<const ApiGpu> gpus, std::size_t width, BusyForm form) {
  const std::size_t gap = form == BusyForm::level ? 1 : 2;
  Lines cells;
  std::size_t widest = 0;
  for (const ApiGpu& gpu : gpus) {
    const std::string state = !gpu.trouble.empty() ? "trouble"
                              : gpu.lost           ? "lost"
                              : gpu.drained        ? "drained"
                                                   : "";
    cells.push_back(state.empty() || gpu.mig ? fmt::format("{:>3} {}{}", gpu.index, picture(gpu),
                                                           !state.empty()     ? "!"
                                                           : gpu.reserved_for ? "R"
                                                                              : "")
                                             : fmt::format("{:>3} {}", gpu.index, state));
    cells.back() += busy_text(gpu, form);
    widest = std::max(widest, columns_of(cells.back()));
  }
  const std::size_t across = std::max<std::size_t>(1, (width + gap) / (widest + gap));
  Lines lines;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % across == 0) lines.emplace_back();
    std::string& line = lines.back();
    if (!line.empty()) line += std::string(i % across * (widest + gap) - columns_of(line), ' ');
    line += cells[i];
  }
  return lines;
}

/// Several GPUs on a line, with how busy each is as far as that leaves room for all.
Lines grid(std::span<const ApiGpu> gpus, std::size_t width, std::size_t most) {
  if (std::ranges::any_of(gpus, counts))
    for (const BusyForm form : {BusyForm::number, BusyForm::level})
      if (Lines lines = grid_with(gpus, width, form); lines.size() <= most) return lines;
  return grid_with(gpus, width, BusyForm::none);
}

}  // namespace

std::vector<std::string> gpu_lines(std::span<const ApiGpu> gpus, std::span<const ApiJob> jobs,
                                   std::size_t width, std::size_t most) {
  if (gpus.empty()) return {};
  std::size_t instances = 0;
  for (const ApiGpu& gpu : gpus) instances += gpu.instances.size();
  Lines lines = 1 + gpus.size() + instances <= most ? lines_of_gpus(gpus, jobs, Detail::lines)
                : 1 + gpus.size() <= most           ? one_line_each(gpus, width)
                                                    : grid(gpus, width, most);
  for (std::string& line : lines) line = cut_to(line, width);
  return lines;
}

}  // namespace cleave::cli
