#define TOML_EXCEPTIONS 0
#include "daemon/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <variant>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/page/page_address.hpp"
#include "forecast/time/application_times.hpp"
#include "model/job_spec.hpp"
#include "model/run_variables.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_file_bytes = 1 << 20;

// What a row does with its value. Numbers have bounds; values outside are refused.

struct TextSetting {
  std::function<void(DaemonSettings&, std::string)> set;
};
struct FlagSetting {
  std::function<bool&(DaemonSettings&)> place;
};
struct CountSetting {
  std::int64_t least, most;
  std::function<void(DaemonSettings&, std::int64_t)> set;
};
struct NumberSetting {
  double least, most;
  std::function<void(DaemonSettings&, double)> set;
};
struct TextsSetting {
  std::function<void(DaemonSettings&, std::vector<std::string>)> set;
};
struct CodesSetting {
  std::function<void(DaemonSettings&, std::vector<int>)> set;
};
struct ReservationsSetting {};
struct CompactionSetting {};

struct SettingRow {
  ConfigRow row;
  std::variant<TextSetting, FlagSetting, CountSetting, NumberSetting, TextsSetting, CodesSetting,
               ReservationsSetting, CompactionSetting>
      what;
};

Duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::optional<Duration> if_any(double seconds) {
  return seconds > 0 ? std::optional(seconds_of(seconds)) : std::nullopt;
}

NumberSetting seconds_setting(double least, double most, Duration HttpLimits::*place) {
  return {least, most,
          [place](DaemonSettings& to, double value) { to.limits.*place = seconds_of(value); }};
}

CountSetting size_setting(std::int64_t least, std::int64_t most, std::size_t HttpLimits::*place) {
  return {least, most, [place](DaemonSettings& to, std::int64_t value) {
            to.limits.*place = static_cast<std::size_t>(value);
          }};
}

constexpr bool at_once = false, after_restart = true;

std::vector<SettingRow> gpu_settings() {
  return {
      {{"managed_gpus", "a list of indices and UUIDs, or \"all\"", "[]",
        "The GPUs that the daemon partitions and runs jobs on; no other GPU is touched. They "
        "must be named, except that with --simulate the default is \"all\".",
        after_restart},
       TextsSetting{[](DaemonSettings& to, auto value) { to.managed_gpus = std::move(value); }}},
      {{"nvml", "a file", "\"\"",
        "The NVML library to open; empty: the driver's. As root, the daemon does not look for "
        "a simulated node in its environment.",
        after_restart},
       TextSetting{[](DaemonSettings& to, auto value) { to.nvml = std::move(value); }}},
      {{"may_switch_mig", "true or false", "false",
        "Whether the daemon may turn MIG mode on and off, where a scheduler wants whole GPUs "
        "and the driver can do it without a reset.",
        after_restart},
       FlagSetting{&DaemonSettings::may_switch_mig}},
      {{"look_every_s", "a number of seconds", "5",
        "How often each GPU is looked at when nothing else calls for it.", at_once},
       NumberSetting{0.1, 3600,
                     [](auto& to, double value) { to.control.look_every = seconds_of(value); }}},
      {{"gpu_patience_s", "a number of seconds", "60",
        "A driver call that takes longer than this is reported as hanging.", at_once},
       NumberSetting{0.1, 86400,
                     [](auto& to, double value) { to.control.gpu_patience = seconds_of(value); }}},
      {{"keep_idle_s", "a number of seconds", "-1",
        "Idle instances are destroyed after this time; below zero: they are kept until their "
        "space is needed.",
        at_once},
       NumberSetting{-1, 1e9,
                     [](auto& to, double value) {
                       to.control.keep_idle.reset();
                       if (value >= 0) to.control.keep_idle = seconds_of(value);
                     }}},
      {{"reuse_across_users", "true or false", "false",
        "Whether an idle instance is given to another user's job as it is. If not, it is destroyed "
        "and made again first, so that nothing in its memory remains.",
        at_once},
       FlagSetting{[](auto& to) -> bool& { return to.control.reuse_across_users; }}},
  };
}

/// What bounds a job from outside.
std::vector<SettingRow> bound_settings() {
  return {
      {{"operators_grace_s", "a number of seconds", "30",
        "How long, at most, the job of another user has from TERM to KILL when an operator cancels "
        "it, whatever its own grace time.",
        at_once},
       NumberSetting{
           0, 86400,
           [](auto& to, double value) { to.control.operators_grace = seconds_of(value); }}},
      {{"job_time_default_s", "a number of seconds", "0",
        "How long a job may run that names no time limit (cleave submit --time-limit); then it is "
        "stopped and has failed. 0: as long as job_time_most_s allows. Services have no limit.",
        at_once},
       NumberSetting{0, 1e9, [](auto& to, double value) { to.job_time_default = if_any(value); }}},
      {{"job_time_most_s", "a number of seconds", "0",
        "The longest time limit that users may give their jobs, and that of jobs without one "
        "(operators are exempt); 0: any. Jobs keep the limit that they were accepted with.",
        at_once},
       NumberSetting{0, 1e9, [](auto& to, double value) { to.job_time_most = if_any(value); }}},
  };
}

