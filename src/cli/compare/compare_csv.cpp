#include "cli/compare/compare_csv.hpp"

#include "base/csv.hpp"
#include "base/format.hpp"

namespace cleave::cli {

std::string compare_csv(const std::string& option, const std::vector<SweptRuns>& runs) {
  std::string text = option.empty() ? std::string() : option + ",";
  text += "seed,scheduler,jobs,compared_jobs,same_jobs";
  for (const std::string_view name : compared_figures()) text += fmt::format(",{}", name);
  text += '\n';
  for (const SweptRuns& point : runs)
    for (const SeedRuns& seed : point.seeds)
      for (std::size_t s = 0; s < seed.runs.size(); ++s) {
        if (!option.empty()) text += fmt::format("{},", point.value);
        text +=
            fmt::format("{},{},{},{},{}", seed.seed, csv_cell(seed.runs[s].scheduler),
                        seed.runs[s].jobs, seed.common.jobs, seed.common.same_jobs ? "yes" : "no");
        for (const auto& value : figures_of(seed, s))
          text += value ? fmt::format(",{}", *value) : std::string(",");
        text += '\n';
      }
  return text;
}

}  // namespace cleave::cli
