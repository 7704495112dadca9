#pragma once
// The files that options name for output: where their names lead, and that no two are one.

#include <filesystem>
#include <span>
#include <string>

#include "base/result.hpp"

namespace cleave::cli {

/// An option that names a file to write, and its value; empty where it is not given.
struct OutputOption {
  std::string option, path;
};

/// Refuses two options that name one file to write, be it by other names or through links, and
/// whether or not it is there. What is not a plain file, such as /dev/null, takes any number.
[[nodiscard]] Result<void> written_once(std::span<const OutputOption> outputs);

/// The file that the path leads to, also where a link leads to one that is not there yet.
[[nodiscard]] std::filesystem::path end_of_links(std::filesystem::path path);

/// Whether nothing is there, or a plain file.
[[nodiscard]] bool is_plain(const std::string& path);

}  // namespace cleave::cli
