// `cleave reproduce all`: every reproduction, two at a time, each into files of one folder. Each is
// a process of this program with the command line that a person would write, which the answer
// shows.

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/shell_word.hpp"
#include "cli/child_program.hpp"
#include "cli/columns.hpp"
#include "cli/workload_arguments.hpp"
#include "study/reproduce/page_command.hpp"

namespace cleave::cli {

namespace {

namespace fs = std::filesystem;

/// One reproduction. Those that take longest come first.
struct Study {
  std::string_view name;
  std::string_view data_option;  // empty: it needs no data
  std::string_view data;         // what of the folder of data it reads; empty: the folder
  bool needs;                    // it says nothing without them
  bool writes;                   // has --write: a page with figures
  std::string_view fewer;        // what --quick adds, words by spaces
};

constexpr Study studies[] = {
    {"completion-time", "--data", "mig-parvagpu-a100-80gb/inference_profiles.csv", true, false, ""},
    {"dyna-p", "", "", false, true, "--seeds 3 --cluster-jobs 500"},
    {"migm", "", "", false, true, "--seeds 2"},
    {"optimal-placement", "", "", false, true, "--cases 10"},
    {"online", "--data", "", false, true, "--seeds 5"},
    {"taming", "", "", false, true, ""},
    {"memory-alarms", "--data", "", true, false, "--seeds 1"},
    {"physics", "--data", "", true, false, ""},
    {"co-runs", "--data", "", false, false, ""},
    {"carma", "--tasks", "carma-dl-tasks/training_tasks.csv", true, false, ""},
};

struct AllCommandOptions : PageOptions {
  std::string data;
  std::vector<std::string> only;
  bool quick = false;
};

/// What became of a study.
struct Outcome {
  std::string study, command, result, file;
  double seconds = 0;
};

const Columns<Outcome> outcome_columns = {
    {"study", "study", &Outcome::study},
    {"result", "result", &Outcome::result},
    {"seconds", "seconds", &Outcome::seconds, decimals(1)},
    {"file", "file", &Outcome::file},
    {"command", "command", &Outcome::command},
};

std::vector<std::string> words_of(const Study& study, const AllCommandOptions& options) {
  std::vector<std::string> words = {"reproduce", std::string(study.name)};
  if (!study.data_option.empty() && !options.data.empty()) {
    words.emplace_back(study.data_option);
    words.push_back((fs::path(options.data) / study.data).lexically_normal().string());
  }
  if (study.writes) words.insert(words.end(), {"--write", options.folder});
  if (options.quick)
    for (const std::string_view word : split(study.fewer, ' '))
      if (!word.empty()) words.emplace_back(word);
  return words;
}

/// The command as a person would write it.
std::string as_written(const std::vector<std::string>& words) {
  std::string line = "cleave";
  for (const std::string& word : words) line += fmt::format(" {}", shell_word(word));
  return line;
}

/// Why the study cannot run; empty where it can.
std::string missing(const Study& study, const AllCommandOptions& options) {
  if (!study.needs) return "";
  if (options.data.empty()) return "skipped: it needs --data";
  const fs::path path = fs::path(options.data) / study.data;
  std::error_code failed;
  return fs::exists(path, failed) ? "" : fmt::format("skipped: no {}", shown(path.string(), 200));
}

Outcome run_study(const Study& study, const AllCommandOptions& options) {
  const auto words = words_of(study, options);
  Outcome outcome{std::string(study.name), as_written(words), missing(study, options), "", 0};
  if (!outcome.result.empty()) return outcome;
  std::vector<std::string> command = {"/proc/self/exe"};
  command.insert(command.end(), words.begin(), words.end());
  const auto begin = std::chrono::steady_clock::now();
  const auto said = run_to_end(command, true);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!said) {
    outcome.result = fmt::format("failed: {}", said.error().message);
    return outcome;
  }
  const fs::path file = fs::path(options.folder) / fmt::format("{}.txt", study.name);
  const auto written = write_whole(file.string(), *said);
  outcome.result = written ? "written" : fmt::format("failed: {}", written.error().message);
  outcome.file = file.string();
  return outcome;
}

std::vector<Outcome> run_all(const AllCommandOptions& options) {
  std::vector<Study> wanted;
  std::ranges::copy_if(studies, std::back_inserter(wanted), [&](const Study& study) {
    return options.only.empty() || std::ranges::count(options.only, study.name) > 0;
  });
  std::vector<Outcome> outcomes(wanted.size());
  ProgressLine progress("reproducing", wanted.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < wanted.size(); i = next++) {
      const Progress told = progress.of_run(i);
      if (told) told(0, 1);
      outcomes[i] = run_study(wanted[i], options);
      if (told) told(1, 1);
    }
  };
  {
    const std::jthread second(work);
    work();
  }
  return outcomes;
}

Result<int> all(const AllCommandOptions& options) {
  if (const auto there = data_is_there(options.data); !there) return std::unexpected(there.error());
  if (const auto made = make_folder(options.folder); !made) return std::unexpected(made.error());
  const std::vector<Outcome> outcomes = run_all(options);
  if (options.json)
    print(Json{{"studies", json_rows(outcome_columns, outcomes)}});
  else
    fmt::print("{}", text_rows(outcome_columns, outcomes));
  const bool whole = std::ranges::none_of(
      outcomes, [](const Outcome& each) { return each.result.starts_with("failed"); });
  return whole ? 0 : 1;
}

}  // namespace

void add_reproduce_all(CommandLine& reproduce, Run& run) {
  const auto [command, options] =
      add_command(reproduce, run, "all", "Every reproduction below, each into files of one folder",
                  "cleave reproduce all --data DIR --write results", all);
  command->add_option("--data", options.data,
                      "Folder with the published measurements; what needs them is skipped without");
  add_page_options(*command, options, "the results")->required();
  std::vector<std::string> names;
  for (const Study& study : studies) names.emplace_back(study.name);
  command->add_option("--only", options.only, "Some of them, separated by commas")
      ->delimiter(',')
      ->check(Check::one_of(names));
  command->add_flag("--quick", options.quick, "Fewer cases and seeds where there is a choice");
}

}  // namespace cleave::cli
