#include "simulate/outages.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {

std::vector<Outages::Loss> Outages::said(Instant begin) {
  std::vector<Outage> outages = plan_->outages;
  std::ranges::sort(outages, {}, &Outage::from);
  std::vector<Loss> losses;
  for (const Outage& outage : outages) {
    losses.push_back({std::max(begin, outage.from), outage.gpu});
    said_returns_[outage.gpu].push_back(outage.until);
  }
  return losses;
}

Duration Outages::exponential(GpuId gpu, Duration mean, std::uint64_t which) const {
  const double u = uniform_of(seed_ ^ 0x677075, index(gpu), 2 * losses_[index(gpu)] + which);
  const double ns = -std::log(u) * static_cast<double>(mean.count());
  const auto most = static_cast<double>(longest_duration.count());
  return std::max(Duration{1}, Duration{std::llround(std::min(ns, most))});
}

Instant Outages::next_loss(GpuId gpu, Instant now) const {
  return now + exponential(gpu, *plan_->between_losses, 0);
}

Instant Outages::returns(GpuId gpu, Instant now) {
  if (drawn()) {
    const Instant until = now + exponential(gpu, plan_->repair, 1);
    ++losses_[index(gpu)];
    return until;
  }
  auto& returns = said_returns_[gpu];
  const Instant until = std::max(now, returns.front());
  returns.erase(returns.begin());
  return until;
}

}  // namespace cleave