/// What keeps jobs apart.
std::vector<SettingRow> isolation_settings() {
  return {
      {{"control_groups", "true or false", "true",
        "Whether each job runs in control groups of its own, below the daemon's, where the system "
        "lets it: so no process escapes its job, and the limits below hold.",
        after_restart},
       FlagSetting{&DaemonSettings::control_groups}},
      {{"device_fences", "true or false", "true",
        "Whether a job can open no device nodes of NVIDIA's driver but those of what it was given. "
        "Root's daemon does so where control groups and the driver let it, and several users may "
        "have jobs at the same time then.",
        after_restart},
       FlagSetting{&DaemonSettings::device_fences}},
      {{"driver_root", "a folder", "\"/\"",
        "Where the driver's proc/devices and proc/driver/nvidia are, and for containers its nodes "
        "and libraries.",
        after_restart},
       TextSetting{[](DaemonSettings& to, auto value) { to.driver_root = std::move(value); }}},
      {{"container_runtime", "auto, none, or a file", "\"auto\"",
        "What runs jobs that are submitted with an image: podman or apptainer, by its file; auto "
        "takes podman where it is installed, and apptainer where podman is not and for .sif files.",
        at_once},
       TextSetting{
           [](DaemonSettings& to, auto value) { to.container_runtime = std::move(value); }}},
  };
}

/// What one job may use of the host.
std::vector<SettingRow> use_settings() {
  return {
      {{"job_processes", "a whole number", "16384",
        "How many processes and threads a job may have at a time; 0: no limit.", at_once},
       CountSetting{0, 4'194'304,
                    [](auto& to, std::int64_t value) { to.control.job_processes = value; }}},
      {{"job_memory_mib", "a whole number", "0",
        "How much of the host's memory a job may use at most, whatever it asks for; 0: no limit.",
        at_once},
       CountSetting{0, std::int64_t{1} << 33,
                    [](auto& to, std::int64_t value) { to.control.job_memory = MiB{value}; }}},
  };
}

/// What jobs share of the host.
std::vector<SettingRow> host_settings() {
  return {
      {{"host_cpus", "a number", "-1",
        "How many CPUs of the host jobs may have together; each has what it asks for with --cpus, "
        "or the share that its compute slices are of those of all managed GPUs, and waits while "
        "others leave it too few. 0: not limited; below zero: as many as the daemon itself may "
        "use, and with simulated GPUs not limited.",
        after_restart},
       NumberSetting{-1, most_cpus,
                     [](auto& to, double value) {
                       to.control.host_cpus.reset();
                       if (value >= 0) to.control.host_cpus = value;
                     }}},
      {{"host_memory_mib", "a whole number", "-1",
        "How much of the host's memory jobs may have together; likewise, with --host-memory and by "
        "memory slices.",
        after_restart},
       CountSetting{-1, most_host_memory,
                    [](auto& to, std::int64_t value) {
                      to.control.host_memory.reset();
                      if (value >= 0) to.control.host_memory = MiB{value};
                    }}},
  };
}

std::vector<SettingRow> job_settings() {
  static const std::string scheduler = fmt::format("\"{}\"", default_scheduler);
  return {
      {{"scheduler", "a scheduler, as `cleave schedulers` lists them", scheduler,
        "The scheduler that decides what runs where, with its options: "
        "\"adaptive:patience=20\". One chosen with `cleave scheduler` takes precedence.",
        after_restart},
       TextSetting{
           [](DaemonSettings& to, auto value) { to.control.scheduler = std::move(value); }}},
      {{"reservations", "a list of {gpu, from, until, name}", "[]",
        "From one time to the other, with their offset from UTC, only jobs of the user start on "
        "the GPU, named by its index or UUID, and none where no user is named: {gpu = 0, from = "
        "2030-01-07T09:00:00Z, until = 2030-01-07T17:00:00Z, name = \"ann\"}. Before it only jobs "
        "start there that are expected to have ended by then. Running jobs are not stopped.",
        at_once},
       ReservationsSetting{}},
      {{"compaction", "\"off\", \"on\", or {when_waiting, gain, at_most, hours}", "\"off\"",
        "Whether jobs that may be moved are, so that one that waits has room: {when_waiting = \"2 "
        "min\", gain = \"2\", at_most = \"1 move/30 min per job\", hours = \"always\"}. A plan is "
        "made "
        "for a job once it has waited this long, if the wait saved is at least `gain` times the "
        "time "
        "for which others are interrupted; hours such as 22:00-06:00 are local time. `cleave "
        "simulate --compaction` shows what it would be worth.",
        at_once},
       CompactionSetting{}},
      {{"forecaster", "a forecaster, as `cleave forecasters` lists them", "\"laws\"",
        "The method that forecasts a job's peak memory.", at_once},
       TextSetting{
           [](DaemonSettings& to, auto value) { to.control.forecaster = std::move(value); }}},
      {{"early_restarts_a_day", "a whole number", "10",
        "How often a job may be restarted on a larger instance, before its memory runs out, "
        "within 24 hours.",
        at_once},
       CountSetting{0, 100'000,
                    [](auto& to, std::int64_t value) { to.control.early_restarts_a_day = value; }}},
      {{"most_waiting", "a whole number", "100000",
        "Limit on unfinished jobs; further ones are refused.", at_once},
       CountSetting{1, 10'000'000,
                    [](auto& to, std::int64_t value) {
                      to.control.most_waiting = static_cast<std::size_t>(value);
                    }}},
      {{"out_of_memory_codes", "a list of whole numbers", "[]",
        "Exit codes that mean that a job ran out of memory; a job may name its own.", at_once},
       CodesSetting{
           [](auto& to, auto value) { to.control.out_of_memory_codes = std::move(value); }}},
      {{"job_environment", "a list of \"NAME=value\"", "[]",
        "Variables that are added to the environment of every job.", at_once},
       TextsSetting{[](auto& to, auto value) { to.control.job_environment = std::move(value); }}},
      {{"log_limit_mib", "a size in MiB", "64",
        "How much of each output of an attempt is kept; the oldest bytes are dropped.", at_once},
       NumberSetting{1, 1 << 20,
                     [](auto& to, double value) {
                       to.control.log_limit = static_cast<std::int64_t>(value * bytes_per_mib);
                     }}},
  };
}

