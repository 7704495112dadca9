#pragma once
// What a user asks of the daemon for one job, as one struct from the command line to the store, and
// its table. The rows say all there is to say of a field: how it is called on the wire and in the
// store, what it means, its bounds, the option of `cleave submit` that sets it. To add a field: a
// member here, its row below, and its use.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"
#include "model/asked_places.hpp"
#include "model/dependency.hpp"
#include "model/job_array.hpp"
#include "model/job_kind.hpp"
#include "model/keeps.hpp"
#include "model/kernel_use.hpp"
#include "model/output_pattern.hpp"
#include "model/request.hpp"
#include "model/service_terms.hpp"

namespace cleave {

/// What is run. The heavy part of a job: it lies in the store and is read when the job starts.
struct JobCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", the whole of it
  std::string working_directory;         // absolute
  friend bool operator==(const JobCommand&, const JobCommand&) = default;
};

/// A run time that the user knows.
struct StatedTime {
  std::string profile;  // PROFILE or MODEL:PROFILE; `none` is the whole GPU without MIG
  Duration time{};
  friend bool operator==(const StatedTime&, const StatedTime&) = default;
};

/// What was asked for; never changes.
struct JobSpec {
  std::string name;
  Request request;            // a profile, a size or nothing; a model has become a size by now
  std::string asked;          // in words: "2g.10gb", "9 GiB", "Llama-3-8B: 18.2 GiB", "nothing"
  std::int64_t priority = 0;  // higher first among those that wait
  std::optional<Duration> deadline;  // after submission
  /// For which it may run, with all of its attempts whose work counts (used_time.hpp); it is
  /// stopped then, and has failed. Never of a service.
  std::optional<Duration> time_limit;
  std::int64_t retries = 0;        // further runs when it fails by itself or is lost
  bool restartable = false;        // may be stopped and run again from the beginning
  bool movable = false;            // a replica may take over elsewhere while it runs
  Keeps progress = Keeps::unsaid;  // says more than the two flags, which then need not be given
  int checkpoint_signal = 0;       // sent before it is stopped to be restarted; 0: none
  /// Run beside its process, which it is told by CLEAVE_PID, in place of that signal: once it has
  /// succeeded the process is stopped. Empty: none.
  std::string checkpoint_command;
  /// Run in place of the command by attempts after a checkpoint that was made so; empty: the
  /// command is.
  std::string restore_command;
  Duration checkpoint_grace{};  // from that signal to TERM, or for the command at most
  Duration stop_grace = std::chrono::seconds(30);  // from TERM to KILL
  std::optional<int> out_of_memory_code;           // its exit status when its memory ran out
  std::optional<std::string> application;          // its jobs have one profile of performance
  std::optional<std::int64_t> batch;
  std::optional<Duration> expected;  // run time on the whole GPU under MIG, where it is known
  std::vector<StatedTime> times;     // in its place: on some profiles
  /// Its largest; the request then has the compute for it.
  std::optional<StatedKernel> kernel;
  std::optional<double> cpus;      // of the host, for each place; the share of its slices if empty
  std::optional<MiB> host_memory;  // likewise
  /// What kind of job it is where it is no batch; one of the two. Loads and targets of services,
  /// and when there is work in a lease, are said in workloads only.
  std::optional<ServiceTerms> service;
  std::optional<LeaseTerms> lease;
  std::string image;               // of the container in which it runs; empty: in none
  std::vector<std::string> binds;  // what of the host the container has (model/container_image.hpp)
  std::vector<std::string> after;  // what must have ended before (model/dependency.hpp)
  /// Files in which its user wants the outputs too, with %j and the like; empty: none. Where only
  /// the first is given, both go there.
  std::string output_file, error_file;
  std::optional<ArrayTask> task;      // of a job of an array; the daemon says which
  std::optional<JobsAtOnce> at_once;  // of jobs that came together; likewise
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

[[nodiscard]] JobKind kind_of(const JobSpec& spec);
/// What each of its processes asks of the host.
[[nodiscard]] HostAsk host_ask(const JobSpec& spec);
/// Whether it may be stopped and run again, from the beginning or from its last checkpoint.
[[nodiscard]] bool may_be_restarted(const JobSpec& spec);
/// Whether it may be moved while it runs.
[[nodiscard]] bool may_be_moved(const JobSpec& spec);
/// Whether its process ends where it is before another one continues at the new place. For other
/// jobs that move a replica takes over.
[[nodiscard]] bool moves_by_checkpoint(const JobSpec& spec);
/// Whether it is told to save its work before it is stopped to be restarted.
[[nodiscard]] bool is_told_to_save(const JobSpec& spec);

/// A model whose memory was computed before the job was submitted.
struct SizedModel {
  std::string name;
  MiB memory;
  friend bool operator==(const SizedModel&, const SizedModel&) = default;
};

/// What a submission asks for: how large an instance, by one of profile, memory and model, or
/// nothing; and how many such, or whole GPUs.
struct AskedSize : AskedPlaces {
  std::optional<std::string> profile;
  std::optional<MiB> memory;
  std::optional<ComputeSlices> compute_slices;  // with memory only
  std::optional<SizedModel> model;
  friend bool operator==(const AskedSize&, const AskedSize&) = default;
};

/// How many jobs a submission becomes.
struct AskedTasks {
  std::string array;  // model/job_array.hpp; empty: one
  friend bool operator==(const AskedTasks&, const AskedTasks&) = default;
};

/// A submission as it is sent; its request follows from the size (request_of).
struct Submission : JobCommand, AskedSize, AskedTasks, JobSpec {
  friend bool operator==(const Submission&, const Submission&) = default;
};

/// What the size means, and in words. The size is within its bounds.
[[nodiscard]] Request request_of(const AskedSize& size);
[[nodiscard]] std::string in_words(const AskedSize& size);

// Rules of single values.

/// Names of jobs, applications and models: no control characters, and not a number, since commands
/// take a job by its number or by its name. An empty name is none.
[[nodiscard]] std::optional<WrongValue> wrong_job_name(std::string_view name);
/// Names of profiles with which times are stated.
[[nodiscard]] std::optional<WrongValue> wrong_timed_profile(std::string_view name);
[[nodiscard]] std::optional<WrongValue> wrong_directory(std::string_view directory);
[[nodiscard]] std::optional<WrongValue> wrong_variable(std::string_view variable);
/// Of the signals that can be sent before a job is stopped; 0 is none.
[[nodiscard]] std::optional<WrongValue> wrong_checkpoint_signal(std::int64_t signal);
/// Commands for a shell; an empty one is none.
[[nodiscard]] std::optional<WrongValue> wrong_shell_command(std::string_view command);
/// Images of containers; an empty one is none.
[[nodiscard]] std::optional<WrongValue> wrong_image(std::string_view image);
[[nodiscard]] std::optional<WrongValue> wrong_bind(std::string_view bind);

inline constexpr std::int64_t longest_job_name = 256;         // bytes
inline constexpr std::int64_t longest_shell_command = 16384;  // bytes
inline constexpr std::int64_t longest_image = 4095;           // bytes
inline constexpr std::int64_t most_binds = 100;
inline constexpr std::int64_t most_job_memory = 1 << 24;                 // MiB
inline constexpr std::int64_t most_host_memory = std::int64_t{1} << 30;  // MiB
inline constexpr std::int64_t most_replicas = 1000;
inline constexpr std::int64_t longest_job_grace = 24 * 3600;  // s
inline constexpr std::int64_t longest_job_time =              // s
    std::chrono::duration_cast<std::chrono::seconds>(longest_duration).count();

// The tables.

template <>
inline constexpr std::span<const std::string_view> words_of<Keeps> = words_of_keeps;
template <>
inline constexpr std::span<const std::string_view> words_of<Together> = words_of_together;

template <>
inline constexpr std::span<const std::string_view> words_of<LeaseTerms::Then> = words_of_then;

template <>
inline constexpr auto fields_of<JobCommand> = std::tuple{
    field("command", &JobCommand::argv,
          {.help = "The program, looked up in the environment's PATH, and its arguments",
           .option = "COMMAND",
           .stored = "argv",
           .least = 1,
           .needed = true,
           .always_stored = true}),
    field("environment", &JobCommand::environment,
          {.help = "The whole environment; each entry is NAME=value",
           .option = "--env",
           .pattern = "^[^=]+=",
           .text = wrong_variable,
           .needed = true,
           .always_stored = true}),
    field("directory", &JobCommand::working_directory,
          {.help = "Absolute path of the directory in which the command starts",
           .option = "--cwd",
           .stored = "working_directory",
           .pattern = "^/",
           .text = wrong_directory,
           .needed = true,
           .always_stored = true}),
};

template <>
inline constexpr auto fields_of<SizedModel> = std::tuple{
    field("name", &SizedModel::name,
          {.most = longest_job_name, .text = wrong_job_name, .needed = true}),
    field("memory_mib", &SizedModel::memory, {.least = 1, .most = most_job_memory, .needed = true}),
};

template <>
inline constexpr auto fields_of<AskedSize> = std::tuple{
    field("profile", &AskedSize::profile,
          {.help = "Profile of the instance, such as 2g.10gb",
           .option = "--profile",
           .least = 1,
           .most = longest_job_name,
           .text = wrong_job_name}),
    field("memory_mib", &AskedSize::memory,
          {.help = "Memory the job needs, in place of a profile",
           .option = "--memory",
           .least = 1,
           .most = most_job_memory}),
    field("compute_slices", &AskedSize::compute_slices,
          {.help = "Least number of compute slices; only with a memory size",
           .option = "--compute-slices",
           .least = 1,
           .most = 64}),
    field("model", &AskedSize::model,
          {.help = "A model, sized by the program that submits the job", .option = "--model"}),
    field("gpus", &AskedSize::gpus,
          {.help = "Number of whole GPUs with MIG off, in place of a profile or size; the job is "
                   "one process that sees all of them",
           .option = "--gpus",
           .least = 1,
           .most = most_places}),
    field("instances", &AskedSize::instances,
          {.help = "Number of instances of that profile or size, all at a time or none; the job "
                   "has a process on each",
           .option = "--instances",
           .least = 1,
           .most = most_places}),
    field("together", &AskedSize::together,
          {.help = "How several instances or GPUs lie: anywhere, on one GPU, on one node, or each "
                   "on another GPU",
           .option = "--together"}),
};

template <>
inline constexpr auto fields_of<AskedTasks> = std::tuple{
    field("array", &AskedTasks::array,
          {.help = "Submit a job for each index, such as 1-200, 0-30:10 or 1,3,7-9, and with %20 "
                   "behind let 20 run at a time; each finds its index in CLEAVE_ARRAY_INDEX, and "
                   "in place of {index} in the command's words",
           .option = "--array",
           .most = longest_array,
           .text = wrong_array}),
};

template <>
inline constexpr auto fields_of<StatedTime> = std::tuple{
    field("profile", &StatedTime::profile,
          {.help = "PROFILE or MODEL:PROFILE; none is the whole GPU without MIG",
           .least = 1,
           .most = longest_job_name,
           .text = wrong_timed_profile,
           .needed = true,
           .always_stored = true}),
    field("time_s", &StatedTime::time,
          {.help = "Run time there in seconds",
           .stored = "time_ns",
           .least = 0,
           .most = longest_job_time,
           .above_least = true,
           .needed = true,
           .always_stored = true}),
};
template <>
inline constexpr std::string_view schema_of<StatedTime> = "StatedTime";

template <>
inline constexpr auto fields_of<ServiceTerms> = std::tuple{
    field("replicas", &ServiceTerms::replicas,
          {.help = "Number of replicas, each with an instance and a process of its own",
           .option = "--replicas",
           .least = 1,
           .most = most_replicas}),
};

template <>
inline constexpr auto fields_of<LeaseTerms> = std::tuple{
    field("starts_within_s", &LeaseTerms::starts_within,
          {.help = "Seconds from submission in which the lease should start",
           .option = "--starts-within",
           .stored = "starts_within_ns",
           .least = 0,
           .most = longest_job_time}),
    field("idle_after_s", &LeaseTerms::idle_after,
          {.help = "Seconds without GPU work after which the lease is idle; never if absent",
           .option = "--idle-after",
           .stored = "idle_after_ns",
           .least = 0,
           .most = longest_job_time,
           .above_least = true}),
    field("then", &LeaseTerms::then,
          {.help = "What becomes of the lease when it is idle: it ends and gives its instance "
                   "back, or moves to a smaller one until there is work again",
           .option = "--then"}),
    field("idle_mib", &LeaseTerms::idle_memory,
          {.help = "Memory that the lease holds while it is idle, of one that shrinks; what it "
                   "asks for if absent",
           .option = "--idle-memory",
           .least = 1,
           .most = most_job_memory}),
};

template <>
inline constexpr auto fields_of<JobSpec> = std::tuple{
    field("name", &JobSpec::name,
          {.help = "Name of the job; commands accept it while the job is unfinished",
           .option = "--name",
           .most = longest_job_name,
           .text = wrong_job_name}),
    field("request", &JobSpec::request, {.use = FieldUse::stored, .always_stored = true}),
    field("asked", &JobSpec::asked, {.use = FieldUse::stored, .always_stored = true}),
    field("priority", &JobSpec::priority,
          {.help = "Jobs of higher priority start first; priorities above the daemon's "
                   "highest_priority, which is 0 by default, are for operators",
           .option = "--priority",
           .least = -1'000'000,
           .most = 1'000'000}),
    field("deadline_s", &JobSpec::deadline,
          {.help = "Seconds from submission until the job should be done",
           .option = "--deadline",
           .stored = "deadline_ns",
           .least = 0,
           .most = longest_job_time}),
    field("time_limit_s", &JobSpec::time_limit,
          {.help = "Seconds for which the job may run; then it is stopped and has failed. The "
                   "daemon's job_time_default_s if absent; at most its job_time_most_s",
           .option = "--time-limit",
           .stored = "time_limit_ns",
           .least = 0,
           .most = longest_job_time,
           .above_least = true}),
    field("retries", &JobSpec::retries,
          {.help = "Run it again up to N times if it fails or is lost",
           .option = "--retry",
           .least = 0,
           .most = 1000}),
    field("restartable", &JobSpec::restartable,
          {.help = "The job may be stopped and run again from the beginning, for example on a "
                   "larger instance before its memory runs out",
           .option = "--restartable"}),
    field("movable", &JobSpec::movable,
          {.help = "A replica of the job may take over elsewhere while it runs",
           .option = "--movable"}),
    field("progress", &JobSpec::progress,
          {.help = "What the job keeps of its work when it is moved, stopped or lost",
           .option = "--progress"}),
    field("checkpoint_signal", &JobSpec::checkpoint_signal,
          {.help = "Signal sent before the job is stopped in order to be restarted",
           .option = "--checkpoint-signal",
           .least = 0,
           .most = 64,
           .number = wrong_checkpoint_signal}),
    field("checkpoint_command", &JobSpec::checkpoint_command,
          {.help = "Shell command that saves the job's work in place of such a signal: it runs as "
                   "the job's user beside the process $CLEAVE_PID, which is stopped once it has "
                   "succeeded",
           .option = "--checkpoint-command",
           .most = longest_shell_command,
           .text = wrong_shell_command}),
    field("restore_command", &JobSpec::restore_command,
          {.help = "Shell command that is run in place of the command after a checkpoint command "
                   "has succeeded",
           .option = "--restore-command",
           .most = longest_shell_command,
           .text = wrong_shell_command}),
    field("checkpoint_grace_s", &JobSpec::checkpoint_grace,
          {.help = "Seconds from the checkpoint signal to TERM, or that the checkpoint command may "
                   "take",
           .option = "--checkpoint-grace",
           .stored = "checkpoint_grace_ns",
           .least = 0,
           .most = longest_job_grace,
           .always_stored = true}),
    field("stop_grace_s", &JobSpec::stop_grace,
          {.help = "Seconds from TERM to KILL",
           .option = "--stop-grace",
           .stored = "stop_grace_ns",
           .least = 0,
           .most = longest_job_grace,
           .always_stored = true}),
    field("out_of_memory_code", &JobSpec::out_of_memory_code,
          {.help = "Exit code with which the job reports that it ran out of memory",
           .option = "--out-of-memory-code",
           .least = 1,
           .most = 255}),
    field("application", &JobSpec::application,
          {.help = "Jobs of one application share what is learned about their speed and memory",
           .option = "--application",
           .most = longest_job_name,
           .text = wrong_job_name}),
    field("batch", &JobSpec::batch,
          {.help = "Batch size: sequences or images processed at a time",
           .option = "--batch",
           .least = 1}),
    field("expected_s", &JobSpec::expected,
          {.help = "Expected run time in seconds on the whole GPU under MIG",
           .option = "--expected",
           .stored = "expected_ns",
           .least = 0,
           .most = longest_job_time,
           .above_least = true}),
    field("times", &JobSpec::times,
          {.help = "Known run times by profile, in place of the expected one; two of different "
                   "size give the others by the law of slices",
           .option = "--times"}),
    field("kernel", &JobSpec::kernel,
          {.help = "Launch of the job's largest kernel, beside a memory size or a model: the job "
                   "asks for the compute slices on which it takes no more time steps than on a "
                   "whole GPU",
           .option = "--kernel"}),
    field("cpus", &JobSpec::cpus,
          {.help = "CPUs of the host for each process, such as 2 or 0.5; the share that its "
                   "compute slices are of the node's if absent",
           .option = "--cpus",
           .least = 0,
           .most = static_cast<std::int64_t>(most_cpus),
           .above_least = true}),
    field("host_memory_mib", &JobSpec::host_memory,
          {.help = "Memory of the host for each process, which ends the job if it needs more; the "
                   "share that its memory slices are of the node's if absent",
           .option = "--host-memory",
           .least = 1,
           .most = most_host_memory}),
    field("service", &JobSpec::service,
          {.help = "The job is a service: replicas that run until it is cancelled, and that may be "
                   "moved",
           .option = "--service"}),
    field("lease", &JobSpec::lease,
          {.help = "The job is a lease: a place for a person, such as a notebook",
           .option = "--lease"}),
    field("image", &JobSpec::image,
          {.help = "Run the command in a container of this image: the absolute path of a root file "
                   "system's folder or of a .sif file, or an image that the user's podman has",
           .option = "--image",
           .most = longest_image,
           .text = wrong_image}),
    field("binds", &JobSpec::binds,
          {.help = "With an image: a file or folder of the host that is in the container too, as "
                   "HOST, HOST:INSIDE, or either with :ro for reading only",
           .option = "--bind",
           .most = most_binds,
           .text = wrong_bind}),
    field("after", &JobSpec::after,
          {.help = "Wait until other jobs of yours have ended: ok:12 (it has finished), failed:12 "
                   "(it has failed, or was cancelled) or any:12; ok:12-40 and any:12-40 for all "
                   "with these numbers. The job is cancelled if that cannot come any more",
           .option = "--after",
           .most = most_dependencies,
           .pattern = "^(ok|failed|any):[0-9]+(-[0-9]+)?$",
           .text = wrong_dependency}),
    field("output", &JobSpec::output_file,
          {.help = "Write standard output to this file too, and errors without --error; %j is the "
                   "job's number, %A that of its array, %a its index, %x its name, %r the number "
                   "of the attempt, %t that of the process, %% a percent sign",
           .option = "--output",
           .most = longest_output_pattern,
           .text = wrong_output_pattern}),
    field("error", &JobSpec::error_file,
          {.help = "The same for standard error",
           .option = "--error",
           .most = longest_output_pattern,
           .text = wrong_output_pattern}),
    field("task", &JobSpec::task, {.use = FieldUse::stored}),
    field("at_once", &JobSpec::at_once, {.use = FieldUse::stored}),
};

template <>
inline constexpr auto fields_of<Submission> = std::tuple_cat(fields_of<JobCommand>,
                                                             fields_of<AskedSize>,
                                                             fields_of<AskedTasks>,
                                                             fields_of<JobSpec>);
template <>
inline constexpr std::string_view schema_of<Submission> = "Submission";

}  // namespace cleave
