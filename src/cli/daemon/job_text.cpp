#include "cli/daemon/job_text.hpp"

#include <algorithm>
#include <ctime>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/table.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

std::string text(const ApiPlace& place) {
  // -1: the daemon does not manage it any more.
  if (place.gpu_index < 0)
    return place.profile.empty() ? "a GPU before" : visible(place.profile) + " before";
  if (place.profile.empty()) return fmt::format("GPU {}", place.gpu_index);
  return fmt::format("GPU {} {}@{}", place.gpu_index, visible(place.profile), place.start);
}

std::string where_text(const ApiJob& job) {
  if (!job.instance) return {};
  return job.places > 1 ? fmt::format("{} +{}", text(*job.instance), job.places - 1)
                        : text(*job.instance);
}

std::string local_time(Instant instant) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(instant).time_since_epoch().count();
  std::tm parts{};
  char written[32] = {};
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  const std::size_t size = std::strftime(written, sizeof written, "%Y-%m-%d %H:%M:%S", &parts);
  return {written, size};
}

std::string memory_cell(MiB memory) {
  const double gib = static_cast<double>(memory.value) / 1024;
  return memory.value == 0 || gib >= 0.1 ? fmt::format("{:.1f} GiB", gib)
                                         : fmt::format("{:.3f} GiB", gib);
}

std::string memory_text(MiB memory) {
  if (memory.value < 1024) return fmt::format("{} MiB", memory.value);
  return fmt::format("{:.1f} GiB", static_cast<double>(memory.value) / 1024);
}

std::string exit_code_text(std::optional<int> exit_code, const std::string& reason) {
  if (!exit_code || *exit_code == 0) return {};
  const std::string number = fmt::format("{}", *exit_code);
  for (std::size_t at = reason.find(number); at != std::string::npos;
       at = reason.find(number, at + 1)) {
    const auto digit = [&](std::size_t i) {
      return i < reason.size() && reason[i] >= '0' && reason[i] <= '9';
    };
    if (!(at > 0 && digit(at - 1)) && !digit(at + number.size())) return {};
  }
  return fmt::format("exit code {}", number);
}

std::string time_text(const ApiJob& job, Instant now) {
  const auto since = [](Instant from, Instant to) {
    return human(std::max(to - from, Duration{}));
  };
  if (job.state == "queued") return job.submitted_at ? since(*job.submitted_at, now) : "";
  if (!job.started_at) return "";
  return since(*job.started_at, job.ended_at.value_or(now));
}

std::string fitted(const std::string& table, std::size_t width) {
  if (width == 0) return table;
  std::string lines;
  for (const std::string_view line : split(trimmed(table), '\n'))
    lines += fmt::format("{}\n", cut_to(line, width));
  return lines;
}

std::string processes_table(const ApiJob& job, std::size_t width) {
  using P = ApiProcess;
  const bool service = job.replicas.has_value();
  const Instant now = std::chrono::system_clock::now();
  const auto state = [now](const P& of) {
    if (of.held) return std::string("held for 0");
    if (!of.starts_again_at) return visible(of.state);
    return fmt::format("{}, again in {}", visible(of.state),
                       human(std::max(*of.starts_again_at - now, Duration{})));
  };
  Columns<P> columns = {{text_only, service ? "replica" : "process", &P::rank},
                        {text_only, "state", state}};
  if (service) columns.emplace_back(text_only, "restarts", &P::restarts);
  const Columns<P> others = {
      {text_only, "where", [](const P& of) { return of.instance ? text(*of.instance) : ""; }},
      {text_only, "device",
       [](const P& of) { return of.instance ? visible(of.instance->device) : ""; }},
      {text_only, "memory", [](const P& of) { return of.memory ? memory_cell(*of.memory) : ""; }},
      {text_only, "why it ended", [](const P& of) {
         const std::string code = exit_code_text(of.exit_code, of.why);
         return fmt::format("{}{}{}", visible(of.why), of.why.empty() || code.empty() ? "" : ", ",
                            code);
       }}};
  columns.insert(columns.end(), others.begin(), others.end());
  return fitted(text_rows(columns, job.processes, 0), width);
}

