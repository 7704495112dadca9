#include "cli/output_files.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::cli {

std::filesystem::path end_of_links(std::filesystem::path path) {
  namespace fs = std::filesystem;
  constexpr int most_links = 40;  // as in Linux
  std::error_code failed;
  for (int i = 0; i < most_links && fs::is_symlink(path, failed); ++i) {
    const fs::path to = fs::read_symlink(path, failed);
    if (failed) break;
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  fs::path plain = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return failed ? path : plain;
}

bool is_plain(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) || !std::filesystem::exists(path, failed);
}

Result<void> written_once(std::span<const OutputOption> outputs) {
  for (const OutputOption& output : outputs) {
    if (output.path.empty() || !is_plain(output.path)) continue;
    for (const OutputOption* other = outputs.data(); other != &output; ++other)
      if (!other->path.empty() && end_of_links(other->path) == end_of_links(output.path))
        return fail(
            ErrorKind::bad_usage, output.option,
            fmt::format("{} is also the file of {}", shown(output.path, 200), other->option),
            "name two different files");
  }
  return {};
}

}  // namespace cleave::cli
