#include "runner/job_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/container/container_entry.hpp"
#include "runner/job_directory.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/supervisor/job_user.hpp"
#include "runner/user_files.hpp"

namespace cleave {

namespace {

/// Above the descriptor numbers that programs choose themselves.
constexpr int first_passed_on = 200;

struct NewPipe {
  Descriptor read, write;
};

Result<NewPipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error_at("job", "a pipe cannot be made");
  NewPipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return made;
}

/// Runs in the job's process.
std::string report_path(int folder, const std::string& path) {
  const std::string plain = fmt::format("{}/{}", path, report_socket);
  if (plain.size() < sizeof(sockaddr_un::sun_path) && leads_to(path, folder)) return plain;
  const int passed = ::fcntl(folder, F_DUPFD, first_passed_on);
  return fmt::format("/proc/{}/fd/{}/{}", ::getpid(), passed, report_socket);
}

std::vector<std::string> whole_environment(const Launch& launch, const std::string& report,
                                           const std::string& mark) {
  const std::array<std::string, 6> own = {
      fmt::format("CUDA_VISIBLE_DEVICES={}", launch.visible_devices),
      // Some versions of the container toolkit take an empty value for all GPUs; void means none.
      fmt::format("NVIDIA_VISIBLE_DEVICES={}",
                  launch.visible_devices.empty() ? "void" : launch.visible_devices),
      fmt::format("CLEAVE_JOB={}", launch.known_as == 0 ? launch.key.job : launch.known_as),
      fmt::format("CLEAVE_ATTEMPT={}", launch.key.attempt),
      fmt::format("{}={}", report_variable, report), fmt::format("{}={}", mark_variable, mark)};
  const auto is_own = [&](const std::string& variable) {
    const std::size_t name = variable.find('=') + 1;
    return std::ranges::any_of(
        own, [&](const std::string& each) { return each.starts_with(variable.substr(0, name)); });
  };
  std::vector<std::string> all;
  for (const std::string& each : launch.environment)
    if (!is_own(each)) all.push_back(each);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& each : texts) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void give_up(int exec, int code, const Error& why) {
  (void)write_all(exec, fmt::format("{} {}", code, why.text()));
  ::_exit(127);
}
[[noreturn]] void give_up(int exec, const std::string& place, const char* what) {
  const int code = errno;
  give_up(exec, code, system_error_at(place, what).error());
}

void forget_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct JobEnds {
  int out, err, exec, lock;
  int files = -1;  // where its outputs also go to files
};

/// Again after each change of its user, which takes this back.
void die_with(pid_t supervisor) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);  // it ended before this could be set
}

/// Of those above the outputs. All would be closed when the program runs, but the process is the
/// user's before that.
void close_all_but(std::array<int, 3> kept) {
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (const int each : kept) {
    if (each < 0) continue;
    const auto stays = static_cast<unsigned>(each);
    if (first < stays) (void)::close_range(first, stays - 1, 0);
    first = stays + 1;
  }
  (void)::close_range(first, ~0U, 0);
}

/// The rights of the supervisor, which has those of the user in the file system, are the daemon's
/// again until they are given up as a whole.
Result<void> become_user_of(const Launch& launch, const JobGroups& groups) {
  if (const auto daemons = make_files_as(::geteuid(), ::getegid()); !daemons) return daemons;
  if (const auto entered = groups.enter(); !entered) return entered;
  forget_daemons_priorities();
  return become_user(launch);
}

/// What this process is to execute where it runs in no container: its PATH is searched.
ContainerCommand plain_command(Launch& launch, std::vector<std::string> environment, int exec) {
  if (::chdir(launch.working_directory.c_str()) != 0)
    give_up(exec, launch.working_directory, "cannot be entered");
  return {std::move(launch.argv), std::move(environment)};
}

ContainerCommand contained_command(const Launch& launch, int folder, const std::string& path,
                                   const std::vector<std::string>& environment, int exec) {
  errno = 0;
  auto command = enter_container(launch, folder, path, environment);
  if (!command) give_up(exec, errno, command.error());
  return std::move(*command);
}

/// Runs in the child and does not return.
[[noreturn]] void become_job(Launch launch, int folder, const std::string& path,
                             const std::string& mark, const JobGroups& groups, const JobEnds& ends,
                             pid_t supervisor) {
  ::setsid();
  die_with(supervisor);
  forget_signals();
  if (ends.lock >= 0 && !write_all(ends.lock, began_text()))
    give_up(ends.exec, lock_file, "cannot be written");
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || ::dup2(input, 0) < 0 || ::dup2(ends.out, 1) < 0 || ::dup2(ends.err, 2) < 0)
    give_up(ends.exec, "job", "its input and outputs cannot be set");
  close_all_but({folder, ends.exec, ends.files});
  errno = 0;
  if (const auto became = become_user_of(launch, groups); !became)
    give_up(ends.exec, errno, became.error());
  die_with(supervisor);
  auto variables = whole_environment(launch, report_path(folder, path), mark);
  ::umask(022);
  errno = 0;
  if (ends.files >= 0)
    if (const auto handed = hand_over_files(launch, ends.files); !handed)
      give_up(ends.exec, errno, handed.error());
  auto command = launch.container ? contained_command(launch, folder, path, variables, ends.exec)
                                  : plain_command(launch, std::move(variables), ends.exec);
  die_with(supervisor);
  auto arguments = pointers(command.argv), environment = pointers(command.environment);
  ::environ = environment.data();
  ::execvp(arguments[0], arguments.data());
  give_up(ends.exec, command.argv[0], "cannot be run");
}

}  // namespace

ExecFailure parse_exec_failure(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto code = parse_integer(text.substr(0, space));
  return {code && *code > 0 && *code < 256 ? static_cast<int>(*code) : EIO,
          std::string(text.substr(std::min(space + 1, text.size())))};
}

Result<JobProcess> start_job_process(const Launch& launch, int folder, int lock,
                                     const std::string& path, const std::string& mark,
                                     const JobGroups& groups) {
  auto out = make_pipe(), err = make_pipe(), exec = make_pipe();
  for (const auto* each : {&out, &err, &exec})
    if (!*each) return std::unexpected(each->error());
  FileHandover files;
  if (!launch.output_file.empty() || !launch.error_file.empty()) {
    auto made = make_file_handover();
    if (!made) return std::unexpected(made.error());
    files = std::move(*made);
  }
  const pid_t supervisor = ::getpid();
  JobProcess started;
  started.pid = ::fork();
  if (started.pid < 0) return system_error_at("job", "no process can be begun");
  if (started.pid == 0)
    become_job(
        launch, folder, path, mark, groups,
        {out->write.number(), err->write.number(), exec->write.number(), lock, files.jobs.number()},
        supervisor);
  started.out = std::move(out->read);
  started.err = std::move(err->read);
  started.exec = std::move(exec->read);
  started.files = std::move(files.supervisors);
  return started;
}

}  // namespace cleave
