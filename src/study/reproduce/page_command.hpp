#pragma once
// What the commands that repeat a paper's evaluation share: `--write` and `--json`, `--seeds` where
// they draw, and their order: the folder is there before the first run, the files are written
// before anything is printed.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

/// What every one of them is given.
struct PageOptions {
  std::string folder;  // for the page; empty: none is written
  bool json = false;
};

/// `--write`, which is returned, and `--json`. `what` is written: "the page and its figures".
Option* add_page_options(CommandLine& command, PageOptions& options, const std::string& what);
/// `--seeds`, of which `what` is drawn.
void add_seeds(CommandLine& command, std::size_t& seeds, int least, const std::string& what);

/// Makes the folder unless it is there. Fails with bad_input where that cannot be, or where nothing
/// can be written into it.
[[nodiscard]] Result<void> make_folder(const std::string& folder);
/// Fails with bad_input where `folder`, as `--data` gave it, is none; nothing given is no error.
[[nodiscard]] Result<void> data_is_there(const std::string& folder);

/// Name and content.
using PageFiles = std::vector<std::pair<std::string, std::string>>;

/// Writes each into the folder.
[[nodiscard]] Result<void> write_pages(const std::string& folder, const PageFiles& files);

/// What a study is worked out by, and how it is shown.
template <class Study>
struct PageCommand {
  std::function<Result<Study>()> make;
  PageFiles (*files)(const Study&);
  std::function<Json(const Study&)> json;
  std::function<std::string(const Study&)> text;
};

template <class Study>
[[nodiscard]] Result<int> run_page(const PageOptions& options, const PageCommand<Study>& command) {
  const bool writes = !options.folder.empty();
  if (writes)
    if (const auto made = make_folder(options.folder); !made) return std::unexpected(made.error());
  const auto study = command.make();
  if (!study) return std::unexpected(study.error());
  if (writes)
    if (const auto written = write_pages(options.folder, command.files(*study)); !written)
      return std::unexpected(written.error());
  if (options.json)
    print(command.json(*study));
  else
    fmt::print("{}", command.text(*study));
  return 0;
}

}  // namespace cleave::cli
