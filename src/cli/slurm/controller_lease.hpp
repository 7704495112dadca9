#pragma once
// One controller at a time, by files in a folder that all machines with a controller share, as they
// share slurmctld's StateSaveLocation.
//
// A lease is a file `controller.N`; the highest number counts. It is made so that only one can make
// it (O_EXCL, which NFS keeps since version 3), and its owner writes a new beat into it with each
// renewal. A backup watches: where the beat has not changed for as long as a lease lasts, by the
// backup's own clock, it makes N+1. No two clocks are compared.
//
// The number fences. Before each effect the owner asks may_act(): no higher number is there, and
// its own last renewal is younger than half of what a lease lasts. A tool has a deadline shorter
// than the other half, so what an owner began while it might act has ended before a backup takes
// over. An owner that was stopped for an hour finds the higher number and does nothing.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave::cli {

/// This process, with its machine's boot and its namespace of process numbers.
[[nodiscard]] std::string controller_name();
/// Whether a process of this machine, of this boot and namespace, is not there any more.
[[nodiscard]] bool controller_is_gone(const std::string& name);

/// The lease as one controller sees it.
class ControllerLease {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;  // steady

  using Gone = std::function<bool(const std::string& name)>;

  /// `name` says in the file who has it. `gone` says of another's name whether that controller has
  /// surely ended: it need not be waited for.
  ControllerLease(std::filesystem::path folder, std::string name, std::chrono::nanoseconds lasts,
                  Clock clock, Gone gone = {});

  /// Renews it, or takes it if it is free; whether this controller has it now. Fails where the
  /// folder cannot be used.
  [[nodiscard]] Result<bool> keep();
  [[nodiscard]] bool may_act() const;
  /// Gives it up, so that a backup need not wait.
  void leave();
  /// Whose it is, as the file says; empty: nobody's.
  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] std::uint64_t number() const { return mine_; }

 private:
  /// The highest number, 0 if there is none.
  [[nodiscard]] Result<std::uint64_t> highest() const;
  [[nodiscard]] std::filesystem::path path_of(std::uint64_t number) const;
  [[nodiscard]] Result<void> beat();
  [[nodiscard]] Result<bool> take(std::uint64_t number);

  std::filesystem::path folder_;
  std::string name_, owner_;
  std::chrono::nanoseconds lasts_;
  Clock clock_;
  Gone gone_;
  std::uint64_t mine_ = 0, beats_ = 0;
  std::chrono::nanoseconds renewed_{};
  std::string seen_;                    // the other's file, as it was ...
  std::chrono::nanoseconds seen_at_{};  // ... since then
};

}  // namespace cleave::cli
