#pragma once
// Removing folders that their users have filled, with whatever they liked and however deep, from a
// loop that must go on: some entries at a time, two descriptors in all, no link followed. What lies
// deeper is moved up to the top of its folder when it is come to, so that no depth is too deep and
// no path too long.

#include <dirent.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runner/descriptor.hpp"

namespace cleave {

class FolderRemoval {
 public:
  using Clock = std::chrono::steady_clock;
  /// Of folders in this one, which must stay open and in which nobody but this process's user may
  /// write.
  explicit FolderRemoval(int parent) : parent_(parent) {}

  /// Moves the folder aside at once, under a name of its own that begins with `.gone-`, and removes
  /// it with the steps that come. One that is not there is no failure.
  [[nodiscard]] Result<void> remove(const std::string& name);
  /// One that is aside already.
  void go_on_with(const std::string& aside);
  /// As much as takes about a millisecond.
  void step();
  /// When the next step is due; nothing where nothing is left to remove.
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

/// What lies in the folder, in bytes of the disk: plain files, to a depth of 8, of at most
/// `most_entries` entries. Nothing where there is more than that.
[[nodiscard]] std::optional<std::int64_t> bytes_below(int folder, std::int64_t most_entries);

}  // namespace cleave
