#include "seeded_daemon.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/verdicts/health_verdicts.hpp"
#include "control/verdicts/process_verdicts.hpp"
#include "engine/scheduler.hpp"
#include "planner/planned_moves.hpp"
#include "planner/planner.hpp"

namespace cleave::trial {

using namespace std::chrono_literals;

/// A runner at which the daemon may die, and that sees what is started where.
class SeededDaemon::WatchedRunner final : public Runner {
 public:
  bool fences() const override { return false; }
  explicit WatchedRunner(SeededDaemon& of) : of_(&of), inner_(of.jobs_) {}

  using Runner::found;
  Result<std::vector<FoundJob>> found(const IsSettled& is_settled) override {
    return inner_.found(is_settled);
  }
  Started start(const Launch& launch) override {
    of_->point("before a start");
    auto started = inner_.start(launch);
    if (started) {
      ++of_->counts_.attempts;
      of_->check_start(launch);
    }
    of_->point("after a start");
    return started;
  }
  Result<void> signal(const JobKey& key, int number) override {
    of_->told_to_end_.insert(key);  // the checkpoint's; the stop follows
    of_->signalled_.try_emplace(key, of_->now_);
    return inner_.signal(key, number);
  }
  Result<void> checkpoint(const JobKey& key, Duration longest) override {
    of_->point("before a checkpoint");
    of_->told_to_end_.insert(key);
    of_->signalled_.try_emplace(key, of_->now_);
    return inner_.checkpoint(key, longest);
  }
  Result<void> stop(const JobKey& key, std::optional<Duration> grace) override {
    of_->point("before a stop");
    of_->told_to_end_.insert(key);
    of_->check_stop(key);
    auto stopped = inner_.stop(key, grace);
    of_->point("after a stop");
    return stopped;
  }
  int free_port(int wanted) override { return inner_.free_port(wanted); }
  std::vector<RunnerEvent> poll() override { return inner_.poll(); }
  [[nodiscard]] int wake_fd() const override { return -1; }
  std::int64_t kept_bytes(const JobKey& key) override { return inner_.kept_bytes(key); }
  Result<void> forget(const JobKey& key) override {
    of_->point("before forgetting");
    return inner_.forget(key);
  }

