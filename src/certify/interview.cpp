#include "certify/interview.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
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

/// Processes that may end before the rest is left.
constexpr std::size_t crashes_most = 1000;

/// What is known of questions from processes that ended, by topic and question.
using Known = std::map<std::string, Answer>;

std::string key_of(const Answer& question) {
  return fmt::format("{} {}", name(question.topic), question.question());
}

/// Writes lines of JSON to a pipe: "asking" before each call, then "answer".
class Reporter final : public Listener {
 public:
  Reporter(int pipe, const Known& known, bool goes_on)
      : pipe_(pipe), known_(known), goes_on_(goes_on) {}

  bool begin(const Answer& question) override {
    const auto known = known_.find(key_of(question));
    if (known == known_.end()) {
      write({{"asking", to_json(question)}});
      return true;
    }
    end(known->second);
    return false;
  }
  /// What is known stays known where the process goes on.
  void end(const Answer& answer) override {
    if (!goes_on_ || !known_.contains(key_of(answer))) write({{"answer", to_json(answer)}});
  }

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
  const Known& known_;
  bool goes_on_;
};

[[noreturn]] void run_inside(const Source& source, int pipe, const Known& known, bool goes_on,
                             const std::function<Result<void>(Inside&)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};  // crashes are expected, and told
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (source.node)
    ::setenv(sim_node_variable, source.node->c_str(), 1);
  else
    ::unsetenv(sim_node_variable);
  Reporter reporter(pipe, known, goes_on);
  Asking asking(reporter);
  Inside inside{asking,
                [&](std::string_view line) {
                  reporter.write({{"recording", std::string(line)}});
                },
                [&](std::string_view what) {
                  reporter.write({{"note", std::string(what)}});
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

using Clock = std::chrono::steady_clock;

/// The parent's end of one run.
struct Run {
  Found found;
  std::optional<Answer> asking;  // without an answer
  Clock::time_point since;       // when that was asked
  std::optional<Error> error;
  bool ended = false;
  std::string end = {};  // how the process ended
};

/// Tells the log of an answer, or of a question that ended its process.
void tell(const Watch& watch, const Answer& answer, Clock::time_point since) {
  if (!watch.log) return;
  const std::chrono::duration<double, std::milli> took = Clock::now() - since;
  std::string what(name(answer.outcome));
  if (answer.outcome == Outcome::answered) what = text(answer.code);
  if (!answer.note.empty()) what += ": " + answer.note;
  watch.log(fmt::format("{:9.1f} ms  {}: {}: {}", took.count(), name(answer.topic),
                        answer.question(), what));
}

Result<void> take_line(std::string_view text, const Watch& watch, Run& run) {
  const std::string place = "the process that asks";
  const auto line = parse_json_line(text, place);
  if (!line) return std::unexpected(line.error());
  if (line->contains("asking") || line->contains("answer")) {
    const bool answer = line->contains("answer");
    auto read = answer_from((*line)[answer ? "answer" : "asking"], place);
    if (!read) return std::unexpected(read.error());
    if (answer)
      tell(watch, *read, run.asking ? run.since : Clock::now());
    else if (watch.log)
      watch.log(fmt::format("      asking  {}: {}", name(read->topic), read->question()));
    run.since = Clock::now();
    run.asking.reset();
    if (answer)
      run.found.answers.push_back(std::move(*read));
    else
      run.asking = std::move(*read);
  } else if (line->contains("recording")) {
    run.found.recording += (*line)["recording"].get<std::string>() + "\n";
  } else if (line->contains("note")) {
    if (watch.log) watch.log(fmt::format("       doing  {}", (*line)["note"].get<std::string>()));
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
      if (enough && !told_to_end) ::kill(child, watch.told_by);
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
      if (const auto taken =
              take_line(std::string_view(text).substr(begin, end - begin), watch, run);
          !taken)
        return std::unexpected(taken.error());
    text.erase(0, begin);
  }
}

Result<Run> run_once(const Source& source, const Known& known,
                     const std::function<Result<void>(Inside&)>& work, const Watch& watch) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorKind::infeasible, "pipe", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorKind::infeasible, "fork", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    run_inside(source, ends[1], known, watch.goes_on, work);
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
  run.end = *silent               ? fmt::format("silent for {} s", watch.most_silent.count() / 1000)
            : WIFSIGNALED(status) ? std::string(::strsignal(WTERMSIG(status)))
                                  : fmt::format("the process ended with {}", WEXITSTATUS(status));
  if (run.asking) {
    run.asking->outcome = *silent ? Outcome::silent : Outcome::crashed;
    run.asking->note = run.end;
    tell(watch, *run.asking, run.since);
  }
  return run;
}

/// Asks about an open GPU, all topics.
void ask_all(Asking& asking, const Subject& subject) {
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
}

/// The GPU of a library that the door has opened.
Result<Subject> subject_of(Door& door, const nvml::EveryFunction& functions, GpuIndex gpu) {
  Subject subject{&functions, nullptr, false};
  const auto handle =
      functions.nvmlDeviceGetHandleByIndex_v2(static_cast<std::uint32_t>(gpu), &subject.device);
  if (handle != nvml::Return::success)
    return std::unexpected(error_of({handle, "nvmlDeviceGetHandleByIndex_v2"}, place_of(gpu)));
  const auto mig = door.mig_mode(gpu);
  subject.mig = mig && mig->current;
  return subject;
}

/// `ask` with the library open.
Result<void> with_gpu(const Source& source, GpuIndex gpu,
                      const std::function<void(Door&, const Subject&)>& ask,
                      const std::function<void(Door&)>& first = {}) {
  const auto door = NvmlDoor::open(source.file);
  if (!door) return std::unexpected(door.error());
  if (first) first(**door);
  const nvml::EveryFunction functions = smi::functions_of(source.file);
  const auto subject = subject_of(**door, functions, gpu);
  if (!subject) return std::unexpected(subject.error());
  ask(**door, *subject);
  return {};
}

void record(Door& door, GpuIndex gpu, const Inside& inside) {
  std::ostringstream recording;
  record_reading(door, recording, gpu);
  const std::string lines = recording.str();
  for (const std::string_view line : split(lines, '\n'))
    if (!line.empty()) inside.record(line);
}

/// The library, open for looking up functions; the process ends before it would be closed.
void* library_of(const Source& source) {
  return ::dlopen(source.file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Puts what a later process has found behind what was found before.
void add(Found& found, Found more) {
  std::ranges::move(more.answers, std::back_inserter(found.answers));
  found.recording += more.recording;
}

/// A process that ended within a question: what it had found is kept or asked again.
void remember(Run& run, bool goes_on, Known& known, Found& found) {
  run.found.answers.push_back(*run.asking);
  if (!goes_on) {
    known.emplace(key_of(*run.asking), *run.asking);
    return;
  }
  for (const Answer& each : run.found.answers) known.emplace(key_of(each), each);
  add(found, std::move(run.found));
}

}  // namespace

Result<Found> in_a_process(const Source& source, const std::function<Result<void>(Inside&)>& work,
                           const Watch& watch) {
  Known known;
  Found found;
  for (std::size_t crashes = 0;; ++crashes) {
    auto run = run_once(source, known, work, watch);
    if (!run) return std::unexpected(run.error());
    if (run->error) return std::unexpected(std::move(*run->error));
    if (run->ended) {
      add(found, std::move(run->found));
      return found;
    }
    if (watch.enough && watch.enough()) return fail(ErrorKind::infeasible, "", "interrupted");
    if (!run->asking || crashes == crashes_most)
      return fail(ErrorKind::infeasible, source.file,
                  fmt::format("the library ends the process that asks it: {}, after {}", run->end,
                              run->found.answers.empty() ? std::string("no answer")
                                                         : run->found.answers.back().question()),
                  "is it of this driver?");
    remember(*run, watch.goes_on, known, found);
  }
}

Result<Found> interview(const Source& source, GpuIndex gpu, const Watch& outer,
                        const std::function<void(Door&)>& first) {
  const auto closed = [&](Inside& inside) -> Result<void> {
    void* const library = library_of(source);
    if (library == nullptr) return {};  // the next process says why
    ask_functions(inside.asking, library);
    ask_closed(inside.asking, library);
    return {};
  };
  const auto reading = [&](Inside& inside) {
    return with_gpu(
        source, gpu,
        [&](Door& door, const Subject& subject) {
          ask_all(inside.asking, subject);
          record(door, gpu, inside);
        },
        first);
  };
  const auto errors = [&](Inside& inside) {
    return with_gpu(source, gpu, [&](Door&, const Subject& subject) {
      ask_errors(inside.asking, library_of(source), subject);
    });
  };
  Watch watch;
  watch.enough = outer.enough;
  watch.told_by = SIGKILL;  // nothing is half done
  watch.log = outer.log;
  auto found = in_a_process(source, reading, watch);
  if (!found) return found;
  watch.goes_on = true;
  for (const std::function<Result<void>(Inside&)>& work :
       {std::function<Result<void>(Inside&)>(closed),
        std::function<Result<void>(Inside&)>(errors)}) {
    auto more = in_a_process(source, work, watch);
    if (watch.enough && watch.enough()) return fail(ErrorKind::infeasible, "", "interrupted");
    if (more)
      add(*found, std::move(*more));
    else
      found->answers.push_back(
          {Topic::errors, "the rest", "", Outcome::not_asked, {}, {}, more.error().text()});
  }
  return found;
}

}  // namespace cleave::certify