NumberSetting mib_setting(double least, std::int64_t ControlSettings::*place) {
  return {least, 1e9, [place](DaemonSettings& to, double value) {
            to.control.*place = static_cast<std::int64_t>(value * bytes_per_mib);
          }};
}

NumberSetting percent_setting(double DiskMarks::*place) {
  return {0, 90, [place](DaemonSettings& to, double value) {
            to.control.disk_marks.*place = value / 100;
          }};
}

/// What is kept on the disk, and where.
std::vector<SettingRow> disk_settings() {
  return {
      {{"jobs_directory", "a folder", "\"\"",
        "Where the folders of jobs are, with their outputs: a folder of the daemon's own, perhaps "
        "on another file system than the state directory; empty: jobs in the state directory.",
        after_restart},
       TextSetting{[](DaemonSettings& to, auto value) { to.jobs_directory = std::move(value); }}},
      {{"keep_jobs_s", "a number of seconds", "604800",
        "How long a finished job is kept, with its output.", at_once},
       NumberSetting{0, 1e9,
                     [](auto& to, double value) { to.control.keep_jobs = seconds_of(value); }}},
      {{"keep_outputs_mib", "a size in MiB", "10240",
        "Limit on the outputs of finished jobs; beyond it the oldest of these jobs are "
        "forgotten.",
        at_once},
       mib_setting(0, &ControlSettings::keep_bytes)},
      {{"keep_user_mib", "a size in MiB", "2048",
        "Limit on all that the jobs of one user keep, in the store and in folders, ended or not "
        "(operators are exempt); 0: no limit. From seven eighths of it on the user's oldest ended "
        "jobs are forgotten; a submission that would pass it is refused.",
        at_once},
       mib_setting(0, &ControlSettings::keep_per_user)},
      {{"job_files_mib", "a size in MiB", "1024",
        "How much a running job may have in its own folder beside its outputs; beyond it, or "
        "beyond a quarter of the file system, it is cancelled. 0: no limit.",
        at_once},
       mib_setting(0, &ControlSettings::job_files)},
      {{"forget_below_percent", "a number", "10",
        "Where less of a file system's space or inodes is free, ended jobs are forgotten before "
        "their time, the oldest of the users who keep most; 0: never. A file system counts as 50 "
        "GiB and 2 million inodes at most.",
        at_once},
       percent_setting(&DiskMarks::forget)},
      {{"refuse_below_percent", "a number", "5",
        "Where less of a file system's space or inodes is free, likewise, no job is accepted; 0: "
        "jobs always are.",
        at_once},
       percent_setting(&DiskMarks::refuse)},
      {{"store_reserve_mib", "a size in MiB", "32",
        "Space that the store's files hold beyond what they need, so that jobs end and are "
        "cancelled and forgotten on a full disk; at most an eighth of the file system.",
        after_restart},
       NumberSetting{0, 1 << 20,
                     [](auto& to, double value) {
                       to.store_reserve = static_cast<std::int64_t>(value * bytes_per_mib);
                     }}},
      {{"keep_usage_days", "a whole number", "400",
        "For how many days it is kept who used how much of which GPU (cleave usage); 0: for ever.",
        at_once},
       CountSetting{0, 100'000,
                    [](auto& to, std::int64_t value) { to.control.keep_usage_days = value; }}},
      {{"keep_events", "a whole number", "100000",
        "How many events are kept; the oldest are dropped.", at_once},
       CountSetting{1000, 100'000'000,
                    [](auto& to, std::int64_t value) {
                      to.control.keep_events = static_cast<std::size_t>(value);
                    }}},
  };
}

std::vector<SettingRow> application_settings() {
  return {
      {{"profiles", "a file", "\"\"",
        "A profile repository (docs/choosing.md), for the jobs of all users: what was measured of "
        "an application gives the times and the sizes of its jobs. A reload reads it again.",
        at_once},
       TextSetting{[](DaemonSettings& to, auto value) { to.profiles = std::move(value); }}},
      {{"time_model", "a file", "\"\"",
        "A model of completion times, as `cleave forecast time --train` saves it, for times that "
        "nobody measured. A reload reads it again.",
        at_once},
       TextSetting{[](DaemonSettings& to, auto value) { to.time_model = std::move(value); }}},
      {{"keep_profiles", "a whole number", "10000",
        "How many records are kept of what jobs taught of their applications, of all users; the "
        "oldest of the user who has most are dropped. 0: nothing is learnt.",
        at_once},
       CountSetting{0, 10'000'000,
                    [](auto& to, std::int64_t value) {
                      to.control.keep_profiles = static_cast<std::size_t>(value);
                    }}},
  };
}

