#pragma once
// Long work on the event loop, done in pieces: one piece in each turn of the loop, users in turn,
// and one task of each user at a time. A user who asks for much waits for their own work; everybody
// else waits for one piece at most.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cleave {

/// The queue of long tasks, by user.
class FairTurns {
 public:
  /// `later` calls its argument in a later turn of the loop, after what is ready now; that may be
  /// after this object is gone.
  explicit FairTurns(std::function<void(std::function<void()>)> later);
  ~FairTurns();
  FairTurns(const FairTurns&) = delete;
  FairTurns& operator=(const FairTurns&) = delete;

  /// `piece` does a few milliseconds of work and returns whether there is more. It is never called
  /// from within add().
  void add(std::uint32_t uid, std::function<bool()> piece);
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace cleave
