#pragma once
// Work that takes longer than others on the same loop should wait, done in pieces: one piece for
// each turn of the loop, the users one after the other, and of each user one work at a time. So
// whoever asks for much waits for himself, and everybody else for one piece at most.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cleave {

class FairTurns {
 public:
  /// `later` calls back in a turn of the loop of its own, after what is ready now; it may outlive
  /// this.
  explicit FairTurns(std::function<void(std::function<void()>)> later);
  ~FairTurns();
  FairTurns(const FairTurns&) = delete;
  FairTurns& operator=(const FairTurns&) = delete;

  /// `piece` does a few milliseconds' worth and says whether it goes on; never called from within
  /// add().
  void add(std::uint32_t uid, std::function<bool()> piece);
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace cleave
