#include "cli/daemon/program_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"

namespace cleave::cli {

namespace {

constexpr const char* made_later =
    "check its name and --cwd; where it is made before the job starts, submit `sh -c` and the "
    "command as one word";

std::unexpected<Error> wrong(std::string message, std::string remedy) {
  return fail(ErrorKind::bad_input, "COMMAND", std::move(message), std::move(remedy));
}

/// The PATH that the job will have; as execvp() has it where there is none.
std::string path_of(const Json& submission) {
  for (const Json& each : submission["environment"])
    if (const auto& variable = each.get_ref<const std::string&>(); variable.starts_with("PATH="))
      return variable.substr(5);
  return "/bin:/usr/bin";
}

bool is_file(const std::filesystem::path& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode);
}

/// Anything but its absence may be otherwise for the job, if this process cannot see it.
Result<void> check_path(const std::filesystem::path& path) {
  const std::string shown_path = visible(shown(path.string(), 200));
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0)
    return errno == ENOENT || errno == ENOTDIR
               ? Result<void>(wrong(fmt::format("there is no program {}", shown_path), made_later))
               : Result<void>();
  if (S_ISDIR(facts.st_mode))
    return wrong(fmt::format("{} is a folder", shown_path), "name a program in it");
  if (::access(path.c_str(), X_OK) != 0 && errno == EACCES)
    return wrong(fmt::format("{} is not executable", shown_path),
                 fmt::format("`chmod +x` makes it so; or name what runs it first, as in `sh {}`",
                             shown_path));
  return {};
}

}  // namespace

Result<void> check_program(const Json& submission) {
  if (submission.contains("image")) return {};
  const auto program = submission["command"].front().get<std::string>();
  const std::filesystem::path directory = submission["directory"].get<std::string>();
  if (program.contains('/')) return check_path((directory / program).lexically_normal());
  std::filesystem::path not_executable;
  const std::string path = path_of(submission);
  for (const std::string_view each : split(path, ':')) {
    const std::filesystem::path found = directory / each / program;
    if (!is_file(found)) continue;
    if (::access(found.c_str(), X_OK) == 0) return {};
    if (not_executable.empty()) not_executable = found;
  }
  if (!not_executable.empty()) return check_path(not_executable);
  const bool here = is_file(directory / program);
  return wrong(fmt::format("there is no program {} in PATH", visible(shown(program))),
               here ? fmt::format("there is one in the directory: write ./{}", visible(program))
                    : made_later);
}

}  // namespace cleave::cli
