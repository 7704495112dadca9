#include "daemon/http/fair_turns.hpp"

#include <deque>
#include <map>
#include <utility>

namespace cleave {

struct FairTurns::Inside : std::enable_shared_from_this<FairTurns::Inside> {
  std::function<void(std::function<void()>)> later;
  std::map<std::uint32_t, std::deque<std::function<bool()>>> works;  // none of them empty
  std::deque<std::uint32_t> order;                                   // of the users in `works`
  std::size_t waiting = 0;
  bool asked = false;

  void ask() {
    if (std::exchange(asked, true)) return;
    later([weak = weak_from_this()] {
      if (const auto there = weak.lock()) there->turn();
    });
  }

  void turn() {
    asked = false;
    if (order.empty()) return;
    const std::uint32_t uid = order.front();
    order.pop_front();
    // A copy, since the piece may add other tasks.
    const std::function<bool()> piece = works[uid].front();
    const bool goes_on = piece();
    if (!goes_on) {
      works[uid].pop_front();
      --waiting;
    }
    if (works[uid].empty())
      works.erase(uid);
    else
      order.push_back(uid);
    if (!order.empty()) ask();
  }
};

FairTurns::FairTurns(std::function<void(std::function<void()>)> later)
    : inside_(std::make_shared<Inside>()) {
  inside_->later = std::move(later);
}

FairTurns::~FairTurns() = default;

void FairTurns::add(std::uint32_t uid, std::function<bool()> piece) {
  auto& works = inside_->works[uid];
  // A user whose piece is running now joins the order again after it.
  if (works.empty()) inside_->order.push_back(uid);
  works.push_back(std::move(piece));
  ++inside_->waiting;
  inside_->ask();
}

std::size_t FairTurns::waiting() const {
  return inside_->waiting;
}

}  // namespace cleave
