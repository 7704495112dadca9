#include "control/loop/disk_keeper.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/loop/attempt_launcher.hpp"

namespace cleave {

namespace {

constexpr Duration between_looks = std::chrono::seconds(1);
/// Folders of running attempts are weighed when the disk has lost room, and at times anyway.
constexpr Duration between_rounds = std::chrono::seconds(30);
constexpr std::int64_t least_drop = 64 << 20;  // bytes; of small file systems a hundredth
constexpr Duration between_pieces = std::chrono::milliseconds(10);
constexpr Duration between_words = std::chrono::minutes(1);
constexpr std::size_t weighed_at_once = 2, forgotten_at_once = 8;
constexpr std::int64_t counted_at_once = 4 << 20;  // bytes of texts
/// Where inodes are missing: what a job frees is not known, so this number goes between two looks.
constexpr std::size_t most_between_looks = 100;
/// Large folders are removed in steps: what was forgotten counts as free from the beginning.
constexpr Duration time_to_remove = std::chrono::seconds(5);
/// However short room is: users see how a job has ended before it is forgotten.
constexpr Duration time_to_be_seen = std::chrono::seconds(5);

}  // namespace

void DiskKeeper::step() {
  const Duration now = clock_.steady();
  if (questions_.look && now >= look_at_) look();
  if (now >= round_at_) begin_round();
  if (now >= say_at_) say_what_was_forgotten();
  if (now < piece_at_) return;
  piece_at_ = now + between_pieces;
  if (counted_ < uncounted_) count_stored();
  forget_some();
  weigh_some();
}

Duration DiskKeeper::next() const {
  Duration at = round_at_;
  if (questions_.look) at = std::min(at, look_at_);
  if (!unsaid_.empty()) at = std::min(at, say_at_);
  const bool weighs = weighing_ || !round_.empty() || !node_.disk.unweighed.empty();
  const bool works = weighs || counted_ < uncounted_ || (book_.writes() && next_to_go());
  return works ? std::min(at, piece_at_) : at;
}

void DiskKeeper::look() {
  look_at_ = clock_.steady() + between_looks;
  node_.disk.rooms = questions_.look();
  if (clock_.steady() >= freed_until_) freed_ = 0;
  forgotten_since_ = 0;
  if (has_dropped()) round_at_ = clock_.steady();
  // Folders go before records, and what they free may be what the store lacks.
  if (book_.writes() || level_of(node_.disk.rooms, settings_.disk_marks) != DiskLevel::scarce)
    return;
  if (const auto number = next_to_go()) (void)forget_one(*number);
}

bool DiskKeeper::has_dropped() const {
  const auto& rooms = node_.disk.rooms;
  if (at_round_.size() != rooms.size()) return true;
  return !rooms.empty() && at_round_.back().free_bytes - rooms.back().free_bytes >
                               std::min(least_drop, rooms.back().bytes / 100);
}

/// What an earlier daemon has written. Folders count by estimate until they are weighed.
void DiskKeeper::count_stored() {
  const auto sizes = book_.sizes(counted_, counted_at_once);
  if (!sizes) return;
  if (sizes->empty()) counted_ = uncounted_;
  for (const StoredSize& each : *sizes) {
    counted_ = each.number;
    if (each.number > uncounted_) break;
    const std::int64_t store = record_bytes + each.bytes;
    const std::int64_t folders = std::min(each.attempts, most_attempt_folders) * least_folder_bytes;
    if (each.number != each.job) {
      node_.disk.accounts.enlarge(each.job, store, folders);
      continue;
    }
    node_.disk.accounts.add(each.job, {each.uid, store, 0, folders, each.ended});
    if (each.ended) node_.disk.unweighed.push_back(each.job);
  }
}

// Forgetting.

std::optional<JobNumber> DiskKeeper::next_to_go() const {
  const DiskAccounts& accounts = node_.disk.accounts;
  if (const auto one = past_its_share(accounts, settings_.keep_per_user, questions_.exempt, stuck_))
    return one;
  const MissingRoom missing = missing_room(node_.disk.rooms, settings_.disk_marks);
  if (missing.bytes <= freed_ && (missing.inodes <= 0 || forgotten_since_ >= most_between_looks))
    return std::nullopt;
  const auto first = first_to_go(accounts, stuck_);
  if (!first) return first;
  const Duration age = clock_.wall() - *accounts.find(*first)->ended;
  return age >= Duration{} && age < time_to_be_seen ? std::nullopt : first;
}

void DiskKeeper::forget_some() {
  for (std::size_t count = 0; count < forgotten_at_once && book_.writes(); ++count) {
    const auto number = next_to_go();
    if (!number || !forget_one(*number)) return;
  }
}

/// False where the store does not write.
bool DiskKeeper::forget_one(JobNumber number) {
  const DiskAccounts::Kept* kept = node_.disk.accounts.find(number);
  const std::int64_t bytes = kept == nullptr ? 0 : kept->bytes();
  const bool for_room =
      kept != nullptr &&
      (settings_.keep_per_user == 0 || node_.disk.accounts.bytes_of(kept->uid) <=
                                           settings_.keep_per_user - settings_.keep_per_user / 8);
  const auto forgotten = retention_.forget({&number, 1});
  if (!forgotten) return false;
  if (forgotten->empty()) {
    stuck_.insert(number);
    return true;
  }
  freed_ += bytes;
  freed_until_ = clock_.steady() + time_to_remove;
  ++forgotten_since_;
  Forgotten& unsaid = unsaid_[forgotten->front().owner.uid];
  ++unsaid.jobs;
  unsaid.last = forgotten->front();
  unsaid.for_room = unsaid.for_room || for_room;
  return true;
}

/// Once a minute for each user, so that events are not pushed out by it.
void DiskKeeper::say_what_was_forgotten() {
  if (unsaid_.empty()) return;
  say_at_ = clock_.steady() + between_words;
  for (const auto& [uid, each] : unsaid_) {
    const std::string why = each.for_room
                                ? std::string("the disk has too little room")
                                : fmt::format("jobs of one user may keep {} MiB (keep_user_mib)",
                                              settings_.keep_per_user >> 20);
    EventRecord said = book_.event_record(
        "jobs-forgotten",
        fmt::format("{} of {}, the last of them job {}, {} forgotten: {}",
                    counted(each.jobs, "ended job"), each.last.owner.name_or_number(),
                    each.last.number, each.jobs == 1 ? "was" : "were", why),
        &each.last);
    book_.event(std::move(said));
  }
  unsaid_.clear();
}

Result<Purged> DiskKeeper::purge(std::span<const JobNumber> jobs, bool only_say) {
  Purged purged;
  std::vector<JobNumber> ended;
  for (const JobNumber number : jobs) {
    const DiskAccounts::Kept* kept = node_.disk.accounts.find(number);
    if (node_.find(number) != nullptr) continue;
    ended.push_back(number);
    if (only_say && kept != nullptr) purged.bytes += kept->bytes();
  }
  if (only_say) {
    purged.jobs = std::move(ended);
    return purged;
  }
  std::map<JobNumber, std::int64_t> bytes;
  for (const JobNumber number : ended)
    if (const auto* kept = node_.disk.accounts.find(number)) bytes[number] = kept->bytes();
  const auto forgotten = retention_.forget(ended);
  if (!forgotten) return std::unexpected(forgotten.error());
  for (const JobRecord& each : *forgotten) {
    purged.jobs.push_back(each.number);
    purged.bytes += bytes[each.number];
  }
  return purged;
}

// Weighing.

void DiskKeeper::begin_round() {
  round_at_ = clock_.steady() + between_rounds;
  stuck_.clear();
  std::erase_if(node_.disk.runs, [&](const auto& each) {
    const LiveJob* job = node_.find(each.first.job);
    return job == nullptr || !job->attempts.contains(each.first.attempt);
  });
  if (!round_.empty()) return;
  at_round_ = node_.disk.rooms;
  for (const auto& [number, job] : node_.jobs)
    if (job.record.leader == 0 && job.record.attempts > 0) round_.push_back(number);
}

void DiskKeeper::weigh_some() {
  for (std::size_t count = 0; count < weighed_at_once; ++count) {
    if (!weighing_ && !begin_next_job()) return;
    if (!weighing_->left.empty()) {
      weigh(weighing_->left.back());
      weighing_->left.pop_back();
    }
    if (!weighing_->left.empty()) continue;
    node_.disk.accounts.weigh(weighing_->job, weighing_->bytes);
    weighing_.reset();
  }
}

/// What runs first: what has ended grows no more.
bool DiskKeeper::begin_next_job() {
  std::deque<JobNumber>& from = round_.empty() ? node_.disk.unweighed : round_;
  if (from.empty()) return false;
  if (auto folders = folders_of(from.front()))
    weighing_ = Weighing{from.front(), std::move(*folders), 0};
  from.pop_front();
  return weighing_.has_value();
}

/// Of all its processes and replicas, as far as they are kept. Nothing where that cannot be said.
std::optional<std::vector<JobKey>> DiskKeeper::folders_of(JobNumber number) {
  std::vector<JobKey> all;
  const auto add = [&](JobNumber process, std::int64_t attempts) {
    for (std::int64_t attempt = std::max<std::int64_t>(1, attempts - most_attempt_folders + 1);
         attempt <= attempts; ++attempt)
      all.push_back({process, attempt});
  };
  if (const LiveJob* job = node_.find(number)) {
    for (const LiveJob* replica : std::as_const(node_).replicas(*job))
      for (const LiveJob* process : std::as_const(node_).processes(*replica))
        add(process->record.number, process->record.attempts);
    return all;
  }
  const auto stored = book_.job(number);
  return stored && *stored ? retention_.attempts_of(**stored) : std::nullopt;
}

void DiskKeeper::weigh(const JobKey& key) {
  const std::int64_t bytes = runner_.kept_bytes(key);
  weighing_->bytes += bytes;
  const LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  node_.disk.runs[key] = bytes;
  if (bytes > most_of_attempt(settings_, node_.disk.rooms)) stop(key, bytes);
}

/// With its whole job: another attempt would do the same.
void DiskKeeper::stop(const JobKey& key, std::int64_t bytes) {
  LiveJob& process = *node_.find(key.job);
  LiveJob* job = node_.find(process.record.job());
  if (job == nullptr) job = &process;
  if (job->record.cancelled || is_final(job->record.state)) return;
  const std::int64_t most = most_of_attempt(settings_, node_.disk.rooms);
  const std::string why =
      bytes >= too_many_files
          ? std::string("its folder has more than 1000 files, or more than 8 levels")
          : fmt::format("its folder takes {} MiB, more than the {} that job_files_mib allows",
                        bytes >> 20, most >> 20);
  book_.event("job-fills-disk",
              fmt::format("{} is stopped: {}", NodeState::in_words(job->record), why), job);
  for (LiveJob* replica : node_.replicas(*job))
    lifecycle_.cancel(*replica, fmt::format("the daemon, since {}", why),
                      settings_.operators_grace);
}

}  // namespace cleave
