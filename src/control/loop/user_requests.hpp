#pragma once
// What users and operators want: checked at once, written with the next step, and only then part of
// the node.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "control/loop/dependency_keeper.hpp"
#include "control/loop/health_keeper.hpp"
#include "control/loop/job_lifecycle.hpp"
#include "control/requests.hpp"
#include "control/settings.hpp"
#include "control/verdicts/disk_verdicts.hpp"

namespace cleave {

/// Takes requests in.
class UserRequests {
 public:
  /// All must outlive it.
  UserRequests(const Clock& clock, ControlSettings& settings, NodeState& node, Book& book,
               Brain& brain, JobLifecycle& lifecycle, const ExemptUsers& exempt,
               HealthKeeper& health, DependencyKeeper& dependencies)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle),
        exempt_(exempt),
        health_(health),
        dependencies_(dependencies) {}

  // Each is as control.hpp says.

  [[nodiscard]] Result<std::optional<KeyedJob>> submitted_with(std::uint32_t uid,
                                                               const std::string& key) const;
  [[nodiscard]] Result<std::vector<JobNumber>> submit(std::span<const NewJob> jobs,
                                                      std::int64_t at_once = 0);
  void cancel(std::span<const Cancellation> jobs, const std::string& by);
  [[nodiscard]] Result<void> drain(GpuId gpu, bool drained);
  void pause(bool paused);
  [[nodiscard]] Result<void> set_scheduler(const std::string& text);
  [[nodiscard]] Result<std::vector<std::string>> reload(const ControlSettings& settings);

  /// Writes what was requested since the last step, and has it enter the node.
  void write();
  /// Whether this scheduler could take over the node with its jobs.
  [[nodiscard]] Result<void> check_scheduler(const std::string& text) const;

 private:
  [[nodiscard]] Result<void> check_scheduler(const std::string& text,
                                             const ControlSettings& settings) const;
  /// Of jobs that are to enter together, or not at all.
  struct Draft;
  [[nodiscard]] Result<void> add_to(Draft& draft, const NewJob& job);
  void add_record(Draft& draft, JobRecord record, const JobCommand& command) const;
  /// `more`: jobs that are to enter with it.
  [[nodiscard]] Result<void> check(const JobSpec& spec, std::size_t more);
  [[nodiscard]] Result<void> check_host(const JobSpec& spec) const;
  [[nodiscard]] Result<void> check_mig(const JobSpec& spec) const;
  [[nodiscard]] Result<void> check_kind(const JobSpec& spec) const;
  [[nodiscard]] Result<void> check_disk(const DiskAccounts::Kept& more) const;
  [[nodiscard]] Result<void> check_slices(const JobSpec& spec) const;
  [[nodiscard]] std::size_t unfinished_jobs(std::size_t more) const;
  [[nodiscard]] const std::string& work_out_impossible(const Request& request);
  void choose_size(JobSpec& spec, std::uint32_t uid);
  [[nodiscard]] Result<void> fit_kernel(JobSpec& spec) const;
  void enter_node(std::vector<JobRecord> processes);
  void begin_to_wait(JobNumber number);
  void enter_jobs(std::vector<std::vector<JobRecord>> jobs);
  void enter_drained(GpuId gpu, bool drained);
  [[nodiscard]] std::optional<Duration> most_grace(CancelGrace grace) const;
  [[nodiscard]] std::vector<JobKey> attempts_of(JobNumber number) const;
  [[nodiscard]] bool stop_though_unwritten(const UserRequest& request);

  const Clock& clock_;
  ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  const ExemptUsers& exempt_;
  HealthKeeper& health_;
  DependencyKeeper& dependencies_;
  std::map<Request, std::string> impossible_;  // why no GPU here can serve it, where none can
  std::size_t further_jobs_ = 0;  // of requests that are not written yet, beyond one of each
  /// Of submissions that are not written yet; the store knows the others.
  std::map<std::pair<std::uint32_t, std::string>, KeyedJob> unwritten_keys_;
};

}  // namespace cleave
