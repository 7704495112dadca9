#include "cli/child_program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/format.hpp"

namespace cleave {

Result<pid_t> start_child(const std::vector<std::string>& command, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  // Closed by a program that starts; else it says why there is none.
  int failure[2] = {-1, -1};
  if (::pipe2(failure, O_CLOEXEC) != 0)
    return fail(ErrorKind::infeasible, command.front(), "no pipe can be made for it");
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(in, 0);
    if (out >= 0) ::dup2(out, 1);
    if (err >= 0) ::dup2(err, 2);
    ::execvp(arguments.front(), arguments.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  if (in >= 0) ::close(in);
  ::close(failure[1]);
  int why = 0;
  const bool started = pid > 0 && ::read(failure[0], &why, sizeof why) <= 0;
  ::close(failure[0]);
  if (started) return pid;
  if (pid > 0) wait_for_child(pid);
  return fail(ErrorKind::infeasible, command.front(),
              fmt::format("it cannot be started: {}", std::generic_category().message(why)));
}

int wait_for_child(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

Result<std::string> run_to_end(const std::vector<std::string>& command, bool keep) {
  int ends[2] = {-1, -1};
  if (keep && ::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorKind::infeasible, command.front(), "no pipe can be made for it");
  if (!keep) ends[1] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto pid = start_child(command, ends[1], -1);
  if (ends[1] >= 0) ::close(ends[1]);
  std::string said;
  if (keep) {
    char buffer[1 << 16];
    for (ssize_t got = 0; pid && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
  }
  if (!pid) return std::unexpected(pid.error());
  if (const int status = wait_for_child(*pid); status != 0)
    return fail(ErrorKind::infeasible, command.front(),
                fmt::format("it ended with status {}", status));
  return said;
}

}  // namespace cleave
