// `cleave reproduce memory-alarms`: false and missed alarms of the forecasters, and MIGM's four
// growing jobs.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/growth_series.hpp"
#include "study/reproduce/memory_alarms.hpp"

namespace cleave::cli {

namespace {

constexpr int paper_noise_mib = 2;

struct AlarmsCommandOptions {
  std::vector<std::string> forecasters = {"laws", "trend", "trend:plateau=on;shift=on",
                                          "last-value", "running-max"};
  std::string data;
  std::size_t jobs = 200;
  std::uint64_t seed = 2, seeds = 1;
  bool json = false;
};

/// Of the jobs that could be foreseen: restarted ones below the capacity, caught ones above it.
double share_at(const AlarmCounts& counts, double peak_share) {
  const auto of = static_cast<double>(counts.jobs - counts.at_once);
  return of > 0 ? static_cast<double>(peak_share > 1 ? counts.caught : counts.restarted) / of : 0;
}

std::vector<std::string> row_of(const AlarmCurve& curve) {
  std::vector<std::string> row = {curve.shape};
  for (std::size_t i = 0; i < peak_shares.size(); ++i)
    row.push_back(curve.at[i].jobs == curve.at[i].at_once
                      ? "-"
                      : fmt::format("{:.1f}", 100 * share_at(curve.at[i], peak_shares[i])));
  return row;
}

void print_curves(const std::vector<AlarmCurve>& curves, const std::string& forecaster) {
  std::vector<std::string> header = {"peak / capacity"};
  for (const double share : peak_shares) header.push_back(fmt::format("{}", share));
  Table table(std::move(header));
  for (const AlarmCurve& curve : curves)
    if (curve.forecaster == forecaster) table.add(row_of(curve));
  table.add(row_of(pooled(curves, forecaster)));
  fmt::print("{}\n\n{}\n", forecaster, table.text());
}

/// The least and the most that each share comes to over the seeds, and whether the target is met by
/// all.
void print_ranges(const AlarmsCommandOptions& options,
                  const std::vector<std::vector<AlarmCurve>>& by_seed) {
  std::vector<std::string> header = {"peak / capacity"};
  for (const double share : peak_shares) header.push_back(fmt::format("{}", share));
  Table table(std::move(header));
  for (const std::string& forecaster : options.forecasters) {
    std::vector<std::string> row = {forecaster};
    for (std::size_t i = 0; i < peak_shares.size(); ++i) {
      double least = 1, most = 0;
      for (const auto& curves : by_seed) {
        const double share = share_at(pooled(curves, forecaster).at[i], peak_shares[i]);
        least = std::min(least, share);
        most = std::max(most, share);
      }
      row.push_back(fmt::format("{:.1f}-{:.1f}", 100 * least, 100 * most));
    }
    table.add(std::move(row));
  }
  fmt::print("All that grow, least and most over seeds {} to {}\n\n{}\n", options.seed,
             options.seed + options.seeds - 1, table.text());
}

const Columns<PaperAlarm> paper_columns = {
    {"job", "as in the paper's figure", &PaperAlarm::job},
    {"overflow", "out of memory at", &PaperAlarm::overflow},
    {"printed", "alarm there", &PaperAlarm::printed},
    {"worst", "alarm here, at worst", &PaperAlarm::worst, or_word("none")}};

void print_text(const AlarmsCommandOptions& options,
                const std::vector<std::vector<AlarmCurve>>& by_seed,
                const std::vector<PaperAlarm>& paper, bool with_facts) {
  fmt::print(
      "Jobs restarted before their end, in %, where the true peak is below the capacity; where it "
      "is above,\njobs caught before half of the run that would be lost. {} jobs of each shape, "
      "seed {}; jobs that ran\nout of memory in their first {} iterations are left out: these "
      "could not be foreseen.\n\n",
      options.jobs, options.seed, too_soon);
  for (const std::string& forecaster : options.forecasters)
    print_curves(by_seed.front(), forecaster);
  if (by_seed.size() > 1) print_ranges(options, by_seed);
  if (!with_facts)
    fmt::print("Shapes from real models and requests are left out: no data folder was given.\n\n");
  fmt::print("A demonstration: the noise, {} MiB, is ours. Forecaster trend, 20 seeds.\n\n{}",
             paper_noise_mib, text_rows(paper_columns, paper));
}

void print_json(const AlarmsCommandOptions& options,
                const std::vector<std::vector<AlarmCurve>>& by_seed,
                const std::vector<PaperAlarm>& paper) {
  Json list = Json::array();
  const auto add = [&](const AlarmCurve& curve, std::uint64_t seed) {
    Json at = Json::array();
    for (std::size_t i = 0; i < peak_shares.size(); ++i)
      at.push_back({{"peak_share", peak_shares[i]},
                    {"jobs", curve.at[i].jobs},
                    {"at_once", curve.at[i].at_once},
                    {"restarted", curve.at[i].restarted},
                    {"caught", curve.at[i].caught}});
    list.push_back(
        {{"forecaster", curve.forecaster}, {"shape", curve.shape}, {"seed", seed}, {"at", at}});
  };
  for (std::size_t i = 0; i < by_seed.size(); ++i)
    for (const AlarmCurve& curve : by_seed[i]) add(curve, options.seed + i);
  print(Json{{"curves", list}, {"paper", json_rows(paper_columns, paper)}});
}

Result<int> memory_alarms(const AlarmsCommandOptions& options) {
  for (auto each = options.forecasters.begin(); each != options.forecasters.end(); ++each)
    if (std::find(options.forecasters.begin(), each, *each) != each)
      return fail(ErrorKind::bad_usage, "--forecaster",
                  fmt::format("'{}' was given twice", shown(*each)), "name each forecaster once");
  ServingFacts facts;
  if (!options.data.empty()) {
    auto read = read_serving_facts(options.data);
    if (!read) return std::unexpected(read.error());
    facts = std::move(*read);
    if (facts.models.empty())
      return fail(ErrorKind::bad_input, options.data, "no models and traces are there",
                  "name the data folder");
  }
  std::vector<std::vector<AlarmCurve>> by_seed;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    auto curves = alarm_curves({options.forecasters, options.jobs, seed}, facts);
    if (!curves) return std::unexpected(curves.error());
    by_seed.push_back(std::move(*curves));
  }
  const auto paper = paper_alarms(paper_noise_mib, 20);
  if (!paper) return std::unexpected(paper.error());
  if (options.json)
    print_json(options, by_seed, *paper);
  else
    print_text(options, by_seed, *paper, !facts.models.empty());
  return 0;
}

}  // namespace

void add_reproduce_alarms(CommandLine& group, Run& run) {
  const auto [command, options] =
      add_command(group, run, "memory-alarms", "False and missed alarms of the memory forecasters",
                  "cleave reproduce memory-alarms --jobs 50", memory_alarms);
  command->add_option("--forecaster", options.forecasters, "NAME[:key=value;...]; may be repeated")
      ->default_str("laws, trend with and without options, and two plain rules");
  command->add_option("--data", options.data,
                      "Folder with models, azure-llm-2023 and mooncake-fast25");
  command->add_option("--jobs", options.jobs, "Number of jobs of each shape")
      ->check(Check::range(1, 1000000))
      ->default_str("200");
  command->add_option("--seed", options.seed, "The same seed gives the same jobs")
      ->check(whole_number(0))
      ->default_str("2");
  command
      ->add_option("--seeds", options.seeds,
                   "Number of seeds, counting up from --seed; prints tables for the first and the "
                   "range over all")
      ->check(Check::range(1, 1000))
      ->default_str("1");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