std::vector<SettingRow> user_settings() {
  return {
      {{"operators_group", "a group", "\"\"",
        "Its members may do everything, as root and the daemon's own user may; empty: nobody "
        "else.",
        at_once},
       TextSetting{[](DaemonSettings& to, auto value) { to.operators_group = std::move(value); }}},
      {{"allowed_groups", "a list of groups", "[]",
        "Only members of these groups are served, besides operators, root and the daemon's own "
        "user; empty: everybody is. /healthz answers anyone. Jobs of users who are no longer "
        "members continue.",
        at_once},
       TextsSetting{[](DaemonSettings& to, auto value) { to.allowed_groups = std::move(value); }}},
      {{"allow_unfenced_users", "true or false", "false",
        "Whether several users may have jobs at the same time where device nodes are not fenced "
        "(device_fences): with this set, a job of one user can then use an instance of another.",
        at_once},
       FlagSetting{&DaemonSettings::allow_unfenced_users}},
      {{"most_waiting_per_user", "a whole number", "0",
        "Limit on unfinished jobs of one user (operators are exempt); 0: half of "
        "most_waiting.",
        at_once},
       CountSetting{0, 10'000'000,
                    [](auto& to, std::int64_t value) {
                      to.most_waiting_per_user = static_cast<std::size_t>(value);
                    }}},
      {{"running_per_user", "a whole number", "0",
        "How many jobs of a user may run at a time, and each replica of a service is one; further "
        "ones wait. 0: no limit. For the schedulers adaptive, full-gpu, static, scheme-b and "
        "online; of everybody, operators too.",
        at_once},
       CountSetting{0, 10'000'000,
                    [](auto& to, std::int64_t value) {
                      to.control.user_limits.jobs.reset();
                      if (value > 0) to.control.user_limits.jobs = static_cast<std::size_t>(value);
                    }}},
      {{"slices_per_user", "a whole number", "0",
        "How many compute slices the running jobs of a user may hold together; a whole A100 has "
        "seven. What would go beyond that waits, and a job that asks for more is refused. 0: no "
        "limit. Otherwise as running_per_user.",
        at_once},
       CountSetting{0, 10'000'000,
                    [](auto& to, std::int64_t value) {
                      to.control.user_limits.slices.reset();
                      if (value > 0) to.control.user_limits.slices = value;
                    }}},
      {{"page", "an address of this machine's loopback interface with a port", "\"\"",
        "Where browsers find the live page, such as 127.0.0.1:8790; empty: there is none. Users "
        "open it with what `cleave page` prints. Port 0: any that is free.",
        after_restart},
       TextSetting{[](DaemonSettings& to, auto value) { to.page = std::move(value); }}},
      {{"highest_priority", "a whole number", "0",
        "The highest priority that users may give their jobs (operators are exempt). At 0 "
        "they can only let other jobs go first.",
        at_once},
       CountSetting{-1'000'000, 1'000'000,
                    [](auto& to, std::int64_t value) { to.highest_priority = value; }}},
  };
}

