#pragma once
// For tests: a folder of its own, empty at first and gone with the object.

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace cleave {

class TemporaryFolder {
 public:
  /// Beside the system's other temporary files, or in `where`.
  explicit TemporaryFolder(const std::filesystem::path& where = std::filesystem::temp_directory_path()) {
    std::string name = (where / "cleave-test-XXXXXX").string();
    // A test that went on without would write, and remove, wherever it happens to be.
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("a temporary folder cannot be made: " + name);
    path_ = std::move(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cleave