 private:
  SeededDaemon* of_;
  FakeRunner inner_;
};

namespace {

std::vector<const GpuModel*> any_models(Random& random) {
  constexpr std::string_view keys[] = {"A100-40GB", "A30-24GB", "H100-80GB-SXM5"};
  std::vector<const GpuModel*> models;
  const auto count = 1 + random.below(3);
  const bool mixed = random.uniform() < 0.3;
  const auto first = random.below(std::size(keys));
  for (std::uint64_t i = 0; i < count; ++i)
    models.push_back(*find_gpu_model(keys[mixed ? random.below(std::size(keys)) : first]));
  return models;
}

/// And replicas: its numbers follow one another.
std::int64_t processes_of(const JobSpec& spec) {
  return spec.request.places * (spec.service ? spec.service->replicas : 1);
}

}  // namespace

SeededDaemon::SeededDaemon(std::uint64_t seed, Life life)
    : seed_(seed), life_(life), random_(seed), jobs_(seed) {
  machine_ = std::make_unique<Machine>(any_models(random_));
  delays_.seed = seed;
  const bool rough = random_.uniform() < 0.7 && life_ == Life::any;
  if (rough) {
    delays_.faults.refuse = random_.uniform() * 0.05;
    delays_.faults.lose = random_.uniform() * 0.02;
    delays_.never = random_.uniform() < 0.2 ? 0.01 : 0;
    death_ = random_.uniform() < 0.7 ? random_.uniform() * 0.02 : 0;
  }
  acts_left_ = life_ == Life::watched ? 150 : 20 + random_.below(60);
  scheduler_ = any_scheduler();
  disk_.before_write = [this](const StoreBatch&) { point("before a write"); };
  disk_.after_write = [this](const StoreBatch&) { point("after a write"); };
  machine_->at = [this](std::string_view where) { point(where); };
}

SeededDaemon::~SeededDaemon() = default;

std::string SeededDaemon::any_scheduler() {
  if (life_ == Life::watched) {
    const double what = random_.uniform();
    return what < 0.4 ? "adaptive" : what < 0.7 ? "online" : "scheme-b";
  }
  const auto rows = schedulers();
  const double what = random_.uniform();
  if (what < 0.5) return "online";
  return std::string(rows[random_.below(rows.size())].name);
}

void SeededDaemon::point(std::string_view where) {
  if (mended_ || control_ == nullptr || random_.uniform() >= death_) return;
  tell(fmt::format("the daemon dies {}", where));
  throw Death{};
}

void SeededDaemon::violation(std::string what) {
  tell("VIOLATION: " + what);
  violations_.push_back(fmt::format("at {:.3f} s: {}", in_seconds(now_), std::move(what)));
}

void SeededDaemon::tell(const std::string& what) const {
  if (story != nullptr) *story << fmt::format("{:10.3f}  {}\n", in_seconds(now_), what);
}

void SeededDaemon::begin_daemon() {
  store_ = std::make_unique<FakeStore>(disk_);
  ++delays_.seed;
  executor_ = std::make_unique<DelayedExecutor>(*machine_, delays_, now_);
  if (mended_) executor_->mend();
  runner_ = std::make_unique<WatchedRunner>(*this);
  ControlSettings settings;
  settings.scheduler = scheduler_;
  settings.forecaster = "last-value";
  settings.keep_idle = 20s;
  settings.look_every = 5s;
  settings.gpu_patience = 30s;
  settings.boot = fmt::format("boot {}", counts_.power_losses);
  settings.early_restarts_a_day = 3;
  auto begun = Control::begin({*store_, *executor_, *runner_}, settings, moment());
  if (!begun) {
    violation("it does not begin: " + begun.error().text());
    return;
  }
  control_ = std::move(*begun);
  to_end_since_.clear();
  waits_since_.clear();
  tell("the daemon begins");
}

void SeededDaemon::die() {
  ++counts_.deaths;
  control_.reset();
  runner_.reset();
  executor_.reset();
  store_.reset();
  for (const auto& [request, number] : asked_)
    if (wanted_.at(number).key) unheard_.push_back(wanted_.at(number));
  asked_.clear();
  asked_again_.clear();
  now_ += std::chrono::milliseconds(random_.below(10'000));
  jobs_.advance_to(Instant{} + now_);
  match_processes();
}

/// And comes back: nothing runs, no instance is left, and what was not synced may be gone.
void SeededDaemon::lose_power() {
  ++counts_.power_losses;
  tell("the power goes");
  die();
  disk_.lose_power(random_.below(disk_.unsynced() + 1));
  jobs_.lose_all(random_.uniform() < 0.5 ? 30s : 0s);
  match_processes();
  for (std::size_t gpu = 0; gpu < machine_->size(); ++gpu) {
    machine_->lose(gpu);
    machine_->give_back(gpu);
    machine_->hang(gpu, false);
  }
  foreign_.clear();
}

void SeededDaemon::match_processes() {
  const std::vector<JobKey> running = jobs_.running();
  const std::set<JobKey> alive(running.begin(), running.end());
  for (const JobKey& key : alive) {
    if (processes_.contains(key)) continue;
    const std::uint32_t pid = ++last_pid_;
    processes_[key] = pid;
    for (const std::string_view device : split(jobs_.launch_of(key).visible_devices, ','))
      machine_->start_process(std::string(device), pid);
  }
  std::erase_if(processes_, [&](const auto& each) {
    if (alive.contains(each.first)) return false;
    machine_->end_process(each.second);
    return true;
  });
}

void SeededDaemon::check_start(const Launch& launch) {
  tell(fmt::format("attempt {}.{} starts on {}", launch.key.job, launch.key.attempt,
                   launch.visible_devices));
  const JobNumber number = job_of(launch.key.job);
  const NewJob& wanted = wanted_.at(number);
  std::size_t others = 0;
  for (const JobKey& key : jobs_.running()) {
    if (key == launch.key) continue;
    if (key.job == launch.key.job) ++others;
    if (!sharing_ && jobs_.launch_of(key).visible_devices == launch.visible_devices)
      violation(fmt::format("job {} is started where job {} still runs", launch.key.job, key.job));
  }
  const bool restores = launch.argv.back() == "restore";
  if (restores != (!wanted.spec.restore_command.empty() && jobs_.checkpointed(launch.key.job)))
    violation(fmt::format("attempt {} of job {} runs '{}'", launch.key.attempt, launch.key.job,
                          launch.argv.back()));
  const bool replaced = may_be_moved(wanted.spec) && !moves_by_checkpoint(wanted.spec);
  if (others > (replaced ? 1U : 0U))
    violation(fmt::format("job {} runs {} times at once", launch.key.job, others + 1));
  if (!accepted_.contains(number)) {
    // Its answer is on its way: it was written before it was started.
    const bool coming =
        std::ranges::any_of(asked_, [&](const auto& each) { return each.second == number; });
    if (!coming && !unanswered_.contains(number))
      violation(fmt::format("job {} is started, which nobody submitted", launch.key.job));
  }
  check_device(launch, wanted.owner.uid);
  match_processes();
}

/// As far as the daemon knows: it may not have heard yet that the other has ended.
bool SeededDaemon::is_beside_another(const JobKey& key, std::string_view device) const {
  return std::ranges::any_of(control_->gpus(), [&](const GpuStatus& gpu) {
    return std::ranges::any_of(gpu.jobs, [&](const GpuStatus::Held& held) {
      return held.device == device && held.attempt != key;
    });
  });
}

/// No instance goes from one user to another or where a stranger is, who may have come while the
/// driver was asked; and none is given out on a GPU that is not well.
void SeededDaemon::check_device(const Launch& launch, std::uint32_t uid) {
  // Beside a job, whose processes the driver shows too, a stranger is not told from those.
  const bool shared = std::ranges::any_of(jobs_.running(), [&](const JobKey& key) {
    return key != launch.key && jobs_.launch_of(key).visible_devices == launch.visible_devices;
  });
  const auto given = split(launch.visible_devices, ',');
  for (const Stranger& each : strangers_) {
    const auto there = machine_->processes_on(each.device);
    if (!shared && std::ranges::find(given, each.device) != given.end() && now_ - each.since > 2s &&
        std::ranges::find(there, each.pid) != there.end())
      violation(fmt::format("job {} is given {}, where process {} is", launch.key.job, each.device,
                            each.pid));
  }
  for (const std::string_view each : given) {
    const bool beside = sharing_ && is_beside_another(launch.key, each);
    const auto [last, first] = had_.try_emplace(std::string(each), uid);
    if (!first && last->second != uid && !beside && each.starts_with("MIG-"))
      violation(
          fmt::format("job {} is given {}, which user {} had", launch.key.job, each, last->second));
    last->second = beside && last->second != uid ? several_users : uid;
  }
  const auto attempts = store_->attempts(launch.key.job);
  if (!attempts) return;
  const auto attempt = std::ranges::find(*attempts, launch.key, &AttemptRecord::key);
  if (attempt == attempts->end()) return;
  for (const GpuStatus& gpu : control_->gpus())
    if (gpu.gpu->uuid == attempt->gpu && gpu.trouble.find("drained: ") != std::string::npos)
      violation(fmt::format("job {} is started on a GPU that is {}", launch.key.job, gpu.trouble));
}

/// Of a process, whose number follows that of its job.
JobNumber SeededDaemon::job_of(JobNumber process) const {
  const auto after = wanted_.upper_bound(process);
  return after == wanted_.begin() ? process : std::prev(after)->first;
}

/// One that goes on later has the time that it asked for to save its work.
void SeededDaemon::check_stop(const JobKey& key) {
  // What has ended by itself, as the daemon has not yet heard, has nothing left to save.
  if (const auto running = jobs_.running(); std::ranges::find(running, key) == running.end())
    return;
  const JobNumber number = job_of(key.job);
  const auto wanted = wanted_.find(number);
  const auto attempts = store_->attempts(key.job);
  if (wanted == wanted_.end() || !attempts || cancelled_.contains(number)) return;
  const auto attempt = std::ranges::find(*attempts, key, &AttemptRecord::key);
  if (attempt == attempts->end() || !attempt->end) return;
  LiveAttempt live;
  live.record = *attempt;
  if (!signals_first(wanted->second.spec, live, *attempt->end)) return;
  const auto signalled = signalled_.find(key);
  // A command is not waited for once it is known that it did not succeed.
  const bool by_command = !wanted->second.spec.checkpoint_command.empty();
  if (signalled == signalled_.end() ||
      (by_command ? !jobs_.told_not_checkpointed(key)
                  : now_ - signalled->second < wanted->second.spec.checkpoint_grace))
    violation(fmt::format("attempt {} of job {} is ended before it could save its work",
                          key.attempt, key.job));
}

NewJob SeededDaemon::any_job() {
  NewJob job;
  const bool other = random_.uniform() < 0.3;
  job.owner = {other ? 1001U : 1000U, 1000, {}, other ? "other" : "someone"};
  job.command = {{"work"}, {"PATH=/bin"}, "/"};
  JobSpec& spec = job.spec;
  const double what = random_.uniform();
  constexpr std::string_view profiles[] = {"1g.5gb",  "2g.10gb", "3g.20gb", "1g.6gb",
                                           "2g.12gb", "1g.10gb", "7g.40gb"};
  if (what < 0.4) {
    spec.request = {ByProfile{std::string(profiles[random_.below(std::size(profiles))])}, {}};
  } else if (what < 0.7) {
    spec.request = {BySize{MiB{static_cast<std::int64_t>(1 + random_.below(30'000))}, {}}, {}};
  } else {
    spec.request = {Unknown{}, {}};
  }
  if (random_.uniform() < 0.25 && !std::holds_alternative<Unknown>(spec.request.wanted)) {
    spec.request.places = static_cast<std::uint32_t>(2 + random_.below(3));
    spec.request.together = static_cast<Together>(random_.below(words_of_together.size()));
    if (random_.uniform() < 0.2) spec.request = request_of({2, {}, Together::anywhere}, {});
  }
  const bool several = spec.request.places > 1;
  spec.asked = text(spec.request);
  if (random_.uniform() < 0.4) {
    spec.application = random_.uniform() < 0.5 ? "resnet" : "bert";
    if (random_.uniform() < 0.5) spec.batch = static_cast<std::int64_t>(1 + random_.below(2));
  }
  spec.restartable = random_.uniform() < 0.5;
  spec.movable = random_.uniform() < 0.2 && !several;
  const double keeps = random_.uniform();
  if (keeps < 0.5)
    spec.progress = keeps < 0.3    ? Keeps::checkpoint
                    : keeps < 0.45 ? Keeps::stateless
                                   : Keeps::nothing;
  if (spec.progress == Keeps::nothing) spec.movable = false;
  spec.retries = random_.uniform() < 0.2 ? 1 : 0;
  if (random_.uniform() < 0.2)
    spec.time_limit = std::chrono::seconds(static_cast<std::int64_t>(1 + random_.below(30)));
  spec.priority = random_.uniform() < 0.1 ? static_cast<std::int64_t>(random_.below(3)) : 0;
  if (spec.progress != Keeps::nothing && random_.uniform() < 0.4) {
    spec.checkpoint_signal = 10;
    spec.checkpoint_grace = 2s;
    if (!several && may_be_restarted(spec) && random_.uniform() < 0.5) {
      spec.checkpoint_signal = 0;
      spec.checkpoint_command = "save";
      spec.restore_command = "restore";
    }
  }
  if (random_.uniform() < 0.3) spec.expected = std::chrono::seconds(random_.below(100));
  if (!several) draw_kind(spec);
  return job;
}

void SeededDaemon::draw_kind(JobSpec& spec) {
  const double what = random_.uniform();
  if (what < 0.1) {
    spec.service.emplace().replicas = static_cast<std::uint32_t>(1 + random_.below(3));
    spec.progress = Keeps::stateless;
    spec.checkpoint_signal = 0;
  } else if (what < 0.25) {
    LeaseTerms& terms = spec.lease.emplace();
    if (random_.uniform() < 0.7) terms.idle_after = 10s;
    if (random_.uniform() < 0.5) {
      terms.then = LeaseTerms::Then::shrink;
      terms.idle_memory = MiB{2000};
      spec.progress = Keeps::checkpoint;
    }
  }
}

void SeededDaemon::submit() {
  if (!unheard_.empty() && random_.uniform() < 0.7) {
    const NewJob job = unheard_.back();
    unheard_.pop_back();
    return send_again(job);
  }
  NewJob job = any_job();
  if (random_.uniform() < 0.5) {
    ++last_key_;
    job.key = SubmissionKey{fmt::format("key {}", last_key_), last_key_};
  }
  send(job);
}

/// As the daemon's service does.
void SeededDaemon::send_again(const NewJob& job) {
  ++counts_.sent_again;
  const auto before = control_->submitted_with(job.owner.uid, job.key->text);
  if (!before) return violation("a key cannot be looked up: " + before.error().text());
  if (!*before) return send(job);
  ++counts_.taken_before;
  const JobNumber number = (*before)->number;
  tell(fmt::format("job {} is submitted once more", number));
  if ((*before)->content != job.key->content)
    violation(fmt::format("job {} has the key of another", number));
  if (!wanted_.contains(number))
    return violation(fmt::format("job {} was never submitted", number));
  if ((*before)->written) {
    accepted_.insert(number);
    return;
  }
  control_->wait_for_store(moment());
  asked_[control_->last_request()] = number;
  asked_again_.emplace(control_->last_request(), job);
}

void SeededDaemon::send(const NewJob& job) {
  const auto number = control_->submit(job, moment());
  if (!number) return;
  ++counts_.submitted;
  if (job.spec.service) ++counts_.services;
  // Submissions that were lost had these numbers before.
  const auto following = wanted_.lower_bound(*number);
  wanted_.erase(following, wanted_.lower_bound(*number + processes_of(job.spec)));
  wanted_[*number] = job;
  asked_[control_->last_request()] = *number;
  unanswered_.insert(*number);
  if (random_.uniform() < 0.3) {
    FakeCourse course = jobs_.course_of({*number, 1});
    MiB memory{1000};
    for (std::int64_t i = 1; i <= 5; ++i) {
      memory += MiB{static_cast<std::int64_t>(random_.below(6000))};
      course.reports.push_back({i, {i, 5, memory, memory}});
    }
    jobs_.plan({*number, 1}, course);
    reporting_.insert(*number);
  }
  tell(fmt::format("job {} is submitted: {}{}", *number, job.spec.asked,
                   job.spec.restartable ? ", restartable" : "") +
       fmt::format(" {}", name(job.spec.progress)));
}

void SeededDaemon::take_answers() {
  for (const RequestAnswer& answer : control_->answered()) {
    const auto asked = asked_.find(answer.number);
    if (asked == asked_.end()) continue;
    if (answer.done) {
      accepted_.insert(asked->second);
      asked_again_.erase(answer.number);
    } else if (const auto again = asked_again_.extract(answer.number)) {
      unheard_.push_back(again.mapped());  // the job itself is there
    } else {
      ++counts_.refused_writes;
      if (wanted_.at(asked->second).key) unheard_.push_back(wanted_.at(asked->second));
      unanswered_.erase(asked->second);
      wanted_.erase(asked->second);
    }
    asked_.erase(asked);
  }
}

void SeededDaemon::cancel(JobNumber number) {
  cancelled_.insert(number);
  constexpr CancelGrace graces[] = {CancelGrace::of_job, CancelGrace::of_operator,
                                    CancelGrace::at_once};
  // Now and then others of its user go with it, ended ones too.
  std::vector<Cancellation> jobs{{number, graces[random_.below(3)]}};
  for (JobNumber more = number + 1; random_.below(4) == 0 && wanted_.contains(more); ++more) {
    cancelled_.insert(more);
    jobs.push_back({more, graces[random_.below(3)]});
  }
  control_->cancel(jobs, "someone", moment());
}

void SeededDaemon::act() {
  --acts_left_;
  if (life_ == Life::watched) return act_watched();
  const double what = random_.uniform();
  if (what < 0.45) {
    submit();
  } else if (what < 0.52) {
    if (wanted_.empty()) return;
    auto which = wanted_.begin();
    std::advance(which, static_cast<std::ptrdiff_t>(random_.below(wanted_.size())));
    tell(fmt::format("job {} is cancelled", which->first));
    cancel(which->first);
  } else if (what < 0.72) {
    act_on_gpus();
  } else if (what < 0.76) {
    control_->pause(random_.uniform() < 0.3, moment());
  } else if (what < 0.80) {
    const std::string next = any_scheduler();
    if (control_->set_scheduler(next, moment())) {
      ++counts_.schedulers;
      sharing_ = sharing_ || next == "miso";
      tell("the scheduler shall be " + next);
    }
  } else if (what < 0.85) {
    disk_.fail_writes(random_.below(4));
  } else if (what < 0.88) {
    set_ += std::chrono::seconds(static_cast<std::int64_t>(random_.below(20'000)) - 10'000);
  } else if (what < 0.93) {
    die();
    begin_daemon();
  } else if (what < 0.94) {
    lose_power();
    begin_daemon();
  } else if (what < 0.97) {
    act_on_plans();
  } else {
    const double busy = random_.uniform() < 0.7 ? 0 : 0.5;
    for (std::size_t gpu = 0; gpu < machine_->size(); ++gpu)
      machine_->door(gpu).shares = BusyShares{busy, {}, {}, {}};
  }
}

/// A plan for what is there, or a word about the one that is being carried out.
void SeededDaemon::act_on_plans() {
  if (const LivePlan* plan = control_->plan()) {
    constexpr PlanChange changes[] = {PlanChange::resume, PlanChange::pause, PlanChange::cancel};
    static_cast<void>(
        control_->change_plan(plan->number, changes[random_.below(3)], "someone", moment()));
    return;
  }
  const LiveFleet live = control_->live_fleet();
  if (live.fleet.gpus.empty()) return;
  auto problem = PlanProblem::make(live.fleet, ProblemKind::compact, "the daemon");
  if (!problem) return violation("no problem: " + problem.error().text());
  PlanOptions options;
  options.method = "rules";
  const auto plan = make_plan(*problem, options);
  const auto moves =
      plan ? planned_moves(*problem, plan->moves, live.uuids) : Result<std::vector<PlannedMove>>();
  if (!moves || moves->empty()) return;
  if (const auto begun = control_->begin_plan({"compact", std::chrono::minutes(10), *moves},
                                              "someone", moment())) {
    ++counts_.plans;
    tell(fmt::format("plan {} shall be carried out", *begun));
  }
}

void SeededDaemon::act_on_gpus() {
  const auto gpu = random_.below(machine_->size());
  const double what = random_.uniform();
  if (what < 0.15) {
    if (machine_->lost(gpu)) return;
    ++counts_.gpu_losses;
    tell(fmt::format("GPU {} is lost", gpu));
    machine_->lose(gpu);
    std::erase_if(foreign_, [&](const std::string& device) { return !machine_->exists(device); });
  } else if (what < 0.45) {
    machine_->give_back(gpu);
  } else if (what < 0.52) {
    machine_->hang(gpu, true);
  } else if (what < 0.65) {
    machine_->hang(gpu, false);
  } else if (what < 0.75) {
    constexpr std::string_view small[] = {"1g.5gb", "1g.6gb", "1g.10gb", "2g.10gb"};
    // One that is made just where the daemon was about to make its own, and died, cannot be told
    // from that.
    const auto ledger = Ledger::open(machine_->state_directory(), "test");
    if (machine_->lost(gpu) || !ledger || !ledger->state().open().empty()) return;
    if (const auto made = machine_->make_foreign(gpu, small[random_.below(std::size(small))])) {
      ++counts_.foreign;
      foreign_.insert(*made);
      tell(fmt::format("somebody makes {} on GPU {}", *made, gpu));
    }
  } else if (what < 0.84) {
    give_sign(gpu);
  } else if (what < 0.88) {
    act_as_stranger(gpu);
  } else if (what < 0.92) {
    set_monitor(gpu, random_.uniform() < 0.5);
  } else {
    static_cast<void>(control_->drain(static_cast<GpuId>(gpu), random_.uniform() < 0.4, moment()));
  }
}

/// A process that belongs to no job comes to a place, whether a job is there or not, or goes.
void SeededDaemon::act_as_stranger(std::size_t gpu) {
  if (!strangers_.empty() && random_.uniform() < 0.6) {
    machine_->end_process(strangers_.back().pid);
    return strangers_.pop_back();
  }
  const GpuStatus status = control_->gpus()[gpu];
  if (!status.observation) return;
  std::vector<std::string> places;
  if (!status.observation->mig) places.push_back(status.gpu->uuid);
  for (const ObservedInstance& each : status.observation->instances)
    if (each.owner == Ownership::ours) places.push_back(each.device);
  if (places.empty()) return;
  const Stranger stranger{++last_pid_, places[random_.below(places.size())], now_};
  if (!machine_->start_process(stranger.device, stranger.pid)) return;
  ++counts_.strangers;
  strangers_.push_back(stranger);
  tell(fmt::format("process {} of no job is on {}", stranger.pid, stranger.device));
}

/// An Xid of the table, of the GPU or an instance, or something that the driver asks for.
void SeededDaemon::give_sign(std::size_t gpu) {
  ++counts_.signs;
  MemoryDoor& door = machine_->door(gpu);
  if (random_.uniform() < 0.3) {
    door.tells = GpuHealth{static_cast<std::uint32_t>(random_.below(3)), {}, {}, {}};
    return tell(fmt::format("GPU {} wants recovery action {}", gpu, *door.tells->recovery_action));
  }
  std::vector<const HealthFact*> xids;
  for (const HealthFact& fact : health_facts())
    if (fact.sign == HealthSign::xid) xids.push_back(&fact);
  GpuEvent event{.kind = GpuEvent::Kind::xid,
                 .gpu = GpuIndex{door.index},
                 .data = xids[random_.below(xids.size())]->number,
                 .gpu_instance = {},
                 .compute_instance = {}};
  if (random_.uniform() < 0.3) event.data = random_.uniform() < 0.7 ? 94 : 95;
  if (!door.instances.empty() && random_.uniform() < 0.8)
    event.gpu_instance =
        std::next(door.instances.begin(),
                  static_cast<std::ptrdiff_t>(random_.below(door.instances.size())))
            ->first;
  tell(fmt::format("GPU {} reports Xid {}", gpu, event.data));
  door.events.push_back(event);
}

/// From now on nothing fails.
void SeededDaemon::mend() {
  mended_ = true;
  disk_.fail_writes(0);
  tell("nothing fails from now on");
  for (std::size_t gpu = 0; gpu < machine_->size(); ++gpu) {
    machine_->give_back(gpu);
    machine_->hang(gpu, false);
    machine_->door(gpu).events.clear();
    machine_->door(gpu).tells = GpuHealth{0, false, false, {}};
    set_monitor(gpu, false);
  }
  for (const Stranger& each : std::exchange(strangers_, {})) machine_->end_process(each.pid);
  if (life_ == Life::any) {
    die();
    begin_daemon();
  }
  if (control_ == nullptr) return;
  control_->pause(false, moment());
  if (const LivePlan* plan = control_->plan())
    static_cast<void>(control_->change_plan(plan->number, PlanChange::cancel, "someone", moment()));
  for (std::size_t gpu = 0; gpu < machine_->size(); ++gpu)
    static_cast<void>(control_->drain(static_cast<GpuId>(gpu), false, moment()));
  // Nothing else ends a service.
  for (const auto& [number, job] : wanted_)
    if (job.spec.service) cancel(number);
}

/// To the next moment at which something happens.
void SeededDaemon::advance() {
  Duration next = control_->wake_at();
  if (const auto due = executor_->next()) next = std::min(next, *due);
  if (const auto due = jobs_.next()) next = std::min(next, due->time_since_epoch());
  if (acts_left_ > 0) next = std::min(next, next_act_);
  now_ = std::max(now_ + 1us, next);
  jobs_.advance_to(Instant{} + now_);
  match_processes();
}

void SeededDaemon::round() {
  ++counts_.steps;
  try {
    advance();
    executor_->advance_to(now_);
    if (acts_left_ > 0 && now_ >= next_act_) {
      next_act_ = now_ + std::chrono::duration_cast<Duration>(
                             std::chrono::duration<double>(random_.exponential(2)));
      act();
      if (control_ == nullptr) return;
    }
    const std::int64_t before = control_->last_event();
    control_->step(moment());
    if (story != nullptr)
      for (const EventRecord& event : control_->events_since(before)) tell("  " + event.text);
    take_answers();
  } catch (const Death&) {
    die();
    begin_daemon();
  } catch (const std::logic_error& broken) {
    violation(fmt::format("a promise to the store is broken: {}", broken.what()));
  }
  if (control_ != nullptr) {
    check_ends();
    check_waits();
  }
  for (const std::string& device : foreign_)
    if (!machine_->exists(device))
      violation(fmt::format("the instance {} of others is gone", device));
}

/// What the store says is to end is told so, by this daemon or the one before it.
void SeededDaemon::check_ends() {
  if (now_ < next_look_at_ends_) return;
  constexpr Duration patience = 4s;
  next_look_at_ends_ = now_ + patience / 4;
  for (const JobKey& key : jobs_.running()) {
    if (told_to_end_.contains(key)) continue;
    const auto attempts = store_->attempts(key.job);
    if (!attempts) continue;
    const auto attempt = std::ranges::find(*attempts, key, &AttemptRecord::key);
    if (attempt == attempts->end() || !attempt->end || attempt->ended) continue;
    const auto [since, fresh] = to_end_since_.try_emplace(key, now_);
    if (!fresh && now_ - since->second > patience)
      violation(fmt::format("attempt {} of job {} is to end ({}) and was not told in {} s",
                            key.attempt, key.job, name(*attempt->end), patience / 1s));
  }
}

void SeededDaemon::check_learnt() {
  const auto contents = store_->load();
  if (!contents) return;
  std::size_t kept = 0;
  using Runs = std::tuple<std::string, std::int64_t, std::string>;  // application, batch, profile
  std::map<Runs, std::int64_t> taught;
  for (const LearntProfile& each : contents->learnt) {
    ++kept;
    const ProfileKey& key = each.record.key;
    taught[{key.application, key.batch, key.profile}] += each.record.samples;
    const ProfileRepository* there = control_->learnt().of(each.uid);
    const ProfileRecord* known = there == nullptr ? nullptr : there->find(each.record.key);
    if (known == nullptr || *known != each.record)
      violation(fmt::format("what {} taught is not in memory as it is in the store",
                            each.record.key.application));
  }
  if (kept != control_->learnt().size()) violation("the store has not all that was learnt");
  for (const auto& [number, job] : wanted_) {
    const auto attempts = store_->attempts(number);
    if (!attempts || !job.spec.application) continue;
    for (const AttemptRecord& attempt : *attempts) {
      const std::string profile = attempt.profile.empty() ? std::string(no_mig) : attempt.profile;
      const auto found = taught.find({*job.spec.application, batch_of(job.spec), profile});
      if (found != taught.end()) --found->second;
    }
  }
  for (const auto& [runs, more] : taught)
    if (more > 0)
      violation(fmt::format("{} on {} was taught {} times too often", std::get<0>(runs),
                            std::get<2>(runs), more));
}

bool SeededDaemon::is_over() {
  if (!asked_.empty() || !control_->jobs().empty() || !jobs_.running().empty() ||
      executor_->open_operations() > 0)
    return false;
  if (control_->wake_at() <= now_) return false;                 // it has not written all yet
  if (control_->scheduler().starts_with("static")) return true;  // which keeps its layout
  return std::ranges::none_of(control_->gpus(), [](const GpuStatus& gpu) {
    return !gpu.observation ||
           std::ranges::any_of(gpu.observation->instances, [](const ObservedInstance& seen) {
             return seen.owner != Ownership::foreign;
           });
  });
}

std::vector<std::string> SeededDaemon::run() {
  sharing_ = scheduler_ == "miso";
  begin_daemon();
  while (violations_.empty() && acts_left_ > 0) round();
  if (violations_.empty()) mend();
  const Duration patience = now_ + 3h, others_stay_until = now_ + 1h;
  while (violations_.empty() && !is_over()) {
    round();
    // Jobs wait for what others have; they do not fail for it.
    if (now_ > others_stay_until)
      for (const std::string& device : std::exchange(foreign_, {}))
        machine_->destroy_foreign(device);
    // And jobs wait for a scheduler that would serve them, until their users give up.
    if (control_ != nullptr && now_ > others_stay_until + 1h)
      for (const JobRecord* job : control_->jobs()) cancel(job->number);
    if (now_ > patience) {
      violation(fmt::format("it does not come to its end: {} jobs", control_->jobs().size()));
      for (const JobRecord* job : control_->jobs())
        violation(fmt::format("job {} is {}: {} {}", job->number, name(job->state), job->reason,
                              control_->why_waits(job->number)));
      for (const std::string& trouble : control_->troubles()) violation(trouble);
      for (const GpuStatus& gpu : control_->gpus())
        for (const ObservedInstance& seen :
             gpu.observation ? gpu.observation->instances : std::vector<ObservedInstance>{})
          violation(
              fmt::format("GPU {} has {}, {}", gpu.gpu->index, seen.device, name(seen.owner)));
    }
  }
  if (violations_.empty()) check_end();
  return violations_;
}

void SeededDaemon::check_end() {
  if (control_->plan() != nullptr) violation("a plan is still being carried out");
  check_learnt();
  for (const auto& [number, job] : wanted_) {
    check_job(number);
    for (std::int64_t rank = 1; rank < processes_of(job.spec); ++rank) check_process(number, rank);
  }
}

/// A further process of a job has ended with it.
void SeededDaemon::check_process(JobNumber number, std::int64_t rank) {
  const auto job = store_->job(number), process = store_->job(number + rank);
  if (!job || !*job) return;
  if (!process || !*process)
    return violation(fmt::format("process {} of job {} is not in the store", rank, number));
  if ((*process)->state != (*job)->state || (*process)->leader != number)
    violation(fmt::format("process {} of job {} is {}, and the job {}", rank, number,
                          name((*process)->state), name((*job)->state)));
  if ((*job)->state == JobState::finished && (*process)->has_process() &&
      !jobs_.completed(number + rank))
    violation(
        fmt::format("job {} is called finished, and process {} never ended well", number, rank));
  const auto attempts = store_->attempts(number + rank);
  for (const AttemptRecord& attempt : *attempts)
    if (!attempt.ended || !attempt.end)
      violation(fmt::format("attempt {} of process {} of job {} has no end", attempt.key.attempt,
                            rank, number));
}

void SeededDaemon::check_job(JobNumber number) {
  const auto record = store_->job(number);
  if (!record || !*record) {
    // One whose answer never came may not have been written.
    if (accepted_.contains(number)) violation(fmt::format("job {} is not in the store", number));
    return;
  }
  const JobRecord& job = **record;
  if (!is_final(job.state))
    return violation(fmt::format("job {} is {} in the store", number, name(job.state)));
  (job.state == JobState::finished ? counts_.finished
   : job.state == JobState::failed ? counts_.failed
                                   : counts_.cancelled) += 1;
  const auto attempts = store_->attempts(number);
  for (const AttemptRecord& attempt : *attempts)
    tell(fmt::format("  attempt {}.{}: {} {}{}", number, attempt.key.attempt,
                     attempt.end ? name(*attempt.end) : "?", attempt.why,
                     attempt.began ? "" : " (never began)"));
  std::int64_t began = 0;
  bool ended_well = false;
  for (const AttemptRecord& attempt : *attempts) {
    if (!attempt.ended || !attempt.end)
      violation(fmt::format("attempt {} of job {} has no end", attempt.key.attempt, number));
    if (attempt.began && attempt.end != AttemptEnd::moved) ++began;
    ended_well = ended_well || attempt.exit_code == 0;
    if (attempt.end == AttemptEnd::early_restart) ++counts_.early;
    if (attempt.end == AttemptEnd::early_restart && !reporting_.contains(number))
      violation(fmt::format("job {} is restarted early and never reported anything", number));
    if (attempt.end == AttemptEnd::time_limit) {
      ++counts_.out_of_time;
      // Its replica at another place may have begun while it ran.
      const auto later = [&](const AttemptRecord& each) {
        return each.key.attempt > attempt.key.attempt && attempt.ended &&
               each.started >= *attempt.ended;
      };
      if (std::ranges::any_of(*attempts, later))
        violation(fmt::format("job {} runs again although its time is up", number));
    }
    if (attempt.end == AttemptEnd::lost) ++counts_.lost;
    if (attempt.end == AttemptEnd::moved)
      ++(moves_by_checkpoint(wanted_.at(number).spec) ? counts_.handed_over : counts_.moved);
  }
  const JobSpec& spec = wanted_.at(number).spec;
  began = std::max(began, jobs_.begun(number));
  // After faults of GPUs it runs again where a retry is left, and none is counted.
  const std::int64_t most = 1 + spec.retries + (spec.retries > 0 ? most_free_runs : 0);
  if (!may_be_restarted(spec) && !may_be_moved(spec) && began > most)
    violation(fmt::format("job {} may not be restarted and ran {} times", number, began));
  if (job.failures > 0) ++counts_.retried;
  const bool given_back = !attempts->empty() && attempts->back().end == AttemptEnd::idle;
  if (given_back) ++counts_.given_back;
  if (job.spec.service && job.state != JobState::cancelled)
    violation(fmt::format("service {} is {}", number, name(job.state)));
  if (job.state == JobState::finished && !given_back && !(ended_well && jobs_.completed(number)))
    violation(fmt::format("job {} is called finished and never ended well{}", number,
                          ended_well ? ": it had more to do" : ""));
  if (job.state == JobState::cancelled && !job.cancelled)
    violation(fmt::format("job {} is cancelled, and nobody asked for it", number));
}

}  // namespace cleave::trial
