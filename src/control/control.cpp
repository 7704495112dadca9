#include "control/control.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/book/retention.hpp"
#include "control/loop/claim_keeper.hpp"
#include "control/loop/command_translator.hpp"
#include "control/loop/compaction_keeper.hpp"
#include "control/loop/dependency_keeper.hpp"
#include "control/loop/disk_keeper.hpp"
#include "control/loop/engine_rebuild.hpp"
#include "control/loop/health_keeper.hpp"
#include "control/loop/lease_keeper.hpp"
#include "control/loop/listing.hpp"
#include "control/loop/plan_keeper.hpp"
#include "control/loop/startup.hpp"
#include "control/loop/step_taker.hpp"
#include "control/loop/use_keeper.hpp"
#include "control/loop/user_requests.hpp"
#include "control/node/reserved_gpus.hpp"

namespace cleave {

namespace {

constexpr Duration clock_slack = std::chrono::seconds(2);
/// Effects have effects; what is left after this many rounds waits for the next step.
constexpr int most_rounds = 16;
/// Plans of earlier daemons in which jobs may have been moved lately.
constexpr std::size_t most_plans_recalled = 100;

}  // namespace

/// The owners and the parts that act on them, in the order in which they refer to one another.
struct Control::Parts {
  Parts(Doors doors, ControlSettings with, Moment now)
      : clock(now),
        settings(std::move(with)),
        book(doors.store, clock),
        brain(clock),
        exempt(std::move(doors.exempt)),
        retention(doors.store, doors.runner, book, clock, settings, node.disk.accounts),
        lifecycle(clock, node, book, brain, doors.runner),
        commands(clock, node, book, brain, lifecycle),
        processes(clock, settings, node, book, brain, lifecycle, doors.runner),
        health(clock, node, book, lifecycle),
        use(clock, node, book),
        gpus(clock, settings, node, book, brain, lifecycle, health, use, doors.executor),
        launcher(clock, settings, node, book, processes, doors.runner,
                 std::move(doors.look_up_owner)),
        steps(clock, settings, node, brain, lifecycle, gpus, launcher),
        rebuild(clock, settings, node, book, brain, lifecycle, gpus),
        claims(clock, settings, node, book, brain, lifecycle, gpus),
        plans(clock, settings, node, book, brain, lifecycle),
        compaction(clock, settings, node, brain, plans),
        leases(clock, node, book, brain, lifecycle),
        dependencies(node, book, lifecycle),
        users(clock, settings, node, book, brain, lifecycle, exempt, health, dependencies),
        disk(clock, settings, node, book, retention, lifecycle, doors.runner,
             {std::move(doors.look_at_disk), exempt}),
        listing(clock, settings, node, book, brain, gpus) {
    book.set_stopwatch(doors.stopwatch);
    brain.set_stopwatch(std::move(doors.stopwatch));
    brain.set_carry_out([this](const Command& command) { commands.carry_out(command); });
  }

  Result<void> begin(Doors& doors);
  Result<void> know_applications(const StoreContents& contents);
  void know_past_use(const StoreContents& contents);
  void recall_faults(const StoredSettings& stored);
  void choose_scheduler(const StoredSettings& stored);
  void doubt_clock(Store& store, const StoreContents& contents);
  void advance(Moment now);
  bool round();

