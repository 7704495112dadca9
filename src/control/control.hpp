#pragma once
// The daemon's loop: it hears what the GPUs, the jobs' processes and the users say, tells the
// engine, and carries out what that answers. It knows no socket, no thread and no clock: its driver
// calls step() when there is news and gives it the time. Its doors are real in the daemon and fail
// by a seed in tests.
//
// One law keeps everything that is accepted from being lost: nothing is done, and nobody is
// answered, before the batch that says so is in the store. What is done is done such that a new
// loop finds it: an attempt has its folder, an instance its line in the ledger. So this program may
// die between any two steps.
//
//   step(): doors ──▶ node ──▶ engine ──▶ steps to take ──▶ store ──▶ doors
//
// The owners, each in its folder, see only what they need:
//
//   node/      what is believed: GPUs, jobs, which places are in use. A value.
//   verdicts/  what it means: pure functions of the node.
//   brain/     the engine; nothing else in control/ knows engine/.
//   book/      what is to be written and what follows it; nothing else knows the store.
//   loop/      hears and acts, by theme.
//
// A loop that begins compares the store with the runner's attempts and the GPUs' instances: what
// runs is adopted, what ended meanwhile is taken in, what is lost is run again or fails as its job
// allows. The same way leads out of everything that does not go as commanded, and to another
// scheduler: an engine is rebuilt from the node.
//
// Not for several threads.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/claim_status.hpp"
#include "control/clock.hpp"
#include "control/figures.hpp"
#include "control/gpu_executor.hpp"
#include "control/job_record.hpp"
#include "control/moment.hpp"
#include "control/node/learnt_profiles.hpp"
#include "control/node/prediction_errors.hpp"
#include "control/node/verdict.hpp"
#include "control/requests.hpp"
#include "control/settings.hpp"
#include "control/store.hpp"
#include "control/verdicts/disk_verdicts.hpp"
#include "control/verdicts/expected_end.hpp"
#include "model/gpu_reservation.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// The loop, as its driver and the daemon's server see it.
class Control {
 public:
  /// What the loop reaches the world through. All must outlive it.
  struct Doors {
    Store& store;
    GpuExecutor& executor;
    Runner& runner;
    /// Asked before each start: the owner as the system knows them now. A failure is for good, and
    /// the job's. Empty: as they were when the job was submitted.
    OwnerLookUp look_up_owner = {};
    /// Asked once a second at most: the file systems of the store and of jobs' folders, the latter
    /// last. Empty: nobody knows.
    std::function<std::vector<DiskRoom>()> look_at_disk = {};
    /// Whom the limits on users do not bind.
    ExemptUsers exempt = {};
    /// For monitoring: how long decisions and writes take.
    Stopwatch stopwatch = {};
  };
  /// Reads the store and hears of what runs. Nothing is started before every GPU has been observed
  /// once, or has not answered for gpu_patience. Fails where the store cannot be read, or the
  /// settings are wrong.
  [[nodiscard]] static Result<std::unique_ptr<Control>> begin(Doors doors, ControlSettings settings,
                                                              Moment now);
  /// What begin() asks of these settings, as far as that takes neither GPUs nor a store. A
  /// scheduler passes that could decide over GPUs of some model.
  [[nodiscard]] static Result<void> check_scheduler(const std::string& text,
                                                    bool with_reservations = false,
                                                    const UserLimits& limits = {});
  [[nodiscard]] static Result<void> check_forecaster(const std::string& text);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Requests of users. Each is refused at once, or taken and done with the next step;
  // last_request() after the call is the number under which answered() tells when the store has it.

  /// The job of this user that was submitted with this key; ask before a submission with one.
  [[nodiscard]] Result<std::optional<KeyedJob>> submitted_with(std::uint32_t uid,
                                                               const std::string& key);
  [[nodiscard]] Result<JobNumber> submit(const NewJob& job, Moment now);
  /// All of them or none, each with the jobs of its array; the numbers are those of numbers_from.
  /// Of several the place of an error begins with "submission 2: ", for the second.
  /// `at_once`: how many of them may run at a time; 0: all.
  [[nodiscard]] Result<std::vector<JobNumber>> submit(std::span<const NewJob> jobs, Moment now,
                                                      std::int64_t at_once = 0);
  /// Asks for nothing: it is answered when the requests before it are.
  void wait_for_store(Moment now);
  /// Stops them where they run, in one request; one that is being stopped already, after no longer
  /// than this. It is not a failure that a job is final, or not there.
  void cancel(std::span<const Cancellation> jobs, const std::string& by, Moment now);
  void cancel(JobNumber job, const std::string& by, Moment now,
              CancelGrace grace = CancelGrace::of_job);
  /// Forgets these jobs at once, with their outputs, or says only what that would free. Those that
  /// have not ended, or of which something cannot be removed now, are left out.
  [[nodiscard]] Result<Purged> purge(std::span<const JobNumber> jobs, bool only_say, Moment now);
  [[nodiscard]] Result<void> drain(GpuId gpu, bool drained, Moment now);
  void pause(bool paused, Moment now);
  /// Has a plan carried out, and returns its number. One is at a time.
  [[nodiscard]] Result<std::int64_t> begin_plan(const PlanOrder& order, const std::string& by,
                                                Moment now);
  /// Of the plan that is being carried out.
  [[nodiscard]] Result<void> change_plan(std::int64_t number, PlanChange change,
                                         const std::string& by, Moment now);
  /// Instances for somebody else's engine (loop/claim_keeper.hpp). An error's place is the reason
  /// in a word.
  [[nodiscard]] Result<void> make_claim(const std::string& key, const ClaimOrder& order,
                                        const std::string& by, Moment now);
  void release_claim(const std::string& key, const std::string& by, Moment now);
  [[nodiscard]] Result<void> set_scheduler(const std::string& spec, Moment now);
  /// Settings as after a reload; those that cannot change while the loop runs stay. Returns the
  /// names of those that stayed.
  [[nodiscard]] Result<std::vector<std::string>> reload(const ControlSettings& settings,
                                                        Moment now);

