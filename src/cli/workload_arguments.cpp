#include "cli/workload_arguments.hpp"

#include <unistd.h>

#include <mutex>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/workload_file.hpp"
#include "physics/reconfiguration.hpp"
#include "simulate/read_text.hpp"
#include "simulate/trace.hpp"

namespace cleave::cli {

void RunArguments::add(CLI::App& command) {
  std::vector<std::string> formats;
  for (const TraceFormat& format : trace_formats())
    formats.push_back(fmt::format("{}:FILE ({})", format.name, format.summary));
  command.add_option("--fleet", fleet, "A fleet file, or empty GPUs in short: 4xA100-40GB")->required();
  command.add_option("--workload", workload, "A workload file, JSON lines or CSV; - is standard input");
  command.add_option("--trace", trace, fmt::format("A public trace: {}; gzip or not", any_of(formats)));
  add_trace_options(command);
  command.add_option("--seed", seed, "Seed of what is random: what a trace's reader draws")
      ->check(whole_number(0))
      ->default_str("1");
  add_profiles(command, profiles);
  command.add_flag("--no-index", no_index, "Look at every GPU for every decision; slower, same answer");
  command.add_flag("--timing", timing, "Also say how long the run took");
  add_json(command, json);
}

void RunArguments::add_trace_options(CLI::App& command) {
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    CLI::Option* option = command.add_option(name, value, help)->default_str(fmt::format("{}", value));
    trace_options.push_back(option);
    return option;
  };
  add("--rule", rule, "Traces: how a share of a GPU becomes a profile")
      ->check(CLI::IsMember({"round-up", "nearest"}));
  add("--compress", compress, "Traces: arrivals come so many times faster, run times stay");
  add("--limit", limit, "Traces: only the first so many records by arrival")
      ->check(whole_number(1))
      ->default_str("");
  add("--shares", shares,
      "Trace philly, which records none: every job asks for a whole GPU, or for a share drawn as Alibaba's "
      "sharing pods have them")
      ->check(CLI::IsMember({"whole", "alibaba"}));
  add("--gap", gap, "Trace miso, which records no arrivals: mean seconds between two, drawn");
  add("--processors-per-gpu", processors_per_gpu, "Trace swf: so many processors are a whole GPU")
      ->check(whole_number(1));
}

Result<TraceOptions> RunArguments::read_trace_options() const {
  const auto format = trace_format(trace);
  if (!format) return std::unexpected(format.error());
  for (const CLI::Option* option : trace_options)
    if (option->count() > 0 && !(*format)->has_option(option->get_name().substr(2)))
      return fail(ErrorKind::bad_usage, option->get_name(),
                  fmt::format("the trace format {} has no such option", (*format)->name), "leave it out");
  TraceOptions options;
  options.rule = rule == "nearest" ? ShareRule::nearest : ShareRule::round_up;
  options.shares = shares == "alibaba" ? Shares::alibaba : Shares::whole;
  options.processors_per_gpu = static_cast<std::int64_t>(processors_per_gpu);
  options.seed = seed;
  const std::tuple<const char*, const std::string*, Ratio*> above_zero[] = {
      {"--compress", &compress, &options.compress}, {"--gap", &gap, &options.gap}};
  for (const auto& [name, text, value] : above_zero) {
    const auto number = Ratio::parse(*text);
    if (!number) return fail_at(name, number.error());
    if (*number <= Ratio(0, 1))
      return fail(ErrorKind::bad_usage, name, fmt::format("{} is not above 0", *text));
    *value = *number;
  }
  if (limit > 0) options.limit = limit;
  return options;
}

Result<Workload> RunArguments::read_workload() const {
  if (workload.empty() == trace.empty())
    return fail(ErrorKind::bad_usage, "",
                "say what to run: --workload FILE or --trace FORMAT:FILE, one of the two");
  if (trace.empty()) {
    for (const CLI::Option* option : trace_options)
      if (option->count() > 0)
        return fail(ErrorKind::bad_usage, option->get_name(), "this belongs to traces",
                    "leave it out, or use --trace");
    const auto text = read_text(workload);
    if (!text) return std::unexpected(text.error());
    return parse_workload(*text, workload == "-" ? "standard input" : shown(workload, 200));
  }
  const auto options = read_trace_options();
  if (!options) return std::unexpected(options.error());
  return read_trace(trace, *options);
}

SimulationOptions RunArguments::simulation(Progress progress) const {
  SimulationOptions options;
  options.seed = seed;
  options.use_index = !no_index;
  options.progress = std::move(progress);
  return options;
}

