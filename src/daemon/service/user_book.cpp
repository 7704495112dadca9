#include "daemon/service/user_book.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr Duration kept_for = std::chrono::minutes(1);
constexpr std::size_t most_entries = 10'000;
constexpr std::size_t longest_entry = 1 << 20;  // of a group with very many members
constexpr int most_groups = 65536;

enum class LookUp : std::uint8_t { found, none, unknown };

/// Calls one of the system's functions that fill a buffer, with a larger one until it is enough.
template <class Record, class Call>
LookUp look_up(Record& record, std::vector<char>& room, Call call) {
  for (room.resize(4096); room.size() <= longest_entry; room.resize(room.size() * 4)) {
    Record* found = nullptr;
    const int failed = call(&record, room.data(), room.size(), &found);
    if (failed == EINTR || failed == ERANGE) continue;
    if (failed == 0) return found != nullptr ? LookUp::found : LookUp::none;
    return failed == ENOENT || failed == ESRCH ? LookUp::none : LookUp::unknown;
  }
  return LookUp::unknown;
}

}  // namespace

UserBook::Entry UserBook::ask_the_system(std::uint32_t uid) {
  struct passwd entry {};
  std::vector<char> room;
  const LookUp there =
      look_up(entry, room, [uid](auto... rest) { return ::getpwuid_r(uid, rest...); });
  if (there != LookUp::found) return {std::nullopt, there == LookUp::none, {}};
  UserFacts facts{entry.pw_name, entry.pw_gid, {}};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
    if (count > most_groups || count <= static_cast<int>(groups.size()))
      return {std::nullopt, false, {}};
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  facts.groups.assign(groups.begin(), groups.end());
  return {std::move(facts), true, {}};
}

UserBook::Entry& UserBook::entry(std::uint32_t uid, Duration now) {
  if (entries_.size() > most_entries) entries_.clear();
  const auto [found, is_new] = entries_.try_emplace(uid);
  Entry& entry = found->second;
  if (is_new || now >= entry.until) {
    entry = ask_the_system(uid);
    entry.until = now + kept_for;
  }
  return entry;
}

const std::optional<UserFacts>& UserBook::user(std::uint32_t uid, Duration now) {
  return entry(uid, now).facts;
}

Result<JobOwner> UserBook::owner_now(const JobOwner& owner, Duration now) {
  const Entry& known = entry(owner.uid, now);
  // A name that was not known at the time says nothing; that of root is no matter.
  if (known.facts && owner.uid != 0 && !owner.user.empty() && known.facts->name != owner.user)
    return fail(ErrorKind::infeasible, "",
                fmt::format("it was submitted by {}, and uid {} is another account now, {}",
                            shown(owner.user), owner.uid, shown(known.facts->name)),
                "submit it again as the user who is to run it");
  if (known.facts) return JobOwner{owner.uid, known.facts->gid, known.facts->groups, owner.user};
  if (!known.sure || owner.uid == 0) return owner;
  return fail(ErrorKind::infeasible, "",
              fmt::format("the user who submitted it, uid {}, no longer exists here", owner.uid),
              "create the user again and submit again");
}

std::optional<std::uint32_t> UserBook::uid_of(const std::string& name) {
  struct passwd entry {};
  std::vector<char> room;
  if (look_up(entry, room, [&name](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); }) !=
      LookUp::found)
    return std::nullopt;
  return entry.pw_uid;
}

std::optional<std::uint32_t> UserBook::gid_of(const std::string& group) {
  struct group entry {};
  std::vector<char> room;
  if (look_up(entry, room, [&group](auto... rest) {
        return ::getgrnam_r(group.c_str(), rest...);
      }) != LookUp::found)
    return std::nullopt;
  return entry.gr_gid;
}

std::string UserBook::group_name(std::uint32_t gid) {
  struct group entry {};
  std::vector<char> room;
  if (look_up(entry, room, [gid](auto... rest) { return ::getgrgid_r(gid, rest...); }) !=
      LookUp::found)
    return fmt::format("{}", gid);
  return entry.gr_name;
}

}  // namespace cleave
