#include "engine/refusals.hpp"

#include <algorithm>

namespace cleave {

Instant Refusals::refused(GpuId gpu, Instant now) {
  if (rests_.size() <= index(gpu)) rests_.resize(index(gpu) + 1);
  Rest& rest = rests_[index(gpu)];
  if (rest.until > now) return rest.until;
  const bool first = rest.length == Duration{} || now - rest.until > forgiven_after;
  rest.length = first ? first_rest : std::min(2 * rest.length, longest_rest);
  rest.until = now + rest.length;
  return rest.until;
}

void Refusals::made(GpuId gpu) {
  if (index(gpu) < rests_.size()) rests_[index(gpu)].length = {};
}

std::optional<Instant> Refusals::rests_until(GpuId gpu, Instant now) const {
  if (index(gpu) >= rests_.size() || rests_[index(gpu)].until <= now) return std::nullopt;
  return rests_[index(gpu)].until;
}

}  // namespace cleave
