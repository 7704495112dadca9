#include "certify/helpers.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "smi/nvml.hpp"

namespace cleave::certify {

namespace {

void close_both(const std::array<int, 2>& ends) {
  for (const int end : ends)
    if (end >= 0) ::close(end);
}

void end_child(pid_t& child, int signal) {
  if (child <= 0) return;
  ::kill(child, signal);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  child = -1;
}

/// Waits for a UUID, takes the handle, says whether it has it, and waits for the end of its orders.
[[noreturn]] void hold_inside(const std::string& library, int orders, int answers) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);
  std::array<char, nvml::uuid_size> uuid{};
  if (::read(orders, uuid.data(), uuid.size() - 1) <= 0) ::_exit(0);
  nvml::Device device = nullptr;
  bool held = false;
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) {
    const nvml::EveryFunction f = smi::functions_of(library);
    held = f.nvmlInit_v2() == nvml::Return::success && f.nvmlDeviceGetHandleByUUID != nullptr &&
           f.nvmlDeviceGetHandleByUUID(uuid.data(), &device) == nvml::Return::success;
  }
  const char answer = held ? 'y' : 'n';
  if (::write(answers, &answer, 1) != 1) ::_exit(0);
  char end = 0;
  while (::read(orders, &end, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

HandleHolder::HandleHolder(const std::string& library) {
  std::array<int, 2> orders{-1, -1}, answers{-1, -1};
  if (::pipe2(orders.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0) {
    close_both(orders);
    return;
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::close(orders[1]);
    ::close(answers[0]);
    hold_inside(library, orders[0], answers[1]);
  }
  ::close(orders[0]);
  ::close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
}

HandleHolder::~HandleHolder() {
  release();
}

bool HandleHolder::hold(const std::string& uuid) {
  if (child_ <= 0 || ::write(orders_, uuid.data(), uuid.size()) < 0) return false;
  char answer = 0;
  while (::read(answers_, &answer, 1) < 0 && errno == EINTR) {
  }
  return answer == 'y';
}

void HandleHolder::release() {
  close_both({std::exchange(orders_, -1), std::exchange(answers_, -1)});
  end_child(child_, SIGKILL);
}

BusyProgram::BusyProgram(const std::vector<std::string>& command, const std::string& visible) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  child_ = ::fork();
  if (child_ > 0) {
    group_ = child_;
    ::setpgid(child_, child_);
  }
  if (child_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  ::setenv("CUDA_VISIBLE_DEVICES", visible.c_str(), 1);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int output : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, output);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

/// With what it has begun itself, which would stay on the instance.
BusyProgram::~BusyProgram() {
  if (group_ > 0) ::kill(-group_, SIGKILL);
  end_child(child_, SIGKILL);
}

bool BusyProgram::runs() {
  if (child_ <= 0) return false;
  if (::waitpid(child_, nullptr, WNOHANG) != child_) return true;
  child_ = -1;
  return false;
}

}  // namespace cleave::certify
