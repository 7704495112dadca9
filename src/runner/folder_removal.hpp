#pragma once
// Removes folders that users have filled, with any contents and any depth, without blocking the
// caller's loop: a few entries at a time, with two descriptors, following no link. Inner folders
// are moved up to the top when they are reached, so that no depth and no path is too long.

#include <dirent.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runner/descriptor.hpp"

namespace cleave {

/// Folders that are being removed.
class FolderRemoval {
 public:
  using Clock = std::chrono::steady_clock;
  /// Removes folders in `parent`, which must stay open and be writable for this process's user
  /// only.
  explicit FolderRemoval(int parent) : parent_(parent) {}

  /// Renames the folder at once to a name that begins with `.gone-`, and removes it in later steps.
  /// Does nothing if it is missing.
  [[nodiscard]] Result<void> remove(const std::string& name);
  /// Continues with a folder that was renamed earlier.
  void go_on_with(const std::string& aside);
  /// Removes for about a millisecond.
  void step();
  /// When the next step is due; empty if nothing is left to remove.
  [[nodiscard]] std::optional<Clock::time_point> next() const;

 private:
  struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  using Entries = std::unique_ptr<DIR, CloseFolder>;
  struct Waiting {
    std::string name;
    Clock::time_point at{};
    Clock::duration wait{};
  };

  [[nodiscard]] static Entries entries_of(int parent, const std::string& name);
  [[nodiscard]] bool begin();
  void one_entry();
  void take_from_top(const std::string& name);
  void take_from_inner(const std::string& name);
  void end_of_top();

  int parent_;
  std::deque<Waiting> waiting_;  // the first is being removed
  Entries top_, inner_;          // of the first
  std::string inner_name_;       // in the top
  std::int64_t removed_ = 0;     // in this pass over the top
};

/// What an entry takes on the disk: its blocks, and a KiB for its inode; 0 if it is missing.
[[nodiscard]] std::int64_t disk_space_of(int folder, const char* name);
/// That of all that is in a folder, to a depth of 8. Empty if there are more than `most_entries`
/// entries or deeper folders.
[[nodiscard]] std::optional<std::int64_t> bytes_below(int folder, std::int64_t most_entries);

}  // namespace cleave
