#pragma once
// The folder in which container runtimes look for CDI specifications, /var/run/cdi. A file is there
// whole or not at all; files of others are left alone.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// One file for each claim.
class CdiFolder {
 public:
  explicit CdiFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Result<void> make() const;
  [[nodiscard]] std::optional<std::string> read(const std::string& uid) const;
  [[nodiscard]] Result<void> write(const std::string& uid, const std::string& text) const;
  /// One that is not there is as good as removed.
  [[nodiscard]] Result<void> remove(const std::string& uid) const;
  /// The UIDs of all claims with a file.
  [[nodiscard]] std::vector<std::string> uids() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace cleave
