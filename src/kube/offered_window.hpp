#pragma once
// Which devices were offered a moment ago: all that a slice has shown that was the latest less than
// `span` before all claims were last read. A scheduler may have seen any of them. Its allocation is
// on its way for a moment; once it is written, the claim is read, even if its pod is not bound yet.

#include <deque>
#include <span>

#include "base/time.hpp"
#include "kube/kube_devices.hpp"

namespace cleave {

/// Times are of the steady clock.
class OfferedWindow {
 public:
  explicit OfferedWindow(Duration span) : span_(span) {}

  /// From now on these are offered, and what was before no more.
  void offer(const KubeDevices& devices, Duration now) {
    if (!shown_.empty()) shown_.back().until = now;
    shown_.push_back({devices, now});
    if (shown_.size() <= most_shown) return;
    // Where claims are seldom read: the oldest two are as one that lasted as long as the later.
    shown_[1].devices.merge(shown_[0].devices);
    shown_.pop_front();
  }
  /// `sure`: when all claims began to be read, the latest time that they could be.
  [[nodiscard]] KubeDevices offered(Duration sure) {
    while (shown_.size() > 1 && shown_.front().until + span_ <= sure) shown_.pop_front();
    KubeDevices all;
    for (const Shown& each : shown_) all.insert(each.devices.begin(), each.devices.end());
    return all;
  }
  /// Whether reading all claims will make it smaller.
  [[nodiscard]] bool shrinks() const { return shown_.size() > 1; }

 private:
  struct Shown {
    KubeDevices devices;
    Duration until{};  // of the last one it means nothing
  };
  static constexpr std::size_t most_shown = 100;
  Duration span_;
  std::deque<Shown> shown_;
};

}  // namespace cleave
