#pragma once
// Where Cleave keeps its state on this machine: the ledger of what it made and a lock per GPU. All
// programs of one user share one directory: that of `--state`; for a simulated node the folder
// `cleave` in the node's directory, so that trials never mix with real GPUs; for root
// /var/lib/cleave; else $XDG_STATE_HOME/cleave or ~/.local/state/cleave.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// What decides which directory it is.
struct StateQuery {
  std::optional<std::string> given;               // --state
  std::optional<std::filesystem::path> sim_node;  // directory of the simulated node, if any
  bool root = false;
  std::optional<std::string> xdg_state_home, home;  // of the environment
};

/// The user and environment of this process; the caller fills in `given` and `sim_node`.
StateQuery state_query_of_process();

/// Chooses the directory without touching the disk. Fails if `given` is an empty text or no home is
/// known.
[[nodiscard]] Result<std::filesystem::path> state_directory(const StateQuery& query);

/// Makes the directory and its parents, for the owner only; an existing one is left unchanged.
[[nodiscard]] Result<void> make_state_directory(const std::filesystem::path& directory);

}  // namespace cleave
