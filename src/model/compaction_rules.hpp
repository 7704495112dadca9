#pragma once
// When jobs may be moved to make room for one that waits: the setting `compaction` of the daemon
// and of simulations, which both read here. docs/planner.md says what each part means.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/options.hpp"
#include "base/time.hpp"

namespace cleave {

/// A part of each day, in minutes after midnight; it may go over midnight. From equal to until is
/// the whole day.
struct DayHours {
  int from = 0, until = 0;

  [[nodiscard]] bool contains(Duration since_midnight) const;
  /// Until they begin; zero within them.
  [[nodiscard]] Duration begin_in(Duration since_midnight) const;
  friend bool operator==(const DayHours&, const DayHours&) = default;
};

/// The limits within which a policy moves jobs by itself.
struct CompactionRules {
  Duration when_waiting = std::chrono::minutes(2);  // a job for which there is no room
  double gain = 2;         // the least wait that it saves, in times for which jobs are interrupted
  std::int64_t moves = 1;  // of one job, at most, ...
  Duration every = std::chrono::minutes(30);  // ... in this time
  std::optional<DayHours> hours = {};         // empty: always
  friend bool operator==(const CompactionRules&, const CompactionRules&) = default;
};

/// The parts of the setting, with their defaults.
[[nodiscard]] std::span<const OptionRow> compaction_options();

/// From the parts that were written; the others have their defaults.
[[nodiscard]] Result<CompactionRules> read_compaction(const OptionTexts& given);
/// "off", "on", or "when_waiting=5 min;gain=3": what an option of a command says.
[[nodiscard]] Result<std::optional<CompactionRules>> parse_compaction(std::string_view given);
/// All parts, as they are read again.
[[nodiscard]] std::string text(const CompactionRules& rules);

}  // namespace cleave