  Clock clock;
  ControlSettings settings;
  NodeState node;
  Book book;
  Brain brain;
  ExemptUsers exempt;
  Retention retention;
  JobLifecycle lifecycle;
  CommandTranslator commands;
  ProcessListener processes;
  HealthKeeper health;
  UseKeeper use;
  GpuListener gpus;
  AttemptLauncher launcher;
  StepTaker steps;
  EngineRebuild rebuild;
  ClaimKeeper claims;
  PlanKeeper plans;
  CompactionKeeper compaction;
  LeaseKeeper leases;
  DependencyKeeper dependencies;
  UserRequests users;
  DiskKeeper disk;
  Listing listing;
  std::optional<QueueView> queue;  // as of this step, once it was asked for
};

// The beginning.

Result<std::unique_ptr<Control>> Control::begin(Doors doors, ControlSettings settings, Moment now) {
  auto parts = std::make_unique<Parts>(doors, std::move(settings), now);
  if (const auto begun = parts->begin(doors); !begun) return std::unexpected(begun.error());
  return std::unique_ptr<Control>(new Control(std::move(parts)));
}

Result<void> Control::check_scheduler(const std::string& text, bool with_reservations,
                                      const UserLimits& limits) {
  if (const auto known = Brain::interrupting_name(text); !known)
    return std::unexpected(known.error());
  const GpuReservation any;
  const std::span<const GpuReservation> reserved(&any, with_reservations ? 1 : 0);
  const auto check = [&](const FleetFile& fleet) {
    return Brain::check_scheduler(text, fleet, reserved, false, limits);
  };
  auto possible = check({});
  // Layouts are of GPU models: one of them must do, or all together.
  FleetFile all;
  for (const GpuModel& model : gpu_models()) {
    if (possible) return possible;
    FleetFile fleet;
    fleet.geometries.emplace_back(model, ProfileChoice().on(model));
    fleet.gpus.push_back({"gpu/0", 0, {}});
    if (check(fleet)) possible = {};
    all.gpus.push_back({fmt::format("gpu/{}", all.gpus.size()), all.geometries.size(), {}});
    all.geometries.push_back(std::move(fleet.geometries.front()));
  }
  if (!possible && check(all)) possible = {};
  return possible;
}

Result<void> Control::check_forecaster(const std::string& text) {
  return Brain::check_forecaster(text);
}

Control::Control(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Control::~Control() = default;

Result<void> Control::Parts::begin(Doors& doors) {
  if (const auto possible = Brain::check_forecaster(settings.forecaster); !possible)
    return possible;
  auto contents = book.load();
  if (!contents) return std::unexpected(contents.error());
  const auto found = doors.runner.found([this](const JobKey& key) { return book.is_settled(key); });
  if (!found) return std::unexpected(found.error());
  const StoredSettings stored = parse_settings(contents->settings);
  for (const GpuIdentity& identity : doors.executor.gpus()) {
    ManagedGpu& gpu = node.gpus.emplace_back();
    gpu.identity = &identity;
    gpu.drained = stored.drained.contains(identity.uuid);
  }
  // A GPU that is not there today does not keep users from the others.
  if (settings.host_cpus && *settings.host_cpus > 0)
    node.host.millicpus = millicpus(*settings.host_cpus);
  if (settings.host_memory && *settings.host_memory > MiB{0})
    node.host.memory = settings.host_memory;
  if (const auto fine = check_reserved(settings.reservations, node, clock.wall()); !fine)
    book.event("reservations", fine.error().text());
  if (const auto possible = users.check_scheduler(settings.scheduler); !possible) return possible;
  if (const auto known = know_applications(*contents); !known) return known;
  know_past_use(*contents);
  node.paused = stored.paused;
  node.last_job = contents->last_job;
  for (const FoundJob& each : *found) node.last_job = std::max(node.last_job, each.key.job);
  book.recall_needs(stored.needs);
  const bool rebooted = stored.boot && *stored.boot != settings.boot;
  if (!stored.boot || rebooted) book.note_setting(boot_key, settings.boot);
  choose_scheduler(stored);
  node.users = stored.users;
  health.recall(stored, rebooted);
  use.recall(stored, rebooted);
  doubt_clock(doors.store, *contents);
  const std::optional<LivePlan> plan = contents->plan;
  node.last_plan = contents->last_plan;
  Startup(node, book, lifecycle, processes, rebooted).take(std::move(*contents), *found);
  claims.recall(stored.claims, rebooted);
  dependencies.recall();
  if (plan) plans.recall(*plan);
  // Without them it may move jobs a little more often.
  if (const auto past = doors.store.plans(INT64_MAX, most_plans_recalled)) compaction.recall(*past);
  disk.begin();
  recall_faults(stored);
  return {};
}

/// Of jobs that are over nothing is kept.
void Control::Parts::recall_faults(const StoredSettings& stored) {
  for (const auto& [number, faults] : stored.faults) {
    LiveJob* job = node.find(number);
    if (job != nullptr && !is_final(job->record.state)) {
      job->faults = faults;
    } else {
      book.note_setting(faults_key(number), "");
    }
  }
}

/// Before any job enters: it is told what is known of its application.
Result<void> Control::Parts::know_applications(const StoreContents& contents) {
  std::vector<const GpuModel*> models;
  for (const ManagedGpu& gpu : node.gpus)
    if (const auto known = find_gpu_model(gpu.geometry().model().key);
        known && std::ranges::find(models, *known) == models.end())
      models.push_back(*known);
  node.applications.set_models(std::move(models));
  node.applications.set_given(settings.applications);
  node.applications.recall(contents.learnt);
  book.note(node.applications.keep(settings.keep_profiles));
  const auto finished = book.latest_jobs(JobState::finished, most_scored);
  if (!finished) return {};  // it is only for what is said of errors
  for (auto each = finished->rbegin(); each != finished->rend(); ++each)
    if (each->latest && !each->job.several())
      if (const auto score = score_of(each->job.owner.uid, *each->latest))
        add_score(node.predictions, *score);
  return {};
}

/// What users have had, for fair shares: of each job that is over the latest attempt, and of the
/// others all that are.
void Control::Parts::know_past_use(const StoreContents& contents) {
  const auto latest = book.latest_jobs({}, most_past_use);
  if (!latest) return;  // shares begin anew
  for (auto each = latest->rbegin(); each != latest->rend(); ++each)
    if (each->latest && is_final(each->job.state)) node.count_use(each->job.owner, *each->latest);
  for (const AttemptRecord& attempt : contents.attempts) {
    const auto job =
        std::ranges::lower_bound(contents.jobs, attempt.key.job, {}, &JobRecord::number);
    if (job != contents.jobs.end() && job->number == attempt.key.job)
      node.count_use(job->owner, attempt);
  }
}

/// Before this daemon has written anything.
void Control::Parts::doubt_clock(Store& store, const StoreContents& contents) {
  const auto events = store.events(contents.last_event - 1, std::nullopt, 1);
  std::optional<Instant> latest;
  if (events && !events->empty()) latest = events->front().at;
  const auto kept = contents.settings.find(clock_doubt_key);
  const auto before =
      kept == contents.settings.end() ? std::nullopt : parse_clock_doubt(kept->second);
  const auto doubt = doubt_at_start(latest, clock.wall(), before);
  retention.doubt_clock(doubt);
  if (doubt == before) return;
  book.note_setting(clock_doubt_key, clock_doubt_text(doubt));
  if (!doubt || doubt->shown - doubt->believed < std::chrono::hours(24)) return;
  book.event(
      "clock-doubted",
      fmt::format("the system clock is {:.1f} days after the latest time in the store; for a "
                  "day nothing is forgotten that was not old by the store's time",
                  in_seconds(doubt->shown - doubt->believed) / 86'400));
}

/// What was chosen while an earlier daemon ran, where it is still possible.
void Control::Parts::choose_scheduler(const StoredSettings& stored) {
  brain.choose_scheduler(settings.scheduler);
  if (!stored.scheduler) return;
  if (const auto possible = users.check_scheduler(*stored.scheduler); possible) {
    brain.choose_scheduler(*stored.scheduler);
  } else {
    book.event(
        "scheduler",
        fmt::format("the chosen scheduler, {}, is no longer possible: {}; the scheduler is {}",
                    *stored.scheduler, possible.error().text(), settings.scheduler));
  }
}

// A step.

void Control::Parts::advance(Moment now) {
  const Duration set = clock.advance(now);
  if (std::chrono::abs(set) <= clock_slack) return;
  book.event("clock-set",
             fmt::format("the system clock was set {} by {:.0f} s; running jobs are not affected",
                         set > Duration{} ? "forward" : "back", in_seconds(std::chrono::abs(set))));
  if (!settings.reservations.empty())
    lifecycle.rebuild("the clock was set, and GPUs are reserved by it");
  // Jobs must not look old because of a slip: nothing is forgotten before somebody could have set
  // it right.
  if (set > std::chrono::hours(1))
    retention.keep_all_until(clock.steady() + std::chrono::hours(24));
}

void Control::step(Moment now) {
  parts_->queue.reset();
  parts_->advance(now);
  parts_->dependencies.step();
  parts_->users.write();
  for (int round = 0; round < most_rounds && parts_->round(); ++round) {
  }
  parts_->retention.step();
  parts_->disk.step();
}

/// Hears, decides, writes, does. Whether what was done may have led to more.
bool Control::Parts::round() {
  processes.hear();
  gpus.hear();
  processes.settle_pending();
  lifecycle.settle_runs();
  leases.heed_work();
  lifecycle.take_timers();
  dependencies.step();
  claims.step();
  brain.wake();
  do {
    rebuild.step();
  } while (plans.step());
  brain.settle();
  const bool compacts = compaction.step();
  leases.take_promises();
  steps.destroy_idle_instances();
  steps.give_held_instances();
  steps.destroy_quarantined_instances();
  gpus.look_where_left();
  steps.take();
  dependencies.step();
  const bool more = compacts || book.has_effects() || !node.ended_runs.empty();
  book.commit(node);
  lifecycle.drop_over();
  return more && book.writes();
}

Duration Control::wake_at() const {
  const ControlSettings& settings = parts_->settings;
  const Book& book = parts_->book;
  const Duration now = parts_->clock.steady();
  Duration at = std::min(book.next_write(), parts_->brain.next_wake());
  if (book.writes()) at = std::min(at, parts_->retention.next());
  at = std::min({at, parts_->disk.next(), parts_->compaction.next()});
  at = std::min(
      at, next_wake(parts_->node, now, {settings.gpu_patience, settings.keep_idle, book.writes()}));
  return std::max(at, now);
}

// The users' side.

Result<std::optional<KeyedJob>> Control::submitted_with(std::uint32_t uid, const std::string& key) {
  return parts_->users.submitted_with(uid, key);
}

Result<JobNumber> Control::submit(const NewJob& job, Moment now) {
  const auto numbers = submit({&job, 1}, now);
  if (!numbers) return std::unexpected(numbers.error());
  return numbers->front();
}

Result<std::vector<JobNumber>> Control::submit(std::span<const NewJob> jobs, Moment now,
                                               std::int64_t at_once) {
  parts_->advance(now);
  return parts_->users.submit(jobs, at_once);
}

void Control::wait_for_store(Moment now) {
  parts_->advance(now);
  parts_->book.request({}, [] {});
}

void Control::cancel(std::span<const Cancellation> jobs, const std::string& by, Moment now) {
  parts_->advance(now);
  parts_->users.cancel(jobs, by);
}

void Control::cancel(JobNumber job, const std::string& by, Moment now, CancelGrace grace) {
  const Cancellation one{job, grace};
  cancel({&one, 1}, by, now);
}

Result<Purged> Control::purge(std::span<const JobNumber> jobs, bool only_say, Moment now) {
  parts_->advance(now);
  return parts_->disk.purge(jobs, only_say);
}

Result<void> Control::drain(GpuId gpu, bool drained, Moment now) {
  parts_->advance(now);
  return parts_->users.drain(gpu, drained);
}

void Control::pause(bool paused, Moment now) {
  parts_->advance(now);
  parts_->users.pause(paused);
}

Result<std::int64_t> Control::begin_plan(const PlanOrder& order, const std::string& by,
                                         Moment now) {
  parts_->advance(now);
  return parts_->plans.begin(order, by);
}

Result<void> Control::change_plan(std::int64_t number, PlanChange change, const std::string& by,
                                  Moment now) {
  parts_->advance(now);
  return parts_->plans.change(number, change, by);
}

Result<void> Control::make_claim(const std::string& key, const ClaimOrder& order,
                                 const std::string& by, Moment now) {
  parts_->advance(now);
  return parts_->claims.make(key, order, by);
}

void Control::release_claim(const std::string& key, const std::string& by, Moment now) {
  parts_->advance(now);
  parts_->claims.release(key, by);
}

Result<void> Control::set_scheduler(const std::string& spec, Moment now) {
  parts_->advance(now);
  return parts_->users.set_scheduler(spec);
}

Result<std::vector<std::string>> Control::reload(const ControlSettings& settings, Moment now) {
  parts_->advance(now);
  return parts_->users.reload(settings);
}

std::uint64_t Control::last_request() const {
  return parts_->book.last_request();
}

std::vector<RequestAnswer> Control::answered() {
  return parts_->book.take_answers();
}

// What there is to see.

const JobRecord* Control::job(JobNumber number) const {
  return parts_->listing.job(number);
}

std::vector<const JobRecord*> Control::jobs() const {
  return parts_->listing.jobs();
}

const AttemptRecord* Control::attempt_of(JobNumber number) const {
  return parts_->listing.attempt_of(number);
}

const EndedProcess* Control::end_of_process(JobNumber number) const {
  return parts_->listing.end_of_process(number);
}

ServiceStatus Control::service(JobNumber number) const {
  return parts_->listing.service(number);
}

LeaseStatus Control::lease(JobNumber number) const {
  return parts_->listing.lease(number);
}

std::optional<Instant> Control::starts_again_at(JobNumber number) const {
  return parts_->listing.starts_again_at(number);
}

std::optional<MiB> Control::memory_of(JobNumber number) const {
  return parts_->listing.memory_of(number);
}

std::optional<ExpectedEnd> Control::expected_end_of(JobNumber number) const {
  return parts_->listing.expected_end_of(number, {parts_->clock.steady(), parts_->clock.wall()});
}

std::string Control::why_waits(JobNumber number) {
  if (!parts_->queue) parts_->queue = parts_->listing.queue();
  return parts_->listing.why_waits(number, *parts_->queue);
}

std::string Control::why_size(JobNumber number) const {
  return parts_->listing.why_size(number);
}

const LearntProfiles& Control::learnt() const {
  return parts_->node.applications.learnt();
}

std::vector<PredictionErrors> Control::prediction_errors(std::optional<std::uint32_t> uid) const {
  return errors_of(parts_->node.predictions, uid);
}

std::vector<GpuStatus> Control::gpus() const {
  return parts_->listing.gpus();
}

std::vector<GpuReservation> Control::reservations() const {
  return parts_->listing.reservations();
}

LiveFleet Control::live_fleet() const {
  return parts_->plans.fleet();
}

std::optional<ClaimStatus> Control::claim(const std::string& key) const {
  return parts_->claims.status(key);
}

std::vector<ClaimStatus> Control::claims() const {
  return parts_->claims.all();
}

NodeRoom Control::room() const {
  return parts_->claims.room();
}

const LivePlan* Control::plan() const {
  return parts_->node.plan ? &*parts_->node.plan : nullptr;
}

JobEnergy Control::unwritten_energy(JobNumber job) const {
  return parts_->listing.unwritten_energy(job);
}

std::vector<UsageRow> Control::unwritten_usage() const {
  return parts_->listing.unwritten_usage();
}

const std::string& Control::scheduler() const {
  return parts_->brain.scheduler();
}

bool Control::paused() const {
  return parts_->node.paused;
}

std::vector<std::string> Control::troubles() const {
  return parts_->listing.troubles();
}

NodeFigures Control::figures() {
  if (!parts_->queue) parts_->queue = parts_->listing.queue();
  return parts_->listing.figures(*parts_->queue);
}

std::vector<EventRecord> Control::events_since(std::int64_t number) const {
  return parts_->book.events_since(number);
}

std::int64_t Control::last_event() const {
  return parts_->book.last_event();
}

}  // namespace cleave
