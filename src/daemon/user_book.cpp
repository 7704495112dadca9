#include "daemon/user_book.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

namespace cleave {

namespace {

constexpr Duration kept_for = std::chrono::minutes(1);
constexpr std::size_t most_entries = 10'000;
constexpr std::size_t longest_entry = 1 << 20;  // of a group with very many members
constexpr int most_groups = 65536;

/// Calls one of the system's functions that want room, with more of it until it is enough.
template <class Record, class Call>
bool look_up(Record& record, std::vector<char>& room, Call call) {
  for (room.resize(4096); room.size() <= longest_entry; room.resize(room.size() * 4)) {
    Record* found = nullptr;
    const int failed = call(&record, room.data(), room.size(), &found);
    if (failed == EINTR) continue;
    if (failed != ERANGE) return failed == 0 && found != nullptr;
  }
  return false;
}

std::optional<UserFacts> ask_the_system(std::uint32_t uid) {
  struct passwd entry {};
  std::vector<char> room;
  if (!look_up(entry, room, [uid](auto... rest) { return ::getpwuid_r(uid, rest...); })) return std::nullopt;
  UserFacts facts{entry.pw_name, entry.pw_gid, {}};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
    if (count > most_groups || count <= static_cast<int>(groups.size())) return std::nullopt;
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  facts.groups.assign(groups.begin(), groups.end());
  return facts;
}

}  // namespace

const std::optional<UserFacts>& UserBook::user(std::uint32_t uid, Duration now) {
  if (entries_.size() > most_entries) entries_.clear();
  const auto [found, is_new] = entries_.try_emplace(uid);
  Entry& entry = found->second;
  if (is_new || now >= entry.until) entry = {ask_the_system(uid), now + kept_for};
  return entry.facts;
}

std::optional<std::uint32_t> UserBook::uid_of(const std::string& name) {
  struct passwd entry {};
  std::vector<char> room;
  if (!look_up(entry, room, [&name](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); }))
    return std::nullopt;
  return entry.pw_uid;
}

std::optional<std::uint32_t> UserBook::gid_of(const std::string& group) {
  struct group entry {};
  std::vector<char> room;
  if (!look_up(entry, room, [&group](auto... rest) { return ::getgrnam_r(group.c_str(), rest...); }))
    return std::nullopt;
  return entry.gr_gid;
}

}  // namespace cleave
