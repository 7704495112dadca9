#include "cli/daemon/submission.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/forecast/model_input.hpp"
#include "cli/time_option.hpp"
#include "model/container_image.hpp"
#include "model/instances_text.hpp"
#include "model/run_variables.hpp"
#include "model/speed_table.hpp"
#include "physics/profile_times.hpp"

namespace cleave::cli {

namespace {

/// What the daemon sets for the processes of a job of several, unless its user did. In such a
/// process they are not the user's.
constexpr auto of_a_gang = std::to_array<std::string_view>(
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"});
/// What --clean-env keeps, and everything that begins with LC_.
constexpr auto of_the_user =
    std::to_array<std::string_view>({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TZ", "USER"});

/// Of these, what says where something is on this machine: in containers it is elsewhere.
constexpr auto of_this_machine = std::to_array<std::string_view>({"HOME", "PATH", "SHELL"});

/// A signal by its name without SIG. KILL and STOP are refused later, with the reason.
struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},   {"USR1", SIGUSR1},
    {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},   {"TSTP", SIGTSTP},
    {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
    {"PWR", SIGPWR},   {"KILL", SIGKILL}, {"STOP", SIGSTOP},
};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<std::vector<std::string>> environment_of(std::span<const std::string> all,
                                                std::span<const std::string> given, PassedOn passed,
                                                std::vector<std::string>& left_out) {
  std::map<std::string, std::string, std::less<>> variables, callers;
  const bool in_a_gang = std::ranges::any_of(
      all, [](const std::string& each) { return each.starts_with("CLEAVE_RANK="); });
  for (const std::string& each : all) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = each.substr(0, equals);
    // Those of the caller may be another job's.
    if (is_one_of(name, run_variables) || (in_a_gang && is_one_of(name, of_a_gang))) continue;
    callers[name] = each.substr(equals + 1);
    const bool of_user = is_one_of(name, of_the_user) || name.starts_with("LC_");
    const bool here = passed == PassedOn::container && is_one_of(name, of_this_machine);
    if (passed == PassedOn::all || (of_user && !here)) variables[name] = callers[name];
  }
  std::erase_if(variables, [&](const auto& variable) {
    if (valid_utf8(variable.first) && valid_utf8(variable.second)) return false;
    left_out.push_back(variable.first);
    return true;
  });
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    const auto refuse = [&](const std::string& why, const std::string& remedy) {
      return fail(ErrorKind::bad_usage, "--env", fmt::format("'{}' {}", visible(shown(name)), why),
                  remedy);
    };
    if (name.empty()) return refuse("has no name", "write NAME=VALUE, or NAME to pass your own on");
    if (is_one_of(name, run_variables))
      return refuse("is set for each run by the daemon", "leave it out");
    if (equals == std::string::npos && !callers.contains(name))
      return refuse("is not set here", "write NAME=VALUE, or export it first");
    variables[name] = equals == std::string::npos ? callers[name] : each.substr(equals + 1);
    if (!valid_utf8(name) || !valid_utf8(variables[name]))
      return refuse("is not UTF-8", "give it to the command in a file");
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables)
    environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

Result<std::string> image_of(const std::string& text) {
  std::error_code failed;
  const bool is_path = text.starts_with('/') || text.starts_with("./") || text.starts_with("../") ||
                       std::filesystem::exists(text, failed);
  if (!is_path) return text;
  auto path = std::filesystem::absolute(text, failed).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const bool is_there = image_kind(path.string()) == ImageKind::archive
                            ? std::filesystem::is_regular_file(path, failed)
                            : std::filesystem::is_directory(path, failed);
  if (is_there) return path.string();
  return fail(
      ErrorKind::bad_input, "--image",
      fmt::format("'{}' is neither a folder nor a .sif file", visible(shown(path.string(), 200))),
      "name the folder of a root file system, a .sif file, or an image that `podman "
      "images` lists");
}

Result<std::string> bind_of(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::error_code failed;
  auto path = std::filesystem::absolute(text.substr(0, colon), failed).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  if (colon > 0 && std::filesystem::exists(path, failed)) return path.string() + text.substr(colon);
  return fail(ErrorKind::bad_input, "--bind",
              fmt::format("'{}' is not there", visible(shown(path.string(), 200))),
              "write HOST, HOST:INSIDE, or either with :ro");
}

Result<int> signal_of(const std::string& text) {
  constexpr int last_signal = 64;
  if (const auto number = parse_integer(text)) {
    if (*number >= 1 && *number <= last_signal) return static_cast<int>(*number);
    return fail(
        ErrorKind::bad_usage, "--checkpoint-signal",
        fmt::format("expected a signal number from 1 to {}, found {}", last_signal, *number),
        "name it instead, such as USR1");
  }
  const std::string_view name = std::string_view(text).substr(text.starts_with("SIG") ? 3 : 0);
  const auto* const row = std::ranges::find(signals, name, &SignalName::name);
  if (row != std::end(signals)) return row->number;
  std::vector<std::string> names;
  for (const SignalName& each : signals)
    if (!wrong_checkpoint_signal(each.number)) names.emplace_back(each.name);
  return fail(ErrorKind::bad_usage, "--checkpoint-signal",
              fmt::format("'{}' is not a signal", visible(shown(text))), suggestion(name, names));
}

namespace {

constexpr const char* document_name = "submission";

/// Help of the options that say more than their row, or take something else than the socket does.
struct OptionHelp {
  std::string_view key, help;
};
constexpr OptionHelp option_helps[] = {
    {"application",
     "Jobs of one application share what is learned about their speed and memory. Without a "
     "profile, memory or model, what was measured of the application and the batch decides the "
     "size"},
    {"directory", "Directory in which the command starts (default: the current one)"},
    {"environment",
     "NAME=VALUE sets a variable, NAME passes yours on; may be given several times. Your whole "
     "environment is passed on unless --clean-env is given"},
    {"kernel",
     "Launch of the job's largest kernel, as in a workload: '{\"grid\": [63, 63], \"threads\": "
     "[16, "
     "16]}'. With --memory or --model: the job asks for the compute slices on which it takes no "
     "more time steps than on a whole GPU"},
    {"instances",
     "4x1g.5gb, or a number beside --profile, --memory or --model: the job has a process on each "
     "of "
     "so many instances, which begin and end together"},
    {"host_memory_mib",
     "Memory of the host for each process: 16GiB, or a number of MiB; a process that needs more "
     "ends. The share that its memory slices are of the node's without"},
    {"memory_mib", "Memory the job needs, in place of a profile: 9GiB, or a number of MiB"},
    {"model",
     "Model that the job runs, to be sized here: config.json, F.safetensors, F.gguf, "
     "SHAPES.json#NAME or vision:NAME. Without a profile, memory, model or known application the "
     "job starts on the smallest instance"},
    {"progress",
     "What the job keeps of its work when it is moved, stopped or lost: all of it (a server: "
     "--restartable and --movable follow), what its last checkpoint holds (it may be stopped, and "
     "started again elsewhere), or nothing"},
    {"times",
     "Run times that are known, in place of --expected: 1g.5gb=310,7g.40gb=92 in seconds; two of "
     "different size give those on other profiles by the law of slices"},
    {"image",
     "Run the command in a container of this image: the folder of a root file system, a .sif file, "
     "or an image that your podman has. The working directory is in it too; of your environment, "
     "only what --env says"},
    {"binds",
     "With --image: a file or folder of this machine that is in the container too, as HOST, "
     "HOST:INSIDE, or either with :ro for reading only; may be given several times"},
    {"after",
     "Wait until other jobs of yours have ended, as in ok:12,any:train: ok (it has finished), "
     "failed (it has failed, or was cancelled) or any, and a number, a name, 12_7 of an array, 12 "
     "for all jobs of array 12, or 12-40. The job is cancelled if that cannot come any more"},
    {"checkpoint_signal",
     "Signal sent before the job is stopped in order to be restarted: USR1, SIGUSR1 or a number"},
};

std::string help_of(const FieldInfo& field) {
  const auto* const found = std::ranges::find(option_helps, field.key, &OptionHelp::key);
  return std::string(found == std::end(option_helps) ? field.help : found->help);
}

constexpr std::size_t row_of(std::string_view key) {
  const auto& rows = field_infos<Submission>;
  return static_cast<std::size_t>(std::ranges::find(rows, key, &FieldInfo::key) - rows.begin());
}

/// A row of the record that the field of this key holds.
const FieldInfo& row_inside(std::string_view record, std::string_view key) {
  return *std::ranges::find(field_infos<Submission>[row_of(record)].inside, key, &FieldInfo::key);
}

/// Of a record that is given as one word, and not as options of its own.
bool is_text(const FieldInfo& field) {
  return field.key == "kernel" || field.key == "model";
}

/// Whether the option's word is taken as it is: the others are turned into what the row bounds.
bool is_plain(const FieldInfo& field) {
  return field.key != "memory_mib" && field.key != "host_memory_mib" &&
         field.key != "checkpoint_signal" && field.key != "times" && field.key != "kernel" &&
         field.key != "instances" && field.key != "after";
}

Check check_of(const FieldInfo& field) {
  if (!field.words.empty()) return Check::one_of({field.words.begin(), field.words.end()});
  if (!is_plain(field) || field.kind == FieldKind::text) return not_empty();
  if (field.kind == FieldKind::seconds)
    return time_between(std::chrono::seconds(field.least), std::chrono::seconds(field.most));
  if (field.kind == FieldKind::number)
    return number_from(static_cast<double>(field.least), static_cast<double>(field.most));
  if (!field.has_most()) return whole_number(field.least);
  const auto check = [least = field.least, most = field.most](const std::string& text) {
    const auto number = parse_integer(text);
    return number && *number >= least && *number <= most
               ? std::string()
               : fmt::format("expected a whole number from {} to {}, found {}", least, most,
                             shown(text));
  };
  return Check(check);
}

/// The value where none is given, for help; empty where that is nothing.
std::string usual_value(std::string_view key) {
  std::string text;
  const auto look = [&](const auto& row) {
    using Value = std::remove_cvref_t<decltype(Submission{}.*row.member)>;
    if (row.info.key != key) return;
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
      text = fmt::format("{}", Submission{}.*row.member);
    else if constexpr (std::is_same_v<Value, Duration>)
      text = fmt::format("{}", in_seconds(Submission{}.*row.member));
  };
  std::apply([&](const auto&... row) { (look(row), ...); }, fields_of<Submission>);
  return text;
}

Result<std::string> directory_of(const std::string& given) {
  std::error_code failed;
  const auto here = std::filesystem::current_path(failed);
  if (failed)
    return fail(ErrorKind::infeasible, "the working directory", failed.message(),
                "name one with --cwd");
  const auto directory = given.empty() ? here : (here / given).lexically_normal();
  if (!std::filesystem::is_directory(directory, failed))
    return fail(ErrorKind::bad_input, "--cwd",
                fmt::format("'{}' is not a directory", visible(shown(directory.string(), 200))),
                "check the name");
  return directory.string();
}

}  // namespace

// Adding.

Option* SubmitOptions::add_row(CommandLine& command, std::size_t row) {
  const FieldInfo& field = rows[row];
  const std::string option(field.option);
  if (field.kind == FieldKind::flag) return command.add_flag(option, flags_[row], help_of(field));
  Option* added = command.add_option(option, texts_[row], help_of(field))->check(check_of(field));
  if (is_plain(field) && field.kind == FieldKind::integer) added->type_name("INT");
  if (is_plain(field) && field.kind == FieldKind::seconds) added->type_name(time_type);
  if (is_plain(field) && field.kind == FieldKind::number) added->type_name("FLOAT");
  if (const std::string usual = usual_value(field.key); is_plain(field) && !usual.empty())
    added->default_str(usual);
  return added;
}

void SubmitOptions::add_model_options(CommandLine& command, Option* model) {
  command.add_option("--context", context_, "With --model: tokens of a sequence")
      ->check(whole_number(1))
      ->needs(model);
  command
      .add_option("--precision", precision_,
                  "With --model: precision of the weights, as in `cleave forecast model`")
      ->needs(model);
  command.add_flag("--train", train_, "With --model: the model is trained")->needs(model);
}

void SubmitOptions::add_kind_options(CommandLine& command, Option* service, Option* lease) {
  service->excludes(lease);
  const auto add = [&](std::string_view key, std::string& text, const std::string& help) {
    const FieldInfo& field = row_inside("lease", key);
    return command.add_option(std::string(field.option), text, help)->needs(lease);
  };
  const FieldInfo& replicas = row_inside("service", "replicas");
  command
      .add_option(std::string(replicas.option), replicas_,
                  "With --service: number of replicas, each with an instance and a process of its "
                  "own; 1 without")
      ->check(whole_number(replicas.least))
      ->needs(service);
  add("starts_within_s", starts_within_,
      "With --lease: it should start so soon, such as 30s; batches make room for it")
      ->type_name(time_type)
      ->check(time_between(Duration{}));
  add("idle_after_s", idle_after_,
      "With --lease: without GPU work for so long, such as 15m, it is idle; never without this, "
      "nor where the driver does not count work")
      ->type_name(time_type)
      ->check(time_between(Duration{}));
  const FieldInfo& then = row_inside("lease", "then");
  add("then", then_,
      "With --lease: what becomes of it when it is idle: it ends and gives its instance back "
      "(default), or moves to a smaller one until there is work again, which takes --progress "
      "checkpoint")
      ->check(Check::one_of({then.words.begin(), then.words.end()}));
  add("idle_mib", idle_memory_,
      "With --then shrink: memory that it holds while it is idle: 4GiB, or a number of MiB; what "
      "--memory says without")
      ->check(not_empty());
}

void SubmitOptions::add(CommandLine& command) {
  std::array<Option*, rows.size()> added{};
  Option* binds = nullptr;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const FieldInfo& field = rows[row];
    if (field.key == "environment")
      command.add_option("--env", environment_, help_of(field))->one_each_time();
    else if (field.key == "binds")
      binds = command.add_option("--bind", binds_, help_of(field))->one_each_time();
    else if (field.key == "model")
      added[row] = command.add_option("--model", texts_[row], help_of(field))->check(not_empty());
    else if (field.kind == FieldKind::record && field.option.starts_with("--") && !is_text(field))
      added[row] = command.add_flag(std::string(field.option), flags_[row], help_of(field));
    else if (field.option.starts_with("--"))
      added[row] = add_row(command, row);
  }
  command.add_flag("--clean-env", clean_environment_,
                   "Of your environment, pass on HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TZ and "
                   "USER only; with --image it is these without HOME, PATH and SHELL in any case");
  Option* profile = added[row_of("profile")];
  Option* memory = added[row_of("memory_mib")];
  Option* model = added[row_of("model")];
  profile->excludes(memory)->excludes(model);
  memory->excludes(model);
  added[row_of("times")]->excludes(added[row_of("expected_s")]);
  added[row_of("compute_slices")]->needs(memory);
  binds->needs(added[row_of("image")]);
  added[row_of("checkpoint_signal")]->excludes(added[row_of("checkpoint_command")]);
  added[row_of("restore_command")]->needs(added[row_of("checkpoint_command")]);
  add_model_options(command, model);
  add_kind_options(command, added[row_of("service")], added[row_of("lease")]);
}

// The submission.

const std::string& SubmitOptions::text_of(std::string_view key) const {
  return texts_[row_of(key)];
}

Result<void> SubmitOptions::put_model(Json& to) const {
  const std::string& model = text_of("model");
  const ModelUse use{model, precision_, parse_integer(text_of("batch")).value_or(1),
                     context_.value_or(0), train_};
  // Relative to here, as "-" is.
  const auto size = model_sizer("-")(use);
  if (!size) return fail_at("--model", size.error());
  std::string name;
  if (model.starts_with("vision:")) {
    name = model.substr(7);
  } else {
    const auto file = load_model(model);
    if (!file) return fail_at("--model", file.error());
    name = file->shape && !file->shape->name.empty()
               ? file->shape->name
               : std::filesystem::path(model).filename().string();
  }
  to = {{"name", name}, {"memory_mib", size->value}};
  return {};
}

/// What is not given is not said.
Result<void> SubmitOptions::put_lease(Json& to) const {
  to = Json::object();
  if (!starts_within_.empty()) to["starts_within_s"] = in_seconds(time_given(starts_within_));
  if (!idle_after_.empty()) to["idle_after_s"] = in_seconds(time_given(idle_after_));
  if (!then_.empty()) to["then"] = then_;
  if (idle_memory_.empty()) return {};
  const auto size = parse_size(idle_memory_);
  if (!size) return fail_at("--idle-memory", size.error());
  to["idle_mib"] = size->value;
  return {};
}

/// "4", or "4x1g.5gb", which names the profile too.
Result<void> SubmitOptions::put_instances(Json& to, const std::string& text) const {
  if (const auto number = parse_integer(text)) {
    to["instances"] = *number;
    return {};
  }
  const auto several = parse_instances(text, "--instances");
  if (!several) return std::unexpected(several.error());
  for (const std::string_view key : {"profile", "memory_mib", "model"})
    if (!text_of(key).empty())
      return fail(ErrorKind::bad_usage, "--instances",
                  fmt::format("it names a profile, and {} says of which size they are",
                              rows[row_of(key)].option),
                  fmt::format("write --instances {}", several->places));
  to["instances"] = several->places;
  to["profile"] = several->profile;
  return {};
}

/// What the option of a row was given; nothing where it was not.
Result<void> SubmitOptions::put_row(Json& to, std::size_t row) const {
  const FieldInfo& field = rows[row];
  const std::string& text = texts_[row];
  const std::string key(field.key);
  if (field.kind == FieldKind::flag) {
    if (flags_[row]) to[key] = true;
  } else if (key == "service") {
    if (flags_[row]) to[key] = {{"replicas", replicas_.value_or(1)}};
  } else if (key == "lease") {
    if (flags_[row]) return put_lease(to[key]);
  } else if (key == "binds") {
    for (const std::string& each : binds_) {
      auto bind = bind_of(each);
      if (!bind) return std::unexpected(bind.error());
      to[key].push_back(std::move(*bind));
    }
  } else if (text.empty() || key == "after") {
    return {};
  } else if (key == "image") {
    auto image = image_of(text);
    if (!image) return std::unexpected(image.error());
    to[key] = std::move(*image);
  } else if (key == "model") {
    return put_model(to[key]);
  } else if (key == "memory_mib" || key == "host_memory_mib") {
    const std::string option(field.option);
    const auto size = parse_size(text);
    if (!size) return fail_at(option, size.error());
    if (size->value < field.least || size->value > field.most)
      return fail(ErrorKind::bad_usage, option,
                  fmt::format("expected from {} MiB to {} GiB, found {}", field.least,
                              field.most / 1024, shown(text)),
                  "leave it out if the need is unknown");
    to[key] = size->value;
  } else if (key == "instances") {
    return put_instances(to, text);
  } else if (key == "times") {
    const auto times = parse_by_profile(times_in_seconds(text), "--times",
                                        {"time", "give seconds, or 10m and the like"});
    if (!times) return std::unexpected(times.error());
    for (const auto& [profile, seconds] : *times)
      to[key].push_back({{"profile", profile}, {"time_s", seconds}});
  } else if (key == "kernel") {
    const auto kernel = parse_json(text, "--kernel");
    if (!kernel) return std::unexpected(kernel.error());
    to[key] = *kernel;
  } else if (key == "checkpoint_signal") {
    const auto signal = signal_of(text);
    if (!signal) return std::unexpected(signal.error());
    to[key] = *signal;
  } else if (field.kind == FieldKind::integer) {
    to[key] = parse_integer(text).value_or(0);
  } else if (field.kind == FieldKind::seconds) {
    to[key] = in_seconds(time_given(text));
  } else if (field.kind == FieldKind::number) {
    to[key] = parse_number(text).value_or(0);
  } else {
    to[key] = text;
  }
  return {};
}

Result<void> SubmitOptions::put_after(Json& to, const Resolve& resolve) const {
  if (text_of("after").empty()) return {};
  for (const std::string_view each : split(text_of("after"), ',')) {
    const auto numbers = resolve(std::string(each));
    if (!numbers) return fail_at("--after", numbers.error());
    for (const std::string& one : *numbers) to["after"].push_back(one);
  }
  return {};
}

Result<Json> SubmitOptions::document(const std::vector<std::string>& command,
                                     const Resolve& resolve,
                                     std::vector<std::string>& left_out) const {
  std::vector<std::string> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) all.emplace_back(*each);
  const PassedOn passed = !text_of("image").empty() ? PassedOn::container
                          : clean_environment_      ? PassedOn::user
                                                    : PassedOn::all;
  const auto environment = environment_of(all, environment_, passed, left_out);
  if (!environment) return std::unexpected(environment.error());
  const auto directory = directory_of(text_of("directory"));
  if (!directory) return std::unexpected(directory.error());
  if (!text_of("checkpoint_grace_s").empty() && text_of("checkpoint_signal").empty() &&
      text_of("checkpoint_command").empty())
    return fail(ErrorKind::bad_usage, "--checkpoint-grace", "nothing is said that it is for",
                "give --checkpoint-signal or --checkpoint-command too");
  Json document{{"command", command}, {"environment", *environment}, {"directory", *directory}};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (document.contains(rows[row].key)) continue;
    if (const auto put = put_row(document, row); !put) return std::unexpected(put.error());
  }
  if (const auto put = put_after(document, resolve); !put) return std::unexpected(put.error());
  if (const auto sound = read_submission(document, document_name); !sound)
    return std::unexpected(of_its_option(sound.error()));
  return document;
}

