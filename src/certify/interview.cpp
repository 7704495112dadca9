#include "certify/interview.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <sstream>

#include "base/format.hpp"
#include "base/json_line.hpp"
#include "certify/bundle.hpp"
#include "certify/questions.hpp"
#include "device/driver_geometry.hpp"
#include "device/recording.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::certify {

namespace {

/// Calls that may crash before it is given up.
constexpr std::size_t crashes_most = 50;

/// What became of questions that ended a process, by topic and question.
using Fatal = std::map<std::string, Answer>;

std::string key_of(const Answer& question) {
  return fmt::format("{} {}", name(question.topic), question.question());
}

/// Writes lines of JSON to a pipe: "asking" before each call, then "answer".
class Reporter final : public Listener {
 public:
  Reporter(int pipe, const Fatal& fatal) : pipe_(pipe), fatal_(fatal) {}

  bool begin(const Answer& question) override {
    const auto known = fatal_.find(key_of(question));
    if (known != fatal_.end()) {
      end(known->second);
      return false;
    }
    write({{"asking", to_json(question)}});
    return true;
  }
  void end(const Answer& answer) override { write({{"answer", to_json(answer)}}); }

  void write(const Json& line) const {
    std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const auto done = ::write(pipe_, text.data() + at, text.size() - at);
      if (done < 0 && errno != EINTR) ::_exit(1);
      if (done > 0) at += static_cast<std::size_t>(done);
    }
  }

 private:
  int pipe_;
  const Fatal& fatal_;
};

[[noreturn]] void run_inside(const Source& source, int pipe, const Fatal& fatal,
                             const std::function<Result<void>(Inside&)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (source.node)
    ::setenv(sim_node_variable, source.node->c_str(), 1);
  else
    ::unsetenv(sim_node_variable);
  Reporter reporter(pipe, fatal);
  Asking asking(reporter);
  Inside inside{asking, [&](std::string_view line) {
                  reporter.write({{"recording", std::string(line)}});
                }};
  const auto done = work(inside);
  if (!done)
    reporter.write({{"error",
                     {{"place", done.error().place},
                      {"message", done.error().message},
                      {"remedy", done.error().remedy}}}});
  reporter.write({{"end", true}});
  ::_exit(0);
}

/// The parent's end of one run.
struct Run {
  Found found;
  std::optional<Answer> asking;  // without an answer
  std::optional<Error> error;
  bool ended = false;
};

Result<void> take_line(std::string_view text, Run& run) {
  const std::string place = "the process that asks";
  const auto line = parse_json_line(text, place);
  if (!line) return std::unexpected(line.error());
  if (line->contains("asking") || line->contains("answer")) {
    const bool answer = line->contains("answer");
    auto read = answer_from((*line)[answer ? "answer" : "asking"], place);
    if (!read) return std::unexpected(read.error());
    run.asking.reset();
    if (answer)
      run.found.answers.push_back(std::move(*read));
    else
      run.asking = std::move(*read);
  } else if (line->contains("recording")) {
    run.found.recording += (*line)["recording"].get<std::string>() + "\n";
  } else if (line->contains("error")) {
    const Json& error = (*line)["error"];
    run.error = Error{ErrorKind::infeasible, error["place"], error["message"], error["remedy"]};
  } else {
    run.ended = true;
  }
  return {};
}

/// Reads lines until the process ends or is silent for too long. True: it was silent.
Result<bool> read_lines(int pipe, pid_t child, const Watch& watch, Run& run) {
  std::string text;
  bool told_to_end = false;
  std::array<char, 65536> buffer{};
  for (;;) {
    pollfd ready{pipe, POLLIN, 0};
    const int some = ::poll(&ready, 1, static_cast<int>(watch.most_silent.count()));
    if (some < 0 && errno == EINTR) {
      const bool enough = watch.enough && watch.enough();
      if (enough && !told_to_end) ::kill(child, SIGTERM);
      told_to_end = told_to_end || enough;
      continue;
    }
    if (some == 0) return true;
    const auto got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (const auto taken = take_line(std::string_view(text).substr(begin, end - begin), run);
          !taken)
        return std::unexpected(taken.error());
    text.erase(0, begin);
  }
}

Result<Run> run_once(const Source& source, const Fatal& fatal,
                     const std::function<Result<void>(Inside&)>& work, const Watch& watch) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorKind::infeasible, "pipe", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorKind::infeasible, "fork", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    run_inside(source, ends[1], fatal, work);
  }
  ::close(ends[1]);
  Run run;
  const auto silent = read_lines(ends[0], child, watch, run);
  ::close(ends[0]);
  if (!silent || *silent) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!silent) return std::unexpected(silent.error());
  if (run.asking && *silent) run.asking->outcome = Outcome::silent;
  if (run.asking && !*silent) {
    run.asking->outcome = Outcome::crashed;
    run.asking->note = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "the process ended";
  }
  return run;
}

/// Asks about an open GPU, all topics.
void ask_all(Asking& asking, void* library, const Subject& subject) {
  ask_geometry(asking, subject);
  ask_instances(asking, subject);
  ask_memory(asking, subject);
  ask_counting(asking, subject);
  ask_identity(asking, subject);
  ask_bus(asking, subject);
  ask_power(asking, subject);
  ask_clocks(asking, subject);
  ask_health(asking, subject);
  ask_monitoring(asking, subject);
  ask_driver(asking, subject);
  ask_errors(asking, library, subject);
}

}  // namespace

Result<Found> in_a_process(const Source& source, const std::function<Result<void>(Inside&)>& work,
                           const Watch& watch) {
  Fatal fatal;
  for (;;) {
    auto run = run_once(source, fatal, work, watch);
    if (!run) return std::unexpected(run.error());
    if (run->error) return std::unexpected(std::move(*run->error));
    if (run->ended) return std::move(run->found);
    if (!run->asking || fatal.size() == crashes_most)
      return fail(ErrorKind::infeasible, source.file,
                  fmt::format("the library ends or stops the process that asks it{}",
                              fatal.empty() ? "" : fmt::format(" ({} times)", fatal.size())),
                  "is it of this driver?");
    fatal.emplace(key_of(*run->asking), *run->asking);
  }
}

Result<Found> interview(const Source& source, GpuIndex gpu,
                        const std::function<void(Door&)>& first) {
  return in_a_process(source, [&](Inside& inside) -> Result<void> {
    void* const library = ::dlopen(source.file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      ask_functions(inside.asking, library);
      ask_closed(inside.asking, library);
    }
    const auto door = NvmlDoor::open(source.file);
    if (!door) return std::unexpected(door.error());
    if (first) first(**door);
    const nvml::EveryFunction functions = smi::functions_of(source.file);
    Subject subject{&functions, nullptr, false};
    const auto handle =
        functions.nvmlDeviceGetHandleByIndex_v2(static_cast<std::uint32_t>(gpu), &subject.device);
    if (handle != nvml::Return::success)
      return std::unexpected(error_of({handle, "nvmlDeviceGetHandleByIndex_v2"}, place_of(gpu)));
    const auto mig = (*door)->mig_mode(gpu);
    subject.mig = mig && mig->current;
    ask_all(inside.asking, library, subject);
    std::ostringstream recording;
    record_reading(**door, recording, gpu);
    const std::string lines = recording.str();
    for (const std::string_view line : split(lines, '\n'))
      if (!line.empty()) inside.record(line);
    return {};
  });
}

}  // namespace cleave::certify
