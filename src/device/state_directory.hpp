#pragma once
// Where Cleave keeps what it must remember on this machine: the ledger of what it made and a lock
// per GPU. One directory for all programs of one user: `--state`, or where the node is a simulated
// one the folder `cleave` in the node's own directory (so that trials never mix with what is known
// of real GPUs), or as root /var/lib/cleave, or $XDG_STATE_HOME/cleave, or ~/.local/state/cleave.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// What decides where it is.
struct StateWish {
  std::optional<std::string> given;  // --state
  std::optional<std::filesystem::path>
      sim_node;  // the simulated node's directory, where there is one
  bool root = false;
  std::optional<std::string> xdg_state_home, home;  // as the environment has them
};

/// What this process has: its user and its environment; `given` and `sim_node` are the caller's to
/// fill in.
StateWish state_wish_of_process();

/// Decides; looks at nothing and makes nothing. Fails where `given` is empty or no home is known.
[[nodiscard]] Result<std::filesystem::path> state_directory(const StateWish& wish);

/// Makes it, with what leads to it, for its owner only; one that is there stays as it is.
[[nodiscard]] Result<void> make_state_directory(const std::filesystem::path& directory);

}  // namespace cleave