std::string picture(const ApiGpu& gpu) {
  if (!gpu.mig) return "-";
  const auto written = gpu.layout.empty() ? std::string("[]") : visible(gpu.layout);
  const auto model = find_gpu_model(gpu.model);
  if (!model) return written;
  const Geometry geometry(**model, ProfileChoice().on(**model));
  PlacementSet held, idle, foreign;
  for (const ApiInstance& instance : gpu.instances) {
    if (instance.start > 99) return written;
    const auto placement = geometry.find(instance.profile, static_cast<int>(instance.start));
    if (!placement) return written;
    PlacementSet& set = instance.owner != "ours" ? foreign
                        : instance.jobs.empty() && instance.processes.empty() && !instance.claim
                            ? idle
                            : held;
    set.insert(*placement);
  }
  return fmt::format("[{}]", draw(geometry, held, idle, foreign));
}

namespace {

/// "18:00", on another day than `now` "11-22 18:00".
std::string time_near(Instant at, Instant now) {
  const std::string text = local_time(at);  // "2026-11-22 18:00:00"
  if (text.size() < 16) return text;
  return text.substr(0, 10) == local_time(now).substr(0, 10) ? text.substr(11, 5)
                                                             : text.substr(5, 11);
}

/// "reserved for ann until 18:00", or "reserved for ann, 14:00 to 18:00" where it begins later.
std::string reserved_text(const ApiGpu& gpu, Instant now) {
  const std::string reserved = gpu.reserved_for->empty()
                                   ? std::string("reserved")
                                   : fmt::format("reserved for {}", visible(*gpu.reserved_for));
  if (!gpu.reserved_from || !gpu.reserved_until) return reserved;
  const std::string until = time_near(*gpu.reserved_until, now);
  if (*gpu.reserved_from <= now) return fmt::format("{} until {}", reserved, until);
  return fmt::format("{}, {} to {}", reserved, time_near(*gpu.reserved_from, now), until);
}

}  // namespace

std::string claim_text(const std::string& key, const std::string& holder) {
  if (key.empty()) return "a claim of another engine";
  return fmt::format("claim {}{}", visible(key),
                     holder.empty() ? "" : fmt::format(" ({})", visible(holder)));
}

std::string gpu_state_text(const ApiGpu& gpu, Instant now) {
  std::vector<std::string> state;
  if (gpu.lost) state.emplace_back("lost");
  if (gpu.drained) state.emplace_back("drained");
  if (gpu.reserved_for) state.push_back(reserved_text(gpu, now));
  if (!gpu.managed) state.emplace_back("not managed");
  if (!gpu.mig) state.emplace_back("MIG off");
  if (!gpu.trouble.empty()) state.push_back(visible(gpu.trouble));
  return fmt::format("{}", fmt::join(state, ", "));
}

namespace {

std::string jobs_on(const ApiGpu& gpu) {
  std::vector<std::string> all;
  const auto add = [&all](std::string text) {
    if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  };
  for (const ApiInstance& instance : gpu.instances) {
    for (const std::int64_t job : instance.jobs) add(fmt::format("{}", job));
    if (instance.claim) add(instance.claim->empty() ? "a claim" : visible(*instance.claim));
  }
  return fmt::format("{}", fmt::join(all, " "));
}

}  // namespace

std::string gpus_table(std::span<const ApiGpu> gpus, std::size_t width) {
  const Instant now = std::chrono::system_clock::now();
  const Columns<ApiGpu> columns = {
      {text_only, "GPU", &ApiGpu::index},
      {text_only, "model", [](const ApiGpu& gpu) { return visible(gpu.model); }},
      {text_only, "layout", picture},
      {text_only, "power",
       [](const ApiGpu& gpu) {
         return gpu.power_w ? fmt::format("{:.0f} W", *gpu.power_w) : std::string();
       }},
      {text_only, "jobs", jobs_on},
      {text_only, "state", [now](const ApiGpu& gpu) { return gpu_state_text(gpu, now); }}};
  return fitted(text_rows(columns, gpus, 0), width);
}

}  // namespace cleave::cli
