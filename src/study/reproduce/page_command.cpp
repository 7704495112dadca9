#include "study/reproduce/page_command.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/text.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

Option* add_page_options(CommandLine& command, PageOptions& options, const std::string& what) {
  Option* write = command.add_option("--write", options.folder, fmt::format("Folder for {}", what))
                      ->check(not_empty());
  add_json(command, options.json);
  return write;
}

void add_seeds(CommandLine& command, std::size_t& seeds, int least, const std::string& what) {
  command.add_option("--seeds", seeds, fmt::format("Seeds 1, 2, ... of {}", what))
      ->check(Check::range(least, 10000))
      ->default_str(fmt::format("{}", seeds));
}

Result<void> make_folder(const std::string& folder) {
  const auto refused = [&](const std::string& why) {
    return fail(ErrorKind::bad_input, shown(folder, 200), why,
                "name a folder for the results by --write");
  };
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed && !fs::is_directory(folder, failed)) return refused("it cannot be made a folder");
  if (!fs::is_directory(folder, failed)) return refused("it is no folder");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return refused("nothing can be written there");
  return {};
}

Result<void> data_is_there(const std::string& folder) {
  std::error_code failed;
  if (folder.empty() || fs::is_directory(folder, failed)) return {};
  return fail(ErrorKind::bad_input, shown(folder, 200), "there is no such folder",
              "name the folder with the published measurements by --data, or leave --data out");
}

Result<void> write_pages(const std::string& folder, const PageFiles& files) {
  for (const auto& [name, text] : files)
    if (const auto done = write_whole((fs::path(folder) / name).string(), text); !done) return done;
  return {};
}

}  // namespace cleave::cli
