#pragma once
// Which container programs this machine has, which of them runs an image, and what is missing.

#include <filesystem>
#include <string>
#include <vector>

#include "runner/container/container.hpp"

namespace cleave {

/// The container programs by their files; empty: there is none.
struct ContainerRuntimes {
  std::string podman, apptainer;
  std::string lack;  // why no container can be run, in words; empty: one can
  friend bool operator==(const ContainerRuntimes&, const ContainerRuntimes&) = default;
};

/// A container program that was chosen.
struct ChosenRuntime {
  ContainerProgram by = ContainerProgram::podman;
  std::string program;
};
/// Folders and names are podman's, and folders apptainer's too where there is no podman; .sif files
/// are apptainer's.
[[nodiscard]] Result<ChosenRuntime> runtime_for(const ContainerRuntimes& runtimes,
                                                std::string_view image);

/// `wanted` is "auto", "none" or the file of one of them. `root` is the folder in which usr/bin and
/// proc/ are looked for.
[[nodiscard]] ContainerRuntimes find_container_runtimes(const std::string& wanted,
                                                        const std::filesystem::path& root = "/");
/// "podman (/usr/bin/podman)"
[[nodiscard]] std::string in_words(const ContainerRuntimes& runtimes);

}  // namespace cleave
