#include "cli/forecast/followed_run.hpp"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include "base/demangle.hpp"
#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"
#include "cli/interrupts.hpp"
#include "runner/process_tree.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr const char* preload = "LD_PRELOAD";
constexpr const char* library_path = "LD_LIBRARY_PATH";

using Variables = std::map<std::string, std::string>;

Variables own_environment() {
  Variables variables;
  for (char** each = ::environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0)
      variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return variables;
}

/// In front of what is there.
void put_before(Variables& variables, const char* name, const std::string& value) {
  std::string& all = variables[name];
  all = all.empty() ? value : value + ":" + all;
}

/// As PretendedGpu reads it.
std::string gpu_words(const DryRunOptions& options) {
  const GpuModel& gpu = *options.gpu;
  const SmLimits limits = sm_limits_of(gpu);
  const Profile& largest = gpu.largest();
  const Profile* const profile = options.profile;
  const MiB memory = profile != nullptr ? profile->usable.value_or(MiB{})
                                        : gpu.memory.value_or(largest.usable.value_or(MiB{}));
  const Sms sms = profile != nullptr ? profile->sms.value_or(Sms{})
                                     : gpu.sms.value_or(largest.sms.value_or(Sms{1}));
  const ComputeCapability capability = gpu.capability.value_or(ComputeCapability{8, 0});
  return fmt::format("{} {}.{} {} {} {} {} {} {}", gpu.key, capability.major, capability.minor,
                     sms.value, memory.value, limits.warps, limits.blocks, limits.shared_bytes,
                     limits.shared_bytes_of_block);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

Result<pid_t> start(std::vector<std::string> command, const Variables& variables) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables)
    environment.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> arguments = pointers(command), all = pointers(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, command.front().c_str(), &actions, nullptr,
                                   arguments.data(), all.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  return fail(ErrorKind::bad_usage, command.front(), std::generic_category().message(error),
              "name a program that can be run, with its path if it is not on PATH");
}

/// To all processes that are below this one.
bool signal_all(int number) {
  bool any = false;
  for (const ProcessFacts& each : descendants_of(::getpid(), all_processes()))
    any = send_signal(each, number) || any;
  return any;
}

/// Ends whatever is left, and buries it.
void end_all(std::chrono::milliseconds grace) {
  using namespace std::chrono_literals;
  const auto until = SteadyClock::now() + grace;
  bool any = grace > 0ms && signal_all(SIGTERM);
  while (any && SteadyClock::now() < until) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(5ms);
    any = signal_all(0);
  }
  while (signal_all(SIGKILL)) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(1ms);
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void note_end(int status, DryRunAnswer& answer) {
  if (WIFEXITED(status))
    answer.exit_code = WEXITSTATUS(status);
  else
    answer.signal = WTERMSIG(status);
}

/// Until it ends, its time is over or a signal came.
void wait_for(pid_t child, Duration limit, DryRunAnswer& answer) {
  using namespace std::chrono_literals;
  const auto begin = SteadyClock::now();
  std::chrono::milliseconds pause = 1ms;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    answer.interrupted = Interrupts::came();
    answer.out_of_time = SteadyClock::now() - begin >= limit;
    if (answer.interrupted != 0 || answer.out_of_time) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, 20ms);
  }
  const bool ended = answer.interrupted == 0 && !answer.out_of_time;
  if (!ended) {
    signal_all(answer.interrupted != 0 ? answer.interrupted : SIGTERM);
    const auto until = SteadyClock::now() + 2s;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (SteadyClock::now() > until) ::kill(child, SIGKILL);
      std::this_thread::sleep_for(5ms);
    }
  }
  note_end(status, answer);
  answer.seconds = in_seconds(SteadyClock::now() - begin);
  end_all(ended ? 0ms : 1s);
}

/// The program could have written there too.
template <std::size_t size>
std::string text_in(const std::array<char, size>& room) {
  return {room.data(), ::strnlen(room.data(), size)};
}

