#include "daemon/config_check.hpp"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/daemon.hpp"
#include "daemon/metrics/metrics_access.hpp"
#include "daemon/service/user_book.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

std::unexpected<Error> wrong(const char* key, const std::string& value, std::string_view why,
                             std::string remedy) {
  return fail(ErrorKind::bad_input, key, fmt::format("{}: {}", shown(value, 200), why),
              std::move(remedy));
}

/// A name without a folder is looked for by the loader.
Result<void> check_library(const std::string& file) {
  constexpr const char* remedy =
      "name the file of an NVML library, or leave the key out: the driver's is taken then";
  if (file.empty()) return {};
  std::error_code failed;
  if (file.find('/') != std::string::npos && !fs::is_regular_file(file, failed))
    return wrong("nvml", file, failed ? failed.message() : "it is not a plain file", remedy);
  const std::unique_ptr<void, int (*)(void*)> library(dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL),
                                                      dlclose);
  if (!library) return wrong("nvml", file, "the loader does not take it", remedy);
  if (dlsym(library.get(), "nvmlInit_v2") == nullptr)
    return wrong("nvml", file, "it is not an NVML library", remedy);
  return {};
}

/// The daemon makes the folder, but not those that it is in.
Result<void> check_jobs_directory(const std::string& given) {
  constexpr const char* key = "jobs_directory";
  if (given.empty()) return {};
  fs::path folder = fs::path(given).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!folder.is_absolute() || folder == folder.root_path())
    return wrong(key, given, "it is not a folder with its whole path", "such as /srv/cleave/jobs");
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    return wrong(key, given, "it is not a folder", "name another one");
  if (!fs::is_directory(folder.parent_path(), failed))
    return wrong(key, given, fmt::format("there is no folder {}", folder.parent_path().string()),
                 "make it, or mount its file system");
  return {};
}

}  // namespace

std::vector<Error> check_on_this_machine(const DaemonSettings& settings) {
  std::vector<Error> wrong;
  const auto look = [&](const auto& checked) {
    if (!checked) wrong.push_back(checked.error());
  };
  look(read_applications(settings));
  // The daemon runs with an unknown group rather than not at all; here it is a mistake.
  for (std::string& unknown : unknown_groups(settings))
    wrong.push_back(
        {ErrorKind::bad_input, "", std::move(unknown), "`getent group` lists the groups"});
  look(check_library(settings.nvml));
  look(check_metrics(settings.metrics));
  look(check_jobs_directory(settings.jobs_directory));
  return wrong;
}

std::vector<std::string> reservation_remarks(const DaemonSettings& settings) {
  std::vector<std::string> all;
  for (const ReservedGpu& each : settings.control.reservations) {
    if (each.name.empty() || UserBook::uid_of(each.name) || UserBook::gid_of(each.name)) continue;
    all.push_back(
        fmt::format("reservations: GPU {} is reserved for '{}', and no user or group here is "
                    "called so: nobody's "
                    "jobs would run there",
                    shown(each.gpu), shown(each.name)));
  }
  return all;
}

}  // namespace cleave
