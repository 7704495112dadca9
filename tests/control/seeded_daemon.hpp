#pragma once
// A daemon's whole life by a seed: the loop of src/control over a machine, jobs and a disk that are
// not there, on a clock that jumps from event to event. Users submit and cancel, GPUs are lost and
// hang, drivers refuse, supervisors are killed, the disk is full, the power goes; and the daemon
// dies wherever an effect is
// - before and after each write, each start of a job, each change of a GPU - and begins again. Then
// the faults end, and everything must come to its end.
//
// Laws, held all the time and at the end:
//   - a submission that was answered ends as exactly one of finished, failed, cancelled (that a
//   final job
//     stays as it is, the disk itself holds);
//   - a submission with a key that is sent again where no answer came is taken once (that no two
//     jobs have one key, the disk itself holds);
//   - a job that was stopped for its time limit does not run again;
//   - a job that may not be restarted runs at most once, and one more time for each retry; where it
//     has any, also after faults of GPUs that count as none (docs/health.md);
//   - a job has one process at a time, two only while a replica takes over;
//   - an instance has one job at a time;
//   - a job that wants a signal before it is stopped, to go on later, has the time it asked for;
//   - no job is called finished that did not end well, but for leases that are given back;
//   - a service, with all its replicas, ends by being cancelled alone;
//   - no attempt teaches twice what it held and how long it took, and what is in memory is in the
//   store;
//   - what the store says is to end is told so within seconds, whichever daemon wrote it down;
//   - no job waits where an idle instance stands that it may have as it is, where slices are free
//     or where the daemon itself sees room; one that waits for what a monitor holds names it;
//   - nothing of others is touched; in the end no process runs and no instance of ours is left.

#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "control/control.hpp"
#include "control/fake_store_test.hpp"
#include "delayed_executor.hpp"
#include "runner/fake_runner_test.hpp"

namespace cleave::trial {

/// The program died here.
struct Death {};

/// What happens to a daemon: anything, or nothing but jobs and monitors that hold instances, which
/// stay for long.
enum class Life : std::uint8_t { any, watched };

class SeededDaemon {
 public:
  explicit SeededDaemon(std::uint64_t seed, Life life = Life::any);
  ~SeededDaemon();

  /// What broke a law; empty: nothing.
  std::vector<std::string> run();

  struct Counts {
    std::size_t steps = 0, submitted = 0, finished = 0, failed = 0, cancelled = 0, deaths = 0,
                attempts = 0, early = 0, lost = 0, power_losses = 0, refused_writes = 0,
                gpu_losses = 0, foreign = 0, moved = 0, handed_over = 0, retried = 0,
                schedulers = 0, services = 0, given_back = 0, sent_again = 0, taken_before = 0,
                out_of_time = 0, signs = 0, strangers = 0, monitors = 0, plans = 0, waits = 0,
                named = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Everything that happened, for repeating a seed.
  std::ostream* story = nullptr;

 private:
  class WatchedRunner;

  void begin_daemon();
  void die();
  void lose_power();
  void round();
  void advance();
  void act();
  void act_on_gpus();
  void act_on_plans();
  void give_sign(std::size_t gpu);
  void act_as_stranger(std::size_t gpu);
  void set_monitor(std::size_t gpu, bool there);
  void act_watched();
  void submit();
  void send(const NewJob& job);
  void send_again(const NewJob& job);
  [[nodiscard]] NewJob any_job();
  void draw_kind(JobSpec& spec);
  void cancel(JobNumber number);
  void take_answers();
  void match_processes();
  void mend();
  void check_ends();
  void check_waits();
  struct Wait {
    JobNumber job = 0;
    std::string what;  // that it waits beside, in words
    friend auto operator<=>(const Wait&, const Wait&) = default;
  };
  void judge_wait(const JobRecord& job, bool in_order, std::set<Wait>& wait);
  [[nodiscard]] bool is_behind(const JobRecord& job) const;
  [[nodiscard]] bool may_have(const GpuStatus& gpu) const;
  [[nodiscard]] std::vector<std::string> standing_for(const JobRecord& job, bool everywhere) const;
  [[nodiscard]] std::vector<std::string> free_for(const JobRecord& job) const;
  [[nodiscard]] std::vector<std::string> unnamed_for(const JobRecord& job);
  [[nodiscard]] bool is_over();
  void check_start(const Launch& launch);
  void check_device(const Launch& launch, std::uint32_t uid);
  [[nodiscard]] bool is_beside_another(const JobKey& key, std::string_view device) const;
  void check_stop(const JobKey& key);
  void check_end();
  void check_learnt();
  void check_job(JobNumber number);
  void check_process(JobNumber number, std::int64_t rank);
  [[nodiscard]] JobNumber job_of(JobNumber process) const;
  void point(std::string_view where);
  void violation(std::string what);
  void tell(const std::string& what) const;
  [[nodiscard]] Moment moment() const {
    return {now_, Instant{} + std::chrono::hours(500'000) + now_ + set_};
  }
  [[nodiscard]] std::string any_scheduler();

  std::uint64_t seed_;
  Life life_;
  Random random_;
  Counts counts_;
  std::vector<std::string> violations_;

  Duration now_{}, set_{}, next_act_{};
  std::size_t acts_left_ = 0;
  double death_ = 0;  // chance at each point
  bool mended_ = false;
  std::string scheduler_;
  bool sharing_ = false;  // a scheduler may put several jobs on one instance

  FakeDisk disk_;
  std::unique_ptr<Machine> machine_;
  FakeJobs jobs_;
  ExecutorDelays delays_;
  std::unique_ptr<FakeStore> store_;
  std::unique_ptr<DelayedExecutor> executor_;
  std::unique_ptr<WatchedRunner> runner_;
  std::unique_ptr<Control> control_;

  std::map<std::uint64_t, JobNumber> asked_;  // submissions not answered yet
  std::set<JobNumber> accepted_, unanswered_, reporting_;
  std::map<JobNumber, NewJob> wanted_;
  std::vector<NewJob> unheard_;                  // with a key, whose answer did not come
  std::map<std::uint64_t, NewJob> asked_again_;  // submissions that were taken before
  std::int64_t last_key_ = 0;
  std::map<JobKey, std::uint32_t> processes_;
  std::uint32_t last_pid_ = 1000;
  std::set<std::string> foreign_;
  struct Stranger {
    std::uint32_t pid;
    std::string device;
    Duration since;
  };
  std::vector<Stranger> strangers_;                 // processes of no job
  std::map<std::size_t, std::uint32_t> monitored_;  // GPUs of which no instance can be destroyed,
                                                    // and the monitor's pid
  static constexpr std::uint32_t several_users = UINT32_MAX;
  std::map<std::string, std::uint32_t> had_;  // to whose job a device was given last
  std::set<JobKey> told_to_end_;
  std::set<JobNumber> cancelled_;
  std::map<JobKey, Duration> signalled_;     // when first
  std::map<JobKey, Duration> to_end_since_;  // in this daemon's life
  Duration next_look_at_ends_{}, next_look_at_waits_{};
  std::map<Wait, Duration> waits_since_;
};

}  // namespace cleave::trial
