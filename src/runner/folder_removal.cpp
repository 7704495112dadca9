#include "runner/folder_removal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr int entries_between_looks = 16;  // between two looks at the clock
constexpr auto longest_step = std::chrono::milliseconds(1);
constexpr auto pause_between_steps = std::chrono::milliseconds(4);
constexpr FolderRemoval::Clock::duration first_wait = std::chrono::seconds(1),
                                         longest_wait = std::chrono::minutes(10);
constexpr std::size_t deepest_weighed = 8;

/// An inode takes up to a KiB, and there may be fewer of them than blocks.
std::int64_t space_of(const struct stat& facts) {
  return facts.st_blocks * 512 + 1024;
}

bool is_itself_or_parent(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

/// Gives this user the rights that removal needs; root does not need this. What could not be given
/// shows when they are used.
void open_up(int folder) {
  if (::geteuid() != 0) (void)::fchmod(folder, 0700);
}
void open_up(int parent, const char* name) {
  [[maybe_unused]] const bool given = ::geteuid() == 0 || ::fchmodat(parent, name, 0700, 0) == 0;
}

/// Whether the entry was removed; false for a folder that is not empty, and for what cannot be
/// removed.
bool remove_entry(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

}  // namespace

FolderRemoval::Entries FolderRemoval::entries_of(int parent, const std::string& name) {
  auto folder = open_folder_in(parent, name);
  if (!folder && errno == EACCES && ::geteuid() != 0) {
    open_up(parent, name.c_str());
    folder = open_folder_in(parent, name);
  }
  if (!folder) return {};
  open_up(folder->number());
  Entries entries(::fdopendir(folder->number()));
  if (entries) folder->release();
  return entries;
}

Result<void> FolderRemoval::remove(const std::string& name) {
  struct stat facts {};
  if (::fstatat(parent_, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return system_error_at(name, "its folder cannot be examined");
  }
  // The inode number makes the name unique, even beside an earlier folder of the same attempt.
  const std::string aside =
      fmt::format(".gone-{}-{:x}", name.starts_with('.') ? name.substr(1) : name, facts.st_ino);
  if (::renameat(parent_, name.c_str(), parent_, aside.c_str()) != 0)
    return system_error_at(name, "its folder cannot be moved aside");
  go_on_with(aside);
  step();  // which is enough for most
  return {};
}

void FolderRemoval::go_on_with(const std::string& aside) {
  if (std::ranges::find(waiting_, aside, &Waiting::name) == waiting_.end())
    waiting_.push_back({aside});
}

std::optional<FolderRemoval::Clock::time_point> FolderRemoval::next() const {
  if (waiting_.empty()) return std::nullopt;
  return std::ranges::min(waiting_, {}, &Waiting::at).at;
}

void FolderRemoval::step() {
  const auto until = Clock::now() + longest_step;
  for (int i = 0; !waiting_.empty(); ++i) {
    if (i % entries_between_looks == 0 && Clock::now() >= until) break;
    if (!top_ && !begin()) break;
    one_entry();
  }
  if (top_) waiting_.front().at = Clock::now() + pause_between_steps;
}

/// Moves the next folder that is due to the front; false if there is none.
bool FolderRemoval::begin() {
  const auto now = Clock::now();
  const auto due =
      std::ranges::find_if(waiting_, [&](const Waiting& each) { return each.at <= now; });
  if (due == waiting_.end()) return false;
  std::iter_swap(due, waiting_.begin());
  removed_ = 0;
  top_ = entries_of(parent_, waiting_.front().name);
  if (top_) return true;
  if (errno == ENOENT) {
    waiting_.pop_front();
  } else {
    end_of_top();
  }
  return false;
}

void FolderRemoval::one_entry() {
  DIR* from = inner_ ? inner_.get() : top_.get();
  const dirent* entry = ::readdir(from);
  if (entry != nullptr) {
    if (is_itself_or_parent(entry->d_name)) return;
    const std::string name = entry->d_name;
    return inner_ ? take_from_inner(name) : take_from_top(name);
  }
  if (!inner_) return end_of_top();
  inner_.reset();
  if (::unlinkat(::dirfd(top_.get()), inner_name_.c_str(), AT_REMOVEDIR) == 0) ++removed_;
}

void FolderRemoval::take_from_top(const std::string& name) {
  if (remove_entry(::dirfd(top_.get()), name.c_str())) {
    ++removed_;
    return;
  }
  inner_ = entries_of(::dirfd(top_.get()), name);
  inner_name_ = name;
}

void FolderRemoval::take_from_inner(const std::string& name) {
  const int folder = ::dirfd(inner_.get());
  if (remove_entry(folder, name.c_str())) {
    ++removed_;
    return;
  }
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(facts.st_mode))
    return;
  // Moving a folder writes to it.
  open_up(folder, name.c_str());
  const std::string up = fmt::format("deep-{:x}", facts.st_ino);
  if (::renameat2(folder, name.c_str(), ::dirfd(top_.get()), up.c_str(), RENAME_NOREPLACE) == 0)
    ++removed_;
}

/// The folder is removed, or gets another pass for what was moved up, or is tried again later
/// because a program may still be writing there.
void FolderRemoval::end_of_top() {
  top_.reset();
  Waiting& one = waiting_.front();
  if (::unlinkat(parent_, one.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    waiting_.pop_front();
    return;
  }
  if (removed_ > 0) {
    one.wait = {};
    return;
  }
  one.wait = std::clamp(one.wait * 2, first_wait, longest_wait);
  one.at = Clock::now() + one.wait;
}

std::int64_t disk_space_of(int folder, const char* name) {
  struct stat facts {};
  return ::fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? space_of(facts) : 0;
}

std::optional<std::int64_t> bytes_below(int folder, std::int64_t most_entries) {
  struct Level {
    DIR* entries;
    explicit Level(DIR* opened) : entries(opened) {}
    Level(Level&& other) noexcept : entries(std::exchange(other.entries, nullptr)) {}
    Level& operator=(Level&&) = delete;
    ~Level() {
      if (entries != nullptr) ::closedir(entries);
    }
  };
  std::vector<Level> levels;
  levels.reserve(deepest_weighed);
  const auto descend = [&](int parent, const std::string& name) {
    auto opened = open_folder_in(parent, name);
    if (!opened) return;
    if (DIR* entries = ::fdopendir(opened->number())) {
      opened->release();
      levels.emplace_back(entries);
    }
  };
  descend(folder, ".");
  std::int64_t sum = 0, seen = 0;
  while (!levels.empty()) {
    const int at = ::dirfd(levels.back().entries);
    const dirent* entry = ::readdir(levels.back().entries);
    if (entry == nullptr) {
      levels.pop_back();
      continue;
    }
    if (is_itself_or_parent(entry->d_name)) continue;
    if (++seen > most_entries) return std::nullopt;
    struct stat facts {};
    if (::fstatat(at, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    sum += space_of(facts);
    if (!S_ISDIR(facts.st_mode)) continue;
    if (levels.size() == deepest_weighed) return std::nullopt;
    descend(at, entry->d_name);
  }
  return sum;
}

}  // namespace cleave
