#pragma once
// The runner over real processes: one supervisor, cleave-supervise, for each attempt, which
// outlives this program. Who is alive is asked of the locks in the folders of the attempts, what
// happened is heard over a connection to each supervisor or read from the record that it left. Not
// for several threads.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runner/folder_removal.hpp"
#include "runner/job_directory.hpp"
#include "runner/runner.hpp"

namespace cleave {

class ProcessRunner final : public Runner {
 public:
  struct Places {
    std::string jobs;     // folder of all attempts, absolute; made if it is not there. Its owner is
                          // who runs this
    std::string program;  // cleave-supervise; as root nobody else may be able to change it
    std::uint64_t descriptors = 0;  // the soft limit for supervisors and jobs; 0: as this program's
    std::chrono::steady_clock::duration patience =
        std::chrono::seconds(10);  // with a supervisor that begins
  };
  [[nodiscard]] static Result<std::unique_ptr<ProcessRunner>> open(Places places);
  ~ProcessRunner() override;

  Result<std::vector<FoundJob>> found() override;
  Result<void> start(const Launch& launch) override;
  Result<void> signal(const JobKey& key, int number) override;
  Result<void> stop(const JobKey& key) override;
  std::vector<RunnerEvent> poll() override;
  int wake_fd() const override { return events_.number(); }
  std::int64_t kept_bytes(const JobKey& key) override;
  Result<void> forget(const JobKey& key) override;

 private:
  using Clock = std::chrono::steady_clock;
  /// An attempt that is not over, as far as is known.
  struct Attempt {
    Descriptor folder, connection;
    std::int64_t told = 0;  // reports up to this one
    bool told_began = false;
    std::vector<SupervisorAsk> waiting;  // for a connection
    Clock::time_point again_at{};        // when it is tried to reach it again
    Clock::duration wait{};
  };

  ProcessRunner(Places places, Descriptor jobs, Descriptor events, Descriptor timer);

  [[nodiscard]] Result<FoundJob> look_at(const JobKey& key);
  void end_what_dead_ones_left(std::vector<FoundJob>& found);
  void watch(const JobKey& key, Descriptor folder, Descriptor connection);
  void connect(const JobKey& key, Attempt& attempt);
  void disconnect(const JobKey& key, Attempt& attempt);
  Result<void> ask(const JobKey& key, const SupervisorAsk& ask);
  void hear(const JobKey& key, Attempt& attempt, std::vector<RunnerEvent>& events);
  void tell(const JobKey& key, Attempt& attempt, const SupervisorMessage& message,
            std::vector<RunnerEvent>& events);
  void settle(const JobKey& key, std::vector<RunnerEvent>& events);
  void forget_stale(const std::string& name);
  void set_timer();
  void reap();

  Places places_;
  Descriptor jobs_, events_, timer_;
  std::map<JobKey, Attempt> attempts_;
  std::map<int, JobKey> by_connection_;
  std::vector<pid_t> children_;  // supervisors that this program started
  FolderRemoval removal_;
  std::set<JobKey> overfull_;  // of those that are over: weighing them once is enough
};

}  // namespace cleave
