#pragma once
// The daemon put together: where everything lies, what it is made of, and its life from the first
// line of the log to the last.

#include <filesystem>
#include <optional>
#include <string>

#include "api/socket_place.hpp"
#include "base/result.hpp"
#include "daemon/config.hpp"

namespace cleave {

/// As the command line has it; empty: not given.
struct DaemonArguments {
  std::optional<std::string> socket, state, config;
  std::string nvml;
  std::string simulate;  // "4xA100-40GB"
  bool instant = false;
  std::string version;
};

struct DaemonPlaces {
  SocketPlace socket;
  std::filesystem::path state;   // of the daemon: its store, jobs, audit
  std::filesystem::path ledger;  // of the GPUs: what was made there, and the locks; with simulated
                                 // GPUs the node's own, which the commands of `cleave` use too
  std::filesystem::path config;
  bool config_given = false;
  std::string library;                            // of NVML
  std::optional<std::filesystem::path> sim_node;  // that it shows
};

/// Where the configuration is, without the rest.
[[nodiscard]] Result<std::filesystem::path> config_place(const DaemonArguments& arguments);
/// The file, or the defaults where none was named and none is there.
[[nodiscard]] Result<DaemonConfig> load_config(const DaemonArguments& arguments);
/// Decides all, and makes state directory and simulated node. As root nothing is taken from the
/// environment.
[[nodiscard]] Result<DaemonPlaces> prepare_places(const DaemonArguments& arguments,
                                                  const DaemonConfig& config);

/// Runs until it is told to end (TERM, INT); jobs go on without it.
[[nodiscard]] Result<void> run_daemon(const DaemonArguments& arguments);

}  // namespace cleave
