// `cleave submit`: gives the daemon a job, an array or a file of jobs; with --follow, a job's
// outputs as they come.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "api/job_file.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/shell_word.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"
#include "cli/daemon/log_stream.hpp"
#include "cli/daemon/program_check.hpp"
#include "cli/daemon/submission.hpp"
#include "cli/interrupts.hpp"

namespace cleave::cli {

namespace {

struct SubmitCommandOptions : DaemonOptions {
  SubmitOptions job;
  std::vector<std::string> before_dashes;
  bool wait = false, follow = false, raw = false;
  std::string key;           // empty: one of its own
  std::string file;          // of jobs; empty: there is one job
  std::int64_t at_once = 0;  // of these; 0: all
  std::string patience = usual_patience;
};

/// As the daemon takes them.
Check submission_key() {
  return Check([](const std::string& text) -> std::string {
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
    if (!text.empty() && text.size() <= 255 && printable) return {};
    return "a key is 1 to 255 printable characters of ASCII";
  });
}

std::string random_key() {
  std::random_device random;
  std::string key;
  for (int words = 0; words < 4; ++words) key += fmt::format("{:08x}", random());
  return key;
}

/// Asks the user on the terminal, wherever the outputs lead; nothing where there is none, or the
/// question was interrupted too.
std::optional<bool> asked_on_terminal(const std::string& question) {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return std::nullopt;
  std::string text = fmt::format("\n{} [y/N] ", question), answer;
  bool heard = ::write(terminal, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  char c = 0;
  while (heard && answer.size() < 100) {
    const ssize_t got = ::read(terminal, &c, 1);
    if (got < 0) heard = false;  // interrupted once more: that is no "yes"
    if (got <= 0 || c == '\n') break;
    answer += c;
  }
  ::close(terminal);
  if (!heard) return std::nullopt;
  return answer == "y" || answer == "Y" || answer == "yes";
}

class JobFollow {
 public:
  JobFollow(const DaemonOptions& options, std::int64_t job, std::chrono::seconds patience, bool raw)
      : options_(options), job_(job), patience_(patience), raw_(raw) {}

  Result<int> run() {
    const Interrupts interrupts(Interrupts::Waiting::ends);
    std::jthread out([this] { output("stdout", STDOUT_FILENO); });
    std::jthread err([this] { output("stderr", STDERR_FILENO); });
    const auto code = until_over();
    if (!code || detached_) stop_ = true;
    return code;
  }

 private:
  /// One of the two threads that print.
  void output(const char* stream, int descriptor) {
    auto daemon = open_daemon(options_, [this] { return stop_.load(); });
    if (!daemon) return;
    OutputSink sink(descriptor, raw_);
    const LogRequest request{job_, stream, 1, false, 0, patience_};
    const bool tells = descriptor == STDERR_FILENO;
    try {
      const auto followed = follow_log(
          *daemon, request,
          [&](std::string_view bytes) {
            const std::lock_guard nobody_is_asked(printing_);
            sink.write(bytes);
          },
          [&](const std::string& remark) {
            const std::lock_guard nobody_is_asked(printing_);
            if (tells) tell("cleave: {}\n", visible(remark));
          });
      sink.finish();
      if (!followed && !stop_) tell("cleave: {}: {}\n", stream, visible(followed.error().text()));
    } catch (const std::exception& failure) {
      // What is written to has been closed, such as a pipe: the job and its end matter all the
      // same.
      tell("cleave: {}\n", visible(failure.what()));
    }
  }

  Result<int> until_over() {
    auto daemon = open_daemon(options_, [] { return Interrupts::came() != 0; });
    if (!daemon) return std::unexpected(daemon.error());
    while (true) {
      const auto document = wait_for_job(*daemon, job_, patience_);
      if (document) {
        const auto job = read_job(*document, "the daemon's answer");
        if (!job) return std::unexpected(job.error());
        last_ = end_in_words(*job);
        failed_ = job->state != "finished";
        return exit_code_of(*job);
      }
      const int signal = Interrupts::take();
      if (signal == 0) return std::unexpected(document.error());
      const auto go_on = interrupted(*daemon, signal);
      if (!go_on) return std::unexpected(go_on.error());
      if (!*go_on) return 128 + signal;
    }
  }

  /// Whether the job is still followed after this signal.
  Result<bool> interrupted(ApiClient& daemon, int signal) {
    const std::lock_guard quiet(printing_);
    const auto cancel =
        signal == SIGINT ? asked_on_terminal(fmt::format("Cancel job {}?", job_)) : std::nullopt;
    Interrupts::take();
    if (cancel.value_or(false)) {
      const auto cancelled = daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", job_));
      if (!cancelled) return std::unexpected(cancelled.error());
      return true;
    }
    detached_ = true;
    fmt::print(
        stderr,
        "cleave: job {} continues; `cleave logs -f {}` follows it, `cleave cancel {}` ends it\n",
        job_, job_, job_);
    return false;
  }

 public:
  /// What is said at the end about a job that did not finish well.
  [[nodiscard]] std::string last_words() const {
    return failed_ && !detached_ ? last_ : std::string();
  }

 private:
  const DaemonOptions& options_;
  std::int64_t job_;
  std::chrono::seconds patience_;
  bool raw_, detached_ = false, failed_ = false;
  std::string last_;
  std::atomic<bool> stop_{false};
  std::mutex printing_;  // held while the user is asked
};

/// Standard output of the job to standard output, its standard error to standard error, through all
/// its attempts; the exit code of the job. On Ctrl-C the terminal is asked whether the job is to be
/// cancelled; without a terminal, or where the answer is no, the job goes on, a line says how to
/// end it, and the exit code is 128 + the signal.
Result<int> follow_job(const DaemonOptions& options, std::int64_t job,
                       std::chrono::seconds patience, bool raw) {
  JobFollow follow(options, job, patience, raw);
  const auto code = follow.run();
  if (const std::string last = follow.last_words(); !last.empty()) tell("cleave: {}\n", last);
  return code;
}

/// What was sent and taken.
struct Taken {
  std::vector<std::int64_t> jobs;  // numbers
  Json document;                   // the answer
};

/// Again while no answer comes, once it may have been taken: the key has it taken once.
Result<ApiAnswer> send_with_key(const SubmitCommandOptions& options, const std::string& body) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const std::string key = options.key.empty() ? random_key() : options.key;
  const auto send = [&] {
    return options.file.empty() ? daemon->submit(body, key) : daemon->submit_several(body, key);
  };
  auto answer = send();
  if (answer || !daemon->may_be_taken()) return answer;
  answer = patiently<ApiAnswer>(*daemon, patience_of(options.patience), send);
  if (!answer && daemon->unreachable())
    answer.error().remedy = fmt::format(
        "the job may have been taken; the same command with --key {} submits it if it was not",
        shell_word(key));
  return answer;
}

/// The daemon is asked only where a word needs it.
SubmitOptions::Resolve resolver(const SubmitCommandOptions& options) {
  return [&options](const std::string& word) -> Result<std::vector<std::string>> {
    auto daemon = open_daemon(options);
    if (!daemon) return std::unexpected(daemon.error());
    return find_dependency(*daemon, word);
  };
}

Result<Json> document_of(const SubmitCommandOptions& options,
                         const std::vector<std::string>& command) {
  std::vector<std::string> left_out;
  auto document = options.job.document(command, resolver(options), left_out);
  if (!document) return document;
  for (const std::string& name : left_out)
    tell("cleave: the variable {} is not UTF-8 and is left out\n", visible(name));
  return document;
}

Result<Json> answer_to(const SubmitCommandOptions& options, const Json& body,
                       const std::function<Error(Error)>& placed) {
  auto answer = send_with_key(options, body.dump());
  if (!answer) return std::unexpected(placed(std::move(answer.error())));
  auto document = parse_json(answer->body, "the daemon's answer");
  if (!document) document.error().kind = ErrorKind::internal;
  if (document && answer->status == 200 && !options.key.empty())
    tell("cleave: the job was submitted before with this key\n");
  return document;
}

Result<Taken> send_one(const SubmitCommandOptions& options) {
  if (command_words().empty() || !options.before_dashes.empty())
    return fail(
        ErrorKind::bad_usage, "COMMAND",
        options.before_dashes.empty() ? "no command is given"
                                      : fmt::format("'{}' was given without -- before it",
                                                    visible(options.before_dashes.front())),
        "write the command after --, as in `cleave submit --memory 9GiB -- python3 train.py`");
  const auto submission = document_of(options, command_words());
  if (!submission) return std::unexpected(submission.error());
  if (const auto there = check_program(*submission); !there) return std::unexpected(there.error());
  auto document = answer_to(options, *submission, of_its_option);
  if (!document) return std::unexpected(document.error());
  const auto job = read_job(*document, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  Taken taken{{job->id}, std::move(*document)};
  if (!job->array || job->array->tasks == 1) return taken;
  const std::int64_t step = (job->array->last - job->id) / (job->array->tasks - 1);
  for (std::int64_t each = 1; each < job->array->tasks; ++each)
    taken.jobs.push_back(job->id + each * step);
  return taken;
}

/// The names of dependencies in a line, as the option's are. Of those on other lines of the file,
/// "ok:#3", it takes out the words and returns them.
Result<Json> named_dependencies(const SubmitCommandOptions& options, FileJob& job,
                                const std::string& place) {
  Json of_file = Json::array();
  const Json after = job.keys.value("after", Json());
  if (!after.is_array()) return of_file;
  Json& numbers = job.keys["after"] = Json::array();
  for (const Json& each : after) {
    if (!each.is_string()) {
      numbers.push_back(each);
      continue;
    }
    const auto word = each.get<std::string>();
    if (word.contains(":#")) {
      of_file.push_back(each);
      continue;
    }
    const auto found = resolver(options)(word);
    if (!found) return fail_at(fmt::format("{}: after", place), found.error());
    for (const std::string& one : *found) numbers.push_back(one);
  }
  return of_file;
}

/// All that can be checked here.
Result<void> check_line(const SubmitCommandOptions& options, const Json& common, FileJob& job,
                        const std::string& place) {
  const auto of_file = named_dependencies(options, job, place);
  if (!of_file) return std::unexpected(of_file.error());
  Json whole = common;
  whole.update(job.keys);
  if (const auto sound = read_submission(whole, place); !sound)
    return std::unexpected(sound.error());
  if (auto there = check_program(whole); !there) {
    there.error().place = place;
    return there;
  }
  for (const Json& each : *of_file) job.keys["after"].push_back(each);
  return {};
}

/// "submission 3: memory_mib" is said of a line.
Error of_its_line(Error error, const std::string& file, const std::vector<FileJob>& jobs) {
  constexpr std::string_view begin = "submission ";
  if (!error.place.starts_with(begin)) return of_its_option(std::move(error));
  const std::string_view rest = std::string_view(error.place).substr(begin.size());
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const auto number = parse_integer(rest.substr(0, colon));
  if (!number || *number < 1 || *number > std::ssize(jobs)) return error;
  const FileJob& job = jobs[static_cast<std::size_t>(*number - 1)];
  error.place = fmt::format("{}:{}{}", file, job.line, rest.substr(colon));
  return error;
}

/// What options say holds for every line that does not say it itself.
Result<Taken> send_file(const SubmitCommandOptions& options) {
  if (!command_words().empty() || !options.before_dashes.empty())
    return fail(ErrorKind::bad_usage, "COMMAND", "the file has the commands",
                "leave out either --file or the command");
  const std::string file = options.file == "-" ? "standard input" : visible(options.file);
  const auto text = read_text(options.file);
  if (!text) return std::unexpected(text.error());
  auto jobs = parse_job_file(*text, file);
  if (!jobs) return std::unexpected(jobs.error());
  if (const auto linked = link_lines(*jobs, file); !linked) return std::unexpected(linked.error());
  auto common = document_of(options, {"sh"});  // in place of those in the file
  if (!common) return std::unexpected(common.error());
  common->erase("command");
  Json list = Json::array();
  for (FileJob& each : *jobs) {
    const std::string place = fmt::format("{}:{}", file, each.line);
    if (!each.keys.contains("command"))
      return fail(ErrorKind::bad_input, place, "the key 'command' is missing",
                  R"(give the program and its arguments, as in "command": ["./train", "1"], or a )"
                  "command of the shell as one text");
    if (const auto fine = check_line(options, *common, each, place); !fine)
      return std::unexpected(fine.error());
    list.push_back(each.keys);
  }
  Json body{{"submissions", std::move(list)}, {"common", std::move(*common)}};
  if (options.at_once > 0) body["at_once"] = options.at_once;
  auto document = answer_to(
      options, body, [&](Error error) { return of_its_line(std::move(error), file, *jobs); });
  if (!document) return std::unexpected(document.error());
  Taken taken;
  std::optional<Error> error;
  JsonReader in(*document, "the daemon's answer", error);
  taken.jobs = in.integers("jobs", 1, INT64_MAX);
  if (!error && taken.jobs.empty()) in.refuse("jobs", "there is none");
  if (error) {
    error->kind = ErrorKind::internal;
    return std::unexpected(*error);
  }
  taken.document = std::move(*document);
  return taken;
}

/// The exit code of the first that is not 0.
Result<int> wait_for(const SubmitCommandOptions& options,
                     const std::vector<std::int64_t>& numbers) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  int code = 0;
  Json documents = Json::array();
  for (const std::int64_t number : numbers) {
    auto document = wait_for_job(*daemon, number, patience_of(options.patience));
    if (!document) return std::unexpected(document.error());
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!options.json && job->state != "finished") tell("cleave: {}\n", end_in_words(*job));
    if (code == 0) code = exit_code_of(*job);
    documents.push_back(std::move(*document));
  }
  if (options.json) print(numbers.size() == 1 ? documents.front() : Json{{"jobs", documents}});
  return code;
}

/// "job 12", "array 12: 200 jobs, 12 to 211", "20 jobs, 12 to 31"
std::string taken_text(const SubmitCommandOptions& options, const Taken& taken) {
  if (taken.jobs.size() == 1) return fmt::format("job {}", taken.jobs.front());
  const std::string jobs =
      fmt::format("{} jobs, {} to {}", taken.jobs.size(), taken.jobs.front(), taken.jobs.back());
  return options.file.empty() ? fmt::format("array {}: {}", taken.jobs.front(), jobs) : jobs;
}

Result<int> submit(const SubmitCommandOptions& options) {
  const auto taken = options.file.empty() ? send_one(options) : send_file(options);
  if (!taken) return std::unexpected(taken.error());
  // With --follow standard output is the job's.
  if (!options.json)
    fmt::print(options.follow ? stderr : stdout, "{}\n", taken_text(options, *taken));
  if (const std::string remark = options.job.times_remark(); !options.json && !remark.empty())
    tell("cleave: {}\n", remark);
  if (!options.wait && !options.follow) {
    if (options.json) print(taken->document);
    return 0;
  }
  std::fflush(stdout);
  if (options.wait) return wait_for(options, taken->jobs);
  return follow_job(options, taken->jobs.front(), patience_of(options.patience), options.raw);
}

Result<int> submit_or_wait(const SubmitCommandOptions& options) {
  const auto code = submit(options);
  return options.wait || options.follow ? or_125(code, options.json) : code;
}

}  // namespace

