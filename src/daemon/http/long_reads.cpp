#include "daemon/http/long_reads.hpp"

namespace cleave {

bool LongReads::enter(std::uint32_t uid, const void* connection, std::function<void()> resume) {
  Line& line = lines_[uid];
  if (line.reads == nullptr) line.reads = connection;
  if (line.reads == connection) return true;
  line.waiting.emplace_back(connection, std::move(resume));
  return false;
}

void LongReads::leave(std::uint32_t uid, const void* connection) {
  const auto found = lines_.find(uid);
  if (found == lines_.end()) return;
  Line& line = found->second;
  std::erase_if(line.waiting, [&](const auto& each) { return each.first == connection; });
  if (line.reads != connection) return;
  if (line.waiting.empty()) {
    lines_.erase(found);
    return;
  }
  const auto next = std::move(line.waiting.front());
  line.waiting.pop_front();
  line.reads = next.first;
  next.second();
}

}  // namespace cleave
