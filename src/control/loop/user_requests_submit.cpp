// The part of UserRequests that takes submissions in: one job, the jobs of an array, or several
// submissions at a time, all of them or none.

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/loop/user_requests.hpp"
#include "control/verdicts/size_by_measurements.hpp"
#include "forecast/choice/warp_folding.hpp"
#include "placement/request_table.hpp"

namespace cleave {

namespace {

/// " as a service of 3 replicas"
std::string kind_in_words(const JobSpec& spec) {
  if (spec.service)
    return fmt::format(" as a service of {}",
                       counted(static_cast<std::size_t>(spec.service->replicas), "replica"));
  return spec.lease ? " as a lease" : "";
}

/// "job 18 was submitted as 7 of array 12 and asks for 2g.10gb"
std::string submitted_text(const JobRecord& job) {
  const auto& task = job.spec.task;
  return fmt::format("job {} was submitted{}{} and asks for {}", job.number,
                     task ? fmt::format(" as {} of array {}", task->index, task->job) : "",
                     kind_in_words(job.spec), job.spec.asked);
}

}  // namespace

struct UserRequests::Draft {
  StoreBatch batch;
  std::vector<std::vector<JobRecord>> jobs;  // each with its processes and replicas
  std::vector<std::pair<JobNumber, DiskAccounts::Kept>> kept;
  DiskAccounts::Kept all_kept;
  JobNumber next = 0;                 // the first number that is free
  std::vector<std::string> ranges;    // the numbers of each submission
  std::optional<JobsAtOnce> at_once;  // of all of them
};

Result<std::vector<JobNumber>> UserRequests::submit(std::span<const NewJob> jobs,
                                                    std::int64_t at_once) {
  Draft draft;
  draft.next = node_.last_job + 1;
  const JobNumber first = draft.next;
  draft.ranges = ranges_from(first, jobs);
  if (at_once > 0) draft.at_once = {first, number_after(first, jobs) - 1, at_once};
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (auto added = add_to(draft, jobs[i]); !added) {
      if (jobs.size() > 1)
        added.error().place = fmt::format("submission {}: {}", i + 1, added.error().place);
      return std::unexpected(added.error());
    }
  if (draft.jobs.empty()) return std::vector<JobNumber>{};
  if (const auto fits = check_disk(draft.all_kept); !fits) return std::unexpected(fits.error());
  const NewJob& keyed = jobs.front();
  draft.jobs.front().front().key = keyed.key;
  if (keyed.key)
    unwritten_keys_[{keyed.owner.uid, keyed.key->text}] = {first, keyed.key->content, false};
  node_.last_job = draft.next - 1;
  further_jobs_ += draft.jobs.size() - 1;
  for (const auto& processes : draft.jobs)
    draft.batch.jobs.insert(draft.batch.jobs.end(), processes.begin(), processes.end());
  UserRequest& request = book_.request(
      std::move(draft.batch),
      [this, entering = std::move(draft.jobs)]() mutable { enter_jobs(std::move(entering)); });
  // It counts from now on, so that many at a time do not pass the limit together.
  for (const auto& [number, kept] : draft.kept) node_.disk.accounts.add(number, kept);
  request.refused = [this, kept = std::move(draft.kept)] {
    for (const auto& each : kept) node_.disk.accounts.forget(each.first);
  };
  return numbers_from(first, jobs);
}

/// All jobs of its array ask for the same.
Result<void> UserRequests::add_to(Draft& draft, const NewJob& job) {
  JobRecord record;
  record.owner = job.owner;
  record.spec = job.spec;
  choose_size(record.spec, record.owner.uid);
  if (const auto fits = fit_kernel(record.spec); !fits) return fits;
  if (const auto fine = check(record.spec, draft.jobs.size() + job.tasks() - 1); !fine) return fine;
  if (const auto fine = dependencies_.check(job.owner.uid, job.spec.after); !fine) return fine;
  for (const Sibling& each : job.siblings)
    record.spec.after.push_back(fmt::format("{}:{}", each.on, draft.ranges[each.job]));
  record.spec.at_once = draft.at_once;
  record.request = record.spec.request;
  record.submitted = clock_.wall();
  if (!job.array) {
    add_record(draft, std::move(record), job.command);
    return {};
  }
  const std::int64_t tasks = std::ssize(job.array->indices);
  ArrayTask task{.job = draft.next,
                 .last = draft.next + (tasks - 1) * record.places(),
                 .tasks = tasks,
                 .at_once = job.array->at_once};
  for (const std::int64_t index : job.array->indices) {
    task.index = index;
    record.spec.task = task;
    JobCommand command = job.command;
    command.argv = with_index(std::move(command.argv), index);
    add_record(draft, record, command);
  }
  return {};
}

void UserRequests::add_record(Draft& draft, JobRecord record, const JobCommand& command) const {
  record.number = draft.next;
  const std::int64_t records = record.places() * record.replicas();
  draft.next += records;
  DiskAccounts::Kept kept = kept_by(record, command);
  draft.all_kept.uid = kept.uid;
  draft.all_kept.store += kept.store;
  draft.all_kept.passing += kept.passing;
  draft.kept.emplace_back(record.number, std::move(kept));
  draft.batch.commands.emplace_back(record.number, command);
  draft.batch.events.push_back(
      book_.event_record("job-submitted", submitted_text(record), &record));
  std::vector<JobRecord>& processes = draft.jobs.emplace_back();
  for (std::int64_t rank = 0; rank < records; ++rank) {
    JobRecord& process = processes.emplace_back(record);
    process.number = record.number + rank;
    if (rank > 0) process.leader = record.number;
  }
}

/// Where the user said nothing: what was measured of the application, or what it needed before.
void UserRequests::choose_size(JobSpec& spec, std::uint32_t uid) {
  if (!spec.application || !std::holds_alternative<Unknown>(spec.request.wanted)) return;
  const FleetFile fleet = fleet_of(node_);
  std::vector<const Geometry*> geometries;
  for (const Geometry& each : fleet.geometries) geometries.push_back(&each);
  const auto known = book_.need_of({uid, *spec.application});
  auto size = size_by_measurements(spec, uid, node_.applications, geometries,
                                   brain_.gives_named_profiles(), known);
  // What was measured elsewhere may fit nowhere here; then the job shows what it needs.
  if (size && work_out_impossible(size->request).empty()) {
    spec.request = std::move(size->request);
    spec.asked = std::move(size->asked);
    return;
  }
  if (!known) return;
  spec.request.wanted = BySize{*known, {}};
  spec.asked = fmt::format("{} MiB, which {} needed before", known->value, *spec.application);
}

/// Raises a request by size to the compute that the job's kernel needs.
Result<void> UserRequests::fit_kernel(JobSpec& spec) const {
  auto* const size = std::get_if<BySize>(&spec.request.wanted);
  if (!spec.kernel || size == nullptr) return {};
  const FleetFile fleet = fleet_of(node_);
  std::vector<const GpuModel*> models;
  for (const Geometry& each : fleet.geometries) models.push_back(&each.model());
  auto slices = slices_for(use_of(*spec.kernel), models);
  if (!slices) {
    slices.error().place = "kernel";
    return std::unexpected(std::move(slices.error()));
  }
  size->compute = std::max(size->compute, *slices);
  spec.asked = fmt::format("{}, and {} for {}", spec.asked,
                           counted(static_cast<std::size_t>(slices->value), "compute slice"),
                           in_words(*spec.kernel));
  return {};
}

/// All of them first, since some may wait for others.
void UserRequests::enter_jobs(std::vector<std::vector<JobRecord>> jobs) {
  dependencies_.forget_looks();
  std::vector<JobNumber> numbers;
  for (std::vector<JobRecord>& processes : jobs) {
    numbers.push_back(processes.front().number);
    enter_node(std::move(processes));
  }
  for (const JobNumber number : numbers) begin_to_wait(number);
}

void UserRequests::enter_node(std::vector<JobRecord> processes) {
  ++node_.tally.submitted;
  for (JobRecord& record : processes) {
    LiveJob& process = node_.jobs[record.number];
    process.record = std::move(record);
    process.measured = node_.applications.times_of(process.record.owner.uid, process.record.spec);
  }
}

void UserRequests::begin_to_wait(JobNumber number) {
  LiveJob& first = node_.jobs.at(number);
  // Before anything asks whether they belong into the queue.
  const std::vector<LiveJob*> replicas = node_.replicas(first);
  for (LiveJob* replica : replicas) static_cast<void>(dependencies_.enter(*replica));
  const JobKind kind = kind_of(first.record.spec);
  if (kind == JobKind::lease) node_.new_leases.insert(number);
  if (kind != JobKind::batch && brain_.active() && !brain_.takes_kinds())
    return lifecycle_.rebuild("the first service or lease has come");
  for (LiveJob* replica : replicas)
    if (!is_final(replica->record.state)) lifecycle_.enter_queue(*replica);
}

}  // namespace cleave