void read(const cuda::Record& record, DryRunAnswer& answer) {
  answer.peak_bytes = record.peak.value();
  answer.refused_bytes = record.refused.value();
  answer.peak_with_contexts = record.peak_with_contexts.value();
  answer.refused_with_contexts = record.refused_with_contexts.value();
  answer.contexts = record.most_contexts.value();
  for (std::size_t kind = 0; kind < cuda::memory_kinds; ++kind)
    answer.peak_of[kind] = record.peak_of[kind].value();
  answer.allocations = record.allocations;
  answer.frees = record.frees;
  answer.unknown_frees = record.unknown_frees;
  answer.refusals = record.refusals;
  answer.launches = record.launches;
  answer.processes = record.processes_seen;
  answer.private_tables = record.saw(cuda::Blind::private_tables);
  answer.incomplete =
      (record.blind.load() & ~static_cast<std::uint32_t>(cuda::Blind::private_tables)) != 0;
  for (const cuda::UnansweredRow& row : record.unanswered)
    if (row.state == cuda::LaunchRow::written) answer.unanswered.push_back(text_in(row.name));
  for (const cuda::LaunchRow& row : record.launch)
    if (row.state == cuda::LaunchRow::written)
      answer.kernels.push_back({in_source(text_in(row.name)), row.shape, row.launches});
  std::ranges::sort(answer.kernels, [](const SeenKernel& a, const SeenKernel& b) {
    return std::tuple(-a.blocks(), a.name, a.shape.grid, a.shape.block, a.shape.shared_bytes) <
           std::tuple(-b.blocks(), b.name, b.shape.grid, b.shape.block, b.shape.shared_bytes);
  });
}

}  // namespace

Result<fs::path> followed_library(const std::string& name) {
  std::error_code failed;
  fs::path file = installation_prefix() / "lib" / "cleave-cuda" / name;
  if (fs::is_regular_file(file, failed)) return file;
  return fail(ErrorKind::infeasible, file.string(), "the library is not there",
              "keep bin/ and lib/ of Cleave side by side");
}

std::int64_t SeenKernel::blocks() const {
  return std::int64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
}

KernelLaunch SeenKernel::launch() const {
  constexpr std::uint64_t too_many = 1 << 20;
  std::uint64_t threads = 1;
  for (const std::uint32_t n : shape.block) threads = std::min(threads * n, too_many);
  return {blocks(), static_cast<int>(threads), 0, static_cast<std::int64_t>(shape.shared_bytes)};
}

Result<DryRunAnswer> run_dry(const DryRunOptions& options) {
  const auto library = followed_library("dry/libcleave-cuda-dry.so");
  if (!library) return std::unexpected(library.error());
  const auto folder = WorkFolder::make_temporary("dry-run");
  if (!folder) return std::unexpected(folder.error());
  const std::string file = (folder->path() / "record").string();
  const std::unique_ptr<cuda::Record, void (*)(cuda::Record*)> record(
      cuda::map_record(file.c_str()), cuda::unmap_record);
  if (record == nullptr)
    return fail(ErrorKind::infeasible, file, std::generic_category().message(errno),
                "set TMPDIR to a folder on a disk with room");
  Variables variables = own_environment();
  put_before(variables, preload, library->string());
  put_before(variables, library_path, library->parent_path().string());
  variables[cuda::record_variable] = file;
  variables["CLEAVE_CUDA_GPU"] = gpu_words(options);
  variables["CLEAVE_CUDA_CONTEXT"] = fmt::format("{}", in_bytes(options.context));
  // It is not the job's run.
  variables.erase("CLEAVE_REPORT");
  variables.erase("CLEAVE_CUDA_FORECAST");
  // Whatever leaves its parent comes to this process.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const Interrupts interrupts(Interrupts::Waiting::goes_on);
  const auto child = start(options.command, variables);
  if (!child) return std::unexpected(child.error());
  DryRunAnswer answer;
  wait_for(*child, options.limit, answer);
  read(*record, answer);
  return answer;
}

Result<int> become_followed(const LiveRunOptions& options) {
  const auto library = followed_library("libcleave-cuda.so");
  if (!library) return std::unexpected(library.error());
  Variables variables = own_environment();
  put_before(variables, preload, library->string());
  ::setenv(preload, variables[preload].c_str(), 1);
  if (options.forecast)
    ::setenv("CLEAVE_CUDA_FORECAST", fmt::format("{}", in_bytes(*options.forecast)).c_str(), 1);
  if (options.expected) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*options.expected);
    ::setenv("CLEAVE_CUDA_EXPECTED_MS", fmt::format("{}", ms.count()).c_str(), 1);
  }
  std::vector<std::string> words = options.command;
  ::execvp(words.front().c_str(), pointers(words).data());
  return fail(ErrorKind::bad_usage, words.front(), std::generic_category().message(errno),
              "name a program that can be run, with its path if it is not on PATH");
}

}  // namespace cleave::cli
