#include "simulate/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "physics/allocation.hpp"
#include "placement/gang_room.hpp"
#include "simulate/account.hpp"
#include "simulate/agenda.hpp"
#include "simulate/awaiting_jobs.hpp"
#include "simulate/compactor.hpp"
#include "simulate/energy_account.hpp"
#include "simulate/gang_runs.hpp"
#include "simulate/job_run.hpp"
#include "simulate/known_arrays.hpp"
#include "simulate/known_jobs.hpp"
#include "simulate/lease_book.hpp"
#include "simulate/least_needs.hpp"
#include "simulate/measure.hpp"
#include "simulate/memory_truth.hpp"
#include "simulate/outages.hpp"
#include "simulate/processes.hpp"
#include "simulate/rates.hpp"
#include "simulate/run_memory.hpp"
#include "simulate/service_watch.hpp"
#include "simulate/slices_held.hpp"
#include "simulate/stop_costs.hpp"
#include "simulate/world.hpp"

namespace cleave {

namespace {

constexpr const char* report_it =
    "this is a bug in Cleave; please report it with the command that led here";
constexpr std::int64_t most_reports =
    1000;  // of one job; jobs of more iterations report less often than each
constexpr double least_to_learn_from = 0.01;  // of a job's work
constexpr Instant no_time = Instant::max();   // beyond every time that a run may have

bool asks_for_gangs(const Workload& workload) {
  return std::ranges::any_of(workload.requests, seated_together);
}

bool names_users(const Workload& workload) {
  return std::ranges::any_of(
      workload.details, [](const JobDetails& details) { return details.user || details.account; });
}

class Simulation {
 public:
  Simulation(const FleetFile& file, const Workload& workload, const SchedulerSpec& spec,
             const SimulationOptions& options)
      : workload_(workload),
        spec_(spec),
        options_(options),
        withholds_memory_(told_to(spec, options).memory != KnownMemory::truth),
        learns_(told_to(spec, options).speeds == KnownSpeeds::learn),
        processes_(workload),
        arrays_(workload, processes_),
        held_back_(workload),
        fleet_(file),
        requests_(file.geometries),
        world_(fleet_, options.reconfiguration,
               options.world.jitter ? std::optional(options.seed) : std::nullopt,
               options.world.mig_switch),
        rates_(workload, processes_, fleet_, options.world, world_),
        memory_(workload, options.seed),
        run_memory_(workload, processes_, memory_, world_, rates_),
        costs_(options.stops, workload, memory_, world_),
        facts_(workload, rates_.table(), fleet_, request_ids_,
               spec.row->truth ? nullptr : options.applications.get(),
               {told_to(spec, options), options.may, options.seed, &requests_, options.stops,
                [this](JobId id) { return progress_of(id); },
                [this](JobId id) { return running_since(id); }}),
        outages_(options.faults, options.seed, fleet_.size()),
        last_edge_(last_edge(options)),
        begin_(workload.jobs.empty() ? Instant{} : workload.jobs.front().arrival),
        now_(begin_),
        last_end_(begin_),
        measure_(world_, begin_),
        account_(workload, memory_),
        energy_(options.world.has_power ? processes_.size() : 0, fleet_.size(),
                options.world.sample, begin_),
        held_(names_users(workload) ? processes_.size() : 0),
        services_(workload),
        leases_(workload),
        has_kinds_(services_.counts() || leases_.counts()),
        watched_(has_kinds_ || held_.counts() || options.observer != nullptr),
        others_left_(workload.jobs.size()),
        runs_(processes_.size()),
        gangs_(processes_),
        host_of_(world_.limits_hosts() ? processes_.size() : 0) {
    if (services_.counts()) count_services();
    for (std::size_t gpu = 0; gpu < fleet_.size(); ++gpu) idles(static_cast<GpuId>(gpu));
    for (Request request : workload.requests) {
      if (withholds_memory_) request.fits.reset();
      request_ids_.push_back(requests_.intern(request));
    }
  }

  Result<RunSummary> run() {
    if (const auto able = can_do_with_less(); !able) return std::unexpected(able.error());
    if (const auto ends = can_end(); !ends) return std::unexpected(ends.error());
    auto forecaster = make_forecaster(options_.forecaster);
    if (!forecaster) return std::unexpected(forecaster.error());
    forecaster_ = forecaster->get();
    if (const auto able = plan_compactions(); !able) return std::unexpected(able.error());
    if (const auto made = make_engine(fleet_); !made) return std::unexpected(made.error());
    plan_outages();
    bool unsettled = false;
    while (true) {
      const Instant next = next_time();
      if (unsettled && next > now_) {
        unsettled = false;
        if (const auto done = settle(); !done) return std::unexpected(done.error());
        continue;
      }
      if (beyond_) return std::unexpected(*beyond_);
      if (next == no_time) break;
      now_ = next;
      if (const auto possible = within_limits(); !possible)
        return std::unexpected(possible.error());
      unsettled = true;
      if (const auto done = step(); !done) return std::unexpected(done.error());
    }
    if (options_.progress) options_.progress(2 * workload_.jobs.size(), 2 * workload_.jobs.size());
    return finish();
  }

 private:
  Result<void> make_engine(const Fleet& fleet) {
    auto engine = Engine::make(spec_,
                               {.fleet = fleet,
                                .requests = requests_,
                                .use_index = options_.use_index,
                                .facts = &facts_,
                                .seed = options_.seed,
                                .checkpoint = options_.stops.checkpoint,
                                .kinds = has_kinds_,
                                .reservations = options_.reservations,
                                .gangs = asks_for_gangs(workload_)},
                               requests_, forecaster_, nullptr, arrays_.any() ? &arrays_ : nullptr);
    if (!engine) return std::unexpected(engine.error());
    engine_ = std::make_unique<Engine>(std::move(*engine));
    return {};
  }

  /// All that happens at this instant has been told.
  Result<void> settle() {
    engine_->settle(now_, commands_);
    if (auto done = carry_out_all(); !done) return done;
    if (!arrived_leases_.empty()) take_promises();
    return compactor_ ? compact_if_due() : Result<void>();
  }

  static Knowledge told_to(const SchedulerSpec& spec, const SimulationOptions& options) {
    return spec.row->truth ? Knowledge() : options.know;
  }

  /// Other schedulers go by what jobs say of being moved and stopped.
  Result<void> can_do_with_less() const {
    if (options_.may != MayInterrupt::never || !spec_.row->interrupts) return {};
    return fail(ErrorKind::bad_usage, fmt::format("scheduler '{}'", shown(spec_.text)),
                "it stops jobs that run, and no job may be stopped",
                "allow it to (checkpoint or all), or choose another scheduler");
  }

  Result<void> can_end() const {
    if (!services_.counts() || others_left_ > 0 || timed_left_ > 0) return {};
    return fail(ErrorKind::bad_input, "the workload",
                "its services run as long as other jobs do, and there are none",
                "give a service a duration_s");
  }

  /// A scheduler that stops or moves jobs although none may be is wrong.
  Result<void> may_interrupt(JobId id) const {
    if (options_.may != MayInterrupt::never) return {};
    return fail(ErrorKind::internal, job(id).id,
                "the scheduler stops or moves a job, which none may", report_it);
  }

