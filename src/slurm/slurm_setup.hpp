#pragma once
// The lines that Slurm's configuration needs for Cleave, and what an existing configuration has of
// them. Nothing here edits a file of Slurm's.

#include <string>
#include <string_view>
#include <vector>

#include "slurm/slurm_port.hpp"

namespace cleave {

/// What a site chooses.
struct SlurmSetup {
  std::string nodes;  // as Slurm writes lists: n[1-8]
  const GpuModel* model = nullptr;
  std::int64_t gpus = 1;  // of each node
  SlurmMode mode = SlurmMode::node;
  std::string template_nodes = "cleave-template[1-4]";
  std::string programs;  // the folder of `cleave`
  std::string folder;    // where these files will lie
};

/// A file to be written.
struct SetupFile {
  std::string name, text;
  bool program = false;  // may be executed
};

/// slurm.conf.add, gres.conf.add, job_submit.lua, prolog, epilog, task-prolog.
[[nodiscard]] std::vector<SetupFile> setup_files(const SlurmSetup& setup);

/// The profiles that are counted: those without attributes, from large to small.
[[nodiscard]] std::vector<const Profile*> counted_profiles(const GpuModel& model);

/// What was found of one thing that is needed.
struct SetupFinding {
  enum class State : std::uint8_t { fine, missing, differs, note } state = State::fine;
  std::string key;    // "GresTypes"
  std::string found;  // as it stands there; empty: nothing
  std::string remedy;
};

/// Compares a configuration with what is needed: the files' texts, with what they include in its
/// place.
[[nodiscard]] std::vector<SetupFinding> check_setup(std::string_view slurm_conf,
                                                    std::string_view gres_conf,
                                                    const SlurmSetup& setup);

/// The values of a key of slurm.conf, in any case of letters, without comments and quotes.
[[nodiscard]] std::vector<std::string> conf_values(std::string_view conf, std::string_view key);

}  // namespace cleave