std::vector<SettingRow> server_settings() {
  return {
      {{"server.connections", "a whole number", "1024",
        "Open connections at a time; root and the daemon's own user may have 16 more.", at_once},
       size_setting(1, 100'000, &HttpLimits::connections)},
      {{"server.connections_per_user", "a whole number", "512",
        "Open connections of one user at a time.", at_once},
       size_setting(1, 100'000, &HttpLimits::connections_per_user)},
      {{"server.unknown_connections", "a whole number", "64",
        "Open connections to the page at a time of which it is not known whose they are: a request "
        "with a session says it. Where there are more, the oldest is closed.",
        at_once},
       size_setting(1, 100'000, &HttpLimits::unknown_connections)},
      {{"server.header_bytes", "a size in bytes", "16384", "Limit on the header of a request.",
        at_once},
       size_setting(1024, 1 << 20, &HttpLimits::header_bytes)},
      {{"server.body_bytes", "a size in bytes", "4194304",
        "Limit on the body of a request; environments may be large.", at_once},
       size_setting(1024, 1 << 28, &HttpLimits::body_bytes)},
      {{"server.bytes_per_user", "a size in bytes", "67108864",
        "Limit on what the daemon holds for all connections of a user, in and out.", at_once},
       size_setting(1 << 20, std::int64_t{1} << 36, &HttpLimits::bytes_per_user)},
      {{"server.stream_bytes", "a size in bytes", "262144",
        "Limit on the events that wait for one client. A client that reads more slowly is "
        "disconnected and can continue from its last event id.",
        at_once},
       size_setting(4096, 1 << 28, &HttpLimits::stream_bytes)},
      {{"server.request_s", "a number of seconds", "10",
        "How long a request may take to arrive completely.", at_once},
       seconds_setting(0.1, 3600, &HttpLimits::request_time)},
      {{"server.idle_s", "a number of seconds", "60",
        "A connection is closed after this time without activity, or if its answers are not "
        "read.",
        at_once},
       seconds_setting(1, 86400, &HttpLimits::idle_time)},
      {{"server.heartbeat_s", "a number of seconds", "15",
        "How often an event stream without events sends an empty comment.", at_once},
       seconds_setting(0.1, 3600, &HttpLimits::heartbeat)},
      {{"server.requests_per_s", "a number", "5000",
        "Requests of one user per second, in the long run.", at_once},
       NumberSetting{1, 1e9, [](auto& to, double value) { to.limits.requests_per_s = value; }}},
      {{"server.burst", "a number", "10000", "Requests of one user at once.", at_once},
       NumberSetting{1, 1e9, [](auto& to, double value) { to.limits.burst = value; }}},
      {{"server.bytes_per_s", "a number of bytes", "4194304",
        "How much is read from one user's connections per second, in the long run. The rest waits, "
        "and so do further requests of more than 64 KiB until one is answered: long requests of "
        "one user are not to delay others.",
        at_once},
       NumberSetting{1 << 16, 1e12, [](auto& to, double value) { to.limits.bytes_per_s = value; }}},
  };
}

std::vector<SettingRow> metrics_settings() {
  const auto text = [](std::string MetricsSettings::*place) {
    return TextSetting{
        [place](DaemonSettings& to, auto value) { to.metrics.*place = std::move(value); }};
  };
  return {
      {{"metrics", "an address with a port", "\"\"",
        "Where a Prometheus finds GET /metrics over TCP (docs/metrics.md), such as "
        "\"127.0.0.1:9844\" or \"[::]:9844\"; empty: only the socket has it. What it shows has "
        "numbers of jobs, and neither names nor users.",
        after_restart},
       text(&MetricsSettings::address)},
      {{"metrics_certificate", "a file", "\"\"",
        "The certificate of that address in PEM, with those that signed it; with it TLS is spoken "
        "there, and nothing else. Empty: plain HTTP.",
        after_restart},
       text(&MetricsSettings::certificate)},
      {{"metrics_key", "a file", "\"\"", "The certificate's key in PEM, without a passphrase.",
        after_restart},
       text(&MetricsSettings::key)},
      {{"metrics_credentials", "a file", "\"\"",
        "Lines of user:password, one of which is asked for there (HTTP basic authentication). Only "
        "its owner and its group may read it. Empty: nobody is asked.",
        after_restart},
       text(&MetricsSettings::credentials)},
  };
}

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = [] {
    std::vector<SettingRow> all;
    for (auto part : {gpu_settings(), job_settings(), disk_settings(), bound_settings(),
                      isolation_settings(), use_settings(), host_settings(), application_settings(),
                      user_settings(), metrics_settings(), server_settings()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

// Reading.

std::string at_line(const std::string& place, const toml::source_region& where) {
  return fmt::format("{}:{}", place, where.begin.line);
}

std::string toml_text(const toml::node& node) {
  std::ostringstream text;
  text << toml::toml_formatter(node, toml::format_flags::none);
  return text.str();
}

/// Nothing where it is no date and time with an offset, or is none.
std::optional<Instant> instant_of(const toml::node* node) {
  const auto* value = node == nullptr ? nullptr : node->as_date_time();
  if (value == nullptr || !value->get().offset) return std::nullopt;
  const toml::date_time& at = value->get();
  const std::chrono::year_month_day day{std::chrono::year(at.date.year),
                                        std::chrono::month(at.date.month),
                                        std::chrono::day(at.date.day)};
  // Nanoseconds of 64 bits reach to 2262.
  if (!day.ok() || at.date.year < 1970 || at.date.year > 2200) return std::nullopt;
  return Instant(std::chrono::sys_days(day)) + std::chrono::hours(at.time.hour) +
         std::chrono::minutes(at.time.minute) + std::chrono::seconds(at.time.second) -
         std::chrono::minutes(at.offset->minutes);
}

/// Nothing where something is missing, wrong, or unknown.
std::optional<ReservedGpu> reserved_gpu(const toml::table& table) {
  ReservedGpu reserved;
  const auto from = instant_of(table.get("from")), until = instant_of(table.get("until"));
  const auto uuid = table["gpu"].value_exact<std::string>();
  const auto number = table["gpu"].value_exact<std::int64_t>();
  if (!from || !until || *until <= *from || (!uuid && !number)) return std::nullopt;
  reserved.gpu = uuid ? *uuid : fmt::format("{}", *number);
  reserved.from = *from;
  reserved.until = *until;
  std::size_t keys = 3;
  if (table.contains("name")) {
    const auto name = table["name"].value_exact<std::string>();
    if (!name || name->empty()) return std::nullopt;
    reserved.name = *name;
    ++keys;
  }
  return table.size() == keys ? std::optional(reserved) : std::nullopt;
}

/// Why a job's environment cannot have the variable; empty if it can.
std::string wrong_job_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.find('\0') != std::string::npos)
    return fmt::format("'{}' is not one", shown(text));
  const std::string_view name = std::string_view(text).substr(0, equals);
  return std::ranges::find(run_variables, name) == run_variables.end()
             ? ""
             : fmt::format("each run of a job has its own {}; leave it out", name);
}

/// What is wrong with the texts of a list that are right by their kind; empty if nothing is.
std::string wrong_texts(std::string_view setting, const std::vector<std::string>& texts) {
  std::set<std::string_view> before;
  for (const std::string& each : texts) {
    if (setting == "managed_gpus" && (each.empty() || each.starts_with('-')))
      return fmt::format("'{}' is neither an index nor a UUID", shown(each));
    if (setting == "managed_gpus" && !before.insert(each).second)
      return fmt::format("'{}' is named twice", shown(each));
    if (setting != "job_environment") continue;
    if (std::string why = wrong_job_variable(each); !why.empty()) return why;
  }
  return {};
}

/// What a command line may call bad usage is bad input in a file.
std::unexpected<Error> wrong_in_file(const std::string& place, Error error) {
  error.kind = ErrorKind::bad_input;
  return fail_at(place, std::move(error));
}

/// One value on its way into the settings.
struct ConfigValue {
  const ConfigRow& row;
  const toml::node& node;
  std::string place;
  DaemonSettings& to;

  /// `bounds` continues the kind of value: " from 1 to 9".
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& bounds = {},
                                             std::string remedy = {}) const {
    return fail(ErrorKind::bad_input, place,
                fmt::format("'{}' must be {}{}, not {}", row.name, row.kind, bounds,
                            shown(toml_text(node))),
                std::move(remedy));
  }

  Result<void> operator()(const TextSetting& setting) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->find('\0') != std::string::npos) return wrong();
    setting.set(to, *value);
    return {};
  }
  Result<void> operator()(const FlagSetting& setting) const {
    const auto value = node.value_exact<bool>();
    if (!value) return wrong();
    setting.place(to) = *value;
    return {};
  }
  Result<void> operator()(const CountSetting& setting) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < setting.least || *value > setting.most)
      return wrong(fmt::format(" from {} to {}", setting.least, setting.most));
    setting.set(to, *value);
    return {};
  }
  Result<void> operator()(const NumberSetting& setting) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= setting.least && *value <= setting.most))
      return wrong(fmt::format(" from {} to {}", setting.least, setting.most));
    setting.set(to, *value);
    return {};
  }
  Result<void> operator()(const TextsSetting& setting) const {
    std::vector<std::string> texts;
    if (const auto one = node.value_exact<std::string>(); one && row.name == "managed_gpus") {
      if (*one != "all") return wrong();
      texts.push_back(*one);
    } else if (const toml::array* list = node.as_array()) {
      for (const toml::node& each : *list) {
        const auto text = each.value_exact<std::string>();
        const auto number = each.value_exact<std::int64_t>();
        if (text)
          texts.push_back(*text);
        else if (number && row.name == "managed_gpus")
          texts.push_back(fmt::format("{}", *number));
        else
          return wrong();
      }
    } else {
      return wrong();
    }
    if (const std::string why = wrong_texts(row.name, texts); !why.empty()) return wrong("", why);
    setting.set(to, std::move(texts));
    return {};
  }
  Result<void> operator()(const CodesSetting& setting) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong();
    std::vector<int> codes;
    for (const toml::node& each : *list) {
      const auto code = each.value_exact<std::int64_t>();
      if (!code || *code < 1 || *code > 255) return wrong(" from 1 to 255");
      codes.push_back(static_cast<int>(*code));
    }
    setting.set(to, std::move(codes));
    return {};
  }
  Result<void> operator()(const ReservationsSetting& /*setting*/) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong();
    to.control.reservations.clear();
    for (const toml::node& each : *list) {
      const toml::table* table = each.as_table();
      auto reserved = table == nullptr ? std::nullopt : reserved_gpu(*table);
      if (!reserved)
        return wrong("",
                     "each has a gpu (an index or a UUID), from and until, the first before "
                     "the second, such as 2030-01-07T09:00:00Z, and perhaps a name");
      to.control.reservations.push_back(std::move(*reserved));
    }
    return {};
  }
  Result<void> operator()(const CompactionSetting& /*setting*/) const {
    const toml::table* table = node.as_table();
    const auto word = node.value_exact<std::string>();
    if (table == nullptr && word != "on" && word != "off") return wrong();
    OptionTexts given;
    if (table != nullptr)
      for (const auto& [key, value] : *table) {
        const auto text = value.value_exact<std::string>();
        given.emplace(key.str(), text ? *text : toml_text(value));
      }
    const auto rules = read_compaction(given);
    if (!rules) return wrong_in_file(fmt::format("{}: compaction", place), rules.error());
    to.control.compaction.reset();
    if (word != "off") to.control.compaction = *rules;
    return {};
  }
};

