#pragma once
// For tests: a folder of its own, empty at first and gone with the object.

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/work_folder.hpp"

namespace cleave {

class TemporaryFolder {
 public:
  /// Beside the system's other temporary files, or in `where`.
  explicit TemporaryFolder(
      const std::filesystem::path& where = std::filesystem::temp_directory_path())
      : folder_(made(where)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static WorkFolder made(const std::filesystem::path& where) {
    auto folder = WorkFolder::make(where, "test");
    // A test that went on without would write, and remove, wherever it happens to be.
    if (!folder) throw std::runtime_error(folder.error().text());
    return std::move(*folder);
  }

  WorkFolder folder_;
};

}  // namespace cleave
