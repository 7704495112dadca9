#pragma once
// A scheduler: events in, commands out, and nothing else - no clock, no file, no thread, no randomness. The
// daemon feeds it real events and carries its commands out on real GPUs; the simulator feeds it invented
// ones. One scheduler is one file and one row of the table that help, documentation, commands and tests walk.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/time.hpp"
#include "model/event.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Appends to `commands` what is to be done now. Events come in the order of time; a job is submitted once,
  /// and finished once after it was started. Requests are those of the table given at its making.
  virtual void on(const Event& event, Instant now, std::vector<Command>& commands) = 0;
};

/// What a scheduler is made from.
struct SchedulerSetup {
  const Fleet& fleet;            // as it is at the beginning
  const RequestTable& requests;  // must outlive the scheduler and may grow
  bool use_index = true;         // false: every decision by looking at every GPU; the answers are the same
};

struct SchedulerRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const OptionRow> options;
  /// `options` are complete and their values checked as far as the rows can.
  Result<std::unique_ptr<Scheduler>> (*make)(const SchedulerSetup& setup, const OptionTexts& options);
};

std::span<const SchedulerRow> schedulers();

/// A scheduler as the user wrote it: NAME[:key=value[;key=value]...].
struct SchedulerSpec {
  const SchedulerRow* row;
  OptionTexts options;  // complete
  std::string text;     // as written
};

[[nodiscard]] Result<SchedulerSpec> parse_scheduler(std::string_view spec);
/// Several, separated by commas; names the same spec only once.
[[nodiscard]] Result<std::vector<SchedulerSpec>> parse_schedulers(std::string_view specs);

[[nodiscard]] Result<std::unique_ptr<Scheduler>> make_scheduler(const SchedulerSpec& spec,
                                                                const SchedulerSetup& setup);

}  // namespace cleave
