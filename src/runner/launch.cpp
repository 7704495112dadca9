#include "runner/launch.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_text = 128 * 1024 - 1;  // of one argument, MAX_ARG_STRLEN of Linux
/// The most bytes of arguments and environment together; Linux accepts at least this.
constexpr std::size_t most_bytes_in_all = 1 << 20;
constexpr std::size_t most_texts = 16384, most_groups = 65536;
constexpr std::size_t longest_directory = 4095;
constexpr std::int64_t least_log = 4096, most_log = std::int64_t{1} << 40;
constexpr Duration longest_grace = std::chrono::hours(24);
constexpr std::int64_t most_number = std::int64_t{1} << 53;
constexpr std::int64_t most_device = (1 << 20) - 1;  // major or minor
constexpr std::int64_t most_id = 0xfffffffe;  // the one above it means "unchanged" to the system

std::unexpected<Error> wrong_launch(const std::string& place, const char* key,
                                    std::string message) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", place, key), std::move(message));
}

Result<void> check_text(std::string_view text, const std::string& place, const char* key) {
  if (text.size() > longest_text)
    return wrong_launch(place, key, fmt::format("a text of {} bytes is too long", text.size()));
  if (text.find('\0') != std::string_view::npos)
    return wrong_launch(
        place, key,
        fmt::format("'{}' has a zero byte, which no process can be given", shown(text)));
  if (!valid_utf8(text))
    return wrong_launch(place, key, fmt::format("'{}' is not UTF-8", shown(text)));
  return {};
}

Result<void> check_texts(const Launch& launch, const std::string& place) {
  std::size_t bytes = 0;
  for (const auto& [texts, key] :
       {std::pair(&launch.argv, "argv"), std::pair(&launch.environment, "environment")})
    for (const std::string& text : *texts) {
      if (const auto fine = check_text(text, place, key); !fine) return fine;
      bytes += text.size() + 1 + sizeof(char*);
    }
  if (bytes > most_bytes_in_all || launch.argv.size() + launch.environment.size() > most_texts)
    return wrong_launch(place, "argv", "arguments and environment together are too long");
  if (launch.container)
    for (const std::string& each : launch.container->instance.environment)
      if (const auto fine = check_text(each, place, "container"); !fine) return fine;
  for (const std::string& variable : launch.environment)
    if (variable.find('=') == std::string::npos || variable.starts_with('='))
      return wrong_launch(place, "environment",
                          fmt::format("'{}' is not NAME=value", shown(variable)));
  if (launch.argv.empty() || launch.argv[0].empty())
    return wrong_launch(place, "argv", "there is no command");
  return {};
}

Result<void> check_grace(Duration grace, const std::string& place, const char* key) {
  if (grace < Duration::zero() || grace > longest_grace ||
      grace % std::chrono::milliseconds(1) != Duration::zero())
    return wrong_launch(place, key, "expected whole milliseconds up to a day");
  return {};
}

Result<void> check_key(const JobKey& key, const std::string& place) {
  if (key.job < 1 || key.job > most_number || key.attempt < 1 || key.attempt > most_number)
    return wrong_launch(place, "job",
                        fmt::format("no attempt is called {}.{}", key.job, key.attempt));
  return {};
}

struct PlaceName {
  const char* name;
  std::string GroupPlaces::*place;
};
constexpr PlaceName place_names[] = {
    {"unified", &GroupPlaces::unified}, {"pids", &GroupPlaces::pids},
    {"memory", &GroupPlaces::memory},   {"freezer", &GroupPlaces::freezer},
    {"devices", &GroupPlaces::devices}, {"cpu", &GroupPlaces::cpu}};

/// {"fenced":[195],"admitted":[{"major":195,"minor":0}]}
Json to_json(const DeviceRules& rules) {
  Json text;
  text["fenced"] = rules.fenced;
  text["admitted"] = Json::array();
  for (const auto& [major, minor] : rules.admitted)
    text["admitted"].push_back({{"major", major}, {"minor", minor}});
  return text;
}

DeviceRules read_fence(JsonReader& in) {
  DeviceRules rules;
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  for (const std::int64_t major : in.integers("fenced", 0, most_device))
    rules.fenced.push_back(number(major));
  for (JsonReader& each : in.objects("admitted")) {
    rules.admitted.push_back({number(each.integer("major", 0, most_device)),
                              number(each.integer("minor", 0, most_device))});
    each.done();
  }
  in.done();
  return rules;
}

Json control_groups_of(const Launch& launch) {
  const GroupPlaces& places = launch.groups_in;
  Json text;
  for (const PlaceName& each : place_names)
    if (!(places.*each.place).empty()) text[each.name] = places.*each.place;
  text["device_programs"] = places.device_programs;
  if (launch.fence) text["fence"] = to_json(*launch.fence);
  text["most_processes"] = launch.limits.most_processes;
  text["memory_mib"] = launch.limits.memory.value;
  text["millicpus"] = launch.limits.millicpus;
  return text;
}