  [[nodiscard]] std::uint64_t last_request() const;
  /// Answers to requests since the last call, in order.
  [[nodiscard]] std::vector<RequestAnswer> answered();

  /// One step: hears, decides, writes, does. Waits for the store, and for nothing else.
  void step(Moment now);
  /// When step() is to be called at the latest, on the steady clock, without any news.
  [[nodiscard]] Duration wake_at() const;

  // What there is to see. Jobs that are not final are here, the others in the store.

  [[nodiscard]] const JobRecord* job(JobNumber number) const;
  /// By number. A job of several processes is there once, and so is a service; each process and
  /// replica answers to its own number in what follows, and in job().
  [[nodiscard]] std::vector<const JobRecord*> jobs() const;
  /// The attempt that runs, or is about to; null where there is none.
  [[nodiscard]] const AttemptRecord* attempt_of(JobNumber number) const;
  /// How this process of a job of several ended, while others run; null: it has not.
  [[nodiscard]] const EndedProcess* end_of_process(JobNumber number) const;
  /// Of a service that has not ended, by its number or that of a replica.
  [[nodiscard]] ServiceStatus service(JobNumber number) const;
  [[nodiscard]] LeaseStatus lease(JobNumber number) const;
  /// When a job that could not be started, or a replica that ended, is started again; empty for
  /// others.
  [[nodiscard]] std::optional<Instant> starts_again_at(JobNumber number) const;
  /// What it last reported to hold.
  [[nodiscard]] std::optional<MiB> memory_of(JobNumber number) const;
  /// When it is expected to end; empty where it does not run, or nothing is known of its time.
  [[nodiscard]] std::optional<ExpectedEnd> expected_end_of(JobNumber number) const;
  /// Why a queued job waits, in words. Works the queue out once a step, so that asking for every
  /// job of a listing is cheap.
  [[nodiscard]] std::string why_waits(JobNumber number);
  /// Why the instance of a job is as large as it is, in words; empty where the scheduler does not
  /// say so.
  [[nodiscard]] std::string why_size(JobNumber number) const;
  /// What jobs taught of their applications, by user.
  [[nodiscard]] const LearntProfiles& learnt() const;
  /// How far predicted times were off, of the latest jobs that finished: of all users, or of one.
  [[nodiscard]] std::vector<PredictionErrors> prediction_errors(
      std::optional<std::uint32_t> uid) const;
  [[nodiscard]] std::vector<GpuStatus> gpus() const;
  /// Those that hold now or begin within a day.
  [[nodiscard]] std::vector<GpuReservation> reservations() const;
  /// What may be planned with: GPUs that take work, and how each job on them may be moved.
  [[nodiscard]] LiveFleet live_fleet() const;
  [[nodiscard]] std::optional<ClaimStatus> claim(const std::string& key) const;
  [[nodiscard]] std::vector<ClaimStatus> claims() const;
  /// What claims could have now.
  [[nodiscard]] NodeRoom room() const;
  /// The one that is being carried out; null: none.
  [[nodiscard]] const LivePlan* plan() const;
  /// What the job, as its number is known to people, has used beyond what its record says.
  [[nodiscard]] JobEnergy unwritten_energy(JobNumber job) const;
  /// What was used beyond what the store has, in any order; a key may be there several times.
  [[nodiscard]] std::vector<UsageRow> unwritten_usage() const;
  [[nodiscard]] const std::string& scheduler() const;
  [[nodiscard]] bool paused() const;
  /// What is wrong at the moment, one line each: the store does not write, a driver does not
  /// answer. Empty: all is well.
  [[nodiscard]] std::vector<std::string> troubles() const;
  /// How the node stands and what has happened, in numbers. Takes longer than other looks: once or
  /// a few times a second is what it is made for.
  [[nodiscard]] NodeFigures figures();
  /// Events of the last writes, from this number on where they are still in memory.
  [[nodiscard]] std::vector<EventRecord> events_since(std::int64_t number) const;
  [[nodiscard]] std::int64_t last_event() const;

 private:
  struct Parts;
  explicit Control(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cleave