  /// A run that leaves the range of the clock, or in which jobs are evicted again and again, ends
  /// here.
  Result<void> within_limits() const {
    if (now_ > Instant{} + 2 * longest_duration)
      return fail(ErrorKind::infeasible, "the run", "it goes on for more than 200 years",
                  "check durations, speeds and the times of faults, all in seconds");
    if (summary_.evictions > 100'000 + 100 * workload_.jobs.size())
      return fail(
          ErrorKind::infeasible, "the run",
          fmt::format("GPUs have been lost under running jobs {} times", summary_.evictions),
          "let GPUs live longer than jobs run: raise mtbf");
    return {};
  }

  const Job& job(JobId process) const { return workload_.jobs[index(processes_.job_of(process))]; }

  // Time.

  // Services, which have no end of their own.

  bool is_replica(JobId id) const { return services_.counts() && is_of_service(id); }

  [[gnu::noinline]] bool is_of_service(JobId id) const {
    return workload_.kind_of(job(id)) == JobKind::service;
  }

  const ServiceTerms& service_of(JobId id) const {
    return workload_.services[*workload_.details_of(job(id))->service];
  }

  void count_services() {
    for (std::size_t i = 0; i < workload_.jobs.size(); ++i) {
      if (!is_replica(static_cast<JobId>(i))) continue;
      --others_left_;
      timed_left_ += service_of(static_cast<JobId>(i)).runs_for ? 1 : 0;
    }
  }

  /// The job, which is no replica, has ended for good.
  void other_ends(JobId id, bool well) {
    if (held_back_.counts()) held_back_.ended(static_cast<std::uint32_t>(index(id)), well);
    if (!services_.counts() || is_replica(id)) return;
    --others_left_;
    note_end();
  }

  void plan_end(JobId id) {
    if (const auto runs_for = service_of(id).runs_for)
      agenda_.push({now_ + *runs_for, static_cast<std::uint32_t>(index(id)), 0, Due::service_ends});
  }

  /// With the last of the others services end, but for those that say when.
  void note_end() {
    if (others_left_ == 0 && timed_left_ == 0) over_at_ = now_;
  }

  /// At the time that the service says, whether the replica runs or waits.
  [[gnu::noinline]] void service_ends(JobId id) {
    --timed_left_;
    note_end();
    if (!account_.open(index(id))) return;
    if (!runs_.has(id) || runs_[id].mode == RunMode::none) {
      runs_.close(id);
      if (compactor_) compactor_->waits_no_more(id);
      return engine_->on(Cancelled{id}, now_, commands_);
    }
    finish_replica(id);
    runs_.close(id);
    engine_->on(Finished{id}, now_, commands_);
  }

  [[gnu::noinline]] void finish_replica(JobId id) {
    ++summary_.events;
    observe([&] { return event_of(RunEvent::Kind::finished, id, runs_[id]); });
    leave(id, Ending::finished);
    account_.finished(index(id), now_);
  }

  /// Those that serve at the end of the run have done what was wanted of them.
  void end_services() {
    for (std::size_t i = 0; i < workload_.jobs.size(); ++i) {
      const auto id = static_cast<JobId>(i);
      if (!is_replica(id) || !runs_.has(id) || runs_[id].mode == RunMode::none) continue;
      finish_replica(id);
    }
    services_.end(over_at_.value_or(now_));
    summary_.services = services_.summaries();
  }

  /// It may be of another kind than a batch.
  [[gnu::noinline]] void arrives_of_kind(JobId id) {
    if (leases_.has(id)) arrived_leases_.push_back(id);
    if (is_replica(id)) plan_end(id);
  }

  // Leases.

  /// What each that has just come and waits is told of its start.
  void take_promises() {
    for (const JobId id : std::exchange(arrived_leases_, {})) {
      if (leases_.has_place(id)) continue;
      const Outlook outlook = engine_->outlook(id);
      if (outlook.kept && outlook.kept->from) leases_.promised(id, *outlook.kept->from);
    }
  }

  /// Puts on the agenda when it becomes idle or busy next.
  void program_change(JobId id) {
    const JobRun& run = runs_[id];
    const LeaseChange* next = leases_.next_change(id, run.done);
    if (next == nullptr || !(run.speed > 0)) return;
    const auto takes = in_seconds(next->at) - run.done * in_seconds(job(id).duration);
    agenda_.push(
        {run.counts_from + std::chrono::round<Duration>(std::chrono::duration<double>(takes)),
         static_cast<std::uint32_t>(index(id)), run.generation, Due::lease_changes});
  }

  [[gnu::noinline]] void lease_changes(JobId id) {
    progress(id);
    program_change(id);
    if (options_.may == MayInterrupt::never) return;
    if (!leases_.idle_at(id, runs_[id].done)) return engine_->on(LeaseBusy{id}, now_, commands_);
    const LeaseTerms& terms = *workload_.details_of(job(id))->lease;
    const auto* size = std::get_if<BySize>(&workload_.requests[job(id).request].wanted);
    const MiB holds = terms.idle_memory ? *terms.idle_memory : size->memory;
    const RequestId enough = requests_.intern({BySize{holds, {}}, {}});
    engine_->on(LeaseIdle{id, enough}, now_, commands_);
  }

  /// Compute slices of its place.
  int slices_of(const JobRun& run) const {
    return run.mode == RunMode::whole
               ? world_.graph(world_[run.gpu]).geometry().model().compute.value
               : profile_of(run).compute.value;
  }

  bool arrivals_left() const { return arrived_ < workload_.jobs.size(); }

  /// The last time at which GPUs that are set aside beforehand begin or cease to be so.
  static Instant last_edge(const SimulationOptions& options) {
    Instant last = Instant::min();
    for (const GpuReservation& each : options.reservations) last = std::max(last, each.until);
    return last;
  }

  /// Whether a wake-up at that time could change anything. Where only replicas without end run, a
  /// scheduler that wakes again and again changes nothing.
  bool wake_counts(Instant at) const { return wakes_ > 0 && (endless_ == 0 || at <= last_edge_); }

  /// When something happens next; `no_time` when nothing is left that could change anything.
  Instant next_time() {
    while (!agenda_.empty() && outdated(agenda_.top())) agenda_.pop();
    if (held_back_.any_freed()) return now_;
    if (over_at_ && !arrivals_left()) return no_time;
    const bool agenda_counts =
        !agenda_.empty() && (arrivals_left() || running_ > endless_ || timed_left_ > 0 ||
                             absent_ > 0 || wake_counts(agenda_.top().at) || may_compact());
    const Instant due = agenda_counts ? agenda_.top().at : no_time;
    return arrivals_left() ? std::min(due, workload_.jobs[arrived_].arrival) : due;
  }

  /// What is due was called off, or comes later: its true time is on the agenda then.
  bool outdated(const AgendaItem& item) {
    if (item.due == Due::wake) return item.generation != engines_;
    const bool of_job = item.due == Due::process_ends || item.due == Due::memory_report ||
                        item.due == Due::progress_begins || item.due == Due::lease_changes;
    if (!of_job) return false;
    const auto id = static_cast<JobId>(item.which);
    if (!runs_.has(id)) return true;
    JobRun& run = runs_[id];
    if (((run.generation ^ item.generation) & Agenda::generation_mask) != 0) return true;
    if (item.due != Due::process_ends || !run.later) return false;
    put_end(id, run, *end_of(id, run, fails_at(id)));
    return true;
  }

  Result<void> step() {
    if (!agenda_.empty() && agenda_.top().at <= now_) {
      const AgendaItem item = agenda_.top();
      agenda_.pop();
      expect_later();
      handle(item);
    } else if (held_back_.any_freed()) {
      const AwaitingJobs::Freed freed = held_back_.next();
      freed.may_start ? submit(static_cast<JobId>(freed.job))
                      : give_up(static_cast<JobId>(freed.job));
    } else {
      const auto id = static_cast<JobId>(arrived_++);
      expect_arrivals();
      ++summary_.events;
      observe([&] { return RunEvent{now_, RunEvent::Kind::submitted, id, {}, {}, {}}; });
      if (!held_back_.counts() || held_back_.comes(static_cast<std::uint32_t>(index(id))))
        submit(id);
    }
    expect_commands();
    if (options_.progress && ++steps_ % 16384 == 0)
      options_.progress(std::min(summary_.events, 2 * workload_.jobs.size()),
                        2 * workload_.jobs.size());
    return carry_out_all();
  }

  /// The engine hears of the job, which waits for no other.
  void submit(JobId id) {
    if (has_kinds_) arrives_of_kind(id);
    if (compactor_) waits_for_room(id);
    engine_->on(Submitted{id, request_ids_[job(id).request]}, now_, commands_);
  }

  /// What it waits for cannot come any more.
  [[gnu::noinline]] void give_up(JobId id) {
    account_.rejected(index(id), "a job that it was to wait for ended otherwise");
    other_ends(id, false);
    observe([&] { return RunEvent{now_, RunEvent::Kind::rejected, id, {}, {}, {}}; });
  }

  /// Has the memory fetch what the next ends of jobs need, while other events are being worked on.
  /// What is found through something else is fetched when that has come: first what lies by job,
  /// then the run, then the GPU. Inlined always: a call of a function that only fetches has no
  /// effect in the compiler's eyes, and is left out.
  [[gnu::always_inline]] inline void expect_later() const {
    constexpr std::size_t farthest = Agenda::foreseen - 1, halfway = farthest / 2, next = 0;
    if (agenda_.ahead() <= farthest) return;
    if (const AgendaItem item = agenda_.later(farthest); item.due == Due::process_ends) {
      expect(static_cast<JobId>(item.which));
      engine_->ends_soon(static_cast<JobId>(item.which));
    }
    if (const JobRun* run = run_at(agenda_.later(halfway))) __builtin_prefetch(run, 1);
    if (const JobRun* run = run_at(agenda_.later(next))) {
      expect(run->gpu);
      engine_->frees_soon(run->gpu);
    }
  }

  /// The same for jobs that arrive next: what lies by job is read in order, but so seldom that the
  /// processor does not see it.
  [[gnu::always_inline]] inline void expect_arrivals() const {
    constexpr std::size_t ahead = 3;
    if (arrived_ + ahead < workload_.jobs.size()) expect(static_cast<JobId>(arrived_ + ahead));
  }

  /// Of a job whose end is due; null where there is none.
  const JobRun* run_at(const AgendaItem& item) const {
    return item.due == Due::process_ends ? runs_.find(static_cast<JobId>(item.which)) : nullptr;
  }

  [[gnu::always_inline]] inline void expect(JobId id) const {
    const JobId of = processes_.job_of(id);
    const char* job = reinterpret_cast<const char*>(&workload_.jobs[index(of)]);
    __builtin_prefetch(job);
    __builtin_prefetch(job + sizeof(Job) - 1);  // it may end in the next line
    runs_.expect(id);
    account_.expect(index(of));
    energy_.expect(id);
  }
  void expect(GpuId gpu) const {
    world_.expect(gpu);
    rates_.expect(gpu);
    measure_.expect(gpu);
  }

  /// The same for what has been commanded: all of it at once.
  [[gnu::always_inline]] inline void expect_commands() const {
    for (const Command& command : commands_) {
      if (const auto* start = std::get_if<StartJob>(&command)) {
        expect(start->gpu);
        expect(start->job);
      } else if (const auto* move = std::get_if<MigrateJob>(&command)) {
        expect(move->gpu);
        energy_.expect(move->job);
        if (const JobRun* run = runs_.find(move->job)) __builtin_prefetch(run, 1);
      }
    }
  }

  void handle(const AgendaItem& item) {
    const auto gpu = static_cast<GpuId>(item.which);
    switch (item.due) {
      case Due::process_ends:
        return process_ends(static_cast<JobId>(item.which));
      case Due::service_ends:
        return service_ends(static_cast<JobId>(item.which));
      case Due::lease_changes:
        return lease_changes(static_cast<JobId>(item.which));
      case Due::memory_report:
        return memory_report(static_cast<JobId>(item.which));
      case Due::progress_begins:
        runs_[static_cast<JobId>(item.which)].awaited = false;
        return retime(runs_[static_cast<JobId>(item.which)].gpu);
      case Due::gpu_lost:
        return idle() ? postpone_loss(gpu) : lose(gpu);
      case Due::gpu_returns:
        return recover(gpu);
      case Due::wake:
        --wakes_;
        return engine_->on(Woken{}, now_, commands_);
      case Due::compaction:
        return;  // when all that happens now has happened
    }
  }

  // A job's run.

  /// Neither services nor leases fail by themselves.
  double fails_at(JobId id) const {
    if (has_kinds_ && (leases_.has(id) || is_replica(id))) return beyond_its_work;
    const JobDetails* details = workload_.details_of(job(id));
    if (details != nullptr && details->fails_after) return *details->fails_after;
    const double share = options_.faults.job_failure;
    return share > 0 ? drawn_failure(id, share) : beyond_its_work;
  }

  /// That share of jobs fails.
  [[gnu::noinline]] double drawn_failure(JobId id, double share) const {
    return uniform_of(options_.seed, index(id), 0x6a6f62) < share
               ? uniform_of(options_.seed, index(id), 0x6a6f63)
               : beyond_its_work;
  }

  /// Of a job that shares an instance.
  InstanceShare share_of(const JobRun& run) const {
    return {world_.sharing(run.gpu, run.placement), run.part};
  }

  const Profile& profile_of(const JobRun& run) const {
    return *world_.graph(world_[run.gpu]).geometry()[run.placement].profile;
  }

  /// What a process that runs out of memory is said to have had.
  std::optional<MiB> had(JobId id, const JobRun& run) const {
    return run_memory_.had(id, run, requests_[engine_->request_of(processes_.job_of(id))]);
  }

  // What the jobs of a GPU share.

  void join_gpu(JobId id, const JobRun& run) {
    const Milliwatts asked = rates_.join(id, run);
    measure_.add_speed(run.gpu, run.speed, run.counts_from);
    draw(id, run, asked);
    if (watched_) watch_join(id, run, asked);
  }

  [[gnu::noinline]] void watch_join(JobId id, const JobRun& run, Milliwatts asked) {
    if (held_.counts()) hold_slices(id, run);
    if (leases_.has(id)) leases_.holds(id, slices_of(run), now_);
    if (is_replica(id)) services_.serves(id, run.speed, run.counts_from, now_);
    if (options_.observer != nullptr)
      observe_rate(
          {id, rates_.alone(id, run).relative, rates_.link_share_alone(id, run), asked, {}}, run);
  }

  void leave_gpu(JobId id, const JobRun& run) {
    rates_.leave(id, run);
    measure_.remove_speed(run.gpu, run.speed, run.counts_from);
    energy_.job_draws(id, {}, now_, now_);
    if (watched_) watch_leave(id, run);
  }

  [[gnu::noinline]] void watch_leave(JobId id, const JobRun& run) {
    if (held_.counts()) release_slices(id, run);
    if (leases_.has(id)) leases_.holds(id, 0, now_);
    if (is_replica(id)) services_.stops(id, now_);
    if (options_.observer != nullptr)
      options_.observer->on_rate(now_,
                                 {now_, processes_.job_of(id), run.gpu, 0, 0, {}, seen_rank(id)});
  }

  void hold_slices(JobId id, const JobRun& run) {
    const GpuModel& model = world_.graph(world_[run.gpu]).geometry().model();
    if (run.mode == RunMode::shared) return share_slices(run);
    const auto [compute, memory] =
        run.mode == RunMode::whole
            ? std::pair(model.compute.value, model.memory_slices.value)
            : std::pair(profile_of(run).compute.value, profile_of(run).memory.value);
    held_.hold(id, {static_cast<double>(compute), static_cast<double>(memory)}, now_);
  }

  void release_slices(JobId id, const JobRun& run) {
    held_.hold(id, {}, now_);
    if (run.mode == RunMode::shared) share_slices(run);
  }

  /// The jobs that share this job's instance have changed.
  [[gnu::noinline]] void share_slices(const JobRun& run) {
    const auto shares = [&](JobId other) {
      const JobRun& there = *runs_.find(other);
      return there.mode == RunMode::shared && there.placement == run.placement;
    };
    const auto jobs = rates_.jobs_on(run.gpu);
    const auto parts = static_cast<double>(std::ranges::count_if(jobs, shares));
    const Profile& profile = profile_of(run);
    for (const JobId other : jobs)
      if (shares(other))
        held_.hold(other, {profile.compute.value / parts, profile.memory.value / parts}, now_);
  }

  void observe_rate(const Rates::Rate& rate, const JobRun& run) {
    if (options_.observer == nullptr) return;
    options_.observer->on_rate(
        now_, {std::max(now_, run.counts_from), processes_.job_of(rate.job), run.gpu, rate.speed,
               rate.link, rates_.has_power() ? rate.power : Milliwatts{}, seen_rank(rate.job)});
  }

  void draw(JobId id, const JobRun& run, Milliwatts power) {
    energy_.job_draws(id, power, std::max(now_, run.counts_from), now_);
  }

  void idles(GpuId gpu) {
    if (rates_.has_power()) energy_.gpu_idles(gpu, rates_.idle_power(gpu), now_);
  }

  /// The jobs on the GPU have changed, or one of them begins to make progress: each gets the speed
  /// and the power that it now has beside the others.
  void retime(GpuId gpu) {
    if (rates_.are_coupled(gpu)) retime_coupled(gpu);
  }

  [[gnu::noinline]] void retime_coupled(GpuId gpu) {
    measure_.before_change(gpu, now_);
    for (const Rates::Rate& rate : rates_.rates_on(gpu, now_, runs_)) {
      JobRun& run = runs_[rate.job];
      if (!rate.begins_later) draw(rate.job, run, rate.power);
      if (GangRun* gang = gangs_.find(rate.job)) {
        set_pace(*gang, rate.job, rate.speed);
      } else if (!leases_.has(rate.job)) {  // a person stays as long beside others
        set_speed(rate.job, run, rate.speed);
      }
      observe_rate(rate, run);
      if (rate.begins_later && !run.awaited) await_progress(rate.job, run);
    }
  }

  void await_progress(JobId id, JobRun& run) {
    run.awaited = true;
    agenda_.push({run.counts_from, static_cast<std::uint32_t>(index(id)), run.generation,
                  Due::progress_begins});
  }

  void set_speed(JobId id, JobRun& run, double speed) {
    if (speed == run.speed) return;
    progress(id);
    measure_.remove_speed(run.gpu, run.speed, run.counts_from);
    run.speed = speed;
    measure_.add_speed(run.gpu, run.speed, run.counts_from);
    if (is_replica(id)) services_.serves(id, run.speed, run.counts_from, now_);
    if (auto programmed = program(id); !programmed && !beyond_) beyond_ = programmed.error();
  }

  /// From the start of a process until it makes progress.
  Duration process_start(GpuId gpu, RunMode mode) const {
    if (!options_.world.slow_allocation || mode == RunMode::whole) return options_.process_start;
    const SimulatedGpu& on = world_[gpu];
    return options_.process_start + slower_allocation(world_.graph(on).state(on.existing).size());
  }

  Result<void> begin(JobId id, GpuId gpu, PlacementId placement, RunMode mode, Instant begins) {
    JobRun& run = runs_.open(id);
    if (run.mode != RunMode::none)
      return fail(ErrorKind::internal, job(id).id, "the scheduler starts a job that runs already",
                  report_it);
    run.gpu = gpu;
    run.placement = placement;
    run.mode = mode;
    ++running_;
    if (compactor_) compactor_->waits_no_more(processes_.job_of(id));
    if (processes_.in_gang(id)) return begin_with_others(id, begins);
    set_times(id, run, begins, process_start(gpu, mode));
    const Speed speed = rates_.alone(id, run);
    run.speed = speed.relative;
    if (speed.inferred) ++summary_.speeds_inferred;
    set_death(id, take_memory(id, run, run.speed));
    if (has_kinds_) starts_of_kind(id, run);
    join_gpu(id, run);
    observe_start(id, run);
    const auto programmed = program(id);
    retime(gpu);
    return programmed;
  }

  [[gnu::noinline]] void starts_of_kind(JobId id, const JobRun& run) {
    if (leases_.has(id)) leases_.starts(id, now_, run.counts_from);
    if (is_replica(id)) ++endless_;
  }

  /// Of a job that begins when its place can be used, from its checkpoint where it has one; its
  /// process starts in this time.
  [[gnu::always_inline]] inline void set_times(JobId id, JobRun& run, Instant begins,
                                               Duration start) {
    const Instant from = run.resumed ? std::max(now_, run.here_from) : now_;
    begins = std::max(begins, from);
    run.begin = begins;
    run.here_from = from;
    run.restores = std::exchange(run.resumed, false);
    if (start != options_.process_start || !slow_starts_.empty()) slow_start(id) = start;
    run.counts_from = begins + start;
    if (run.restores) run.counts_from += restore_time(id);
    account_.waits_for_instance(index(id), begins - from);
    if (run.done > 0 || !done_before_.empty()) done_before(id) = run.done;
  }

  /// The process has the memory of its place. The share of its job's work at which it runs out of
  /// that.
  [[gnu::always_inline]] inline double take_memory(JobId id, const JobRun& run, double speed) {
    if (run.mode == RunMode::shared) {
      ++summary_.shared_starts;
      run_memory_.share(id, run, runs_);
    }
    if (rates_.table().may_offload(job(id)))
      summary_.offloads +=
          rates_.table().host_memory(job(id), run_memory_.capacity(id, run)) > MiB{0} ? 1 : 0;
    return run_memory_.dies_at(id, run, speed);
  }

  void observe_start(JobId id, const JobRun& run) {
    observe([&] {
      RunEvent event = event_of(RunEvent::Kind::started, id, run, run.begin);
      if (run.mode == RunMode::shared) event.share = share_of(run);
      return event;
    });
  }

  /// Of a process where it is, or was.
  RunEvent event_of(RunEvent::Kind kind, JobId id, const JobRun& run,
                    std::optional<Instant> until = std::nullopt) const {
    RunEvent event{now_, kind, processes_.job_of(id), run.gpu, seen_placement(run), until};
    event.rank = seen_rank(id);
    return event;
  }

  std::optional<std::uint32_t> seen_rank(JobId id) const {
    return processes_.in_gang(id) ? std::optional(processes_.rank(id)) : std::nullopt;
  }

  /// Of a job that begins from a checkpoint; where that differs from job to job it is kept until
  /// its process ends.
  [[gnu::noinline]] Duration restore_time(JobId id) {
    Duration time{};
    for_each_process(id, [&](JobId, const JobRun& run) {
      time = std::max(time, costs_.restore(id, run, runs_[id].done));
    });
    if (costs_.by_memory()) {
      if (restores_.empty()) restores_.resize(workload_.jobs.size());
      restores_[index(id)] = time;
    }
    return time;
  }
  [[nodiscard]] Duration restored_in(JobId id) const {
    return costs_.by_memory() ? restores_[index(id)] : options_.stops.checkpoint / 2;
  }

  /// How long the start of its process takes, where that is not the usual time; zero otherwise.
  Duration& slow_start(JobId id) {
    if (slow_starts_.empty()) slow_starts_.resize(workload_.jobs.size());
    return slow_starts_[index(id)];
  }

  /// The share of its work that was done when this process began: nothing, but after checkpoints.
  double& done_before(JobId id) {
    if (done_before_.empty()) done_before_.resize(workload_.jobs.size());
    return done_before_[index(id)];
  }

  static std::optional<PlacementId> seen_placement(const JobRun& run) {
    return run.mode == RunMode::whole ? std::nullopt : std::optional(run.placement);
  }

  /// Puts the end of the job's process on the agenda, as things stand; what was there before is
  /// outdated. Where its end has moved to a later time, it stays where it is until its time comes:
  /// neighbours may come and go until then.
  Result<void> program(JobId id) {
    JobRun& run = runs_[id];
    const double fails = fails_at(id), dies = death_of(id);
    run.fate = dies < beyond_its_work && dies <= std::min(fails, 1.0) ? Fate::runs_out
               : fails <= 1                                           ? Fate::fails
                                                                      : Fate::finishes;
    const auto end = end_of(id, run, fails);
    if (!end) return ends_too_late(id);
    const bool reports = forecaster_ != nullptr && memory_.grows(job(id));
    const bool changes = leases_.has(id) && leases_.next_change(id, run.done) != nullptr;
    if (!reports && !changes && *end >= run.due) {
      run.later = *end > run.due;
      return {};
    }
    renew(run);
    put_end(id, run, *end);
    if (reports) program_report(id);
    if (changes) program_change(id);
    return {};
  }

  /// What is on the agenda for it is outdated.
  void renew(JobRun& run) {
    run.generation = ++generations_;
    run.awaited = false;
  }

  void put_end(JobId id, JobRun& run, Instant end) {
    run.due = end;
    run.later = false;
    agenda_.push({end, static_cast<std::uint32_t>(index(id)), run.generation, Due::process_ends});
  }

  /// When the job's process ends if nothing changes, and it fails after that share of its work;
  /// nullopt where the clock does not reach it.
  std::optional<Instant> end_of(JobId id, const JobRun& run, double fails) const {
    const double by_itself = leases_.has(id) ? leases_.ends_at(id) : 1;
    const double target = std::min({death_of(id), fails, by_itself});
    if (target == 1 && is_replica(id)) return Instant::max();
    const double work =
        static_cast<double>(job(id).duration.count()) * std::max(0.0, target - run.done);
    // In floating point first: a long job on a slow instance may leave the range of the clock.
    const double takes = work > 0 ? work / run.speed : 0;
    if (static_cast<double>(run.counts_from.time_since_epoch().count()) + takes >
        static_cast<double>(2 * longest_duration.count()))
      return std::nullopt;
    return run.counts_from + Duration{std::llround(takes)};
  }

  [[gnu::noinline]] std::unexpected<Error> ends_too_late(JobId id) const {
    return fail(
        ErrorKind::infeasible, fmt::format("job '{}'", shown(job(id).id)),
        "it would end more than 200 years after the start",
        "check durations, speeds and the times of starts, changes and faults, all in seconds");
  }

  /// The share of its work at which the job runs out of memory where it is.
  double death_of(JobId id) const { return deaths_.empty() ? beyond_its_work : deaths_[index(id)]; }
  void set_death(JobId id, double share) {
    if (deaths_.empty() && share == beyond_its_work) return;
    if (deaths_.empty()) deaths_.resize(workload_.jobs.size(), beyond_its_work);
    deaths_[index(id)] = share;
  }

  void program_report(JobId id) {
    const JobRun& run = runs_[id];
    const std::int64_t all = memory_.iterations(job(id));
    const std::int64_t stride = (all + most_reports - 1) / most_reports;
    const auto work = static_cast<double>(job(id).duration.count());
    // An iteration reports when it is done, to the nanosecond: one that is done but for that has
    // reported.
    const double rounding = work > 0 ? run.speed / work : 0;
    const auto now_done =
        static_cast<std::int64_t>((run.done + rounding) * static_cast<double>(all) + 1e-6);
    const std::int64_t iteration = (now_done / stride + 1) * stride;
    const double share = static_cast<double>(iteration) / static_cast<double>(all);
    if (share >= std::min(death_of(id), 1.0) || !(run.speed > 0)) return;
    // Never at once: iterations of less than a nanosecond would report without end.
    const auto takes = std::max(1LL, std::llround(work * (share - run.done) / run.speed));
    agenda_.push({run.counts_from + Duration{takes}, static_cast<std::uint32_t>(index(id)),
                  run.generation, Due::memory_report});
  }

  /// Books the progress made until now.
  void progress(JobId id) {
    JobRun& run = runs_[id];
    if (now_ <= run.counts_from) return;
    const auto all = static_cast<double>(job(id).duration.count());
    if (all > 0)
      run.done = std::min(
          1.0, run.done + static_cast<double>((now_ - run.counts_from).count()) * run.speed / all);
    run.counts_from = now_;
  }

  /// Why a process ends, which says what of its work is kept.
  enum class Ending : std::uint8_t { finished, failed, killed, saved };

  double kept(JobId id, const JobRun& run, Ending ending) const {
    switch (ending) {
      case Ending::finished:
        return 1;
      case Ending::saved:
        return run.done;
      case Ending::failed:
        return 0;
      case Ending::killed:
        break;
    }
    return kept_of_killed(id, run);
  }

  [[gnu::noinline]] double kept_of_killed(JobId id, const JobRun& run) const {
    if (keeps(id) == Keeps::stateless || leases_.has(id)) return run.done;
    if (keeps(id) != Keeps::checkpoint) return 0;
    const JobDetails* details = workload_.details_of(job(id));
    // Its last checkpoint: one that it began from, or one that it wrote by itself since.
    const double began_with = done_before_.empty() ? 0 : done_before_[index(id)];
    if (!details->checkpoint_every || job(id).duration <= Duration::zero()) return began_with;
    const double between = in_seconds(*details->checkpoint_every) / in_seconds(job(id).duration);
    return std::max(began_with, std::floor(run.done / between) * between);
  }

  /// The job runs no more; its place is free now, or when `left` is given, from then on.
  void leave(JobId id, Ending ending, std::optional<Instant> left = std::nullopt) {
    const JobRun& run = runs_[id];
    progress(id);
    leave_place(id, run, left);
    close_process(id, ending);
    retime(run.gpu);
  }

  void leave_place(JobId id, const JobRun& run, std::optional<Instant> left) {
    measure_.before_change(run.gpu, now_);
    free_host(id, run, left);
    leave_gpu(id, run);
    if (run.mode == RunMode::whole) {
      world_.end_whole(run.gpu, left);
    } else if (run.mode == RunMode::shared) {
      world_.end_shared(run.gpu, run.placement, share_of(run), left);
    } else {
      world_.end(run.gpu, run.placement, left);
    }
  }

  // What processes have of their hosts, where the fleet limits them.

  HostAsk host_ask_of(JobId id) const {
    HostAsk ask;
    const JobDetails* details = workload_.details_of(job(id));
    if (details == nullptr) return ask;
    if (details->cpus) ask.millicpus = millicpus(*details->cpus);
    ask.memory = details->host_memory;
    return ask;
  }

  /// The others that share its instance.
  std::vector<JobId> sharers_beside(JobId id, GpuId gpu, PlacementId placement) const {
    std::vector<JobId> beside;
    for (const JobId other : rates_.jobs_on(gpu)) {
      const JobRun& run = *runs_.find(other);
      if (other != id && run.mode == RunMode::shared && run.placement == placement)
        beside.push_back(other);
    }
    return beside;
  }

  /// The process starts there, when its place can be used or later, when its host can.
  Result<Instant> when_hosted(JobId id, GpuId gpu, std::optional<PlacementId> placement,
                              Instant begins, bool shares = false) {
    if (host_of_.empty()) return begins;
    const HostAsk ask = host_ask_of(id);
    HostAmount part = world_.host_part(ask, gpu, placement);
    // Those that share an instance and have said nothing have its part together.
    if (shares)
      for (const JobId other : sharers_beside(id, gpu, *placement)) {
        if (!ask.millicpus && !host_ask_of(other).millicpus) part.millicpus = 0;
        if (!ask.memory && !host_ask_of(other).memory) part.memory = MiB{0};
      }
    const auto from = world_.take_host(gpu, part, now_);
    if (!from) return from;
    host_of_[index(id)] = part;
    return std::max(begins, *from);
  }

  void free_host(JobId id, const JobRun& run, std::optional<Instant> left) {
    if (host_of_.empty()) return;
    HostAmount part = std::exchange(host_of_[index(id)], {});
    if (run.mode == RunMode::shared) pass_on(id, run, part);
    world_.free_host(run.gpu, part, left);
  }

  /// It moves, and the process that it leaves has what it had until then.
  void leave_host(JobId id, GpuId from, const HostAmount& had, bool same_node, Instant until) {
    if (!same_node) return world_.free_host(from, had, until);
    const HostAmount& has = host_of_[index(id)];
    world_.linger_on_host(from,
                          {std::max<std::int64_t>(0, had.millicpus - has.millicpus),
                           std::max(MiB{0}, had.memory - has.memory)},
                          until);
  }

  /// What it had for others too that share its instance, one of them has now.
  void pass_on(JobId id, const JobRun& run, HostAmount& part) {
    const HostAsk ask = host_ask_of(id);
    for (const JobId other : sharers_beside(id, run.gpu, run.placement)) {
      HostAmount& its = host_of_[index(other)];
      if (!ask.millicpus && !host_ask_of(other).millicpus)
        its.millicpus += std::exchange(part.millicpus, 0);
      if (!ask.memory && !host_ask_of(other).memory)
        its.memory += std::exchange(part.memory, MiB{0});
    }
  }

  /// What it has reported so far, of a job that has begun.
  std::optional<double> progress_of(JobId id) const {
    const JobRun* run = runs_.find(id);
    const auto all = static_cast<double>(job(id).duration.count());
    if (run == nullptr || !(all > 0)) return std::nullopt;
    if (run->mode == RunMode::none || now_ <= run->counts_from) return run->done;
    const auto since = static_cast<double>((now_ - run->counts_from).count());
    return std::min(1.0, run->done + since * run->speed / all);
  }

  std::optional<Instant> running_since(JobId id) const {
    const JobRun* run = runs_.find(id);
    if (run == nullptr || run->mode == RunMode::none) return std::nullopt;
    return std::min(now_, run->begin);
  }

  /// Its process ends or moves: what it did there in its time is for others of its application to
  /// go by. Not of one that has moved before.
  [[gnu::noinline]] void learn_pace(JobId id) {
    progress(id);
    const JobRun& run = runs_[id];
    if (run.mode != RunMode::instance || run.here_from > run.begin || processes_.in_gang(id))
      return;
    const double before = done_before_.empty() ? 0 : done_before_[index(id)];
    const Duration slow = slow_starts_.empty() ? Duration::zero() : slow_start(id);
    const Duration start = std::max(slow, options_.process_start);
    const Duration restore = run.restores ? restored_in(id) : Duration::zero();
    const auto worked = static_cast<double>((now_ - run.begin - start - restore).count());
    const double share = run.done - before;
    if (share < least_to_learn_from) return;
    facts_.learn(id, fleet_[run.gpu].kind, profile_index_of(run),
                 Duration{std::llround(worked / share)});
  }

  int profile_index_of(const JobRun& run) const {
    return world_.graph(world_[run.gpu]).geometry()[run.placement].profile_index;
  }

  /// A job that ran from its beginning to its end on one instance: its time beside the predicted.
  void compare_times(JobId id, const JobRun& run, Duration seen) {
    if (run.mode != RunMode::instance || run.here_from > run.begin || processes_.in_gang(id))
      return;
    const int profile = profile_index_of(run);
    if (const auto predicted = facts_.predicted(id, fleet_[run.gpu].kind, profile))
      account_.compare(index(id), {*predicted, seen});
  }

  void close_process(JobId id, Ending ending) {
    book(id, ending);
    rest(runs_[id]);
    if (is_replica(id)) --endless_;
    if (compactor_ && ending != Ending::finished && ending != Ending::failed) waits_for_room(id);
  }

  /// The job's only process ends, or all of them do: what it did, and what of that is kept.
  [[gnu::always_inline]] inline void book(JobId id, Ending ending) {
    JobRun& run = runs_[id];
    const double left_over = kept(id, run, ending);
    if (now_ >= run.begin) account_.began(index(id), run.begin);
    if (now_ > run.begin) {
      const double before = done_before_.empty() ? 0 : done_before_[index(id)];
      const Duration time = now_ - run.begin;
      const Duration slow = slow_starts_.empty() ? Duration::zero() : slow_start(id);
      const Duration start = std::min(time, std::max(slow, options_.process_start));
      const Duration restore =
          run.restores ? std::min(time - start, restored_in(id)) : Duration::zero();
      const WorkShare work{before, run.done, left_over};
      account_.ran(index(id), {time, start, restore}, work);
      if (account_.counts_memory())
        for_each_process(id, [&](JobId process, const JobRun& its) {
          account_.resident(index(id), time, work, run_memory_.capacity(process, its));
        });
      if (options_.applications != nullptr && ending == Ending::finished && before == 0)
        compare_times(id, run, time - start - restore);
    } else {
      const Instant waited_until = std::min(run.begin, std::max(now_, run.here_from));
      account_.waits_for_instance(index(id), waited_until - run.begin);
    }
    run.done = left_over;
    if (ending == Ending::killed && left_over > 0 && keeps(id) == Keeps::checkpoint) {
      run.resumed = true;
      run.here_from = now_;
    }
  }

  /// Nothing runs; what was on the agenda for it is outdated.
  void rest(JobRun& run) {
    run.mode = RunMode::none;
    run.speed = 0;
    renew(run);
    run.due = Instant::max();
    --running_;
  }

  void process_ends(JobId id) {
    if (GangRun* gang = gangs_.find(id)) return gang_ends(*gang);
    JobRun& run = runs_[id];
    const bool out_of_memory = run.fate == Fate::runs_out, failed = run.fate == Fate::fails;
    const auto had_there = out_of_memory ? had(id, run) : std::nullopt;
    const GpuId gpu = run.gpu;
    const auto placement = seen_placement(run);
    if (!out_of_memory && !failed) run.counts_from = std::min(run.counts_from, now_);
    if (learns_) learn_pace(id);
    leave(id, out_of_memory ? Ending::killed : failed ? Ending::failed : Ending::finished);
    ++summary_.events;
    if (!is_replica(id)) last_end_ = now_;
    observe([&] {
      const auto kind = out_of_memory ? RunEvent::Kind::ran_out
                        : failed      ? RunEvent::Kind::failed
                                      : RunEvent::Kind::finished;
      return RunEvent{now_, kind, id, gpu, placement, {}};
    });
    if (out_of_memory) {
      ++summary_.oom_restarts;
      account_.disrupted(index(id));
      return engine_->on(OutOfMemory{id, had_there}, now_, commands_);
    }
    failed ? account_.failed(index(id)) : account_.finished(index(id), now_);
    if (leases_.has(id)) leases_.ends(id);
    other_ends(id, !failed);
    runs_.close(id);
    engine_->on(Finished{id}, now_, commands_);
  }

  [[gnu::noinline]] void memory_report(JobId id) {
    progress(id);
    const JobRun& run = runs_[id];
    const std::int64_t all = memory_.iterations(job(id));
    const std::int64_t iteration =
        std::clamp<std::int64_t>(std::llround(run.done * static_cast<double>(all)), 1, all);
    const auto generation = run.generation;
    const JobId process = first_to_run_out(id);
    engine_->on(MemoryReported{process, memory_.report(index(id), iteration),
                               run_memory_.capacity(process, runs_[process])},
                now_, commands_);
    const auto runs_on = [](const Command& command) {
      return std::holds_alternative<WarnOfMemory>(command);
    };
    if (runs_[id].generation == generation && std::ranges::all_of(commands_, runs_on))
      program_report(id);
  }

  // Jobs of several places. The run of the first process is that of the job too: what of its work
  // is done, and when it ends, is said there. Its speed is that of all.

  void for_each_process(JobId job, const auto& what) {
    if (!processes_.any_gang()) return what(job, runs_[job]);
    const Gang gang = processes_.gang(job);
    for (std::uint32_t rank = 0; rank < gang.size; ++rank)
      what(gang.member(rank), runs_[gang.member(rank)]);
  }

  /// The process has its place, which can be used from `begins` on.
  [[gnu::noinline]] Result<void> begin_with_others(JobId id, Instant begins) {
    GangRun& gang = gangs_.joins(id);
    gang.begins = std::max(gang.begins, begins);
    return gang.here == gang.gang.size ? begin_together(gang) : Result<void>();
  }

  [[gnu::noinline]] Result<void> begin_together(GangRun& gang) {
    const JobId job = gang.gang.leader;
    JobRun& first = runs_[job];
    Duration start{};
    for_each_process(job, [&](JobId id, const JobRun& run) {
      const Speed speed = rates_.alone(id, run);
      if (speed.inferred) ++summary_.speeds_inferred;
      gang.paces[processes_.rank(id)] = speed.relative;
      start = std::max(start, process_start(run.gpu, run.mode));
    });
    first.speed = gang.slowest();
    set_times(job, first, gang.begins, start);
    double death = beyond_its_work;
    for_each_process(job, [&](JobId id, JobRun& run) {
      follow(first, run);
      const std::uint32_t rank = processes_.rank(id);
      const double dies = take_memory(id, run, gang.paces[rank]);
      if (dies < death) gang.weakest = rank;
      death = std::min(death, dies);
      join_gpu(id, run);
      observe_start(id, run);
    });
    set_death(job, death);
    auto programmed = program(job);
    for_each_process(job, [&](JobId, const JobRun& run) { retime(run.gpu); });
    return programmed;
  }

  /// A process goes as the first of its job does.
  void follow(const JobRun& first, JobRun& run) {
    if (&run == &first) return;
    run.begin = first.begin;
    run.here_from = first.here_from;
    run.counts_from = first.counts_from;
    run.speed = first.speed;
    run.done = first.done;
    renew(run);
  }

  /// By what it is beside the jobs on its GPU, the process would be as fast as this.
  void set_pace(GangRun& gang, JobId id, double pace) {
    gang.paces[processes_.rank(id)] = pace;
    const JobId job = gang.gang.leader;
    JobRun& first = runs_[job];
    const double speed = gang.slowest();
    if (gang.ended || speed == first.speed) return;
    progress(job);
    const Instant from = first.counts_from;
    for_each_process(job, [&](JobId, JobRun& run) {
      measure_.before_change(run.gpu, now_);
      measure_.remove_speed(run.gpu, run.speed, run.counts_from);
      run.speed = speed;
      run.counts_from = from;
      measure_.add_speed(run.gpu, run.speed, run.counts_from);
    });
    const bool awaited = first.awaited;
    if (auto programmed = program(job); !programmed && !beyond_) beyond_ = programmed.error();
    if (awaited && !first.awaited) await_progress(job, first);
  }

  /// The process that runs out of memory before the others do, if any does.
  JobId first_to_run_out(JobId job) {
    const GangRun* gang = gangs_.find(job);
    return gang == nullptr ? job : gang->gang.member(gang->weakest);
  }

  [[gnu::noinline]] void gang_ends(GangRun& gang) {
    const Gang processes = gang.gang;
    const JobId job = processes.leader;
    JobRun& first = runs_[job];
    ++summary_.events;
    last_end_ = now_;
    if (first.fate == Fate::runs_out) return gang_runs_out(gang);
    const bool failed = first.fate == Fate::fails;
    first.counts_from = std::min(first.counts_from, now_);
    end_work(gang, failed ? Ending::failed : Ending::finished,
             failed ? RunEvent::Kind::failed : RunEvent::Kind::finished);
    failed ? account_.failed(index(job)) : account_.finished(index(job), now_);
    other_ends(job, !failed);
    for (std::uint32_t rank = 0; rank < processes.size; ++rank)
      leave_with_others(gang, processes.member(rank));
    engine_->on(Finished{job}, now_, commands_);
  }

  /// One process dies; the engine stops the others.
  void gang_runs_out(GangRun& gang) {
    const JobId job = gang.gang.leader, died = gang.gang.member(gang.weakest);
    const auto had_there = had(died, runs_[died]);
    end_work(gang, Ending::killed, RunEvent::Kind::ran_out);
    leave_with_others(gang, died);
    ++summary_.oom_restarts;
    account_.disrupted(index(job));
    engine_->on(OutOfMemory{died, had_there}, now_, commands_);
  }

  /// The GPU of one of its processes is lost; the engine stops the others.
  void lose_process(GangRun& gang, JobId id) {
    if (!gang.ended) {
      end_work(gang, Ending::killed, RunEvent::Kind::evicted);
      ++summary_.evictions;
    }
    leave_gpu(id, runs_[id]);
    free_host(id, runs_[id], std::nullopt);
    gone(gang, id);
  }

  /// Its processes do no more of its work, and leave their places before any time passes; they use
  /// them until `left`.
  [[gnu::noinline]] void end_work(GangRun& gang, Ending ending, RunEvent::Kind kind,
                                  std::optional<Instant> left = std::nullopt) {
    const JobId job = gang.gang.leader;
    progress(job);
    book(job, ending);
    gang.ended = kind;
    gang.left = left;
  }

  [[gnu::noinline]] void leave_with_others(GangRun& gang, JobId id) {
    const GpuId gpu = runs_[id].gpu;
    leave_place(id, runs_[id], gang.left);
    gone(gang, id);
    retime(gpu);
  }

  /// The process of a job that has ended, or waits again, is gone. With the last one so is its run.
  void gone(GangRun& gang, JobId id) {
    const JobId job = gang.gang.leader;
    JobRun& run = runs_[id];
    observe([&] { return event_of(*gang.ended, id, run, gang.left); });
    rest(run);
    const bool over = gang.here == 1;
    gangs_.leaves(gang);
    if (id != job) runs_.close(id);
    if (over && !account_.open(index(job))) runs_.close(job);
    if (over && compactor_ && account_.open(index(job))) waits_for_room(job);
  }

  // GPUs that come and go.

  void plan_outages() {
    for (const Outages::Loss& loss : outages_.said(begin_)) plan_loss(loss.gpu, loss.at);
    if (outages_.drawn())
      for (std::size_t gpu = 0; gpu < fleet_.size(); ++gpu) plan_next_loss(static_cast<GpuId>(gpu));
  }

  void plan_loss(GpuId gpu, Instant at) {
    agenda_.push({at, static_cast<std::uint32_t>(index(gpu)), 0, Due::gpu_lost});
  }

  void plan_next_loss(GpuId gpu) { plan_loss(gpu, outages_.next_loss(gpu, now_)); }

  /// Nothing runs and nothing is to come: only a GPU that returns, or the scheduler's own time, can
  /// change that.
  bool idle() const {
    return !arrivals_left() && running_ == endless_ && timed_left_ == 0 && !wake_counts(now_);
  }

  /// While nothing runs, losses that are drawn wait: among many GPUs one would always be absent,
  /// and a run whose jobs wait for what never comes would not end. What is left to wait does not
  /// depend on the past.
  void postpone_loss(GpuId gpu) {
    if (!outages_.drawn()) return lose(gpu);
    outages_.skip(gpu);
    plan_next_loss(gpu);
  }

  [[gnu::noinline]] void lose(GpuId gpu) {
    measure_.before_change(gpu, now_);
    observe([&] { return RunEvent{now_, RunEvent::Kind::gpu_lost, {}, gpu, {}, {}}; });
    const auto jobs = rates_.jobs_on(gpu);
    for (const JobId id : std::vector<JobId>(jobs.begin(), jobs.end())) {
      if (GangRun* gang = gangs_.find(id)) {
        lose_process(*gang, id);
        continue;
      }
      JobRun& run = runs_[id];
      progress(id);
      leave_gpu(id, run);
      free_host(id, run, std::nullopt);
      observe([&] {
        return RunEvent{now_, RunEvent::Kind::evicted, id, gpu, seen_placement(run), {}};
      });
      close_process(id, Ending::killed);
      ++summary_.evictions;
    }
    world_.lose(gpu);
    rates_.forget(gpu);
    energy_.gpu_idles(gpu, {}, now_);
    ++absent_;
    ++summary_.gpu_losses;
    agenda_.push(
        {outages_.returns(gpu, now_), static_cast<std::uint32_t>(index(gpu)), 0, Due::gpu_returns});
    engine_->on(GpuLost{gpu}, now_, commands_);
  }

  [[gnu::noinline]] void recover(GpuId gpu) {
    measure_.before_change(gpu, now_);
    world_.recover(gpu, now_);
    idles(gpu);
    --absent_;
    observe([&] { return RunEvent{now_, RunEvent::Kind::gpu_returned, {}, gpu, {}, {}}; });
    if (outages_.drawn()) plan_next_loss(gpu);
    engine_->on(GpuReturned{gpu}, now_, commands_);
  }

  // Commands.

  Result<void> carry_out_all() {
    for (const Command& command : commands_) {
      auto done = std::visit([&](const auto& what) { return carry_out(what); }, command);
      if (!done) return done;
    }
    commands_.clear();
    if (const auto torn = gangs_.torn())
      return fail(ErrorKind::internal, job(*torn).id,
                  "the scheduler starts or stops a part of its processes", report_it);
    return {};
  }

  Result<void> carry_out(const DestroyInstance& what) {
    observe([&] {
      return RunEvent{now_, RunEvent::Kind::destroyed, {}, what.gpu, what.placement, {}};
    });
    return world_.destroy(what.gpu, what.placement, now_);
  }

  Result<void> carry_out(const CreateInstance& what) {
    const std::size_t batches = world_.batches();
    auto done = world_.create(what.gpu, what.placement, now_);
    if (world_.batches() > batches && !stopped_at_.empty() && stopped_at_[index(what.gpu)] == now_)
      ++summary_.stopping_reconfigurations;
    if (done)
      observe([&] {
        return RunEvent{now_,     RunEvent::Kind::created, {},
                        what.gpu, what.placement,          world_[what.gpu].ready};
      });
    return done;
  }

  Result<void> carry_out(const StartJob& what) {
    measure_.before_change(what.gpu, now_);
    auto begins = world_.start(what.gpu, what.placement, now_);
    if (begins) begins = when_hosted(what.job, what.gpu, what.placement, *begins);
    if (!begins) return std::unexpected(begins.error());
    return begin(what.job, what.gpu, what.placement, RunMode::instance, *begins);
  }

  Result<void> carry_out(const StartShared& what) {
    measure_.before_change(what.gpu, now_);
    auto begins = world_.start_shared(what.gpu, what.placement, what.share, now_);
    if (begins) begins = when_hosted(what.job, what.gpu, what.placement, *begins, true);
    if (!begins) return std::unexpected(begins.error());
    runs_.open(what.job).part = what.share.part;
    return begin(what.job, what.gpu, what.placement, RunMode::shared, *begins);
  }

  Result<void> carry_out(const StartOnWholeGpu& what) {
    measure_.before_change(what.gpu, now_);
    auto begins = world_.start_whole(what.gpu, now_);
    if (begins) begins = when_hosted(what.job, what.gpu, std::nullopt, *begins);
    if (!begins) return std::unexpected(begins.error());
    return begin(what.job, what.gpu, 0, RunMode::whole, *begins);
  }

  /// A job on the GPU is stopped for room: a change of its instances at this instant costs that
  /// too.
  void stops(GpuId gpu) {
    if (stopped_at_.empty()) stopped_at_.resize(fleet_.size(), no_time);
    stopped_at_[index(gpu)] = now_;
  }

  Result<void> must_run(JobId id) {
    if (runs_.has(id) && runs_[id].mode != RunMode::none) return {};
    return fail(ErrorKind::internal, job(id).id,
                "the scheduler stops or moves a job that does not run", report_it);
  }

  Result<void> carry_out(const StopJob& what) {
    const bool early = what.why == StopJob::Why::forecast;
    // It is told before it is stopped, so that it loses nothing where it can save its work.
    return interrupt(what.job, keeps(what.job) == Keeps::checkpoint,
                     early ? RunEvent::Kind::restarted_early : RunEvent::Kind::stopped);
  }

  Result<void> carry_out(const CheckpointJob& what) {
    const bool saves = keeps(what.job) != Keeps::nothing;
    return interrupt(what.job, saves,
                     saves ? RunEvent::Kind::checkpointed : RunEvent::Kind::stopped);
  }

  Result<void> interrupt(JobId id, bool saves, RunEvent::Kind kind) {
    if (auto runs = must_run(id); !runs) return runs;
    GangRun* gang = gangs_.find(id);
    if (gang != nullptr && gang->ended) {
      leave_with_others(*gang, id);
      return {};
    }
    if (auto may = may_interrupt(id); !may) return may;
    const JobId job = processes_.job_of(id);
    if (kind != RunEvent::Kind::restarted_early)
      for_each_process(job, [&](JobId, const JobRun& run) { stops(run.gpu); });
    if (gang != nullptr) {
      const auto left = saves ? save(job) : std::nullopt;
      end_work(*gang, saves ? Ending::saved : Ending::killed, kind, left);
      leave_with_others(*gang, id);
    } else {
      stop(id, saves, kind);
    }
    ++(kind == RunEvent::Kind::restarted_early ? summary_.early_restarts
       : kind == RunEvent::Kind::checkpointed  ? summary_.checkpoints
                                               : summary_.restarts);
    account_.disrupted(index(job));
    return {};
  }

  /// The job's process ends on command, with its work saved or not; its place is free then.
  void stop(JobId id, bool saves, RunEvent::Kind kind) {
    if (learns_) learn_pace(id);
    const auto left = saves ? save(id) : std::nullopt;
    const JobRun& run = runs_[id];
    observe([&] { return RunEvent{now_, kind, id, run.gpu, seen_placement(run), left}; });
    leave(id, saves ? Ending::saved : Ending::killed, left);
  }

  /// The job writes a checkpoint and is about to leave: until when it uses its place. A process
  /// that has not begun has nothing to keep, and a server has nothing to write: they leave at once.
  std::optional<Instant> save(JobId id) {
    JobRun& run = runs_[id];
    if (keeps(id) == Keeps::stateless) return std::nullopt;
    const bool begun = now_ > run.begin;
    run.resumed = begun || run.done > 0;
    if (!begun) return std::nullopt;
    progress(id);
    Duration writes{};
    for_each_process(id, [&](JobId, const JobRun& its) {
      writes = std::max(writes, costs_.write(id, its, run.done));
    });
    run.here_from = now_ + writes;
    account_.wrote_checkpoint(index(id), writes);
    return run.here_from;
  }

  Keeps keeps(JobId id) const {
    const JobDetails* details = workload_.details_of(job(id));
    return details == nullptr ? Keeps::unsaid : details->keeps;
  }

  Result<void> carry_out(const MigrateJob& what) {
    if (auto may = may_interrupt(what.job); !may) return may;
    if (auto runs = must_run(what.job); !runs) return runs;
    JobRun& run = runs_[what.job];
    if (run.mode != RunMode::instance)
      return fail(ErrorKind::internal, job(what.job).id,
                  "the scheduler moves a job that shares or has a GPU", report_it);
    measure_.before_change(run.gpu, now_);
    measure_.before_change(what.gpu, now_);
    ++summary_.migrations;
    account_.disrupted(index(what.job));
    if (keeps(what.job) == Keeps::checkpoint || keeps(what.job) == Keeps::nothing)
      return move_stopped(what);
    auto ready = world_.start(what.gpu, what.placement, now_);
    const HostAmount had = host_of_.empty() ? HostAmount{} : host_of_[index(what.job)];
    const bool same_node = fleet_.node(run.gpu) == fleet_.node(what.gpu);
    if (same_node) free_host(what.job, run, std::nullopt);
    if (ready) ready = when_hosted(what.job, what.gpu, what.placement, *ready);
    if (!ready) return std::unexpected(ready.error());
    if (learns_) learn_pace(what.job);
    // It runs on where it is, or was before an earlier move, until the replica takes over.
    const Instant replica =
        std::max({*ready + process_start(what.gpu, RunMode::instance) + replica_loads(what, run),
                  run.here_from, run.begin});
    const Profile* before = &profile_of(run);
    const GpuId left = run.gpu;
    leave_gpu(what.job, run);
    world_.end(run.gpu, run.placement, replica);
    if (!host_of_.empty()) leave_host(what.job, run.gpu, had, same_node, replica);
    run.gpu = what.gpu;
    run.placement = what.placement;
    run.here_from = replica;
    observe([&] {
      return RunEvent{now_, RunEvent::Kind::migrated, what.job, what.gpu, what.placement, replica};
    });
    const double speed = rates_.alone(what.job, run).relative;
    const bool same_size = &profile_of(run) == before;
    // Where nothing changes for it, its end stays where it is on the agenda.
    const bool stays = same_size && speed == run.speed;
    if (!stays) progress(what.job);
    run.speed = speed;
    join_gpu(what.job, run);
    if (!stays) {
      if (!(run.speed > 0) && !withholds_memory_)
        return fail(ErrorKind::internal, job(what.job).id,
                    "the scheduler moves a job where it cannot run", report_it);
      if (!same_size || !(run.speed > 0))
        set_death(what.job, run_memory_.dies_at(what.job, run, run.speed));
      if (const auto programmed = program(what.job); !programmed) return programmed;
    }
    retime(left);
    if (run.gpu != left) retime(run.gpu);
    return {};
  }

  Duration replica_loads(const MigrateJob& what, const JobRun& run) const {
    if (!costs_.by_memory()) return Duration::zero();
    JobRun there = run;
    there.gpu = what.gpu;
    there.placement = what.placement;
    return costs_.load(what.job, there);
  }

  /// The job ends where it is, with a checkpoint if it writes one, and starts at the new place.
  Result<void> move_stopped(const MigrateJob& what) {
    const bool saves = keeps(what.job) == Keeps::checkpoint;
    stop(what.job, saves, saves ? RunEvent::Kind::checkpointed : RunEvent::Kind::stopped);
    auto ready = world_.start(what.gpu, what.placement, now_);
    if (ready) ready = when_hosted(what.job, what.gpu, what.placement, *ready);
    if (!ready) return std::unexpected(ready.error());
    return begin(what.job, what.gpu, what.placement, RunMode::instance, *ready);
  }

  Result<void> carry_out(const RejectJob& what) {
    if (compactor_) compactor_->waits_no_more(what.job);
    account_.rejected(index(what.job), what.reason);
    other_ends(what.job, false);
    std::erase(arrived_leases_, what.job);
    runs_.close(what.job);
    observe([&] { return RunEvent{now_, RunEvent::Kind::rejected, what.job, {}, {}, {}}; });
    return {};
  }

  Result<void> carry_out(const FailJob& what) {
    if (compactor_) compactor_->waits_no_more(what.job);
    account_.failed(index(what.job));
    other_ends(what.job, false);
    if (gangs_.find(what.job) == nullptr) runs_.close(what.job);
    observe([&] { return RunEvent{now_, RunEvent::Kind::failed, what.job, {}, {}, {}}; });
    return {};
  }

  Result<void> carry_out(const WarnOfMemory& what) {
    if (auto runs = must_run(what.job); !runs) return runs;
    const JobRun& run = runs_[what.job];
    observe([&] {
      RunEvent event = event_of(RunEvent::Kind::warned, what.job, run);
      event.memory = what.peak;
      return event;
    });
    return {};
  }

  Result<void> carry_out(const WakeAt& what) {
    agenda_.push({std::max(now_, what.time), 0, engines_, Due::wake});
    ++wakes_;
    return {};
  }

  /// `event` makes it, where there is somebody to tell.
  void observe(const auto& event) {
    if (options_.observer != nullptr) options_.observer->on(event());
  }

  // Moves that make room for a job that waits.

  Result<void> plan_compactions() {
    if (!options_.compaction) return {};
    if (spec_.row->furnishes || spec_.row->whole_gpus)
      return fail(ErrorKind::bad_usage, "compaction",
                  fmt::format("scheduler '{}' keeps a layout of its own", shown(spec_.text)),
                  "choose another scheduler, or leave compaction off");
    if (fleet_.hosts().size() > 1)
      return fail(ErrorKind::bad_usage, "compaction",
                  "it does not know what the hosts of several nodes have room for",
                  "leave out what nodes have, or compaction");
    compactor_.emplace(*options_.compaction, keeps_order(spec_),
                       CompactedWorld{workload_, processes_, fleet_, world_, rates_, runs_, facts_,
                                      requests_, options_.stops, options_.process_start,
                                      options_.reconfiguration, options_.reservations});
    return {};
  }

  void waits_for_room(JobId id) {
    compactor_->waits(id, now_);
    in_vain_ = false;
  }

  /// Whether a look at the fleet could change anything, though nothing else is to come.
  bool may_compact() const { return compactor_ && !in_vain_ && running_ > 0; }

  Result<void> compact_if_due() {
    if (const auto due = compactor_->due(); due && *due <= now_)
      if (auto done = compact(); !done) return done;
    const auto next = compactor_->due();
    if (!next || next == next_look_) return {};
    next_look_ = next;
    agenda_.push({std::max(now_, *next), 0, 0, Due::compaction});
    return {};
  }

  /// Moves jobs if the policy says so. To the engine they move by themselves: it is made anew, and
  /// hears of the job that is to have the room before any other that waits.
  Result<void> compact() {
    const auto plan = compactor_->look(*engine_, now_);
    in_vain_ = !plan;
    if (!plan) return {};
    Fleet fleet = fleet_of_now(fleet_, world_);
    for (const SimulatedGpu& gpu : world_.gpus()) hold_all(fleet, gpu);
    for (const Compactor::Move& move : plan->moves)
      if (auto done = make_move(move, fleet); !done) return done;
    ++summary_.compactions;
    summary_.compaction_moves += plan->moves.size();
    if (auto made = make_engine_anew(plan->job); !made) return made;
    summary_.compactions_served += compactor_->waits(plan->job) ? 0 : 1;
    return tell_queue(compactor_->queue(), plan->job);
  }

  void hold_all(Fleet& fleet, const SimulatedGpu& gpu) const {
    const auto id = static_cast<GpuId>(&gpu - world_.gpus().data());
    for (const PlacementId placement : fleet[id].idle - gpu.idle) fleet.hold(id, placement);
  }

  Result<void> make_move(const Compactor::Move& move, Fleet& fleet) {
    const PlacementSet idle = fleet[move.to].idle;
    if (!idle.contains(move.to_placement)) {
      for (const PlacementId each : fleet.destroys(fleet[move.to], move.to_placement))
        if (auto done = carry_out(DestroyInstance{move.to, each}); !done) return done;
      if (auto done = carry_out(CreateInstance{move.to, move.to_placement}); !done) return done;
    }
    fleet.hold(move.to, move.to_placement);
    fleet.release(move.from, move.from_placement);
    if (!move.by_checkpoint) return carry_out(MigrateJob{move.job, move.to, move.to_placement});
    if (auto done = carry_out(CheckpointJob{move.job}); !done) return done;
    return carry_out(StartJob{move.job, move.to, move.to_placement});
  }

  /// With what runs told, and one of the jobs that wait.
  Result<void> make_engine_anew(JobId first) {
    std::vector<Event> events;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      if (world_[gpu].absent) events.emplace_back(GpuLost{gpu});
      for (const JobId id : rates_.jobs_on(gpu))
        events.emplace_back(Adopted{id, engine_->request_of(processes_.job_of(id)), gpu,
                                    seen_placement(runs_[id])});
    }
    for (const JobId job : compactor_->queue()) wanted_[job] = engine_->request_of(job);
    auto fleet = std::make_unique<Fleet>(fleet_of_now(fleet_, world_));
    if (auto made = make_engine(*fleet); !made) return made;
    fleet_of_engine_ = std::move(fleet);
    ++engines_;
    wakes_ = 0;
    for (const Event& event : events) engine_->on(event, now_, commands_);
    for (const Event& event : events)
      if (const auto* adopted = std::get_if<Adopted>(&event))
        if (leases_.has(adopted->job)) lease_changes(adopted->job);
    engine_->on(Submitted{first, wanted_.at(first)}, now_, commands_);
    engine_->settle(now_, commands_);
    return carry_out_all();
  }

