#pragma once
// What the daemon is told by its configuration file: TOML, read strictly. Every key is a row of one
// table, from which reading, the sample, and what a reload may change are made.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/control.hpp"
#include "daemon/http/http_types.hpp"

namespace cleave {

struct DaemonSettings {
  ControlSettings control;
  HttpLimits limits;
  /// By index or UUID; the one word "all": all there are. Empty: not said.
  std::vector<std::string> managed_gpus;
  std::string nvml;             // the library; empty: the driver's
  std::string operators_group;  // whose members may do everything; empty: nobody else
  bool allow_unfenced_users = false;
  std::int64_t highest_priority = 0;      // that users may give who are no operators
  std::size_t most_waiting_per_user = 0;  // likewise, may have; 0: half of most_waiting
  bool may_switch_mig = false;
};

/// The whole of it, with what stands for each key, as TOML writes it, given or not.
struct DaemonConfig {
  DaemonSettings settings;
  std::map<std::string, std::string, std::less<>> values;
};

struct ConfigRow {
  std::string_view name;       // "most_waiting", "server.connections"
  std::string_view kind;       // for people: "a whole number"
  std::string_view otherwise;  // the default, as TOML writes it
  std::string_view help;       // one or more sentences
  bool needs_restart;
};
/// In the order of the sample.
[[nodiscard]] std::vector<ConfigRow> config_rows();

/// `place` is the file's name. Errors name file and line.
[[nodiscard]] Result<DaemonConfig> parse_config(std::string_view text, const std::string& place);
[[nodiscard]] Result<DaemonConfig> read_config(const std::string& file);
/// Nothing is said.
[[nodiscard]] DaemonConfig default_config();
/// Every key with its help and default, as comments.
[[nodiscard]] std::string sample_config();

/// What a reload changes: one line for each key, "most_waiting: 100000 -> 5 (after a restart)".
[[nodiscard]] std::vector<std::string> config_changes(const DaemonConfig& before,
                                                      const DaemonConfig& after);
/// The settings of `after` as far as they may change while the daemon runs, the rest as before.
[[nodiscard]] DaemonConfig reloaded(const DaemonConfig& before, const DaemonConfig& after);

}  // namespace cleave
