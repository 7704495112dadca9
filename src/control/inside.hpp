#pragma once
// The loop's inside. What hears and what acts are functions of this one class, in files by theme:
//
//   control.cpp     the face, rounds and the clock
//   begin.cpp       what a loop finds when it begins
//   users.cpp       what users want
//   hear_gpus.cpp   what the executor answers
//   hear_jobs.cpp   what became of processes
//   commands.cpp    what the engine answers, as steps
//   steps.cpp       which steps can be taken now, and taking them
//   anew.cpp        an engine from the world as it is
//   journal.cpp     what is to be written, and events
//
// For these files alone.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/control.hpp"
#include "control/known_facts.hpp"
#include "control/world.hpp"
#include "engine/engine.hpp"
#include "forecast/memory/forecaster.hpp"

namespace cleave {

/// Under what a user's application is remembered in the settings.
std::string need_key(std::uint32_t uid, const std::string& application);

class Control::Inside final : public Control {
 public:
  Inside(Doors doors, ControlSettings settings, Moment now);

  // begin.cpp
  [[nodiscard]] Result<void> begin();

  // users.cpp
  [[nodiscard]] Result<JobNumber> submit(const NewJob& job, Moment now) override;
  [[nodiscard]] Result<void> cancel(JobNumber job, const std::string& by, Moment now) override;
  [[nodiscard]] Result<void> drain(GpuId gpu, bool drained, Moment now) override;
  void pause(bool paused, Moment now) override;
  [[nodiscard]] Result<void> set_scheduler(const std::string& spec, Moment now) override;
  [[nodiscard]] Result<std::vector<std::string>> reload(const ControlSettings& settings,
                                                        Moment now) override;

  // control.cpp
  void step(Moment now) override;
  [[nodiscard]] Duration wake_at() const override;
  [[nodiscard]] std::vector<Answer> answered() override { return std::exchange(answers_, {}); }
  [[nodiscard]] std::uint64_t last_request() const override { return last_request_; }

  [[nodiscard]] const JobRecord* job(JobNumber number) const override;
  [[nodiscard]] std::vector<const JobRecord*> jobs() const override;
  [[nodiscard]] const AttemptRecord* attempt_of(JobNumber number) const override;
  [[nodiscard]] std::optional<MiB> memory_of(JobNumber number) const override;
  [[nodiscard]] std::string why_waits(JobNumber number) const override;
  [[nodiscard]] std::vector<GpuStatus> gpus() const override;
  [[nodiscard]] const std::string& scheduler() const override { return scheduler_; }
  [[nodiscard]] bool paused() const override { return paused_; }
  [[nodiscard]] std::vector<std::string> troubles() const override;
  [[nodiscard]] std::vector<EventRecord> events_since(std::int64_t number) const override;
  [[nodiscard]] std::int64_t last_event() const override;

 private:
  /// Something a user wants, until the store has it.
  struct Wanted {
    std::uint64_t number = 0;
    StoreBatch batch;             // without events' numbers
    std::function<void()> enter;  // into the world, once written
    std::optional<JobNumber> cancels = {};
  };
  using Effect = std::function<void()>;
  /// A process failed, and a look at its GPU, an operation after `acts`, is to tell whether that is
  /// why.
  struct Doubt {
    JobKey key;
    ProcessOutcome outcome;
    GpuId gpu{};
    std::uint64_t acts = 0;
    Duration until{};  // then it failed by itself
  };

  [[nodiscard]] const std::map<JobNumber, std::size_t>& places_in_line() const;
  [[nodiscard]] std::string closed_gpus() const;
  [[nodiscard]] bool has_room(const Request& request) const;

  // The clock.
  [[nodiscard]] Instant wall() const { return now_.wall; }
  [[nodiscard]] Duration steady() const { return now_.steady; }
  /// The engine's time: it never goes back, and is that of the wall when the loop began.
  [[nodiscard]] Instant engine_time() const { return engine_time(now_.steady); }
  [[nodiscard]] Instant engine_time(Duration steady) const {
    return began_.wall + (steady - began_.steady);
  }
  [[nodiscard]] Duration steady_of(Instant engine) const {
    return engine - began_.wall + began_.steady;
  }
  void see_clock(Moment now);

