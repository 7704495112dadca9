#include "control/node/learnt_profiles.hpp"

#include <algorithm>

namespace cleave {

void LearntProfiles::recall(const std::vector<LearntProfile>& kept) {
  for (const LearntProfile& each : kept) {
    by_user_[each.uid].add(each.record, MergeRule::replace);
    if (ages_[each.uid].emplace(each.record.date, each.record.key).second) ++size_;
  }
}

LearntChange LearntProfiles::learn(std::uint32_t uid, const ProfileRecord& record,
                                   std::size_t most) {
  ProfileRepository& records = by_user_[uid];
  Ages& ages = ages_[uid];
  if (const ProfileRecord* before = records.find(record.key)) {
    ages.erase({before->date, record.key});
    --size_;
  }
  records.add(record, MergeRule::mean);
  const ProfileRecord& now = *records.find(record.key);
  ages.emplace(now.date, now.key);
  ++size_;
  LearntChange change;
  change.now.push_back({uid, now});
  change.gone = keep(most).gone;
  std::erase_if(change.now, [&](const LearntProfile& each) {
    return std::ranges::find(change.gone, each.key()) != change.gone.end();
  });
  return change;
}

LearntChange LearntProfiles::keep(std::size_t most) {
  LearntChange change;
  while (size_ > most) drop_oldest(change.gone);
  return change;
}

void LearntProfiles::drop_oldest(std::vector<LearntKey>& gone) {
  const auto largest =
      std::ranges::max_element(ages_, {}, [](const auto& each) { return each.second.size(); });
  const auto oldest = largest->second.begin();
  gone.push_back({largest->first, oldest->second});
  by_user_[largest->first].remove(oldest->second);
  largest->second.erase(oldest);
  --size_;
}

const ProfileRepository* LearntProfiles::of(std::uint32_t uid) const {
  const auto found = by_user_.find(uid);
  return found == by_user_.end() ? nullptr : &found->second;
}

}  // namespace cleave
