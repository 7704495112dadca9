#include "model/live_plan.hpp"

#include "base/text.hpp"

namespace cleave {

namespace {
constexpr std::string_view prefix = "job-";
}

std::string workload_of(std::int64_t job) {
  return std::string(prefix) + std::to_string(job);
}

std::optional<std::int64_t> job_of_workload(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_integer(name.substr(prefix.size()));
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace cleave
