#include "cli/compare/wait_chart.hpp"

#include <algorithm>
#include <numeric>

#include "base/format.hpp"
#include "cli/blocks.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

namespace {

/// Up to how many seconds, and how that is written; the last has no end.
constexpr std::pair<double, const char*> ends[] = {{1, "1 s"},    {60, "1 min"},   {600, "10 min"},
                                                   {3600, "1 h"}, {36000, "10 h"}, {86400, "1 day"},
                                                   {0, "more"}};

std::size_t bin_of(double seconds) {
  std::size_t bin = 0;
  while (bin + 1 < std::size(ends) && seconds > ends[bin].first) ++bin;
  return bin;
}

}  // namespace

void WaitChart::add(const std::vector<std::vector<JobOutcome>>& by_scheduler) {
  static_assert(std::size(ends) == bins);
  counts_.resize(by_scheduler.size());
  for (std::size_t s = 0; s < by_scheduler.size(); ++s)
    for (const JobOutcome& outcome : by_scheduler[s])
      if (outcome.end == JobOutcome::End::finished) ++counts_[s][bin_of(in_seconds(outcome.wait))];
}

std::string WaitChart::text(const std::vector<std::string>& schedulers, bool unicode,
                            std::size_t width) const {
  std::vector<std::string> header{"waited up to"};
  std::array<bool, bins> used{};
  for (const auto& counts : counts_)
    for (std::size_t bin = 0; bin < bins; ++bin) used[bin] = used[bin] || counts[bin] > 0;
  for (std::size_t bin = 0; bin < bins; ++bin)
    if (used[bin]) header.emplace_back(ends[bin].second);
  if (header.size() == 1) return {};
  Table table(header);
  for (std::size_t s = 0; s < counts_.size(); ++s) {
    const auto all = std::accumulate(counts_[s].begin(), counts_[s].end(), std::size_t{0});
    std::vector<std::string> row{schedulers[s]};
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (!used[bin]) continue;
      const double share =
          all == 0 ? 0 : static_cast<double>(counts_[s][bin]) / static_cast<double>(all);
      row.push_back(fmt::format("{:>4} {}", percent(share), level(share, unicode)));
    }
    table.add(std::move(row));
  }
  return fmt::format("jobs by how long they waited, each up to the time above it\n{}",
                     table.text(width));
}

}  // namespace cleave::cli