  // begin.cpp
  void take_jobs(StoreContents& contents);
  void take_attempts(StoreContents& contents, std::vector<FoundJob> found);
  void take_found(LiveJob& job, const FoundJob& found);
  void take_stranger(const FoundJob& found);
  void settle_unfound(const std::set<JobKey>& found);
  void take_settings(const StoreContents& contents);
  void keep_one_attempt(LiveJob& job);
  LiveJob* take_final_job(JobNumber number);

  // users.cpp
  [[nodiscard]] const std::string& why_never(const Request& request);
  void want(StoreBatch batch, std::function<void()> enter);
  void write_wanted();
  void answer_unwritten(std::span<const Wanted> wanted, const Error& why);
  void answer(std::span<const Wanted> wanted, const Result<void>& done);
  void enter_job(JobRecord record);
  /// Where the user said nothing: what the application needed before.
  void size_by_earlier_runs(JobSpec& spec, std::uint32_t uid) const;
  void enter_cancelled(JobNumber number, const std::string& by);

  // hear_gpus.cpp
  void hear_gpus();
  void hear(const GpuNews& news);
  void look_at_gpus();
  void take_sight(GpuId gpu, const GpuObservation& observation);
  void take_instances(GpuId gpu, const GpuObservation& observation);
  void close_instances(GpuId gpu);
  void rest(GpuId gpu);
  void see_memory(const JobPlace& place, const std::optional<MemoryUse>& memory);
  void lose_gpu(GpuId gpu);
  void lose_attempts(const JobPlace& place, const std::string& why);
  void mig_refused(GpuId gpu, const SwitchMig& mig, const Error& why);
  void lose_slot(GpuId gpu, PlacementId placement);
  void made(GpuId gpu, PlacementId placement, const GpuNews& news);
  void not_made(GpuId gpu, std::optional<PlacementId> placement, const Error& why);
  void destroyed(GpuId gpu, PlacementId placement);
  void not_destroyed(GpuId gpu, PlacementId placement, const Error& why);
  void set_hung(GpuId gpu, bool hung);
  void set_trouble(GpuId gpu, const std::string& trouble);
  void slot_gone(GpuId gpu, PlacementId placement);

  // hear_jobs.cpp
  void hear_jobs();
  void hear(const RunnerEvent& event);
  [[nodiscard]] bool may_restart_early(LiveJob& job) const;
  void began(LiveJob& job, LiveAttempt& attempt, std::int64_t pid);
  void reported(LiveJob& job, LiveAttempt& attempt, const NumberedReport& report);
  void ended(LiveJob& job, std::int64_t attempt, const ProcessOutcome& outcome);
  [[nodiscard]] bool is_doubtful(const LiveJob& job, const LiveAttempt& attempt,
                                 const ProcessOutcome& outcome) const;
  void doubt(const LiveAttempt& attempt, const ProcessOutcome& outcome);
  void settle_doubts();
  void supervisor_lost(LiveJob& job, std::int64_t attempt, const SupervisorLost& lost);
  void not_started(JobNumber number, std::int64_t attempt, std::string why);
  /// Takes the attempt out of the world; whoever calls says what becomes of the job.
  AttemptRecord close_attempt(LiveJob& job, std::int64_t attempt, AttemptEnd otherwise,
                              const std::string& why, std::optional<int> exit_code);
  [[nodiscard]] bool ran_out_of_memory(const LiveJob& job, const LiveAttempt& attempt,
                                       const ProcessOutcome& outcome) const;
  [[nodiscard]] std::optional<MiB> capacity_of(const LiveAttempt& attempt) const;
  [[nodiscard]] bool another_counts(const LiveJob& job, std::int64_t number) const;
  void out_of_memory(LiveJob& job, const LiveAttempt& attempt, std::optional<int> code);
  /// After an attempt that was being stopped for a reason of ours.
  void stopped(LiveJob& job, const AttemptRecord& attempt);
  /// The job is over, for good.
  void finish(LiveJob& job, JobState state, const std::string& reason,
              std::optional<int> exit_code);
  /// It waits again, as if it came now; the engine must not know it any more.
  void wait_again(LiveJob& job, const std::string& reason);
  /// Takes one of its retries; false: it has none left.
  bool try_again(LiveJob& job, const std::string& why);
  /// Puts it into the engine's line, where there is an engine and it waits.
  void enter_line(LiveJob& job);
  /// The engine hears no more of it.
  void leave_engine(LiveJob& job);
  /// For an instance; nothing of it runs that would count.
  [[nodiscard]] bool waits(const LiveJob& job) const;
  void stop_now(const JobKey& key);
  void stop_attempt(LiveJob& job, std::int64_t attempt, AttemptEnd end, const std::string& why);
  void take_timers();
  /// What a finished run held, for later ones of its application.
  void remember_need(const LiveJob& job, const AttemptRecord& attempt, std::optional<MiB> seen);
  void drop_over();
  void tidy_engine();
  /// Its MIG mode is as the scheduler needs it, or may be switched.
  [[nodiscard]] bool right_mig(const ManagedGpu& at) const {
    return settings_.may_switch_mig || at.observation->mig != whole_gpus_;
  }

