#pragma once
// `cleave compare --history`: the past of a daemon as the workload of a comparison, how it went as
// it was seen, and how far the simulation of the scheduler that ran is from that.

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "cli/assumed_range.hpp"
#include "cli/command.hpp"
#include "simulate/advice/past_replay.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

/// The options of commands that replay a past, as they were given.
struct HistoryArguments {
  std::string source;  // --history; empty: none is replayed
  std::string since, ran, socket;

  void add(CommandLine& command);
  /// Refuses options that say nothing without a past, and another workload beside one.
  [[nodiscard]] Result<void> check(bool other_workload) const;
  /// The jobs from --since on.
  [[nodiscard]] Result<std::vector<PastJob>> read_jobs() const;
  /// The fleet that is named or, where none is and the daemon is asked, the daemon's.
  [[nodiscard]] Result<FleetFile> read_fleet(const std::string& fleet,
                                             const std::string& profiles) const;
};

/// A past that is replayed.
struct HistoryReplay {
  PastWorkload past;  // as it was seen
  std::string ran;    // the scheduler that ran; empty: unknown
  /// The workload if jobs of unknown speeds take to slices half-way, and in the other ways.
  Workload workload;
  std::vector<Assumption> others;
};
[[nodiscard]] Result<HistoryReplay> read_replay(const HistoryArguments& arguments,
                                                const FleetFile& fleet);

/// The row of what was seen, beside those of the schedulers; `like` has the figures' names.
[[nodiscard]] SchedulerComparison seen_row(const HistoryReplay& replay,
                                           const SchedulerComparison& like);
/// What was read, left out and assumed of it, a line each.
[[nodiscard]] std::string introduction_of(const PastWorkload& past, const FleetFile& fleet);
/// How far the simulation of the scheduler that ran is off; where it is not known, what would say.
[[nodiscard]] std::string errors_text(const HistoryReplay& replay,
                                      const std::optional<ReplayErrors>& errors);
[[nodiscard]] Json to_json(const HistoryReplay& replay, const std::optional<ReplayErrors>& errors);

}  // namespace cleave::cli
