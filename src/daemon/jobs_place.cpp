#include "daemon/jobs_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/file_handle.hpp"
#include "runner/job_directory.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr const char *place_file = "jobs.place", *mark_file = ".of-cleaved";
constexpr std::string_view name_another = "or name another folder in jobs_directory";

std::string in_words(const fs::path& path) {
  return shown(path.string(), 200);
}

/// Empty: there is none.
Result<std::string> text_of(const fs::path& path) {
  const auto file = FileHandle::open_if_there(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  if (!*file) return std::string();
  const auto text = file->read_from(0, path);
  if (!text) return text;
  return std::string(trimmed(*text));
}

/// Readers see the old text or the new one.
Result<void> put_text(const fs::path& path, const std::string& text) {
  const fs::path next = path.string() + ".new";
  {
    const auto file = FileHandle::open(next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (!file) return std::unexpected(file.error());
    if (const auto written = file->write_whole(text + "\n", next); !written) return written;
    if (const auto synced = file->sync(next); !synced) return synced;
  }
  if (::rename(next.c_str(), path.c_str()) != 0) return system_failure(path, "cannot be replaced");
  return sync_directory(path.parent_path());
}

/// "12.1 and 3 more"; empty where there are none.
std::string attempts_in(const fs::path& folder) {
  std::vector<JobKey> keys;
  std::error_code failed;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed))
    if (const auto key = parse_directory_name(each->path().filename().string()))
      keys.push_back(*key);
  if (keys.empty()) return {};
  std::string text = directory_name(std::ranges::min(keys));
  if (keys.size() > 1) text += fmt::format(" and {} more", keys.size() - 1);
  return text;
}

/// What is left in the place of before would be lost from sight.
Result<void> check_left(const fs::path& state, const fs::path& before, const fs::path& now) {
  std::error_code failed;
  if (before != state / "jobs" && !fs::exists(before / mark_file, failed))
    return fail(ErrorKind::infeasible, in_words(before),
                "jobs were there before, and it cannot be seen whether folders of theirs still are",
                fmt::format("mount its file system; or remove {} if they are not needed",
                            in_words(state / place_file)));
  const std::string left = attempts_in(before);
  if (left.empty()) return {};
  return fail(
      ErrorKind::infeasible, "jobs_directory",
      fmt::format("folders of jobs are still in {}: {}", in_words(before), left),
      fmt::format("let these jobs end and forget them with `cleave purge`, or, when none of "
                  "them runs and no daemon does, move their folders to {}",
                  in_words(now)));
}

Result<void> check_mark(const fs::path& state, const fs::path& now, bool used_before) {
  const auto whose = text_of(now / mark_file);
  if (!whose) return std::unexpected(whose.error());
  if (whose->empty() && used_before)
    return fail(
        ErrorKind::infeasible, in_words(now),
        fmt::format("it is not the folder that jobs were in before: it has no {}", mark_file),
        fmt::format("mount its file system; or remove {} to begin with an empty folder",
                    in_words(state / place_file)));
  if (!whose->empty() && *whose != state.string())
    return fail(ErrorKind::infeasible, in_words(now),
                fmt::format("it belongs to the daemon whose state is in {}", shown(*whose, 200)),
                std::string(name_another));
  if (whose->empty()) return put_text(now / mark_file, state.string());
  return {};
}

Result<fs::path> place_meant(const fs::path& state, const std::string& given) {
  if (given.empty()) return state / "jobs";
  fs::path now = fs::path(given).lexically_normal();
  if (!now.has_filename()) now = now.parent_path();
  if (!now.is_absolute() || now == state || now == now.root_path())
    return fail(ErrorKind::bad_input, "jobs_directory",
                fmt::format("'{}' is not a folder of its own, with its whole path", shown(given)),
                "such as /srv/cleave/jobs");
  return now;
}

}  // namespace

Result<void> check_owner(const fs::path& directory, std::string_view remedy) {
  struct stat facts {};
  if (::geteuid() != 0) return {};
  const std::string place = in_words(directory);
  if (::stat(directory.c_str(), &facts) != 0)
    return fail(ErrorKind::infeasible, place, "it cannot be examined");
  if (facts.st_uid == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(ErrorKind::infeasible, place,
              facts.st_uid == 0 ? std::string("others may write to it")
                                : fmt::format("it belongs to another user (uid {})", facts.st_uid),
              fmt::format("chown it to root and chmod go-w it, {}", remedy));
}

Result<fs::path> prepare_jobs_place(const fs::path& state_directory, const std::string& given) {
  std::error_code failed;
  const fs::path state = fs::canonical(state_directory, failed);
  if (failed) return fail(ErrorKind::infeasible, in_words(state_directory), failed.message());
  const auto now = place_meant(state, given);
  if (!now) return now;
  const auto noted = text_of(state / place_file);
  if (!noted) return std::unexpected(noted.error());
  const fs::path before = noted->empty() ? state / "jobs" : fs::path(*noted);
  if (before != *now)
    if (const auto left = check_left(state, before, *now); !left)
      return std::unexpected(left.error());
  if (::mkdir(now->c_str(), 0711) != 0 && errno != EEXIST)
    return system_failure(*now, "cannot be made");
  if (const auto owned = check_owner(*now, name_another); !owned)
    return std::unexpected(owned.error());
  if (*now != state / "jobs")
    if (const auto marked = check_mark(state, *now, before == *now); !marked)
      return std::unexpected(marked.error());
  if (before != *now)
    if (const auto put = put_text(state / place_file, now->string()); !put)
      return std::unexpected(put.error());
  return now;
}

std::vector<DiskRoom> look_at_disk(const fs::path& state, const fs::path& jobs) {
  std::vector<DiskRoom> rooms;
  unsigned long before = 0;
  for (const fs::path& each : {state, jobs}) {
    struct statvfs facts {};
    if (::statvfs(each.c_str(), &facts) != 0 || facts.f_blocks == 0) continue;
    if (!rooms.empty() && facts.f_fsid == before) continue;
    before = facts.f_fsid;
    const auto block = static_cast<std::int64_t>(facts.f_frsize);
    rooms.push_back({each.string(), static_cast<std::int64_t>(facts.f_blocks) * block,
                     static_cast<std::int64_t>(facts.f_bavail) * block,
                     static_cast<std::int64_t>(facts.f_files),
                     static_cast<std::int64_t>(facts.f_favail)});
  }
  return rooms;
}

}  // namespace cleave