  // commands.cpp
  void tell(const Event& event);
  void settle_engine();
  void carry_out();
  void carry_out(const DestroyInstance& what);
  void carry_out(const CreateInstance& what);
  void carry_out(const StartJob& what);
  void carry_out(const StartShared& what);
  void carry_out(const StartOnWholeGpu& what);
  void carry_out(const StopJob& what);
  void carry_out(const CheckpointJob& what);
  void carry_out(const MigrateJob& what);
  void carry_out(const RejectJob& what);
  void carry_out(const FailJob& what);
  void carry_out(const WakeAt& what);
  void place(JobId id, JobPlace place, GpuStep::Kind kind);
  void unplace(JobId id, AttemptEnd end, const std::string& why);
  void drop_start(JobNumber job);
  void take_request(LiveJob& job);
  void wake_engine();

  // steps.cpp
  void take_steps();
  void take_steps(GpuId gpu);
  [[nodiscard]] bool ready(GpuId gpu, std::size_t step) const;
  [[nodiscard]] bool alone(JobNumber number) const;
  [[nodiscard]] bool mig_is_right(GpuId gpu, const GpuStep& step);
  [[nodiscard]] bool occupied(GpuId gpu, std::optional<PlacementId> placement) const;
  void take(GpuId gpu, const GpuStep& step);
  void start(GpuId gpu, const GpuStep& step);
  void launch(JobNumber number, std::int64_t attempt);
  void ask(GpuId gpu, GpuOperation deed, std::optional<PlacementId> placement);
  void destroy_idle_ones();

  // anew.cpp
  /// The engine is to be made anew: from now on nothing is told to the one there is.
  void begin_anew(const std::string& why);  // said to those who wait meanwhile
  void make_engine();
  [[nodiscard]] bool can_make_engine() const;
  [[nodiscard]] FleetFile fleet_now() const;
  [[nodiscard]] Result<void> try_scheduler(const std::string& spec) const;
  void place_running_ones();
  void tell_what_there_is();
  void tell_reports_again();
  void keep_facts(LiveJob& job);
  [[nodiscard]] PlacementSet standing(GpuId gpu) const;
  [[nodiscard]] bool takes_work(GpuId gpu) const;
  [[nodiscard]] std::vector<JobNumber> line() const;

  // journal.cpp
  void note(const LiveJob& job) { changed_jobs_.insert(job.record.number); }
  void note(const AttemptRecord& attempt) { changed_attempts_[attempt.key] = attempt; }
  void note(const InstanceRecord& instance) { changed_instances_[instance.device] = instance; }
  void note_setting(const std::string& key, const std::string& value) {
    changed_settings_[key] = value;
  }
  void event(std::string kind, std::string text, const LiveJob* job = nullptr,
             std::string gpu = {});
  void event_of_gpu(GpuId gpu, std::string kind, std::string text);
  [[nodiscard]] EventRecord event_record(std::string kind, std::string text, const JobRecord* job,
                                         std::string gpu) const;
  void later(Effect effect) { effects_.push_back(std::move(effect)); }
  /// Writes what has gathered; then, and only then, does what waited for it.
  void commit();
  [[nodiscard]] StoreBatch gathered();
  void wrote(const StoreBatch& batch);
  void store_refused(const Error& why);
  void forget_old_jobs();
  [[nodiscard]] bool forget_job(const JobRecord& job, StoreBatch& batch);
  void forget_large_outputs();