Result<void> take_key(DaemonConfig& config, const std::string& name, const toml::node& node,
                      const std::string& place) {
  const auto& rows = setting_rows();
  const std::string where = at_line(place, node.source());
  const auto found =
      std::ranges::find_if(rows, [&](const SettingRow& each) { return each.row.name == name; });
  if (found == rows.end()) {
    const auto near =
        nearest(name, names_of(rows, [](const SettingRow& each) { return each.row.name; }));
    return fail(ErrorKind::bad_input, where, fmt::format("unknown key '{}'", shown(name)),
                near ? fmt::format("did you mean '{}'?", *near)
                     : "`cleaved --sample-config` shows all keys");
  }
  if (const auto set =
          std::visit(ConfigValue{found->row, node, where, config.settings}, found->what);
      !set)
    return set;
  config.values[name] = toml_text(node);
  return {};
}

/// Keys that are wrong are left out, and said.
void take_table(ConfigReading& reading, const toml::table& table, const std::string& prefix,
                const std::string& place) {
  for (const auto& [key, node] : table) {
    const std::string name = fmt::format("{}{}", prefix, key.str());
    const toml::table* inner = node.as_table();
    const bool section = inner != nullptr && prefix.empty() && name == "server";
    if (section) {
      take_table(reading, *inner, "server.", place);
    } else if (const auto taken = take_key(reading.config, name, node, place); !taken) {
      reading.wrong.push_back(taken.error());
    }
  }
}

}  // namespace

