#include "control/node/disk_use.hpp"

#include <algorithm>
#include <string_view>

#include "control/record_text.hpp"

namespace cleave {

namespace {

/// As the store writes it, where some characters take six.
std::int64_t bytes_of(std::string_view text) {
  const auto escaped = std::ranges::count_if(
      text, [](char each) { return each == '"' || each == '\\' || (each >= 0 && each < ' '); });
  return std::ssize(text) + 5 * escaped + 4;
}

std::int64_t bytes_of(const std::vector<std::string>& texts) {
  std::int64_t sum = 0;
  for (const std::string& each : texts) sum += bytes_of(std::string_view(each));
  return sum;
}

}  // namespace

DiskAccounts::Kept kept_by(const JobRecord& job, const JobCommand& command) {
  DiskAccounts::Kept kept;
  kept.uid = job.owner.uid;
  const std::int64_t record = record_bytes + std::ssize(spec_text(job.spec));
  kept.store = job.places() * job.replicas() * record + bytes_of(command.argv) +
               bytes_of(std::string_view(command.working_directory));
  // That of a service stays until it is forgotten.
  (job.is_replica() ? kept.store : kept.passing) += bytes_of(command.environment);
  return kept;
}

void DiskAccounts::count(JobNumber job, const Kept& kept) {
  User& user = users_[kept.uid];
  user.bytes += kept.bytes();
  if (!kept.ended) return;
  user.ended_bytes += kept.bytes();
  user.ended.emplace(*kept.ended, job);
}

void DiskAccounts::uncount(JobNumber job, const Kept& kept) {
  const auto found = users_.find(kept.uid);
  User& user = found->second;
  user.bytes -= kept.bytes();
  if (kept.ended) {
    user.ended_bytes -= kept.bytes();
    user.ended.erase({*kept.ended, job});
  }
  if (user.bytes == 0 && user.ended.empty()) users_.erase(found);
}

void DiskAccounts::add(JobNumber job, const Kept& kept) {
  if (jobs_.try_emplace(job, kept).second) count(job, kept);
}

void DiskAccounts::enlarge(JobNumber job, std::int64_t store, std::int64_t folders) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  uncount(job, found->second);
  found->second.store += store;
  found->second.folders += folders;
  count(job, found->second);
}

void DiskAccounts::weigh(JobNumber job, std::int64_t folders) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  uncount(job, found->second);
  found->second.folders = folders;
  count(job, found->second);
}

void DiskAccounts::end(JobNumber job, Instant ended) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  uncount(job, found->second);
  found->second.ended = ended;
  found->second.passing = 0;
  count(job, found->second);
}

void DiskAccounts::forget(JobNumber job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  uncount(job, found->second);
  jobs_.erase(found);
}

const DiskAccounts::Kept* DiskAccounts::find(JobNumber job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::int64_t DiskAccounts::bytes_of(std::uint32_t uid) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? 0 : found->second.bytes;
}

}  // namespace cleave