  /// The others that wait. Those that the new engine has stopped meanwhile it knows.
  Result<void> tell_queue(const std::vector<JobId>& queue, JobId but) {
    for (const JobId job : queue)
      if (const auto wanted = wanted_.find(job); job != but && wanted != wanted_.end())
        engine_->on(Submitted{job, wanted->second}, now_, commands_);
    wanted_.clear();
    engine_->settle(now_, commands_);
    return carry_out_all();
  }

  // The end.

  /// What programs could use on the whole fleet; nullopt when some model's is not known.
  std::optional<double> usable_mib() const {
    double sum = 0;
    for (const SimulatedGpu& gpu : world_.gpus()) {
      const auto& usable = world_.graph(gpu).geometry().model().largest().usable;
      if (!usable) return std::nullopt;
      sum += static_cast<double>(usable->value);
    }
    return sum;
  }

  RunSummary finish() {
    summary_.scheduler = spec_.text;
    summary_.seed = options_.seed;
    for (const auto& graph : fleet_.graphs())
      for (const std::string& name : graph->geometry().profile_names())
        if (std::ranges::find(summary_.profiles, name) == summary_.profiles.end())
          summary_.profiles.push_back(name);
    if (services_.counts()) end_services();
    leases_.write(summary_, now_);
    summary_.makespan = last_end_ - begin_;
    measure_.finish(last_end_, summary_);
    energy_.finish(last_end_, summary_);
    const LeastNeeds needs(workload_, fleet_, rates_.table());
    account_.write(summary_, usable_mib(), needs, now_);
    summary_.creates = world_.creates();
    summary_.destroys = world_.destroys();
    summary_.reconfigurations = world_.batches();
    if (options_.outcomes != nullptr) {
      *options_.outcomes = account_.outcomes(needs);
      if (leases_.counts()) write_leases(*options_.outcomes);
      if (rates_.has_power())
        for (std::size_t i = 0; i < workload_.jobs.size(); ++i)
          (*options_.outcomes)[i].energy_j = energy_of(static_cast<JobId>(i));
      if (held_.counts())
        for (std::size_t i = 0; i < workload_.jobs.size(); ++i)
          (*options_.outcomes)[i].held = held_by(static_cast<JobId>(i));
    }
    return summary_;
  }

