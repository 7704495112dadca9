#pragma once
// The daemon's configuration file: TOML, read strictly. Every key is a row of one table in
// config.cpp; the reader, the sample, and the list of what a reload may change are made from it.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/control.hpp"
#include "daemon/http/http_types.hpp"
#include "daemon/metrics/metrics_settings.hpp"

namespace cleave {

/// Every setting with its value, as the daemon's parts take them.
struct DaemonSettings {
  ControlSettings control;
  HttpLimits limits;
  /// By index or UUID; the one word "all" means all GPUs. Empty: not given.
  std::vector<std::string> managed_gpus;
  std::string nvml;                         // the library; empty: the driver's
  std::string profiles, time_model;         // files; empty: none
  std::string operators_group;              // whose members may do everything; empty: nobody else
  std::vector<std::string> allowed_groups;  // whose members are served; empty: everybody
  bool allow_unfenced_users = false;
  std::int64_t highest_priority = 0;         // for users who are not operators
  std::size_t most_waiting_per_user = 0;     // likewise; 0: half of most_waiting
  std::optional<Duration> job_time_default;  // of jobs that name no time limit
  std::optional<Duration> job_time_most;     // for users who are not operators
  bool may_switch_mig = false;
  bool control_groups = true;
  bool device_fences = true;              // where there are such control groups and NVIDIA's driver
  std::string driver_root = "/";          // where the driver's proc/, dev/ and libraries are
  std::string page;                       // address of the live page; empty: there is none
  std::string jobs_directory;             // folders of jobs; empty: in the state directory
  std::int64_t store_reserve = 32 << 20;  // bytes that the store holds for a full disk
  std::string container_runtime = "auto";
  MetricsSettings metrics;
};

/// A configuration: the settings, and the value of every key in TOML's notation, given or default.
struct DaemonConfig {
  DaemonSettings settings;
  std::map<std::string, std::string, std::less<>> values;
};

/// One key of the configuration file: what the sample says about it.
struct ConfigRow {
  std::string_view name;       // "most_waiting", "server.connections"
  std::string_view kind;       // for people: "a whole number"
  std::string_view otherwise;  // the default, as TOML writes it
  std::string_view help;       // one or more sentences
  bool needs_restart;
};
/// In the order of the sample.
[[nodiscard]] std::vector<ConfigRow> config_rows();

/// A configuration, and all that is wrong with it; without what is wrong where anything is.
struct ConfigReading {
  DaemonConfig config;
  std::vector<Error> wrong;
};
[[nodiscard]] ConfigReading inspect_config(std::string_view text, const std::string& place);
[[nodiscard]] ConfigReading inspect_config_file(const std::string& file);
/// `place` is the file's name. Errors name file and line; of several the first is said.
[[nodiscard]] Result<DaemonConfig> parse_config(std::string_view text, const std::string& place);
[[nodiscard]] Result<DaemonConfig> read_config(const std::string& file);
/// What the files `profiles` and `time_model` say; null where neither is named. A file that cannot
/// be read is an error with its key; one whose text is wrong, with its name and line.
[[nodiscard]] Result<std::shared_ptr<const ApplicationTimes>> read_applications(
    const DaemonSettings& settings);
/// The configuration of an empty file.
[[nodiscard]] DaemonConfig default_config();
/// Every key with its help and default, as comments.
[[nodiscard]] std::string sample_config();

/// The keys that differ, one line each: "most_waiting: 100000 -> 5 (after a restart)".
[[nodiscard]] std::vector<std::string> config_changes(const DaemonConfig& before,
                                                      const DaemonConfig& after);
/// The settings of `after` that may change while the daemon runs; the others keep their old values.
[[nodiscard]] DaemonConfig reloaded(const DaemonConfig& before, const DaemonConfig& after);

}  // namespace cleave
