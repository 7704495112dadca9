#pragma once
// The command line of a container program, worked out from the container and the launch: nothing is
// looked up, so that the same launch gives the same line.
//
// The container shares the network, the process numbers and /dev/shm with the host, so that gangs
// meet and NVML counts its processes; its file system, devices and mounts are its own. It has no
// capability, and its processes stay in the attempt's control groups.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/container/container.hpp"

namespace cleave {

/// Where things of an attempt lie on the host while its container runs.
struct ContainerPlaces {
  std::string state;   // a folder for the container program's own files
  std::string root;    // the root file system made of an image's folder, for podman
  std::string report;  // the socket for reports
  std::string began;   // the file into which podman writes the number of the job's process
};

/// What is run in the container, and as whom.
struct ContainedCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"; stronger than the image's
  std::string working_directory;
  std::uint32_t uid = 0, gid = 0;
};

/// What is executed for it.
struct ContainerCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};
[[nodiscard]] ContainerCommand container_command(const Container& container,
                                                 const ContainedCommand& what,
                                                 const ContainerPlaces& places);

/// All that is mounted from the host, in the order in which it is given.
[[nodiscard]] std::vector<BindMount> mounts_of(const Container& container,
                                               const std::string& working_directory,
                                               const std::string& report);

/// Where podman keeps the images of the user with this home.
[[nodiscard]] std::string image_store(const std::string& home);

/// Where the socket for reports is in the container.
inline constexpr std::string_view report_in_container = "/run/cleave/report";
/// What podman reads in place of its users' and the machine's configuration, where its own files
/// are in `state`.
extern const std::string_view podman_settings;
[[nodiscard]] std::string podman_storage(const std::string& state);
inline constexpr std::string_view podman_settings_file = "containers.conf",
                                  podman_storage_file = "storage.conf";

/// Why a container program ended without running the job.
struct ContainerFailure {
  std::string reason;
  int code = 0;  // the system's error number, where it says one that stands for a shortage
};
/// Whether a line of its error output is the program's last word on what went wrong.
[[nodiscard]] bool is_last_word(ContainerProgram by, std::string_view line);
/// What its end means: nothing where the job's program ran. `began` is whether podman said so.
[[nodiscard]] std::optional<ContainerFailure> container_failure(ContainerProgram by, bool began,
                                                                int exit_code,
                                                                std::string_view last_word);

}  // namespace cleave
