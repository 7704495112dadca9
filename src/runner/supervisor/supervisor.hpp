#pragma once
// What cleave-supervise does once all is in place: it starts one attempt of a job, keeps its
// outputs, receives its reports, passes signals on, ends the processes left behind and writes how
// the attempt ended. It is the daemon's user, with the rights of the job's in the file system. One
// thread with one poll; it never waits for a peer that might not answer.

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runner/descriptor.hpp"
#include "runner/job_log.hpp"
#include "runner/job_process.hpp"
#include "runner/launch.hpp"
#include "runner/process_tree.hpp"
#include "runner/reports/report_receiver.hpp"
#include "runner/supervisor/supervisor_message.hpp"
#include "runner/user_files.hpp"

namespace cleave {

/// What the supervisor opened with the daemon's rights.
struct SupervisorPlaces {
  Descriptor folder, parent;  // the attempt's folder, of the daemon's user; the folder of all jobs
  std::string path;           // of the attempt's folder
  Descriptor user;            // the folder in it of the job's user
  Descriptor outcome;         // for writing; the daemon's user's file
  Descriptor control;         // listens
  Descriptor lock;
  Descriptor first;      // connection to the daemon that started it
  uid_t daemon_uid = 0;  // the only user besides root that may connect
  std::string mark;
  JobGroups groups;  // made
};

/// Binds `control` in the current directory, the attempt's folder, with the daemon's rights there.
[[nodiscard]] Result<Descriptor> listen_for_peers();

/// The supervisor of one attempt.
class Supervisor {
 public:
  /// Opens the socket for reports in the current directory, the user's folder. On failure `first`
  /// is unchanged.
  [[nodiscard]] static Result<Supervisor> open(Launch launch, SupervisorPlaces& places);

  /// Runs until the outcome is on the disk or the folder is gone.
  void run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : std::uint8_t { starting, running, stopping, ending, ended };
  struct Peer {
    Descriptor socket;
    bool follows = false;
    std::int64_t sent = 0;  // reports up to this one
  };
  /// An output of the job: read, kept, and if it is the error output searched line by line.
  struct Output {
    Descriptor pipe;
    JobLog log;
    std::string line;
    std::shared_ptr<UserFile> file = {};  // of the user's, where one was asked for
  };

  /// The checkpoint command while it runs.
  struct Saver {
    JobProcess process;
    Clock::time_point until;
    std::string exec_text, line, last_line;  // of what it says; whole lines
    bool out_of_time = false;
  };

  Supervisor(Launch launch, SupervisorPlaces places, Descriptor signals, ReportReceiver reports);

  void begin();
  void turn(Clock::time_point until);
  void answer(int descriptor);
  [[nodiscard]] Clock::time_point next_deadline() const;
  void keep_deadlines();

  // supervisor_job.cpp: the job
  void hear_exec();
  void look_into_container();
  void job_began();
  [[nodiscard]] pid_t job_pid() const { return inside_ ? inside_->pid : job_.pid; }
  bool signal_job(int signal);
  void give_up_start();
  void reap();
  void main_ended(int status);
  [[nodiscard]] bool container_failed(int exit_code);
  void end_leftovers();
  void stop(std::optional<Duration> grace);
  void kill_after(Duration grace);
  void end_tree(int signal);
  void kill_groups() const;
  void take_user_files();
  bool read_output(Output& output, bool is_error);
  void look_through(Output& output, std::string_view bytes);
  void saw_out_of_memory(std::string_view line);
  void finish();
  bool store();
  void drain_all();
  void leave_groups();

  // supervisor_checkpoint.cpp: the command that saves the job's work
  [[nodiscard]] std::string checkpoint(Duration longest);
  void hear_saver();
  void saver_ended(int status);
  void not_checkpointed(const std::string& why);
  void give_up_saving();

  // supervisor_peers.cpp: its connections
  void accept_peer();
  void hear(Peer& peer);
  [[nodiscard]] std::string obey(const SupervisorAsk& ask);
  void follow(Peer& peer);
  void send(Peer& peer, const SupervisorMessage& message);
  void send_reports(Peer& peer);
  void tell_all(const SupervisorMessage& message);
  [[nodiscard]] SupervisorState state() const;

  Launch launch_;
  SupervisorPlaces places_;
  Descriptor signals_;
  ReportReceiver receiver_;
  ReportSeries series_;
  std::deque<Peer> peers_;
  std::optional<Output> out_, err_;
  JobProcess job_;
  std::string exec_text_;
  Phase phase_ = Phase::starting;
  bool began_ = false, main_gone_ = false;
  bool held_ = false;                           // killed because its program did not run in time
  std::optional<Clock::time_point> to_run_by_;  // empty once the program runs, or will not
  // Of a job in a container: what runs it, when to see whether its program runs, when what tidies
  // up after it has had its time, the last that was said of what went wrong, and the process that
  // the job's program runs in, once that is known.
  std::optional<ContainerProgram> contained_by_;
  std::optional<Clock::time_point> look_at_, tidy_until_;
  std::string last_word_;
  std::optional<ProcessFacts> inside_;
  std::int64_t told_of_memory_ = 0;
  std::optional<Saver> saver_;
  std::optional<NotCheckpointed> not_checkpointed_;  // the last time it was asked for
  std::optional<Clock::time_point> kill_at_;         // the whole tree; repeated after growing waits
  Clock::duration kill_again_after_{};
  std::chrono::nanoseconds began_boot_{};
  ProcessOutcome outcome_;
  std::string trouble_;
  int vain_tries_ = 0;
};

}  // namespace cleave
