// The program `cleave-job`: a job on a simulated GPU that computes nothing. It holds memory, takes
// its time, reports, and dies of memory as programs on real GPUs do; or it is another program that
// only seems to be on the GPU.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/format.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/time_option.hpp"
#include "manual/command_line.hpp"
#include "manual/completion.hpp"
#include "manual/manual.hpp"
#include "nvmlsim/sim_node.hpp"
#include "physics/profile_times.hpp"
#include "physics/speed.hpp"
#include "runner/job_checkpoint.hpp"
#include "runner/job_speed_text.hpp"
#include "runner/process_doors.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/reports/out_of_memory_text.hpp"
#include "runner/simulated_job.hpp"

namespace cleave::cli {

namespace {

struct JobArguments {
  std::string memory, base, per_iteration, noise, context;
  double reuse_ratio = 1, reuse_noise = 0;
  std::int64_t iterations = 10;
  std::string seconds;
  std::string speeds, like, phases;
  double busy = 1;
  std::uint64_t seed = 1;
  std::string dies_as = "cuda", checkpoint, checkpoint_signal = "USR1";
  bool complete = false, quiet = false;
  std::vector<std::string> command;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The size, or `otherwise` if the text is empty.
Result<MiB> size_of(const std::string& text, const char* option, MiB otherwise) {
  if (text.empty()) return otherwise;
  const auto size = parse_size(text);
  if (!size) return fail_at(option, size.error());
  return *size;
}

Result<MemoryGrowth> growth_of(const JobArguments& given) {
  constexpr MiB by_itself{1024};
  const auto base = !given.memory.empty()
                        ? size_of(given.memory, "--memory", {})
                        : size_of(given.base, "--base", given.command.empty() ? by_itself : MiB{});
  if (!base) return std::unexpected(base.error());
  const auto each = size_of(given.per_iteration, "--per-iteration", {});
  if (!each) return std::unexpected(each.error());
  const auto noise = size_of(given.noise, "--noise", {});
  if (!noise) return std::unexpected(noise.error());
  MemoryGrowth growth{*base, *each, *noise, given.iterations, given.reuse_ratio, given.reuse_noise};
  if (given.context.empty()) return growth;
  const auto context = size_of(given.context, "--context", {});
  if (!context) return std::unexpected(context.error());
  growth.context = *context;
  return growth;
}

Result<SpeedModel> speed_of(const JobArguments& given) {
  if (!given.speeds.empty()) {
    auto speed = parse_speeds(given.speeds);
    if (speed) speed->complete = given.complete;
    return speed;
  }
  if (!given.like.empty()) return speeds_like(given.like);
  if (!given.phases.empty()) return parse_phases(given.phases);
  return SpeedModel{};
}

Result<SimulatedJobPlan> plan_of(const JobArguments& given, const SpeedModel& speed) {
  const auto memory = growth_of(given);
  if (!memory) return std::unexpected(memory.error());
  constexpr Duration by_itself = std::chrono::seconds{10};
  Duration work = given.seconds.empty() ? by_itself : time_given(given.seconds);
  if (speed.phases) work = whole(*speed.phases);
  return SimulatedJobPlan{*memory, work, given.busy, given.seed};
}

/// The node and the device on it that this process has by its environment.
Result<SimProcess> on_the_gpu() {
  const std::string node = environment(sim_node_variable);
  if (node.empty())
    return fail(ErrorKind::bad_usage, sim_node_variable,
                "cleave-job runs on simulated GPUs, and no node is named",
                "make one with `cleave sim-node create DIR --gpus 1xA100-40GB` and set "
                "CLEAVE_SIM_NODE=DIR");
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  // As CUDA has it: not set, all devices are there; of several, the first is the one that is used.
  const std::string first(split(visible == nullptr ? "0" : visible, ',').front());
  if (first.empty())
    return fail(ErrorKind::bad_usage, "CUDA_VISIBLE_DEVICES", "it is empty, which hides every GPU",
                "set it to a MIG UUID; `cleave instances` shows them");
  return SimProcess::start(node, first, static_cast<std::uint32_t>(::getpid()));
}

/// Where speeds are to be completed, two of this GPU must be known; says what the law gives here.
Result<void> complete_here(const JobArguments& given, const SpeedModel& speed,
                           const SimProcess& process) {
  if (!speed.complete) return {};
  const auto times = complete_times(*speed.table, process.model());
  if (!times) return fail_at("--complete", times.error());
  const ProfileTime* here =
      process.profile() != nullptr ? times->find(process.profile()->name) : nullptr;
  if (here == nullptr || here->basis == TimeBasis::known || given.quiet) return {};
  fmt::print("speed {:.3g} on {}, by the law of slices: {}\n", 1 / here->time, here->profile->name,
             law_error_text(process.model(), here->basis, times->job.worst));
  return {};
}

/// Nothing: the job does not fit there.
Result<std::optional<double>> speed_here(const SpeedModel& speed, const SimProcess& process) {
  const GpuModel& gpu = process.model();
  const auto here = process.profile() != nullptr ? speed_on(speed, gpu, *process.profile())
                                                 : speed_on_whole_gpu(speed, gpu);
  if (here) return here->relative;
  if (speed.reference != nullptr && speed.reference != &gpu)
    return fail(
        ErrorKind::bad_input, "--like",
        fmt::format("that job was measured on {}, and this is {}", speed.reference->key, gpu.key),
        "give its speeds here with --speeds");
  return std::nullopt;
}

int die_of_memory(const JobArguments& given, const SimProcess& process, MiB held, MiB wanted) {
  const DyingWords& words = *find_dying_words(given.dies_as);
  const MiB capacity = process.capacity().value_or(held);
  fmt::print(stderr, "{}", words.message({capacity, held, wanted - held}));
  return words.exit_code;
}

/// Becomes the command, on the GPU by name only.
Result<int> become(const JobArguments& given, const SimulatedJobPlan& plan, SimProcess& process) {
  const auto held = process.hold(plan.memory.base);
  if (!held) return std::unexpected(held.error());
  if (!*held) return die_of_memory(given, process, {}, plan.memory.base);
  std::vector<char*> arguments;
  for (const std::string& word : given.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  if (const auto ended = process.end(); !ended) return std::unexpected(ended.error());
  // As shells say it.
  tell("cleave-job: {}: {}\n", given.command.front(), std::generic_category().message(error));
  return error == ENOENT ? 127 : 126;
}

Result<int> run_job(const JobArguments& given, const SimulatedJobPlan& plan,
                    const SpeedModel& speed, SimProcess& process) {
  if (const auto fine = complete_here(given, speed, process); !fine)
    return std::unexpected(fine.error());
  const auto relative = speed_here(speed, process);
  if (!relative) return std::unexpected(relative.error());
  if (!*relative)
    return die_of_memory(given, process, {}, process.capacity().value_or(MiB{}) + plan.memory.base);
  if (!given.checkpoint.empty())
    if (const auto can = can_keep_checkpoint(given.checkpoint); !can)
      return std::unexpected(can.error());
  const auto done = given.checkpoint.empty() ? Result<std::int64_t>(0)
                                             : read_checkpoint(given.checkpoint, given.iterations);
  if (!done) return std::unexpected(done.error());
  JobSignals signals(given.checkpoint.empty() ? 0 : checkpoint_signal(given.checkpoint_signal));
  ReportSender reports(environment(report_variable));
  ProcessDoors doors(process, signals, reports, {given.iterations, given.checkpoint, given.quiet});
  if (*done > 0 && !given.quiet)
    fmt::print("continuing after {} of {} iterations\n", *done, given.iterations);
  const auto outcome = run_simulated_job(plan, **relative, *done, doors);
  if (!outcome) return std::unexpected(outcome.error());
  switch (outcome->end) {
    case SimulatedJobOutcome::End::out_of_memory:
      return die_of_memory(given, process, outcome->held, outcome->wanted);
    case SimulatedJobOutcome::End::stopped:
      return 128 + signals.stopped_by();
    case SimulatedJobOutcome::End::finished:
      break;
  }
  // Or else the next run would find nothing to do.
  if (!given.checkpoint.empty()) ::unlink(given.checkpoint.c_str());
  return 0;
}

Result<int> run(const JobArguments& given) {
  const auto speed = speed_of(given);
  if (!speed) return std::unexpected(speed.error());
  const auto plan = plan_of(given, *speed);
  if (!plan) return std::unexpected(plan.error());
  auto process = on_the_gpu();
  if (!process) return std::unexpected(process.error());
  if (const auto busy = process->keep_busy(plan->busy); !busy) return std::unexpected(busy.error());
  if (!given.command.empty()) return become(given, *plan, *process);
  const auto code = run_job(given, *plan, *speed, *process);
  if (const auto ended = process->end(); !ended && code) return std::unexpected(ended.error());
  return code;
}

void add_memory_options(CommandLine& program, JobArguments& given) {
  Option* memory = program.add_option("--memory", given.memory,
                                      "Memory held all the time: 2GiB, 512MiB or a number of MiB");
  for (Option* growing :
       {program.add_option("--base", given.base,
                           "Memory held before the first iteration; 1GiB by default"),
        program.add_option("--per-iteration", given.per_iteration,
                           "Memory added by each iteration"),
        program.add_option("--noise", given.noise, "Standard deviation of the memory held")})
    growing->excludes(memory);
  program.add_option("--context", given.context,
                     "Memory of the CUDA context, held besides and reported apart");
  program
      .add_option("--reuse-ratio", given.reuse_ratio,
                  "What an iteration requests in total, as a multiple of the memory held for it")
      ->check(Check::range(least_reuse_ratio, most_reuse_ratio))
      ->default_str("1");
  program
      .add_option("--reuse-noise", given.reuse_noise,
                  "Standard deviation of that multiple, as a share of it")
      ->check(Check::range(0.0, most_reuse_noise))
      ->default_str("0");
  program
      .add_option("--iterations", given.iterations, "Number of iterations, all of the same length")
      ->check(Check::range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->default_str("10");
  program.add_option("--seed", given.seed, "Seed of the noise")->default_str("1");
}

void add_time_options(CommandLine& program, JobArguments& given) {
  Option* seconds = program.add_option(
      "--seconds", given.seconds,
      "Total time on the whole GPU under MIG; 10 by default, with --phases their sum");
  seconds->check(time_between(Duration{}))->type_name(time_type);
  Option* speeds =
      program.add_option("--speeds", given.speeds,
                         "Speed by profile relative to the whole GPU: 1g.5gb=0.36,7g.40gb=1; the "
                         "job does not fit on other profiles");
  program
      .add_flag("--complete", given.complete,
                "With --speeds: two profiles of different size give the speeds of the others that "
                "have at least as much memory, by the law of slices")
      ->needs(speeds);
  Option* like = program.add_option(
      "--like", given.like,
      "Speeds of a measured job: miso:resnet:64, parvagpu:bert:8, rodinia:KERNEL");
  Option* phases =
      program.add_option("--phases", given.phases,
                         "Seconds on the whole GPU: cpu=1,transfer=0.5,compute=8,bandwidth=2");
  phases->excludes(seconds);
  speeds->excludes(like)->excludes(phases);
  like->excludes(phases);
  program
      .add_option("--busy", given.busy,
                  "Share of the time in which the job keeps its instance busy")
      ->check(Check::range(0.0, 1.0))
      ->default_str("1");
}

void add_options(CommandLine& program, JobArguments& given) {
  add_memory_options(program, given);
  add_time_options(program, given);
  std::vector<std::string> frameworks;
  for (const DyingWords& words : dying_words()) frameworks.emplace_back(words.framework);
  program
      .add_option("--dies-as", given.dies_as,
                  "Framework whose message and exit code the job ends with when memory runs out")
      ->check(Check::one_of(frameworks))
      ->default_str("cuda");
  program.add_option("--checkpoint", given.checkpoint,
                     "File in which the job saves its progress on a signal or before it is "
                     "stopped, and from which "
                     "it resumes");
  program
      .add_option("--checkpoint-signal", given.checkpoint_signal,
                  "Signal that asks for a checkpoint: USR1, USR2 or HUP")
      ->check(Check::one_of({"USR1", "USR2", "HUP"}))
      ->default_str("USR1");
  program.add_flag("--quiet", given.quiet, "Do not print a line for each iteration");
  program.add_option("command", given.command,
                     "After --: a program to run in the job's place, which appears on the GPU but "
                     "does not use it");
  program.footer(
      "Example:\n  CLEAVE_SIM_NODE=DIR CUDA_VISIBLE_DEVICES=MIG-... cleave-job --memory 4GiB "
      "--seconds 60 "
      "--like miso:resnet:64");
}

/// A command that takes the job's place has its own time, its own growth and its own checkpoints.
Result<void> fits_a_command(const CommandLine& program, const JobArguments& given) {
  if (given.command.empty()) return {};
  for (const auto& option : program.options()) {
    const std::string name = option->name();
    constexpr std::array<std::string_view, 4> meant = {"--memory", "--base", "--busy", "--dies-as"};
    if (option->count() == 0 || !name.starts_with("--") ||
        std::ranges::find(meant, name) != meant.end())
      continue;
    return fail(
        ErrorKind::bad_usage, name,
        "this option has no effect where a command runs in the job's place",
        fmt::format("with a command, only these options apply: {}", fmt::join(meant, ", ")));
  }
  return {};
}

constexpr const char* exit_status =
    "0 The work is done.\nN The status that the framework of --dies-as has when memory runs out, "
    "or "
    "that of the command.\n128+N Signal N stopped it.\n2 The command line is wrong.";

int report(const Error& error) {
  tell("cleave-job: {}\n", error.text());
  return exit_code(error.kind);
}

int run_program(int argc, char** argv) {
  CommandLine program(
      "A job on a simulated GPU: it holds memory, takes time and reports, but computes nothing.",
      "cleave-job");
  program.version_flag("--version", CLEAVE_VERSION);
  JobArguments given;
  bool man = false;
  std::string shell;
  add_options(program, given);
  program.add_flag("--man", man, "Print this help as a man page");
  program
      .add_option("--completion", shell,
                  "Print what lets the Tab key of this shell complete options")
      ->check(Check::one_of(completion_shells));
  if (const auto end = program.parse(argc, argv)) return end->error ? report(*end->error) : 0;
  if (man) {
    const CommandNode tree = command_tree(program);
    fmt::print("{}", manual_page(tree, tree, {CLEAVE_VERSION, exit_status}));
    return 0;
  }
  if (!shell.empty()) {
    fmt::print("{}", completion(command_tree(program), shell, nullptr));
    return 0;
  }
  if (const auto fits = fits_a_command(program, given); !fits) return report(fits.error());
  const auto code = run(given);
  return code ? *code : report(code.error());
}

}  // namespace

}  // namespace cleave::cli

int main(int argc, char** argv) {
  try {
    return cleave::cli::run_program(argc, argv);
  } catch (const std::exception& exception) {
    cleave::tell("cleave-job: {}\n", exception.what());
    return 1;
  }
}