void add_submit(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "submit",
                  "Submit a job to the daemon: a command that runs as you, in this directory and "
                  "with your environment, on an instance made for it. Prints the job's number",
                  "cleave submit --memory 9GiB --restartable -- python3 train.py", submit_or_wait);
  options.job.add(*command);
  Option* file = command->add_option(
      "--file", options.file,
      "Submit the jobs of this file, all or none; - for standard input: a command of the shell a "
      "line, or a JSON object a line with the keys of docs/job-fields.md. Other options hold for "
      "each line that does not say otherwise");
  file->check(not_empty());
  command
      ->add_option("--at-once", options.at_once,
                   "With --file: how many of its jobs may run at a time, as %20 says of an array")
      ->check(Check::range(std::int64_t{1}, most_array_tasks))
      ->needs(file);
  command
      ->add_option(
          "--key", options.key,
          "Of all submissions of yours with this key only one is taken, and the others are "
          "answered with its job, as long as the daemon keeps it; they must be the same, "
          "environment included. For scripts that may run twice")
      ->check(submission_key())
      ->default_str("a random one");
  Option* wait = command->add_flag("--wait", options.wait,
                                   "Wait until the job ends and exit with its code, or with 125 if "
                                   "it never ran or was lost, or no daemon answers");
  Option* follow = command->add_flag("--follow", options.follow,
                                     "Like --wait, and print its outputs as they come; Ctrl-C asks "
                                     "whether to cancel the job");
  follow->excludes(wait);
  command
      ->add_flag("--raw", options.raw,
                 "With --follow: print control characters to a terminal as they are")
      ->needs(follow);
  add_patience(*command, options.patience);
  add_daemon(*command, options);
  follow->excludes("--json");
  follow->excludes(file);
  follow->excludes("--array");
  command->add_option("COMMAND", options.before_dashes, "After --: the command and its arguments");
}

}  // namespace cleave::cli
