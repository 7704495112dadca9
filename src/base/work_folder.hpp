#pragma once
// A folder for what a measurement or a test needs, empty at first and gone with the object.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace cleave {

class WorkFolder {
 public:
  /// `what` is in its name, for whoever finds one that was left behind.
  [[nodiscard]] static Result<WorkFolder> make(const std::filesystem::path& where,
                                               const std::string& what) {
    std::string name = (where / ("cleave-" + what + "-XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail(ErrorKind::infeasible, where.string(), "no folder can be made there",
                  "set TMPDIR to one where it can");
    return WorkFolder(std::move(name));
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
