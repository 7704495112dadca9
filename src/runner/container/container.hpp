#pragma once
// A container in which a job's command runs: by which program, of which image, and what is in it of
// the host. The daemon works it out and writes it into the launch; the job's process makes the
// command line of it (container_command.hpp).

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/container_image.hpp"

namespace cleave {

class JsonReader;

/// What runs containers.
enum class ContainerProgram : std::uint8_t { podman, apptainer };
[[nodiscard]] std::string_view name(ContainerProgram program);

/// A device node of the host's, and where the container has it.
struct ContainerNode {
  std::string from, to;
  friend bool operator==(const ContainerNode&, const ContainerNode&) = default;
};

/// What a container has for its instance, as a CDI specification says it (cdi.hpp).
struct ContainerEdits {
  std::vector<ContainerNode> nodes;
  std::vector<BindMount> mounts;
  std::vector<std::string> environment;  // "NAME=value"
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

/// The container of one attempt.
struct Container {
  ContainerProgram by = ContainerProgram::podman;
  std::string program;  // its file, absolute
  std::string image;
  std::string home;               // of the user, in which the container program keeps images
  std::vector<BindMount> mounts;  // that the user asked for
  ContainerEdits instance;
  friend bool operator==(const Container&, const Container&) = default;
};

[[nodiscard]] Json to_json(const Container& container);
/// Refuses what no container program can be given.
[[nodiscard]] Container read_container(JsonReader& in);

}  // namespace cleave