struct ProgressLine::State {
  std::string what;
  std::vector<double> shares;
  int shown = -1;
  bool terminal = false;
  std::mutex mutex;
};

ProgressLine::ProgressLine(std::string what, std::size_t runs) : state_(std::make_shared<State>()) {
  state_->what = std::move(what);
  state_->shares.assign(runs, 0);
  state_->terminal = ::isatty(STDERR_FILENO) == 1;
}

ProgressLine::~ProgressLine() {
  // Wipes the line: results follow in its place.
  if (state_->shown >= 0) fmt::print(stderr, "\r{:{}}\r", "", state_->what.size() + 8);
}

Progress ProgressLine::of_run(std::size_t run) {
  if (!state_->terminal) return {};
  return [state = state_, run](std::size_t done, std::size_t all) {
    const std::scoped_lock lock(state->mutex);
    state->shares[run] = all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
    double sum = 0;
    for (const double share : state->shares) sum += share;
    const int now = static_cast<int>(100 * sum / static_cast<double>(state->shares.size()));
    if (now == state->shown) return;
    state->shown = now;
    fmt::print(stderr, "\r{} {:3} %", state->what, now);
    std::fflush(stderr);
  };
}

namespace {

/// A count that the reader of a trace thought worth reporting, in words.
std::string note(const std::string& key, std::size_t count) {
  constexpr std::string_view state = "state_";
  if (key == "censored")
    return fmt::format("{} jobs were still running when the trace ends; they run to its end\n", count);
  if (key == "no_gpu") return fmt::format("not counted: {} without a GPU\n", counted(count, "record"));
  if (key == "steps") return fmt::format("not counted: {} of jobs\n", counted(count, "step"));
  if (key == "speeds_unreliable")
    return fmt::format("the measured speeds of {} are unreliable: deepspeech2\n", counted(count, "job"));
  if (key.starts_with(state))
    return fmt::format("{} ended as {} in the trace; run for the recorded time\n", counted(count, "job"),
                       key.substr(state.size()));
  return "";
}

}  // namespace

std::string introduction(const FleetFile& fleet, const Workload& workload) {
  std::vector<std::string> gpus;
  for (std::size_t i = 0; i < fleet.geometries.size(); ++i) {
    std::size_t count = 0;
    for (const GpuEntry& gpu : fleet.gpus) count += gpu.geometry == i ? 1 : 0;
    const GpuModel& model = fleet.geometries[i].model();
    gpus.push_back(fmt::format("{} x {}{}", count, model.key,
                               model.placements_inferred ? " (placements inferred)" : ""));
  }
  std::string text = fmt::format("{} jobs on {}\n", workload.jobs.size(), fmt::join(gpus, " + "));
  if (!workload.options.empty()) {
    std::vector<std::string> options;
    for (const auto& [key, value] : workload.options) options.push_back(fmt::format("{} {}", key, value));
    text += fmt::format("trace: {}\n", fmt::join(options, ", "));
    std::vector<std::string> left;
    std::size_t sum = 0;
    for (const ReasonCount& entry : workload.left_out) {
      left.push_back(fmt::format("{} {}", entry.count, entry.reason));
      sum += entry.count;
    }
    text += fmt::format("{} records read, {} left out{}\n", workload.read, sum,
                        left.empty() ? "" : fmt::format(": {}", fmt::join(left, ", ")));
    for (const auto& [key, count] : workload.notes)
      if (count > 0 || key == "censored" || key == "no_gpu") text += note(key, count);
  }
  std::size_t growing = 0;
  for (const Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    growing += details != nullptr && details->growth ? 1 : 0;
  }
  if (growing > 0)
    text += fmt::format("{} jobs describe how their memory grows, which is not simulated yet\n", growing);
  return text;
}

std::string remarks(const RunSummary& summary) {
  std::string text;
  for (const ReasonCount& entry : summary.rejections)
    text += fmt::format("{} jobs rejected: {}\n", entry.count, entry.reason);
  if (summary.waiting > 0)
    text += fmt::format("{} jobs still wait when the run ends: what they need is held for good\n",
                        summary.waiting);
  if (summary.speeds_inferred > 0)
    text += fmt::format("the speed of {} jobs is inferred from compute slices: nobody knows the SMs\n",
                        summary.speeds_inferred);
  if (summary.creates > 0) text += fmt::format("{}\n", reconfiguration_note);
  return text;
}

}  // namespace cleave::cli
