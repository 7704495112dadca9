#include "control/brain/brain.hpp"

#include "base/format.hpp"
#include "control/verdicts/expected_end.hpp"
#include "control/verdicts/used_time.hpp"
#include "engine/batch_rows.hpp"
#include "engine/engine.hpp"
#include "engine/job_facts.hpp"
#include "engine/refusals.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"

namespace cleave {

namespace {

/// What the daemon lets schedulers know of jobs, which is what their users said, what they have
/// reported, and what was measured of their applications, by the engine's number of a job.
class KnownFacts final : public JobFacts, public ArrayFacts {
 public:
  /// What is known of one job.
  struct Of {
    std::int64_t priority = 0;
    std::optional<Instant> deadline, running_since, expected_end;
    bool movable = false, restartable = false;
    KnownJobTimes times;
    std::string user;  // the owner's name, or their number where they have none
    std::optional<std::string> application;
    std::optional<std::int64_t> batch;
    JobKind kind = JobKind::batch;
    bool saves = false;
    std::optional<Duration> most_time = {};
    Gang gang = {};
    ArrayShare array = {};
  };
  /// Forgets all; `fleet` must outlive what is asked.
  void begin(const Fleet* fleet, const ApplicationTimes* given, std::vector<PastUse> past_use) {
    fleet_ = fleet;
    jobs_.clear();
    batch_rows_.clear();
    past_use_ = std::move(past_use);
    if (given == nullptr) return;
    for (std::size_t kind = 0; kind < fleet->graphs().size(); ++kind)
      for (BatchRow& row :
           batch_rows_of(given->repository(), fleet->graphs()[kind]->geometry().model(), kind))
        batch_rows_.push_back(std::move(row));
  }
  /// What may change while it runs.
  void learn(JobId job, KnownJobTimes times, std::optional<Instant> expected_end) {
    jobs_[index(job)].times = std::move(times);
    jobs_[index(job)].expected_end = expected_end;
  }
  /// Of the job; its further processes refer to it.
  void set(Of facts) {
    const Gang gang = facts.gang;
    const std::size_t last = index(gang.member(gang.size - 1));
    if (jobs_.size() <= last) jobs_.resize(last + 1);
    jobs_[index(gang.leader)] = std::move(facts);
    for (std::uint32_t rank = 1; rank < gang.size; ++rank)
      jobs_[index(gang.member(rank))].gang = gang;
  }