  void write_leases(std::vector<JobOutcome>& outcomes) const {
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      if (const auto id = static_cast<JobId>(i); leases_.has(id)) leases_.write(id, outcomes[i]);
  }

  double energy_of(JobId job) const {
    double joules = 0;
    const Gang gang = processes_.gang(job);
    for (std::uint32_t rank = 0; rank < gang.size; ++rank)
      joules += energy_.joules(gang.member(rank));
    return joules;
  }
  HeldSlices held_by(JobId job) const {
    HeldSlices all;
    const Gang gang = processes_.gang(job);
    for (std::uint32_t rank = 0; rank < gang.size; ++rank) {
      const HeldSlices& one = held_.of(gang.member(rank));
      all.compute_s += one.compute_s;
      all.memory_s += one.memory_s;
    }
    return all;
  }

  const Workload& workload_;
  const SchedulerSpec& spec_;
  const SimulationOptions& options_;
  const bool withholds_memory_, learns_;
  const Processes processes_;
  const KnownArrays arrays_;
  AwaitingJobs held_back_;  // that wait for others
  Fleet fleet_;             // as it is at the beginning
  RequestTable requests_;
  std::vector<RequestId> request_ids_;  // by Workload::requests
  World world_;
  Rates rates_;
  MemoryTruth memory_;
  RunMemory run_memory_;
  StopCosts costs_;
  KnownJobs facts_;
  Outages outages_;
  Instant last_edge_, begin_, now_, last_end_;
  Measure measure_;
  Account account_;
  EnergyAccount energy_;
  SlicesHeld held_;
  Forecaster* forecaster_ = nullptr;
  std::unique_ptr<Fleet> fleet_of_engine_;  // of one that was made while jobs ran
  std::unique_ptr<Engine> engine_;
  std::optional<Compactor> compactor_;
  Agenda agenda_;
  std::vector<Command> commands_;
  ServiceWatch services_;
  LeaseBook leases_;
  const bool has_kinds_;  // there may be other jobs than batches
  const bool watched_;    // what jobs hold or how fast they are is written down, not only measured
  /// Jobs but replicas, and replicas of services that say when they end, that have not ended.
  std::size_t others_left_, timed_left_ = 0;
  std::size_t endless_ = 0;            // replicas that run
  std::optional<Instant> over_at_;     // all of these have ended
  std::vector<JobId> arrived_leases_;  // at this instant
  JobRuns runs_;                       // by process
  GangRuns gangs_;
  std::vector<HostAmount> host_of_;    // by process; empty: hosts are not limited
  std::uint32_t generations_ = 0;      // given out, to all runs
  std::vector<double> done_before_;    // by job; empty: nothing for any
  std::vector<double> deaths_;         // by job, see death_of; empty: none dies
  std::vector<Duration> slow_starts_;  // by job; empty: no process starts slowly
  std::vector<Duration> restores_;     // by job; empty: none was restored by its memory
  std::vector<Instant> stopped_at_;    // by GPU, when a job last had to stop; empty: nowhere yet
  std::optional<Error> beyond_;  // a job that became so slow that the clock does not reach its end
  std::size_t arrived_ = 0, running_ = 0, absent_ = 0, wakes_ = 0, steps_ = 0;
  std::uint32_t engines_ = 0;          // made after the first; wake-ups are of one
  std::optional<Instant> next_look_;   // on the agenda, for a compaction
  bool in_vain_ = false;               // the last look led to nothing, and no job came since
  std::map<JobId, RequestId> wanted_;  // by jobs that wait, while an engine is made
  RunSummary summary_;
};

/// The workload, with what its jobs ask of hosts in their requests.
Workload asking_hosts(Workload workload) {
  for (Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    if (details == nullptr || (!details->cpus && !details->host_memory)) continue;
    Request request = workload.requests[job.request];
    if (details->cpus) request.host.millicpus = millicpus(*details->cpus);
    request.host.memory = details->host_memory;
    job.request = workload.intern(request);
  }
  return workload;
}

}  // namespace

Result<RunSummary> simulate(const FleetFile& fleet, const Workload& workload,
                            const SchedulerSpec& spec, const SimulationOptions& options) {
  if (const std::size_t processes = count_processes(workload); processes > too_many_processes)
    return fail(ErrorKind::infeasible, "the workload",
                fmt::format("its jobs ask for {} places in all", processes),
                fmt::format("leave out jobs until they ask for at most {}", too_many_processes));
  if (host_nodes(fleet).empty()) return Simulation(fleet, workload, spec, options).run();
  return Simulation(fleet, asking_hosts(workload), spec, options).run();
}

}  // namespace cleave
