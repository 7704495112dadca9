#include "engine/queue/expected_ends.hpp"

namespace cleave {

void ExpectedEnds::changed(GpuId gpu) {
  if (!made_) return;
  log_.push_back(gpu);
  if (log_.size() < 2 * on_.size() + 64) return;
  // To make it anew takes no longer than to catch up.
  made_ = false;
  log_.clear();
}

void ExpectedEnds::look_at(GpuId gpu) {
  std::vector<Instant>& here = on_[index(gpu)];
  for (const Instant end : here) all_.erase({end, gpu});
  here.clear();
  holders_->known_ends_on(gpu, here);
  for (const Instant end : here) all_.emplace(end, gpu);
}

const ExpectedEnds::InOrder& ExpectedEnds::in_order() {
  if (!std::exchange(made_, true))
    for (std::size_t i = 0; i < on_.size(); ++i) look_at(static_cast<GpuId>(i));
  for (const GpuId gpu : std::exchange(log_, {})) look_at(gpu);
  return all_;
}

}  // namespace cleave