void read_control_groups(JsonReader& in, Launch& launch) {
  auto groups = in.object_if("control_groups");
  if (!groups) return;
  for (const PlaceName& each : place_names) {
    launch.groups_in.*each.place = groups->text_if(each.name).value_or("");
    const std::string& place = launch.groups_in.*each.place;
    if (!place.empty() && !place.starts_with('/')) groups->refuse(each.name, "expected a path");
  }
  launch.groups_in.device_programs = groups->flag("device_programs", false);
  if (auto fence = groups->object_if("fence")) launch.fence = read_fence(*fence);
  launch.limits.most_processes = groups->integer("most_processes", 0, most_number);
  launch.limits.memory = MiB{groups->integer("memory_mib", 0, std::int64_t{1} << 43)};
  launch.limits.millicpus = groups->integer_if("millicpus", 0, most_number).value_or(0);
  groups->done();
}

}  // namespace

Result<void> check_launch(const Launch& launch, const std::string& place) {
  if (const auto fine = check_key(launch.key, place); !fine) return fine;
  if (launch.known_as < 0 || launch.known_as > most_number)
    return wrong_launch(place, "known_as", fmt::format("no job is called {}", launch.known_as));
  if (launch.uid > most_id || launch.gid > most_id || launch.groups.size() > most_groups ||
      std::ranges::any_of(launch.groups, [](std::uint32_t group) { return group > most_id; }))
    return wrong_launch(place, "uid", "no user or group has this number");
  if (const auto fine = check_texts(launch, place); !fine) return fine;
  if (const auto fine = check_text(launch.visible_devices, place, "visible_devices"); !fine)
    return fine;
  if (const auto fine = check_text(launch.working_directory, place, "working_directory"); !fine)
    return fine;
  if (const auto fine = check_text(launch.checkpoint_command, place, "checkpoint_command"); !fine)
    return fine;
  for (const auto& [file, key] : {std::pair(&launch.output_file, "output_file"),
                                  std::pair(&launch.error_file, "error_file")}) {
    if (const auto fine = check_text(*file, place, key); !fine) return fine;
    if (!file->empty() && !file->starts_with('/'))
      return wrong_launch(place, key, "expected an absolute path");
  }
  if (!launch.working_directory.starts_with('/') ||
      launch.working_directory.size() > longest_directory)
    return wrong_launch(place, "working_directory", "expected an absolute path");
  if (const auto fine = check_grace(launch.stop_grace, place, "stop_grace_s"); !fine) return fine;
  if (const auto fine = check_grace(launch.leftover_grace, place, "leftover_grace_s"); !fine)
    return fine;
  if (launch.log_limit < least_log || launch.log_limit > most_log)
    return wrong_launch(place, "log_limit",
                        fmt::format("expected {} to {} bytes", least_log, most_log));
  return {};
}

std::string launch_text(const Launch& launch) {
  Json text;
  text["job"] = launch.key.job;
  text["attempt"] = launch.key.attempt;
  text["known_as"] = launch.known_as;
  text["uid"] = launch.uid;
  text["gid"] = launch.gid;
  text["groups"] = launch.groups;
  text["argv"] = launch.argv;
  text["environment"] = launch.environment;
  text["working_directory"] = launch.working_directory;
  text["visible_devices"] = launch.visible_devices;
  if (!launch.output_file.empty()) text["output_file"] = launch.output_file;
  if (!launch.error_file.empty()) text["error_file"] = launch.error_file;
  if (!launch.checkpoint_command.empty()) text["checkpoint_command"] = launch.checkpoint_command;
  text["stop_grace_s"] = in_seconds(launch.stop_grace);
  text["leftover_grace_s"] = in_seconds(launch.leftover_grace);
  text["log_limit"] = launch.log_limit;
  if (!launch.groups_in.none()) text["control_groups"] = control_groups_of(launch);
  if (launch.container) text["container"] = to_json(*launch.container);
  return text.dump();
}

Result<Launch> parse_launch(std::string_view text, const std::string& place) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  Launch launch;
  launch.key.job = in.integer("job", 1, most_number);
  launch.key.attempt = in.integer("attempt", 1, most_number);
  // A daemon that was started before this program was replaced does not write it.
  launch.known_as = in.integer_if("known_as", 0, most_number).value_or(0);
  launch.uid = static_cast<std::uint32_t>(in.integer("uid", 0, most_id));
  launch.gid = static_cast<std::uint32_t>(in.integer("gid", 0, most_id));
  for (const std::int64_t group : in.integers("groups", 0, most_id))
    launch.groups.push_back(static_cast<std::uint32_t>(group));
  launch.argv = in.texts("argv");
  launch.environment = in.texts("environment");
  launch.working_directory = in.text("working_directory");
  launch.visible_devices = in.text("visible_devices");
  launch.output_file = in.text_if("output_file").value_or("");
  launch.error_file = in.text_if("error_file").value_or("");
  launch.checkpoint_command = in.text_if("checkpoint_command").value_or("");
  launch.stop_grace = in.seconds_if("stop_grace_s").value_or(launch.stop_grace);
  launch.leftover_grace = in.seconds_if("leftover_grace_s").value_or(launch.leftover_grace);
  launch.log_limit = in.integer("log_limit", least_log, most_log);
  read_control_groups(in, launch);
  if (auto container = in.object_if("container")) launch.container = read_container(*container);
  in.done();
  if (error) return std::unexpected(*error);
  if (const auto fine = check_launch(launch, place); !fine) return std::unexpected(fine.error());
  return launch;
}

}  // namespace cleave