std::string SubmitOptions::times_remark() const {
  if (text_of("times").empty()) return {};
  auto table = parse_by_profile(times_in_seconds(text_of("times")), "--times", {"time", ""});
  if (!table) return {};
  for (auto& [profile, number] : *table) number = 1 / number;
  for (const GpuModel& model : gpu_models())
    if (const auto job = fitted_job(*table, model)) {
      if (!follows_law(job->worst))
        return fmt::format(
            "times on other profiles are a guess: the law of slices misses these by {}",
            misfit_text(job->worst));
      return fmt::format("times on other profiles follow by the law of slices: {}",
                         law_error_text(model, TimeBasis::between, job->worst));
    }
  return fmt::format("{}; {}", one_profile_is_not_enough, two_profiles_are);
}

Error of_its_option(Error error) {
  if (error.place == "Idempotency-Key") error.place = "--key";
  const std::string document = fmt::format("{}: ", document_name);
  if (!error.place.starts_with(document)) return error;
  std::string_view key = error.place;
  key.remove_prefix(document.size());
  const std::size_t end = key.find_first_of("[.");  // an element of a list, a part of the model
  const std::string_view part = end == key.npos ? std::string_view() : key.substr(end + 1);
  const auto& rows = field_infos<Submission>;
  const auto* const found = std::ranges::find(rows, key.substr(0, end), &FieldInfo::key);
  if (found == rows.end() || found->option.empty()) return error;
  const auto inside = std::ranges::find(found->inside, part, &FieldInfo::key);
  const bool own = inside != found->inside.end() && !inside->option.empty();
  error.place = own ? inside->option : found->option;
  return error;
}

}  // namespace cleave::cli
