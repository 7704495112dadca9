#pragma once
// The runner of real processes: one supervisor, cleave-supervise, for each attempt, which outlives
// this program. The locks in the folders of the attempts show which supervisors are alive. What
// happened comes over a connection to each supervisor, or from the record that it left. For one
// thread only.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runner/container/container_gifts.hpp"
#include "runner/folder_removal.hpp"
#include "runner/job_directory.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// The attempts in one folder, and their supervisors.
class ProcessRunner final : public Runner {
 public:
  /// Where things are, and limits.
  struct Places {
    std::string jobs;     // folder of all attempts, absolute, of this user; created if missing
    std::string program;  // cleave-supervise; as root, no other user may be able to change it
    std::uint64_t descriptors = 0;  // soft limit for supervisors and jobs; 0: this program's
    GroupPlaces groups;             // for control groups of attempts
    std::optional<DriverNodes> fenced =
        {};  // of which attempts get their own only; needs such groups
    /// How long a supervisor may take to become ready, while everything else goes on.
    std::chrono::steady_clock::duration patience = std::chrono::seconds(10);
    ContainerGifts gifts = {};  // what containers have of the driver
  };
  [[nodiscard]] static Result<std::unique_ptr<ProcessRunner>> open(Places places);
  ~ProcessRunner() override;

  using Runner::found;
  Result<std::vector<FoundJob>> found(const IsSettled& is_settled) override;
  Started start(const Launch& launch) override;
  Result<void> signal(const JobKey& key, int number) override;
  Result<void> checkpoint(const JobKey& key, Duration longest) override;
  using Runner::stop;
  Result<void> stop(const JobKey& key, std::optional<Duration> grace) override;
  bool fences() const override;
  int free_port(int wanted) override;
  std::vector<RunnerEvent> poll() override;
  int wake_fd() const override { return events_.number(); }
  std::int64_t kept_bytes(const JobKey& key) override;
  Result<void> forget(const JobKey& key) override;

 private:
  using Clock = std::chrono::steady_clock;
  /// A supervisor that this program began and that has not said yet that it is ready.
  struct Start {
    pid_t supervisor = 0;
    Clock::time_point until{};
    std::optional<NotStarted> refused;  // why it is not, once that is known
  };
  /// An attempt that is not known to have ended.
  struct Attempt {
    Descriptor folder, connection;
    std::int64_t told = 0;  // reports up to this one
    bool told_began = false;
    std::vector<SupervisorAsk> waiting;  // for a connection
    Clock::time_point again_at{};        // when to try to reach it again
    Clock::duration wait{};
    int unread = 0;  // how often what it left could not be read
    std::optional<Start> start;
    bool fenced = false;
    [[nodiscard]] bool awaits_start() const { return connection && start && !start->refused; }
  };

  ProcessRunner(Places places, Descriptor jobs, Descriptor events, Descriptor timer);

  [[nodiscard]] Result<void> complete(Launch& launch) const;
  [[nodiscard]] Result<FoundJob> look_at(const JobKey& key);
  void end_what_dead_ones_left(std::vector<FoundJob>& found);
  Attempt& watch(const JobKey& key, Descriptor folder, Descriptor connection);
  void connect(const JobKey& key, Attempt& attempt);
  void disconnect(const JobKey& key, Attempt& attempt);
  Result<void> ask(const JobKey& key, const SupervisorAsk& ask);
  void hear(const JobKey& key, Attempt& attempt, std::vector<RunnerEvent>& events);
  void tell(const JobKey& key, Attempt& attempt, const SupervisorMessage& message,
            std::vector<RunnerEvent>& events);
  bool give_up_starts(std::vector<RunnerEvent>& events);
  void settle(const JobKey& key, std::vector<RunnerEvent>& events);
  void not_started(const JobKey& key, std::vector<RunnerEvent>& events);
  [[nodiscard]] bool make_jobs_anew();
  void forget_stale(const std::string& name);
  void set_timer();
  void reap();

  Places places_;
  Descriptor jobs_, events_, timer_;
  std::map<JobKey, Attempt> attempts_;
  std::map<int, JobKey> by_connection_;
  std::vector<pid_t> children_;  // supervisors that this program started
  FolderRemoval removal_;
  std::set<JobKey> overfull_;  // ended ones with too many files, measured only once
};

}  // namespace cleave
