#include "engine/array_gate.hpp"

namespace cleave {

bool ArrayGate::enter(JobId job, RequestId request) {
  const ArrayShare share = share_of(job);
  if (share.at_once == 0) return true;
  Array& array = arrays_[share.array];
  if (array.known.contains(job)) return true;
  if (has_room(array, share)) {
    array.known.insert(job);
    return true;
  }
  array.waits.insert_or_assign(job, request);
  return false;
}

void ArrayGate::adopt(JobId job) {
  const ArrayShare share = share_of(job);
  if (share.at_once != 0) arrays_[share.array].known.insert(job);
}

void ArrayGate::leave(JobId job) {
  const auto found = arrays_.find(share_of(job).array);
  if (found == arrays_.end()) return;
  Array& array = found->second;
  array.known.erase(job);
  array.waits.erase(job);
  if (array.known.empty() && array.waits.empty()) arrays_.erase(found);
}

std::optional<Waiting> ArrayGate::next(JobId job) {
  const ArrayShare share = share_of(job);
  const auto found = arrays_.find(share.array);
  if (found == arrays_.end() || found->second.waits.empty() || !has_room(found->second, share))
    return std::nullopt;
  Array& array = found->second;
  const auto first = array.waits.begin();
  const Waiting next{first->first, first->second};
  array.waits.erase(first);
  array.known.insert(next.job);
  return next;
}

bool ArrayGate::holds(JobId job) const {
  const auto found = arrays_.find(share_of(job).array);
  return found != arrays_.end() && found->second.waits.contains(job);
}

}  // namespace cleave
