#pragma once
// Writes the tree of a node's host below a root and keeps it up to date. Readers see a file or a
// new folder whole or not at all, and no description of an instance whose device is missing.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nvmlsim/sim_host.hpp"

namespace cleave {

/// What stands for devices: the host's /dev/null mounted over files, which needs a mount namespace
/// of one's own, or empty files.
enum class DeviceFiles : std::uint8_t { null_device, empty };

/// The tree below a root, as written so far.
class HostWriter {
 public:
  /// Only what is in these folders below the root is written; "" is all of it.
  HostWriter(std::filesystem::path root, std::vector<std::string> folders, DeviceFiles devices);
  /// Makes the files those of `wanted`.
  [[nodiscard]] Result<void> update(const HostTree& wanted);

 private:
  [[nodiscard]] Result<void> write_one(const std::filesystem::path& path,
                                       const HostFile& file) const;
  [[nodiscard]] std::optional<std::string> folder_of(std::string_view path) const;
  [[nodiscard]] std::string unit_of(const std::string& path, std::string_view folder) const;
  [[nodiscard]] Result<void> add(const std::string& unit, const std::string& folder,
                                 HostTree::const_iterator begin,
                                 HostTree::const_iterator end) const;
  void remove(const std::string& path, const HostTree& left) const;

  std::filesystem::path root_;
  std::vector<std::string> folders_;
  DeviceFiles devices_;
  HostTree written_;
};

}  // namespace cleave