std::vector<ConfigRow> config_rows() {
  std::vector<ConfigRow> rows;
  for (const SettingRow& each : setting_rows()) rows.push_back(each.row);
  return rows;
}

DaemonConfig default_config() {
  DaemonConfig config;
  for (const SettingRow& each : setting_rows())
    config.values.emplace(std::string(each.row.name), std::string(each.row.otherwise));
  return config;
}

namespace {

/// toml++ begins most of its descriptions with what it was reading, in its own terms.
std::unexpected<Error> not_toml(const toml::parse_error& error, const std::string& place) {
  std::string_view why = error.description();
  if (why.starts_with("Error while parsing") && why.find(": ") != std::string_view::npos)
    why.remove_prefix(why.find(": ") + 2);
  return fail(ErrorKind::bad_input, at_line(place, error.source()),
              fmt::format("this is not valid TOML: {}", shown(why, 200)),
              "text stands in quotes; `cleaved --sample-config` shows all keys");
}

/// The line that sets the key.
std::string place_of(const toml::table& table, std::string_view key, const std::string& place) {
  const toml::node* node = table.get(key);
  return node == nullptr ? place : at_line(place, node->source());
}

/// What one user may have, where it is said, is at most what all may have; the default of a time is
/// at most the longest.
void check_shares(const toml::table& table, ConfigReading& reading, const std::string& place) {
  const DaemonSettings& settings = reading.config.settings;
  struct Share {
    std::string_view of_user, of_all;
    std::size_t least, most;
  };
  const Share shares[] = {{"server.connections_per_user", "server.connections",
                           settings.limits.connections_per_user, settings.limits.connections},
                          {"most_waiting_per_user", "most_waiting", settings.most_waiting_per_user,
                           settings.control.most_waiting}};
  for (const Share& share : shares) {
    const auto said = table.at_path(share.of_user);
    if (said && share.least > share.most)
      reading.wrong.push_back({ErrorKind::bad_input, at_line(place, said.node()->source()),
                               fmt::format("'{}' is {}, and '{}', of all users, is {}",
                                           share.of_user, share.least, share.of_all, share.most),
                               "give one user at most as many as all have"});
  }
  const auto &usual = settings.job_time_default, &most = settings.job_time_most;
  const auto said = table.at_path("job_time_default_s");
  if (said && usual && most && *usual > *most)
    reading.wrong.push_back(
        {ErrorKind::bad_input, at_line(place, said.node()->source()),
         fmt::format("'job_time_default_s' is {}, and 'job_time_most_s' is {}", in_seconds(*usual),
                     in_seconds(*most)),
         "a job that names no time limit may not have more than one that does"});
}

/// Two reservations of a GPU at a time, by the names that they have.
void check_overlaps(const toml::table& table, ConfigReading& reading, const std::string& place) {
  std::vector<ReservedGpu> all = reading.config.settings.control.reservations;
  std::ranges::sort(all, {},
                    [](const ReservedGpu& each) { return std::pair(each.gpu, each.from); });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].gpu == all[i - 1].gpu && all[i].from < all[i - 1].until)
      reading.wrong.push_back({ErrorKind::bad_input, place_of(table, "reservations", place),
                               fmt::format("two reservations of GPU {} overlap", shown(all[i].gpu)),
                               "let one end before the other begins"});
}

/// The two listeners are apart: each may be open to others than the other.
Result<void> check_page(const DaemonSettings& settings) {
  if (settings.page.empty()) return {};
  const auto address = parse_page_address(settings.page);
  if (!address) return std::unexpected(address.error());
  if (settings.page == settings.metrics.address && !settings.page.ends_with(":0"))
    return fail(ErrorKind::bad_input, "'page'", "it is where the metrics are",
                "give each a port of its own");
  return {};
}

}  // namespace

ConfigReading inspect_config(std::string_view text, const std::string& place) {
  ConfigReading reading{default_config(), {}};
  const toml::parse_result parsed = toml::parse(text, place);
  if (!parsed) {
    reading.wrong.push_back(not_toml(parsed.error(), place).error());
    return reading;
  }
  const toml::table& table = parsed.table();
  take_table(reading, table, "", place);
  const auto look = [&](std::string_view key, const Result<void>& checked) {
    if (!checked)
      reading.wrong.push_back(wrong_in_file(place_of(table, key, place), checked.error()).error());
  };
  // A daemon could not start with these, so the configuration is refused as a whole.
  const ControlSettings& control = reading.config.settings.control;
  const bool reserves = !control.reservations.empty();
  look("scheduler", Control::check_scheduler(control.scheduler, reserves, control.user_limits));
  look("forecaster", Control::check_forecaster(control.forecaster));
  look("page", check_page(reading.config.settings));
  check_shares(table, reading, place);
  check_overlaps(table, reading, place);
  return reading;
}

