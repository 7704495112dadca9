#pragma once
// The program `cleaved` on simulated GPUs of its own, for tests of the whole: started, used through
// the programs and over its socket, ended and killed by its process number. Nothing that it started
// outlives the stand.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../cli/program.hpp"
#include "api/client.hpp"
#include "base/json.hpp"
#include "base/temporary_folder_test.hpp"
#include "device/nvml_door.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::whole {

using testing_program::Outcome;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

struct StandOptions {
  std::string gpus = "2xA100-40GB";
  bool instant = true;
  std::string config;         // of the daemon, TOML
  std::optional<uid_t> user;  // the daemon's user; only root can choose
  std::string state;          // the state directory; empty: in the stand's folder
};

class DaemonStand {
 public:
  /// Starts the daemon and waits until it has seen its GPUs.
  explicit DaemonStand(StandOptions options = {});
  ~DaemonStand();
  DaemonStand(const DaemonStand&) = delete;
  DaemonStand& operator=(const DaemonStand&) = delete;

  /// `environment` in addition to its own, "NAME=value".
  void start(const std::vector<std::string>& environment = {});
  /// Waits until it answers and has seen its GPUs; false if it ended before, or takes more than 20
  /// seconds.
  bool wait_until_ready();
  /// Sends SIGTERM; returns its exit code.
  int stop();
  void kill();
  /// Whether it runs; notes its exit code if it has ended.
  bool runs();
  /// Waits until it ends by itself: 128 + the signal that ended it, or its exit code; -1 if it does
  /// not end.
  int wait_for_end(std::chrono::milliseconds patience = std::chrono::seconds(10));
  [[nodiscard]] pid_t pid() const { return pid_; }
  void reload(const std::string& config);
  [[nodiscard]] std::string log() const;

  /// `cleave` with this daemon, in a shell.
  Outcome run(const std::string& arguments) const;
  [[nodiscard]] std::string command(const std::string& arguments) const;
  /// Submits a job; returns its number.
  std::int64_t submit(const std::string& arguments) const;
  /// Asks over the socket. Fails the test if the daemon refuses.
  Json get(const std::string& target);
  Result<Json> ask(std::string_view method, const std::string& target,
                   const std::string& body = {});
  Json job(std::int64_t number) { return get(fmt_job(number)); }
  std::string state_of(std::int64_t number) { return job(number)["state"].get<std::string>(); }
  std::string reason_of(std::int64_t number) { return job(number)["reason"].get<std::string>(); }
  /// Waits until the job has ended, at most 60 seconds; fails the test otherwise.
  Json over(std::int64_t number);
  void all_over(const std::vector<std::int64_t>& numbers);
  bool wait_until(const std::function<bool()>& is,
                  std::chrono::milliseconds most = std::chrono::seconds(20));
  bool wait_for_state(std::int64_t number, const std::string& state);
  /// Texts of all events, a line each: "kind text".
  std::string events();

  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path().string() + "/" + name;
  }
  [[nodiscard]] std::string state() const { return state_; }
  [[nodiscard]] std::string node() const { return state_ + "/sim-node"; }
  [[nodiscard]] std::string socket() const { return path("sock"); }
  /// This process as a client of the simulated node that the daemon does not know.
  [[nodiscard]] std::unique_ptr<NvmlDoor> client() const;
  /// An instance made by another program; its UUID.
  std::string foreign(const std::string& profile, std::uint32_t start, std::uint32_t gpu = 0) const;
  /// Destroys all instances of this GPU as another program, whoever owns them.
  void destroy_all_instances(std::uint32_t gpu = 0) const;
  void fault(int gpu, const std::string& kind, std::optional<std::uint32_t> times = {}) const;
  /// UUIDs of all compute instances of the node.
  [[nodiscard]] std::vector<std::string> instances() const;

  /// Processes of jobs, and their supervisors, with any parent.
  [[nodiscard]] std::vector<pid_t> processes_of_jobs() const;
  [[nodiscard]] std::vector<pid_t> supervisors() const;
  void end_processes_of_jobs() const;

 private:
  static std::string fmt_job(std::int64_t number);

  StandOptions options_;
  TemporaryFolder folder_;
  std::string state_;
  pid_t pid_ = -1;
  int status_ = -1;
  std::unique_ptr<ApiClient> client_;
};

[[nodiscard]] std::string text_of(const std::string& file);
/// The last directory in memory that can be written to, else the system's for temporary files.
[[nodiscard]] std::filesystem::path quick_folder();
/// Runs a child as this user for at most 30 seconds; returns the result of `body`, or 99 if it
/// cannot become that user.
[[nodiscard]] int as_user(uid_t uid, const std::function<int()>& body);

}  // namespace cleave::whole
