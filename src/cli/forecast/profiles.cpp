// `cleave profiles`: a profile repository: measurements into it, what it has, what others take out
// of it.

#include "cli/forecast/profiles.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "device/file_handle.hpp"

namespace cleave::cli {

namespace {

struct ProfilesCommandOptions {
  std::string repository, from, rule = "mean", as = "training", to;
  ProfileFilter filter;
  bool json = false;
};

bool there(const std::string& path) {
  struct stat ignored = {};
  return ::stat(path.c_str(), &ignored) == 0;
}

std::string about(const ProfileKey& key) {
  return fmt::format("{} batch {} on {} {}{}", shown(key.application), key.batch, key.gpu_model,
                     key.profile, key.offload ? " + host memory" : "");
}

/// The filter with the GPU model by its key.
Result<ProfileFilter> filter_of(const ProfilesCommandOptions& options) {
  ProfileFilter filter = options.filter;
  if (filter.gpu_model.empty()) return filter;
  const auto model = find_gpu_model(filter.gpu_model);
  if (!model) return fail_at("--gpu", model.error());
  filter.gpu_model = (*model)->key;
  return filter;
}

/// Held while the repository is read, extended and replaced, so that other processes wait. The
/// folder is locked, since each change makes a new file.
Result<FileHandle> take_turn(const std::string& repository) {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::weakly_canonical(repository, failed);
  const std::filesystem::path folder = failed || !file.has_parent_path() ? "." : file.parent_path();
  auto handle = FileHandle::open(folder, O_RDONLY | O_DIRECTORY);
  if (!handle) return handle;
  while (::flock(handle->descriptor(), LOCK_EX) != 0)
    if (errno != EINTR) return system_failure(folder, "cannot be locked");
  return handle;
}

Result<int> add(const ProfilesCommandOptions& options) {
  // Standard input may take its time: others do not wait for that.
  const auto text = read_text(options.from);
  if (!text) return std::unexpected(text.error());
  const auto turn = take_turn(options.repository);
  if (!turn) return std::unexpected(turn.error());
  ProfileRepository repository;
  if (there(options.repository)) {
    auto loaded = load_repository(options.repository);
    if (!loaded) return std::unexpected(loaded.error());
    repository = std::move(*loaded);
  }
  if (same_file(options.from, options.repository))
    return fail(ErrorKind::bad_usage, shown(options.from, 200), "it is the repository itself",
                "name a file of new measurements");
  const std::size_t before = repository.records().size();
  const std::string place = options.from == "-" ? "standard input" : shown(options.from, 200);
  const auto lines = add_profiles(repository, *text, place, *merge_rule(options.rule));
  if (!lines) return std::unexpected(lines.error());
  if (const auto written = write_whole(options.repository, repository_text(repository)); !written)
    return std::unexpected(written.error());
  const std::size_t after = repository.records().size();
  if (options.json) {
    print(Json{{"read", *lines}, {"new", after - before}, {"profiles", after}});
  } else {
    say("{}: {} read, {} new, {} merged ({}); {} now\n", shown(options.repository, 200),
        counted(*lines, "profile"), after - before, *lines - (after - before), options.rule, after);
  }
  return 0;
}

/// The records of the repository that pass, as a repository.
Result<ProfileRepository> chosen(const ProfilesCommandOptions& options) {
  const auto repository = load_repository(options.repository);
  if (!repository) return repository;
  const auto filter = filter_of(options);
  if (!filter) return std::unexpected(filter.error());
  ProfileRepository result;
  for (const ProfileRecord* record : filtered(*repository, *filter))
    result.add(*record, MergeRule::mean);
  return result;
}

std::string cell(std::optional<double> value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

Result<int> list(const ProfilesCommandOptions& options) {
  const auto repository = chosen(options);
  if (!repository) return std::unexpected(repository.error());
  if (options.json) {
    Json records = Json::array();
    const std::string text = repository_text(*repository);
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty()) records.push_back(Json::parse(line));
    print(Json{{"profiles", records}});
    return 0;
  }
  Table table({"application", "GPU model", "batch", "profile", "host memory", "time s", "peak MiB",
               "tokens/s", "items/s", "p98 s", "counters", "samples", "date"});
  for (const auto& [key, record] : repository->records())
    table.add({shown(key.application), key.gpu_model, fmt::format("{}", key.batch), key.profile,
               key.offload ? "yes" : "", cell(record.time_s),
               record.peak_memory ? fmt::format("{}", record.peak_memory->value) : "-",
               cell(record.tokens_per_s), cell(record.throughput_per_s), cell(record.p98_latency_s),
               fmt::format("{}", record.counters.size()), fmt::format("{}", record.samples),
               record.date});
  say("{}{}\n", table.text(), counted(repository->records().size(), "profile"));
  return 0;
}

/// What is exported, as text that the command it is for reads.
Result<std::string> exported(const ProfilesCommandOptions& options,
                             std::vector<LeftOutProfile>& left_out) {
  const auto repository = load_repository(options.repository);
  if (!repository) return std::unexpected(repository.error());
  const auto filter = filter_of(options);
  if (!filter) return std::unexpected(filter.error());
  if (options.as == "training") {
    TrainingTable table = training_table(*repository, *filter);
    left_out = std::move(table.left_out);
    return table.csv;
  }
  if (options.as == "recommend") {
    auto measured = reward_question(*repository, *filter);
    if (!measured) return fail_at(shown(options.repository, 200), measured.error());
    left_out = std::move(measured->left_out);
    return to_json(measured->question).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  if (filter->gpu_model.empty())
    return fail(ErrorKind::bad_usage, "--as choose", "partitions are those of one GPU model",
                "add --gpu MODEL");
  const auto model = find_gpu_model(filter->gpu_model);
  if (!model) return std::unexpected(model.error());
  const BatchQuestion tables = batch_tables(*repository, **model, &left_out);
  return to_json(tables).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<int> export_command(const ProfilesCommandOptions& options) {
  if (const auto free = not_read_too("--to", options.to, {options.repository}); !free)
    return std::unexpected(free.error());
  std::vector<LeftOutProfile> left_out;
  const auto text = exported(options, left_out);
  if (!text) return std::unexpected(text.error());
  say_left_out(left_out);
  if (options.to.empty()) {
    fmt::print("{}", *text);
    return 0;
  }
  if (const auto written = write_whole(options.to, *text); !written)
    return std::unexpected(written.error());
  return 0;
}

struct LearntOptions : DaemonOptions {
  std::string user;
};

/// The daemon's records, one a line.
Result<int> learnt(const LearntOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const std::string query =
      options.user.empty() ? std::string() : fmt::format("?user={}", percent_encoded(options.user));
  const auto answer = daemon->ask_json("GET", "/v1/profiles" + query);
  if (!answer) return std::unexpected(answer.error());
  if (options.json) {
    print(*answer);
    return 0;
  }
  for (const Json& record : answer->value("profiles", Json::array()))
    fmt::print("{}\n", record.dump(-1, ' ', true, Json::error_handler_t::replace));
  return 0;
}

void add_learnt(CommandLine& profiles, Run& run) {
  const auto [command, options] = add_command(
      profiles, run, "learnt",
      "Print what your jobs taught the daemon of their applications, as lines of a repository",
      "cleave profiles learnt > learnt.jsonl", learnt);
  command
      ->add_option("--user", options.user,
                   "What jobs of this user taught, or of all users; only operators see those of "
                   "others")
      ->check(not_empty());
  add_daemon(*command, options);
}

void add_filter(CommandLine& command, ProfilesCommandOptions& options) {
  command.add_option("--application", options.filter.application, "Profiles of this application")
      ->check(not_empty());
  command.add_option("--batch", options.filter.batch, "Profiles of this batch size")
      ->check(whole_number(1));
  command.add_option("--gpu", options.filter.gpu_model, "Profiles of this GPU model")
      ->check(not_empty());
}

/// A subcommand of `profiles` with the repository it is about.
AddedCommand<ProfilesCommandOptions> add_action(CommandLine& profiles, Run& run,
                                                const std::string& name, const std::string& what,
                                                const std::string& example,
                                                Result<int> (*act)(const ProfilesCommandOptions&)) {
  const auto added = add_command(profiles, run, name, what, example, act);
  added.command
      ->add_option("--repository", added.options.repository, "The profile repository, a file")
      ->required()
      ->check(not_empty());
  return added;
}

}  // namespace

Result<ProfileRepository> load_repository(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  ProfileRepository repository;
  const auto lines = add_profiles(repository, *text, shown(path, 200), MergeRule::mean);
  if (!lines) return std::unexpected(lines.error());
  return repository;
}

void say_left_out(const std::vector<LeftOutProfile>& left_out) {
  constexpr std::size_t most_named = 3;
  if (left_out.empty()) return;
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(left_out.size(), most_named); ++i)
    named.push_back(fmt::format("{} lacks {}", about(left_out[i].key), left_out[i].lacks));
  tell("cleave: {} left out: {}{}\n", counted(left_out.size(), "profile"), fmt::join(named, "; "),
       left_out.size() > most_named ? "; ..." : "");
}

void add_profiles_command(CommandLine& program, Run& run) {
  CommandLine* profiles = add_command(
      program, "profiles", "Manage a profile repository: measurements of applications on profiles",
      "cleave profiles list --repository examples/profiles/repository.jsonl");
  profiles->require_subcommand();
  const auto [adding, added] =
      add_action(*profiles, run, "add", "Merge measurements into the repository",
                 "cleave profiles add --repository profiles.jsonl measured.jsonl", add);
  adding
      ->add_option("FILE", added.from,
                   "Measurements, one JSON object per line; - reads standard input")
      ->required();
  adding
      ->add_option("--merge", added.rule,
                   "How to merge a profile that already exists: mean or replace")
      ->check(Check::one_of({"mean", "replace"}))
      ->default_str("mean");
  add_json(*adding, added.json);
  const auto [listing, listed] =
      add_action(*profiles, run, "list", "List the profiles in the repository",
                 "cleave profiles list --repository examples/profiles/repository.jsonl", list);
  add_filter(*listing, listed);
  add_json(*listing, listed.json);
  const auto [exporting, given] = add_action(
      *profiles, run, "export",
      "Export tables for training (CSV), or input for recommend and choose (JSON)",
      "cleave profiles export --repository examples/profiles/repository.jsonl --as training",
      export_command);
  exporting->add_option("--as", given.as, "training, recommend or choose")
      ->check(Check::one_of({"training", "recommend", "choose"}))
      ->default_str("training");
  exporting->add_option("--to", given.to, "Write to this file instead of standard output")
      ->check(not_empty());
  add_filter(*exporting, given);
  add_learnt(*profiles, run);
}

}  // namespace cleave::cli
