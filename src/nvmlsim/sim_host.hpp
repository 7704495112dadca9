#pragma once
// What a host with a node's GPUs has beside NVML: the files of the driver under /proc, the GPUs in
// /sys, device nodes and a driver root, as a tree of plain values. It changes with the node's
// instances.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// A file below a root.
struct HostFile {
  enum class Kind : std::uint8_t { text, device, link, copy };
  Kind kind = Kind::text;
  std::string content;  // the text; the link's target; the file that it is a copy of
  friend bool operator==(const HostFile&, const HostFile&) = default;
};

/// Files by their paths, without a slash in front: "proc/driver/nvidia/version".
using HostTree = std::map<std::string, HostFile>;

/// What of the real host appears in the tree.
struct RealHost {
  std::string devices;                 // of /proc/devices
  std::optional<std::string> modules;  // of /proc/modules, where there is such a file
  bool numa = false;                   // whether it has numbered NUMA nodes
  std::uint32_t cpus = 1;
};
[[nodiscard]] RealHost real_host();

/// The tree of an open node.
class SimHost {
 public:
  /// Fails if there is no node.
  [[nodiscard]] static Result<SimHost> open(const std::filesystem::path& directory);
  ~SimHost();
  SimHost(SimHost&&) noexcept;
  SimHost& operator=(SimHost&&) noexcept;

  /// All files but the driver root's.
  [[nodiscard]] HostTree tree(const RealHost& real) const;
  /// A number that is another one whenever the tree is another one.
  [[nodiscard]] std::uint64_t state() const;
  /// Whether the node was destroyed.
  [[nodiscard]] bool gone() const;

 private:
  struct Inside;
  explicit SimHost(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

/// The library of NVML and the command `nvidia-smi` in their usual places below a root. Fails where
/// this program's own are missing.
[[nodiscard]] Result<HostTree> driver_root();
/// The folders of a driver root that PATH and LD_LIBRARY_PATH need.
inline constexpr const char* driver_programs = "usr/bin";
extern const char* const driver_libraries;

/// What /proc/devices says with the driver's majors in it.
std::string with_driver_majors(std::string_view devices);

}  // namespace cleave
