#pragma once
// A temporary folder for a measurement or a test: empty at first, removed with the object.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/result.hpp"

namespace cleave {

/// Owns a folder and removes it, with its contents, at the end.
class WorkFolder {
 public:
  /// The folder's name contains `what`, so that one left behind can be recognised.
  [[nodiscard]] static Result<WorkFolder> make(const std::filesystem::path& where,
                                               const std::string& what) {
    std::string name = (where / ("cleave-" + what + "-XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail(ErrorKind::infeasible, where.string(), "no folder can be made there",
                  "set TMPDIR to one where it can");
    return WorkFolder(std::move(name));
  }
  /// In TMPDIR, or where the system has its temporary files.
  [[nodiscard]] static Result<WorkFolder> make_temporary(const std::string& what) {
    std::error_code failed;
    const std::filesystem::path where = std::filesystem::temp_directory_path(failed);
    if (!failed) return make(where, what);
    const char* const given = ::getenv("TMPDIR");
    return fail(ErrorKind::bad_usage, "TMPDIR",
                "there is no folder " + std::string(given == nullptr ? "/tmp" : given),
                "set it to a folder in which files can be made");
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace cleave
