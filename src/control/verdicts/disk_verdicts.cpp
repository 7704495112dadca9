#include "control/verdicts/disk_verdicts.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

std::int64_t mark(std::int64_t whole, std::int64_t most, double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(std::min(whole, most)));
}

/// How much is missing up to this share; nothing, or less, where nothing is.
MissingRoom missing_up_to(const DiskRoom& room, double share) {
  return {mark(room.bytes, most_bytes_counted, share) - room.free_bytes,
          mark(room.inodes, most_inodes_counted, share) - room.free_inodes};
}

bool is_below(const DiskRoom& room, double share) {
  const MissingRoom missing = missing_up_to(room, share);
  return missing.bytes > 0 || missing.inodes > 0;
}

std::optional<JobNumber> oldest_of(const DiskAccounts::User& user,
                                   const std::set<JobNumber>& skipped) {
  const auto found = std::ranges::find_if(
      user.ended, [&](const auto& each) { return !skipped.contains(each.second); });
  return found == user.ended.end() ? std::nullopt : std::optional(found->second);
}

constexpr std::string_view what_helps =
    "free space there, or forget ended jobs: `cleave purge --older 1d`";

}  // namespace

DiskLevel level_of(const DiskRoom& room, const DiskMarks& marks) {
  if (is_below(room, marks.refuse)) return DiskLevel::scarce;
  return is_below(room, marks.forget) ? DiskLevel::low : DiskLevel::roomy;
}

DiskLevel level_of(const std::vector<DiskRoom>& rooms, const DiskMarks& marks) {
  DiskLevel least = DiskLevel::roomy;
  for (const DiskRoom& room : rooms) least = std::max(least, level_of(room, marks));
  return least;
}

MissingRoom missing_room(const std::vector<DiskRoom>& rooms, const DiskMarks& marks) {
  MissingRoom most;
  for (const DiskRoom& room : rooms) {
    const MissingRoom missing = missing_up_to(room, marks.forget);
    most = {std::max(most.bytes, missing.bytes), std::max(most.inodes, missing.inodes)};
  }
  return most;
}

std::string in_words(const DiskRoom& room) {
  const auto share = [](std::int64_t part, std::int64_t whole, std::int64_t most) {
    return static_cast<double>(part) / static_cast<double>(std::min(whole, most));
  };
  const bool inodes = room.inodes > 0 && share(room.free_inodes, room.inodes, most_inodes_counted) <
                                             share(room.free_bytes, room.bytes, most_bytes_counted);
  if (inodes)
    return fmt::format("{} has {} of {} inodes free", room.place, room.free_inodes, room.inodes);
  return fmt::format("{} has {} of {} MiB free", room.place, room.free_bytes >> 20,
                     room.bytes >> 20);
}

std::vector<std::string> disk_troubles(const std::vector<DiskRoom>& rooms, const DiskMarks& marks) {
  std::vector<std::string> all;
  for (const DiskRoom& room : rooms) {
    const DiskLevel level = level_of(room, marks);
    if (level == DiskLevel::roomy) continue;
    all.push_back(
        fmt::format("{}: {}; {}", in_words(room),
                    level == DiskLevel::scarce
                        ? "no jobs are accepted, and ended ones are forgotten before their time"
                        : "ended jobs are forgotten before their time",
                    what_helps));
  }
  return all;
}

Result<void> may_keep(const DiskAccounts& accounts, std::uint32_t uid, std::int64_t more,
                      std::int64_t most) {
  const std::int64_t kept = accounts.bytes_of(uid);
  if (most == 0 || kept + more <= most) return {};
  return fail(ErrorKind::infeasible, "the disk",
              fmt::format("your jobs keep {} MiB here and this one {:.1f} MiB more, and a user may "
                          "keep {}",
                          kept >> 20, static_cast<double>(more) / (1 << 20), most >> 20),
              "forget ended jobs with `cleave purge --older 1d` (the oldest are being forgotten), "
              "cancel others, or submit it later; keep_user_mib is the limit");
}

Result<void> may_accept(const std::vector<DiskRoom>& rooms, const DiskMarks& marks) {
  for (const DiskRoom& room : rooms)
    if (level_of(room, marks) == DiskLevel::scarce)
      return fail(ErrorKind::infeasible, "the disk",
                  fmt::format("{}, too little for new jobs", in_words(room)),
                  std::string(what_helps));
  return {};
}

std::optional<JobNumber> past_its_share(const DiskAccounts& accounts, std::int64_t most,
                                        const ExemptUsers& exempt,
                                        const std::set<JobNumber>& skipped) {
  if (most == 0) return std::nullopt;
  for (const auto& [uid, user] : accounts.users()) {
    if (user.bytes <= most - most / 8 || (exempt && exempt(uid))) continue;
    if (const auto oldest = oldest_of(user, skipped)) return oldest;
  }
  return std::nullopt;
}

std::optional<JobNumber> first_to_go(const DiskAccounts& accounts,
                                     const std::set<JobNumber>& skipped) {
  std::optional<JobNumber> first;
  std::int64_t most = -1;
  for (const auto& [uid, user] : accounts.users()) {
    if (user.ended_bytes <= most) continue;
    if (const auto oldest = oldest_of(user, skipped)) {
      first = oldest;
      most = user.ended_bytes;
    }
  }
  return first;
}

std::int64_t most_of_attempt(const ControlSettings& settings, const std::vector<DiskRoom>& rooms) {
  if (settings.job_files == 0) return INT64_MAX;
  const std::int64_t most = settings.job_files + 2 * settings.log_limit;
  return rooms.empty() ? most : std::min(most, rooms.back().bytes / 4);
}

}  // namespace cleave
