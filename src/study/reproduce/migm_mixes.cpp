#include "study/reproduce/migm_mixes.hpp"

#include <algorithm>

namespace cleave {

namespace {

Result<MixPanels> panels(PairedRuns& runs, const PairedRun& one, const PairedRun& full,
                         std::span<const double> power) {
  const auto throughput = compare_runs(runs, one, full, times_faster);
  if (!throughput) return std::unexpected(throughput.error());
  const std::string_view model = std::string_view(one.fleet).substr(one.fleet.find('x') + 1);
  const auto energy = compare_runs(runs, one, full, [&](const RunSummary& a, const RunSummary& b) {
    return energy_of(b, b, model, power) / energy_of(a, b, model, power);
  });
  const auto memory = compare_runs(runs, one, full, [](const RunSummary& a, const RunSummary& b) {
    return a.memory_used_utilization.value_or(0) / b.memory_used_utilization.value_or(1);
  });
  const auto turnaround =
      compare_runs(runs, one, full, [](const RunSummary& a, const RunSummary& b) {
        return in_seconds(b.turnaround.mean) / in_seconds(a.turnaround.mean);
      });
  return MixPanels{*throughput, *energy, *memory, *turnaround};
}

template <class Fold>
std::vector<double> folded(std::span<const MixGains> mixes, MixValue value, Fold fold) {
  std::vector<double> values = value(mixes.front());
  for (const MixGains& mix : mixes.subspan(1))
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = fold(values[i], value(mix)[i]);
  return values;
}

}  // namespace

Result<MixGains> gains_of(PairedRuns& runs, const std::string& workload, const MixTerms& terms) {
  const auto run = [&](const char* scheduler) {
    PairedRun made = migm_run(workload, scheduler);
    made.link = terms.link;
    made.reconfiguration_s = terms.reconfiguration_s;
    made.forecaster = terms.forecaster;
    return made;
  };
  PairedRun full = migm_run(workload, "full-gpu");
  full.link = terms.link;
  auto a = panels(runs, run(terms.equal_shares ? "scheme-a:shares=equal" : "scheme-a"), full,
                  terms.power);
  if (!a) return std::unexpected(a.error());
  auto b = panels(runs, run("scheme-b"), full, terms.power);
  if (!b) return std::unexpected(b.error());
  return MixGains{std::move(*a), std::move(*b)};
}

std::vector<double> least_of(std::span<const MixGains> mixes, MixValue value) {
  return folded(mixes, value, [](double x, double y) { return std::min(x, y); });
}

std::vector<double> greatest_of(std::span<const MixGains> mixes, MixValue value) {
  return folded(mixes, value, [](double x, double y) { return std::max(x, y); });
}

std::vector<double> mean_of(std::span<const MixGains> mixes, MixValue value) {
  auto sums = folded(mixes, value, [](double x, double y) { return x + y; });
  for (double& sum : sums) sum /= static_cast<double>(mixes.size());
  return sums;
}

std::vector<double> as_per_cent(std::vector<double> times) {
  for (double& each : times) each = 100 * (each - 1);
  return times;
}

OpenInput shares_input() {
  return open_choice("scheme A", {"equal shares", "one queue"}, 0,
                     "5.2.1 deals jobs to instances beforehand; 4.3 does not say so");
}

OpenInput changes_input() {
  return open_choice("changes", {"0 s", "measured", "2 s"}, 1,
                     "time for each change of a GPU's instances; not stated");
}

std::optional<double> change_seconds(double value) {
  if (value == 1) return std::nullopt;
  return value;
}

}  // namespace cleave
