// The supervisor runs the command that saves the job's work, such as one of CRIU and
// cuda-checkpoint, and stops the job once it has succeeded: nothing that the job does after its
// checkpoint would be kept. The command may end the job itself.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/job_directory.hpp"
#include "runner/supervisor/supervisor.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_said = 200;

/// The command as a launch: beside the job, as its user, where the job began, with what it has.
Launch saving_launch(const Launch& job, pid_t pid) {
  Launch saver = job;
  saver.argv = {"/bin/sh", "-c", job.checkpoint_command};
  saver.output_file.clear();
  saver.error_file.clear();
  std::erase_if(saver.environment,
                [](const std::string& each) { return each.starts_with("CLEAVE_PID="); });
  saver.environment.push_back(fmt::format("CLEAVE_PID={}", pid));
  return saver;
}

}  // namespace

/// Begins the command; returns why not, or an empty text.
std::string Supervisor::checkpoint(Duration longest) {
  if (saver_ || outcome_.checkpointed) return {};
  if (launch_.checkpoint_command.empty()) return "the job has no checkpoint command";
  if (phase_ != Phase::running) return "the job does not run";
  not_checkpointed_.reset();
  auto process = start_job_process(saving_launch(launch_, job_pid()), places_.user.number(), -1,
                                   fmt::format("{}/{}", places_.path, user_folder), places_.mark,
                                   places_.groups);
  if (!process) {
    not_checkpointed(process.error().text());
    return {};
  }
  saver_.emplace(Saver{std::move(*process), Clock::now() + longest, {}, {}, {}, false});
  return {};
}

/// What it says stands in the job's error output.
void Supervisor::hear_saver() {
  char text[4096];
  for (Descriptor* pipe : {&saver_->process.out, &saver_->process.err, &saver_->process.exec})
    for (ssize_t got = 0; *pipe && (got = ::read(pipe->number(), text, sizeof text)) >= 0;) {
      if (got == 0) {
        pipe->close();
        break;
      }
      const std::string_view said(text, static_cast<std::size_t>(got));
      if (pipe == &saver_->process.exec) {
        saver_->exec_text += said;
        continue;
      }
      if (err_) err_->log.append(said);
      for (const char each : said) {
        if (each != '\n') {
          if (saver_->line.size() < longest_said) saver_->line += each;
        } else if (!saver_->line.empty()) {
          saver_->last_line = std::exchange(saver_->line, {});
        }
      }
    }
}

void Supervisor::saver_ended(int status) {
  hear_saver();
  const Saver saver = std::move(*saver_);
  saver_.reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !saver.out_of_time) {
    outcome_.checkpointed = true;
    return stop(std::nullopt);
  }
  if (main_gone_ || phase_ == Phase::stopping) return;
  const std::string& last = saver.line.empty() ? saver.last_line : saver.line;
  std::string why = saver.out_of_time          ? std::string("it took too long")
                    : !saver.exec_text.empty() ? parse_exec_failure(saver.exec_text).reason
                    : WIFSIGNALED(status)
                        ? fmt::format("it was ended by signal {}", WTERMSIG(status))
                        : fmt::format("it exited with {}", WEXITSTATUS(status));
  if (!last.empty()) why += fmt::format(": {}", shown(last, longest_said));
  not_checkpointed(why);
}

void Supervisor::not_checkpointed(const std::string& why) {
  not_checkpointed_ = NotCheckpointed{why};
  tell_all(*not_checkpointed_);
}

/// It and what it began, in its own group.
void Supervisor::give_up_saving() {
  saver_->out_of_time = true;
  (void)::kill(-saver_->process.pid, SIGKILL);
  (void)::kill(saver_->process.pid, SIGKILL);
}

}  // namespace cleave