Result<DaemonConfig> parse_config(std::string_view text, const std::string& place) {
  ConfigReading reading = inspect_config(text, place);
  if (!reading.wrong.empty()) return std::unexpected(std::move(reading.wrong.front()));
  return std::move(reading.config);
}

namespace {

Result<std::string> text_of_config(const std::string& file) {
  const std::string place = shown(file, 200);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return fail(ErrorKind::bad_input, place,
                fmt::format("the configuration cannot be read: {}", std::strerror(errno)),
                errno == ENOENT
                    ? "check the name; `cleaved --sample-config` prints a file to begin "
                      "with"
                    : "the daemon's user must be able to read it");
  std::string text(static_cast<std::size_t>(most_file_bytes) + 1, '\0');
  in.read(text.data(), most_file_bytes + 1);
  if (in.bad())
    return fail(ErrorKind::bad_input, place, "the configuration cannot be read",
                "name a file of text, as `cleaved --sample-config` prints one");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (static_cast<std::int64_t>(text.size()) > most_file_bytes)
    return fail(ErrorKind::bad_input, place, "the configuration is longer than 1 MiB",
                "is it the right file?");
  return text;
}

}  // namespace

Result<DaemonConfig> read_config(const std::string& file) {
  const auto text = text_of_config(file);
  if (!text) return std::unexpected(text.error());
  return parse_config(*text, file);
}

ConfigReading inspect_config_file(const std::string& file) {
  const auto text = text_of_config(file);
  if (!text) return {default_config(), {text.error()}};
  return inspect_config(*text, file);
}

Result<std::shared_ptr<const ApplicationTimes>> read_applications(const DaemonSettings& settings) {
  std::optional<NamedText> texts[2];
  for (std::size_t i = 0;
       const auto& [key, path] :
       {std::pair("profiles", &settings.profiles), std::pair("time_model", &settings.time_model)}) {
    if (*path == "-")
      return fail(ErrorKind::bad_input, key, "a daemon does not read standard input",
                  "name a file");
    auto text = read_if_named(*path);
    if (!text) return fail_at(key, text.error());
    texts[i++] = std::move(*text);
  }
  return parse_application_times(texts[0], texts[1]);
}

namespace {

/// The text as comment lines of at most 100 columns.
std::string as_comment(std::string_view text) {
  constexpr std::size_t widest = 100;
  std::string lines(1, '#');
  std::size_t width = 1;
  for (const std::string_view word : split(text, ' ')) {
    if (width + 1 + word.size() > widest) {
      lines += "\n#";
      width = 1;
    }
    lines += fmt::format(" {}", word);
    width += 1 + word.size();
  }
  return fmt::format("{}\n", lines);
}

}  // namespace

std::string sample_config() {
  std::string sample =
      "# Configuration of cleaved: every key with its default. Remove the # from a line to change "
      "it.\n"
      "# `cleaved --check-config FILE` checks a file; SIGHUP makes a running daemon read its own "
      "again.\n";
  bool in_section = false;
  for (const ConfigRow& row : config_rows()) {
    const std::size_t dot = row.name.find('.');
    if (dot != std::string_view::npos && !in_section) {
      sample += "\n# Limits on clients of the API.\n[server]\n";
      in_section = true;
    }
    const std::string_view key =
        dot == std::string_view::npos ? row.name : row.name.substr(dot + 1);
    const std::string kind = fmt::format("Value: {}{}.", row.kind,
                                         row.needs_restart ? "; a change needs a restart" : "");
    sample += fmt::format("\n{}{}", as_comment(row.help), as_comment(kind));
    sample += fmt::format("#{} = {}\n", key, row.otherwise);
  }
  return sample;
}

std::vector<std::string> config_changes(const DaemonConfig& before, const DaemonConfig& after) {
  std::vector<std::string> changes;
  for (const ConfigRow& row : config_rows()) {
    const std::string &old_value = before.values.find(row.name)->second,
                      &new_value = after.values.find(row.name)->second;
    if (old_value != new_value)
      changes.push_back(fmt::format("{}: {} -> {}{}", row.name, old_value, new_value,
                                    row.needs_restart ? " (after a restart)" : ""));
  }
  return changes;
}

DaemonConfig reloaded(const DaemonConfig& before, const DaemonConfig& after) {
  DaemonConfig now = after;
  now.settings.managed_gpus = before.settings.managed_gpus;
  now.settings.nvml = before.settings.nvml;
  now.settings.may_switch_mig = before.settings.may_switch_mig;
  now.settings.page = before.settings.page;
  now.settings.control.scheduler = before.settings.control.scheduler;
  for (const ConfigRow& row : config_rows())
    if (row.needs_restart) now.values.find(row.name)->second = before.values.find(row.name)->second;
  return now;
}

}  // namespace cleave
