#include "slurm/slurm_accounts.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t columns = 8;

/// "3g.20gb" at the end of "a100_3g.20gb"; empty: the type is a whole GPU's.
std::string_view profile_in(std::string_view type) {
  const std::size_t cut = type.rfind('_');
  const std::string_view last = cut == std::string_view::npos ? type : type.substr(cut + 1);
  const std::size_t g = last.find("g.");
  const bool is_profile = g != std::string_view::npos && g > 0 && last.contains("gb") &&
                          parse_integer(last.substr(0, g)).has_value();
  return is_profile ? last : std::string_view();
}

/// What a list of TRES says of instances and GPUs.
struct Had {
  GresCounts instances;
  std::int64_t gpus = 0;
};
Had had(std::string_view tres) {
  Had had;
  for (const std::string_view entry : split(tres, ',')) {
    const std::size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) continue;
    const auto count = parse_integer(entry.substr(equals + 1));
    if (!count || *count <= 0 || *count > 1'000'000) continue;
    std::string_view name = entry.substr(0, equals);
    if (name == "gres/gpu") had.gpus = *count;
    for (const std::string_view front : {"gres/mig:", "gres/gpu:"})
      if (name.starts_with(front))
        if (const auto profile = profile_in(name.substr(front.size())); !profile.empty())
          had.instances[std::string(profile)] += *count;
  }
  return had;
}

}  // namespace

std::string sacct_columns() {
  return "JobIDRaw,JobID,User,State,Submit,Start,End,AllocTRES";
}

AccountedJobs parse_sacct(std::string_view text) {
  AccountedJobs read;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto cells = split(line, '|');
    const auto number = cells.size() == columns ? parse_integer(cells[0]) : std::nullopt;
    if (!number || *number <= 0) {
      ++read.unreadable;
      continue;
    }
    const Had of = had(cells[7]);
    if (of.instances.empty() && of.gpus == 0) continue;
    if (of.instances.size() > 1) {
      ++read.several;
      continue;
    }
    AccountedJob job{*number,
                     std::string(cells[1]),
                     std::string(cells[2]),
                     std::string(cells[3].substr(0, cells[3].find(' '))),
                     slurm_time(cells[4]),
                     slurm_time(cells[5]),
                     slurm_time(cells[6]),
                     {},
                     of.gpus};
    if (!of.instances.empty()) {
      job.profile = of.instances.begin()->first;
      job.instances = of.instances.begin()->second;
    }
    read.jobs.push_back(std::move(job));
  }
  return read;
}

}  // namespace cleave