  [[nodiscard]] Gang gang(JobId job) const override { return of(job).gang; }
  [[nodiscard]] std::int64_t priority(JobId job) const override { return of(job).priority; }
  [[nodiscard]] JobKind kind(JobId job) const override { return of(job).kind; }
  [[nodiscard]] bool saves(JobId job) const override { return of(job).saves; }
  [[nodiscard]] ArrayShare array(JobId job) const override { return of(job).array; }
  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override {
    return of(job).deadline;
  }
  [[nodiscard]] bool movable(JobId job) const override { return of(job).movable; }
  [[nodiscard]] bool restartable(JobId job) const override { return of(job).restartable; }
  [[nodiscard]] std::optional<Instant> running_since(JobId job) const override {
    return of(job).running_since;
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override {
    const GpuModel& gpu = fleet_->graphs()[kind]->geometry().model();
    const auto time =
        cleave::time_on(of(job).times, gpu, &gpu.profiles[static_cast<std::size_t>(profile)]);
    return time ? std::optional(time->time) : std::nullopt;
  }
  [[nodiscard]] std::optional<Duration> most_time(JobId job) const override {
    return of(job).most_time;
  }
  [[nodiscard]] bool predicts() const override { return true; }
  [[nodiscard]] std::optional<Instant> expected_end(JobId job) const override {
    return of(job).expected_end;
  }
  [[nodiscard]] bool expects_anew() const override { return true; }
  [[nodiscard]] const std::string* user(JobId job) const override { return &of(job).user; }
  [[nodiscard]] const std::string* application(JobId job) const override {
    return of(job).application ? &*of(job).application : nullptr;
  }
  [[nodiscard]] std::optional<std::int64_t> batch(JobId job) const override {
    return of(job).batch;
  }
  /// The operator's alone: a table that is read for the jobs of all users.
  [[nodiscard]] std::vector<BatchRow> batch_rows() const override { return batch_rows_; }
  [[nodiscard]] std::vector<PastUse> past_use() const override { return past_use_; }

 private:
  [[nodiscard]] const Of& of(JobId job) const {
    static const Of nothing;
    return index(job) < jobs_.size() ? jobs_[index(jobs_[index(job)].gang.leader)] : nothing;
  }

  const Fleet* fleet_ = nullptr;
  std::vector<Of> jobs_;  // by the engine's number
  std::vector<BatchRow> batch_rows_;
  std::vector<PastUse> past_use_;  // on the engine's clock
};

/// "full-gpu, static"
std::string names_of_those_with_kinds() {
  std::vector<std::string_view> names;
  for (const SchedulerRow& row : schedulers())
    if (row.kinds) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

/// An engine and what it refers to; made and thrown away together.
struct Brain::Parts {
  Parts(const FleetFile& file, const SchedulerRow& scheduler)
      : fleet(file), requests(file.geometries), row(&scheduler) {}

  RequestId request_for(const JobRecord& job) {
    Request request = job.request;
    if (!fleet.hosts().empty()) request.host = host_ask(job.spec);
    return requests.intern(request);
  }

  Fleet fleet;
  RequestTable requests;
  KnownFacts facts;
  std::vector<GpuReservation> reservations;  // on the engine's clock
  std::unique_ptr<Forecaster> forecaster;
  std::unique_ptr<Engine> engine;
  std::vector<JobNumber> numbers;  // by the engine's job
  bool kinds = false;
  const SchedulerRow* row;
};

Brain::Brain(const Clock& clock) : clock_(&clock), refusals_(std::make_unique<Refusals>()) {}
Brain::~Brain() = default;

Result<void> Brain::check_forecaster(const std::string& text) {
  if (const auto made = make_forecaster(text); !made) return std::unexpected(made.error());
  return {};
}

Result<void> Brain::check_scheduler(const std::string& text, const FleetFile& file,
                                    std::span<const GpuReservation> reservations, bool kinds,
                                    const UserLimits& limits) {
  const auto spec = parse_scheduler(text);
  if (!spec) return std::unexpected(spec.error());
  if (kinds && !spec->row->kinds)
    return fail(ErrorKind::infeasible, text,
                fmt::format("scheduler '{}' takes batches only", spec->row->name),
                fmt::format("these take services and leases: {}", names_of_those_with_kinds()));
  const Fleet fleet(file);
  const RequestTable requests(file.geometries);
  const KnownFacts nothing;
  const auto made = make_scheduler(*spec, {.fleet = fleet,
                                           .requests = requests,
                                           .facts = &nothing,
                                           .live = true,
                                           .kinds = kinds,
                                           .reservations = reservations,
                                           .user_limits = limits,
                                           .gangs = true});
  if (!made) return std::unexpected(made.error());
  return {};
}

Result<std::string> Brain::interrupting_name(const std::string& text) {
  const auto spec = parse_scheduler(text);
  if (!spec) return std::unexpected(spec.error());
  return spec->row->interrupts ? std::string(spec->row->name) : std::string();
}

bool Brain::gives_named_profiles() const {
  const auto spec = parse_scheduler(scheduler_);
  return spec && spec->row->by_profile;
}

bool Brain::keeps_order() const {
  const auto spec = parse_scheduler(scheduler_);
  return spec && cleave::keeps_order(*spec);
}

bool Brain::begin_rebuild(const std::string& why) {
  if (rebuilding_) return false;
  rebuilding_ = true;
  rebuild_reason_ = why;
  wakes_.clear();
  return true;
}

bool Brain::make(const FleetFile& file, const std::string& forecaster,
                 const Background& background) {
  parts_.reset();
  commands_.clear();
  wakes_.clear();
  const auto spec = parse_scheduler(scheduler_);
  if (!spec) return false;  // it was checked when it was chosen
  auto parts = std::make_unique<Parts>(file, *spec->row);
  std::vector<PastUse> past(background.past_use.begin(), background.past_use.end());
  for (PastUse& use : past) {
    use.to = std::min(use.to - clock_->wall_offset(), clock_->engine_time());
    use.from = std::min(use.from - clock_->wall_offset(), use.to);
  }
  parts->facts.begin(&parts->fleet, background.given, std::move(past));
  parts->reservations.assign(background.reservations.begin(), background.reservations.end());
  for (GpuReservation& each : parts->reservations) {
    each.from -= clock_->wall_offset();
    each.until -= clock_->wall_offset();
  }
  // Jobs get other numbers now, so that what a forecaster was told of them counts no more.
  parts->forecaster = *make_forecaster(forecaster);
  auto engine =
      Engine::make(*spec,
                   {.fleet = parts->fleet,
                    .requests = parts->requests,
                    .facts = &parts->facts,
                    .live = true,
                    .kinds = background.kinds,
                    .reservations = parts->reservations,
                    .user_limits = background.limits,
                    .gangs = true},
                   parts->requests, parts->forecaster.get(), refusals_.get(), &parts->facts);
  if (!engine) {
    trouble_ =
        fmt::format("no job is started: the scheduler {}: {}", scheduler_, engine.error().text());
    return false;
  }
  trouble_.clear();
  parts->kinds = background.kinds;
  parts->engine = std::make_unique<Engine>(std::move(*engine));
  parts_ = std::move(parts);
  rebuilding_ = false;
  unsettled_ = true;
  return true;
}

bool Brain::furnishes() const {
  return parts_ != nullptr && parts_->row->furnishes;
}

bool Brain::wants_whole_gpus() const {
  return parts_ != nullptr && parts_->row->whole_gpus;
}

bool Brain::takes_kinds() const {
  return parts_ != nullptr && parts_->kinds;
}

std::size_t Brain::jobs_known() const {
  return parts_ == nullptr ? 0 : parts_->numbers.size();
}

void Brain::refused(GpuId gpu) {
  refusals_->refused(gpu, clock_->engine_time());
}

void Brain::made(GpuId gpu) {
  refusals_->made(gpu);
}

bool Brain::rests(GpuId gpu) const {
  return refusals_->rests_until(gpu, clock_->engine_time()).has_value();
}

void Brain::decide(const std::function<void()>& decision) {
  const Duration begun = stopwatch_ ? stopwatch_() : Duration{};
  decision();
  if (stopwatch_) decisions_.add(stopwatch_() - begun);
}

std::span<const Command> Brain::collect(const Event& event) {
  if (!active()) return {};
  const std::size_t before = commands_.size();
  decide([&] { parts_->engine->on(event, clock_->engine_time(), commands_); });
  unsettled_ = true;
  return std::span(commands_).subspan(before);
}

void Brain::tell(const Event& event) {
  if (!active()) return;
  static_cast<void>(collect(event));
  carry_out();
}

void Brain::collect_settled() {
  if (active()) decide([&] { parts_->engine->settle(clock_->engine_time(), commands_); });
}

/// What is carried out may tell the engine more, which appends to what is carried out here.
void Brain::carry_out() {
  if (carrying_out_) return;
  carrying_out_ = true;
  for (std::size_t i = 0; i < commands_.size() && !rebuilding_; ++i) {
    const Command command = commands_[i];
    if (const auto* wake = std::get_if<WakeAt>(&command)) {
      wakes_.insert(clock_->steady_of(wake->time));
    } else {
      carry_out_(command);
    }
  }
  commands_.clear();
  carrying_out_ = false;
}

void Brain::settle() {
  while (unsettled_ && active()) {
    unsettled_ = false;
    decide([&] { parts_->engine->settle(clock_->engine_time(), commands_); });
    carry_out();
  }
}

void Brain::wake() {
  if (!active() || next_wake() > clock_->steady()) return;
  wakes_.erase(wakes_.begin(), wakes_.upper_bound(clock_->steady()));
  tell(Woken{});
}

Duration Brain::next_wake() const {
  return wakes_.empty() ? Duration::max() : *wakes_.begin();
}

std::optional<Instant> Brain::end_of(const LiveJob& process) const {
  if (!process.main) return std::nullopt;
  const JobPlace& place = process.attempts.at(*process.main).place;
  if (index(place.gpu) >= parts_->fleet.size()) return std::nullopt;
  const std::size_t kind = parts_->fleet[place.gpu].kind;
  const auto end = expected_end(process, parts_->fleet.graphs()[kind]->geometry().model(),
                                {clock_->steady(), clock_->wall()});
  return end ? std::optional(end->at - clock_->wall_offset()) : std::nullopt;
}

std::optional<Instant> Brain::end_of(Processes job) const {
  std::optional<Instant> last;
  for (const LiveJob* process : job) {
    if (!process->record.has_process()) continue;
    const auto end = end_of(*process);
    if (!end) return std::nullopt;
    last = last ? std::max(*last, *end) : end;
  }
  return last;
}

void Brain::learnt(Processes job) {
  if (!active() || !job.front()->id) return;
  parts_->facts.learn(*job.front()->id, times_of(*job.front()), end_of(job));
}

void Brain::admit(Processes job) {
  const auto first = static_cast<JobId>(parts_->numbers.size());
  for (LiveJob* process : job) {
    process->id = static_cast<JobId>(parts_->numbers.size());
    parts_->numbers.push_back(process->record.number);
  }
  // Records are of the wall clock; the engine's differs from it by what the wall clock was set.
  const Duration set = clock_->wall_offset();
  const LiveJob& whole = *job.front();
  const JobSpec& spec = whole.record.spec;
  KnownFacts::Of facts;
  facts.gang = {first, static_cast<JobId>(index(first) + 1),
                static_cast<std::uint32_t>(job.size())};
  if (spec.deadline) facts.deadline = whole.record.submitted + *spec.deadline - set;
  if (whole.main) facts.running_since = whole.attempts.at(*whole.main).record.started - set;
  facts.priority = spec.priority;
  facts.kind = kind_of(spec);
  // A person is not moved away from work, but for what becomes of idle leases.
  facts.movable = may_be_moved(spec) && !whole.record.several() && facts.kind != JobKind::lease &&
                  !whole.planned && !(whole.main && whole.attempts.at(*whole.main).unsaved);
  facts.saves = spec.progress == Keeps::checkpoint || spec.progress == Keeps::stateless;
  facts.restartable = may_be_restarted(spec);
  facts.times = times_of(whole);
  facts.most_time = time_left(whole.record, {});
  facts.expected_end = end_of(job);
  facts.user = whole.record.owner.name_or_number();
  facts.application = spec.application;
  facts.batch = spec.batch;
  if (spec.task) facts.array = {static_cast<std::uint64_t>(spec.task->job), spec.task->at_once};
  // Other than the number of any array.
  constexpr std::uint64_t of_a_request = std::uint64_t{1} << 63;
  if (spec.at_once && facts.array.at_once == 0)
    facts.array = {of_a_request | static_cast<std::uint64_t>(spec.at_once->first),
                   spec.at_once->most};
  parts_->facts.set(std::move(facts));
}

Brain::Outlook Brain::outlook(const LiveJob& job) const {
  if (!active() || !job.id) return {};
  const cleave::Outlook told = parts_->engine->outlook(*job.id);
  Outlook outlook{{},
                  {},
                  told.user_limit,
                  std::string(told.order),
                  told.waits_for_better,
                  std::string(told.size),
                  told.host,
                  parts_->engine->array_is_full(*job.id)};
  if (!told.kept) return outlook;
  outlook.kept = JobPlace{told.kept->gpu, told.kept->placement};
  if (told.kept->from) outlook.in = std::max(Duration{}, *told.kept->from - clock_->engine_time());
  return outlook;
}

Event Brain::submission_of(Processes job) {
  admit(job);
  return Submitted{*job.front()->id, parts_->request_for(job.front()->record)};
}

std::vector<Event> Brain::adoption_of(Processes job) {
  admit(job);
  const RequestId request = parts_->request_for(job.front()->record);
  std::vector<Event> events;
  for (LiveJob* process : job) {
    const JobPlace& place = process->place.value();
    events.push_back(Adopted{*process->id, request, place.gpu, place.placement});
  }
  return events;
}

Event Brain::idleness_of(const LiveJob& lease, MiB enough) {
  return LeaseIdle{lease.id.value(), parts_->requests.intern({BySize{enough, {}}, {}})};
}

JobNumber Brain::number_of(JobId id) const {
  return parts_->numbers[index(id)];
}

Request Brain::request_of(JobId id) const {
  Request request = parts_->requests[parts_->engine->request_of(id)].request;
  request.host = {};  // what it was submitted with says that
  return request;
}

}  // namespace cleave
