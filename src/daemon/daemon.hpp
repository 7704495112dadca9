#pragma once
// The daemon put together: where its files are, what it is made of, and its life from the first
// line of the log to the last.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/socket_place.hpp"
#include "base/result.hpp"
#include "daemon/config.hpp"

namespace cleave {

/// The command line; empty: not given.
struct DaemonArguments {
  std::optional<std::string> socket, state, config;
  std::string nvml;
  std::string simulate;  // "4xA100-40GB"
  std::string page;      // "127.0.0.1:8790"; takes precedence over the configuration
  bool instant = false;
  bool accepts_loss = false;  // of what the store is known to have held
  std::string version;
};

/// Where the daemon's files are and which NVML library it opens.
struct DaemonPlaces {
  std::vector<SocketPlace> sockets;  // the first that can be had
  std::filesystem::path state;       // the daemon's store, jobs and audit
  /// The ledger and locks of the GPUs. With simulated GPUs they are in the node, where the commands
  /// of `cleave` look too.
  std::filesystem::path ledger;
  std::filesystem::path config;
  bool config_given = false;
  std::string library;                            // NVML
  std::optional<std::filesystem::path> sim_node;  // the node behind that library
};

/// Where the configuration file is; nothing is made or read.
[[nodiscard]] Result<std::filesystem::path> config_place(const DaemonArguments& arguments);
/// Reads the file, or takes the defaults if none was named and none is there.
[[nodiscard]] Result<DaemonConfig> load_config(const DaemonArguments& arguments);
/// What is wrong with the groups that it names, a line each; nobody is a member of such a group.
[[nodiscard]] std::vector<std::string> unknown_groups(const DaemonSettings& settings);
/// Where the state directory is; nothing is made or read.
[[nodiscard]] Result<std::filesystem::path> state_place(const DaemonArguments& arguments);
/// Decides every place, and makes the state directory and the simulated node. As root, nothing is
/// taken from the environment.
[[nodiscard]] Result<DaemonPlaces> prepare_places(const DaemonArguments& arguments,
                                                  const DaemonConfig& config);

/// Runs until TERM or INT; jobs continue without it.
[[nodiscard]] Result<void> run_daemon(const DaemonArguments& arguments);

}  // namespace cleave