  // Words.
  [[nodiscard]] std::string place_in_words(const JobPlace& place) const;
  [[nodiscard]] std::string place_in_words(const LiveAttempt& attempt) const;
  [[nodiscard]] std::string gpu_in_words(GpuId gpu) const;
  LiveJob* find(JobNumber number);
  [[nodiscard]] const LiveJob* find(JobNumber number) const;
  LiveJob* find(JobId id);
  ManagedGpu& managed(GpuId gpu) { return gpus_[index(gpu)]; }
  [[nodiscard]] const ManagedGpu& managed(GpuId gpu) const { return gpus_[index(gpu)]; }
  [[nodiscard]] std::optional<std::pair<GpuId, PlacementId>> slot_of(
      const std::string& device) const;
  [[nodiscard]] std::vector<GpuId> all_gpus() const;

  Store* store_;
  GpuExecutor* executor_;
  Runner* runner_;
  std::function<Result<JobOwner>(const JobOwner&)> look_up_owner_;
  ControlSettings settings_;
  Moment began_, now_;
  std::string scheduler_;
  bool paused_ = false, rebooted_ = false;

  std::vector<ManagedGpu> gpus_;
  std::map<JobNumber, LiveJob> jobs_;
  std::map<JobPlace, std::set<JobKey>> occupants_;  // attempts that are not over
  JobNumber last_job_ = 0;
  std::uint64_t last_operation_ = 0;
  std::multimap<Duration, JobKey> timers_;  // stop_at of attempts
  std::vector<Doubt> doubts_;

  // The engine and what it refers to; all are made anew together.
  bool anew_ = true;
  std::string anew_because_ = "the daemon has begun";
  std::string scheduler_trouble_;
  bool furnishes_ = false;   // the scheduler keeps instances that nobody uses
  bool whole_gpus_ = false;  // the scheduler wants GPUs with MIG off
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<RequestTable> requests_;
  KnownFacts facts_;
  std::unique_ptr<Forecaster> forecaster_;
  std::unique_ptr<Engine> engine_;
  std::vector<JobNumber> numbers_;  // by the engine's job
  std::vector<Command> commands_;
  std::multiset<Duration> wakes_;
  bool unsettled_ = false, carrying_out_ = false;
  std::int64_t lowest_priority_ = INT64_MAX;  // of all that were put into the line
  std::set<JobNumber> over_;                  // jobs to be dropped at the end of a round
  std::set<JobKey> strangers_;  // attempts that run and that the store knows nothing of

  // What is to be written, by what it is about; and what is done after that.
  std::set<JobNumber> changed_jobs_;
  std::map<JobKey, AttemptRecord> changed_attempts_;
  std::map<std::string, InstanceRecord> changed_instances_, instances_;
  std::map<std::string, std::string> changed_settings_;
  std::map<std::string, MiB> needs_;  // by user and application, what runs that finished held
  std::vector<EventRecord> events_;
  std::vector<Effect> effects_;
  bool sync_ = false;
  std::string store_trouble_;
  Duration store_again_{};
  std::vector<Wanted> wanted_;
  std::uint64_t last_request_ = 0;
  std::vector<Answer> answers_;
  std::int64_t last_event_ = 0;  // written
  std::deque<EventRecord> recent_;
  Duration next_tidy_{}, next_weighing_{};
  Duration
      keep_all_until_{};  // after the clock was set far forward nothing is forgotten for a while

  // Why jobs wait, worked out at most once a round.
  std::uint64_t round_ = 1;
  mutable std::uint64_t seen_in_round_ = 0;
  mutable std::map<JobNumber, std::size_t> line_;
  mutable std::map<Request, bool> rooms_;
  std::map<Request, std::string> nevers_;
};

}  // namespace cleave
