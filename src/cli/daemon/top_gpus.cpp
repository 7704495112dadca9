#include "cli/daemon/top_gpus.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/blocks.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

namespace {

using Lines = std::vector<std::string>;

bool in_use(const ApiInstance& instance) {
  return !instance.jobs.empty() || !instance.processes.empty();
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

std::string state_of(const ApiGpu& gpu) {
  std::vector<std::string> words;
  if (gpu.lost) words.emplace_back("lost");
  if (gpu.drained) words.emplace_back("drained");
  if (!gpu.managed) words.emplace_back("not managed");
  if (!gpu.mig) words.emplace_back("MIG off");
  if (!gpu.trouble.empty()) words.push_back(visible(gpu.trouble));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string power_of(const ApiGpu& gpu) {
  return gpu.power_w ? fmt::format("{:.0f} W", *gpu.power_w) : "-";
}

/// "A 37 %  B 12 %  c -": how much of each instance's memory is in use.
std::string memory_of(const ApiGpu& gpu) {
  Lines parts;
  std::size_t nth = 0;
  for (const ApiInstance& instance : by_start(gpu)) {
    const char name = letter(instance, nth);
    if (instance.owner == "ours") ++nth;
    const auto share = share_used(instance);
    parts.push_back(share ? fmt::format("{} {}%", name, static_cast<int>(*share * 100 + 0.5))
                          : fmt::format("{} -", name));
  }
  return fmt::format("{}", fmt::join(parts, "  "));
}

std::string jobs_on(const ApiInstance& instance, std::span<const ApiJob> jobs) {
  Lines names;
  for (const std::int64_t id : instance.jobs) {
    const auto job = std::ranges::find(jobs, id, &ApiJob::id);
    names.push_back(job == jobs.end() || job->name.empty()
                        ? fmt::format("job {}", id)
                        : fmt::format("job {} {}", id, visible(job->name)));
  }
  if (names.empty() && !instance.processes.empty())
    names.push_back(fmt::format("{} processes of no job", instance.processes.size()));
  return fmt::format("{}", fmt::join(names, ", "));
}

Lines instance_lines(const ApiGpu& gpu, std::span<const ApiJob> jobs) {
  constexpr std::size_t bar_width = 12;
  Lines lines;
  std::size_t nth = 0;
  for (const ApiInstance& instance : by_start(gpu)) {
    const char name = letter(instance, nth);
    if (instance.owner == "ours") ++nth;
    const auto share = share_used(instance);
    const std::string drawn = share ? bar(*share, bar_width, shows_unicode()) : "";
    const std::string used =
        share ? fmt::format("{} of {}", memory_text(*instance.used), memory_text(*instance.total))
              : "memory not known";
    lines.push_back(fmt::format("     {} {:10} {}{} {:22} {}", name, visible(instance.profile),
                                drawn, std::string(bar_width - columns_of(drawn), ' '), used,
                                jobs_on(instance, jobs)));
  }
  return lines;
}

/// A line for each GPU; with `whole`, its instances below it.
Lines lines_of_gpus(std::span<const ApiGpu> gpus, std::span<const ApiJob> jobs, bool whole) {
  Lines header{"GPU", "model", "layout", "power", "state"};
  if (!whole) header = {"GPU", "layout", "power", "memory in use", "state"};
  Table table(header);
  for (const ApiGpu& gpu : gpus) {
    const std::string index = fmt::format("{}", gpu.index);
    if (whole)
      table.add({index, visible(gpu.model), picture(gpu), power_of(gpu), state_of(gpu)});
    else
      table.add({index, picture(gpu), power_of(gpu), memory_of(gpu), state_of(gpu)});
  }
  Lines lines;
  const std::string text = table.text(0);
  std::size_t at = 0;
  for (const std::string_view line : split(trimmed(text), '\n')) {
    lines.emplace_back(line);
    if (whole && at > 0)
      for (std::string& below : instance_lines(gpus[at - 1], jobs))
        lines.push_back(std::move(below));
    ++at;
  }
  return lines;
}

/// "12 [AAAABBb.]"; "12 lost" where that is more than the layout.
Lines grid(std::span<const ApiGpu> gpus, std::size_t width) {
  Lines cells;
  std::size_t widest = 0;
  for (const ApiGpu& gpu : gpus) {
    const std::string state = !gpu.trouble.empty() ? "trouble"
                              : gpu.lost           ? "lost"
                              : gpu.drained        ? "drained"
                                                   : "";
    cells.push_back(state.empty() || gpu.mig ? fmt::format("{:>3} {}{}", gpu.index, picture(gpu),
                                                           state.empty() ? "" : "!")
                                             : fmt::format("{:>3} {}", gpu.index, state));
    widest = std::max(widest, columns_of(cells.back()));
  }
  const std::size_t across = std::max<std::size_t>(1, (width + 2) / (widest + 2));
  Lines lines;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % across == 0) lines.emplace_back();
    std::string& line = lines.back();
    if (!line.empty()) line += std::string(i % across * (widest + 2) - columns_of(line), ' ');
    line += cells[i];
  }
  return lines;
}

}  // namespace

std::vector<std::string> gpu_lines(std::span<const ApiGpu> gpus, std::span<const ApiJob> jobs,
                                   std::size_t width, std::size_t most) {
  if (gpus.empty()) return {};
  std::size_t instances = 0;
  for (const ApiGpu& gpu : gpus) instances += gpu.instances.size();
  Lines lines = 1 + gpus.size() + instances <= most ? lines_of_gpus(gpus, jobs, true)
                : 1 + gpus.size() <= most           ? lines_of_gpus(gpus, jobs, false)
                                                    : grid(gpus, width);
  for (std::string& line : lines) line = cut_to(line, width);
  return lines;
}

}  // namespace cleave::cli
