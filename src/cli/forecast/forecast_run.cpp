// `cleave forecast run`: runs a CUDA program without a GPU and says what it would hold and launch;
// or follows it where there is one.

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/forecast/followed_run.hpp"
#include "cli/time_option.hpp"
#include "forecast/shape/model_memory.hpp"

namespace cleave::cli {

namespace {

struct ForecastRunCommandOptions {
  std::vector<std::string> before_dashes;
  std::string gpu, profile, context, forecast, seconds, expected;
  bool live = false, json = false;
};

/// What is answered, for the GPU that the program was shown.
struct RunAnswer {
  const ForecastRunCommandOptions& options;
  const DryRunOptions& run;
  const DryRunAnswer& seen;

  /// A demand that found no room counts if the program died of it.
  [[nodiscard]] MiB needed() const {
    const std::int64_t bytes = seen.ended_well()
                                   ? seen.peak_with_contexts
                                   : std::max(seen.peak_with_contexts, seen.refused_with_contexts);
    // Also one that was not seen to use the GPU may.
    return std::max(mib_that_hold(static_cast<std::uint64_t>(bytes)), run.context);
  }
};

/// A kernel with what it takes of the GPU.
struct KernelRow {
  const SeenKernel* kernel;
  std::optional<Folding> folding;    // empty: it cannot be launched there, or SMs are not known
  const Profile* profile = nullptr;  // the smallest that takes no more time steps
};

std::string triple(const std::array<std::uint32_t, 3>& n) {
  return fmt::format("{}x{}x{}", n[0], n[1], n[2]);
}

const Columns<KernelRow> kernel_columns = {
    {"name", "kernel", [](const KernelRow& row) { return row.kernel->name; },
     [](const KernelRow& row) {
       return row.kernel->name.empty() ? std::string("(unknown)")
                                       : visible(shown(row.kernel->name, 60));
     }},
    {"grid", "grid", [](const KernelRow& row) { return row.kernel->shape.grid; },
     [](const KernelRow& row) { return triple(row.kernel->shape.grid); }},
    {"block", "block", [](const KernelRow& row) { return row.kernel->shape.block; },
     [](const KernelRow& row) { return triple(row.kernel->shape.block); }},
    {"shared_bytes", "shared", [](const KernelRow& row) { return row.kernel->shape.shared_bytes; }},
    {"launches", "launches", [](const KernelRow& row) { return row.kernel->launches; }},
    {"blocks", json_only, [](const KernelRow& row) { return row.kernel->blocks(); }},
    {"sms_needed", "SMs at once",
     [](const KernelRow& row) { return row.folding ? Json(row.folding->needed) : Json(nullptr); }},
    {"waves", "waves",
     [](const KernelRow& row) { return row.folding ? Json(row.folding->waves) : Json(nullptr); }},
    {"sms_folded", "SMs folded",
     [](const KernelRow& row) { return row.folding ? Json(row.folding->folded) : Json(nullptr); }},
    {"profile", "profile", [](const KernelRow& row) {
       return row.profile == nullptr ? Json(nullptr) : Json(row.profile->name);
     }}};

std::vector<KernelRow> kernel_rows(const RunAnswer& answer) {
  std::vector<KernelRow> rows;
  const GpuModel& gpu = *answer.run.gpu;
  for (const SeenKernel& kernel : answer.seen.kernels) {
    KernelRow row{&kernel, std::nullopt};
    if (const auto sms = gpu.largest().sms)
      if (const auto folding = fold(kernel.launch(), sm_limits_of(gpu), sms->value)) {
        row.folding = *folding;
        if (const auto onto = fold_onto(kernel.launch(), gpu)) row.profile = *onto;
      }
    rows.push_back(row);
  }
  return rows;
}

/// The smallest that holds the memory and on which no kernel takes more time steps than on the
/// whole GPU; null if there is none.
const Profile* profile_for_both(const RunAnswer& answer, const std::vector<KernelRow>& rows) {
  Sms sms{0};
  for (const KernelRow& row : rows)
    if (row.folding) sms = std::max(sms, Sms{static_cast<int>(row.folding->folded)});
  const Profile* best = nullptr;
  for (const Profile& profile : answer.run.gpu->profiles) {
    if (profile.attribute != Attribute::none || !profile.usable || !profile.sms ||
        *profile.usable < answer.needed() || *profile.sms < sms)
      continue;
    const auto size = [](const Profile& p) { return std::tuple(*p.sms, *p.usable); };
    if (best == nullptr || size(profile) < size(*best)) best = &profile;
  }
  return best;
}

std::string ended_in_words(const DryRunAnswer& seen) {
  if (seen.interrupted != 0) return fmt::format("was stopped by signal {}", seen.interrupted);
  if (seen.out_of_time) return "was stopped when its time was over";
  if (seen.signal) return fmt::format("died of signal {}", *seen.signal);
  return fmt::format("ended with {}", *seen.exit_code);
}

/// What makes the answer less than the whole truth.
std::vector<std::string> run_remarks(const RunAnswer& answer) {
  const DryRunAnswer& seen = answer.seen;
  std::vector<std::string> all;
  const bool nothing = seen.processes == 0 && seen.unanswered.empty() && seen.refusals == 0 &&
                       seen.unknown_frees == 0;
  if (seen.private_tables)
    all.emplace_back(
        "the program has the static CUDA runtime, which needs a real driver: link it with `nvcc "
        "-cudart shared`, or follow it on a GPU with --live");
  else if (nothing && !seen.ended_well())
    all.emplace_back("the program did not end well, and no call of CUDA was seen until then");
  else if (nothing)
    all.emplace_back(
        "no call of CUDA was seen: either there is none, or the program is linked statically");
  if (!nothing && !seen.ended_well())
    all.emplace_back("the program did not end well: these are its figures until then");
  if (seen.refusals > 0)
    all.push_back(fmt::format("{} found no room, the largest for {} MiB with what was held{}",
                              counted(seen.refusals, "allocation"),
                              mib_that_hold(static_cast<std::uint64_t>(seen.refused_bytes)).value,
                              seen.ended_well() ? "; the program went on without" : ""));
  if (!seen.unanswered.empty())
    all.push_back(
        fmt::format("calls without an answer here: {}", fmt::join(seen.unanswered, ", ")));
  if (seen.unknown_frees > 0)
    all.push_back(fmt::format("{} of what was not allocated, or freed already",
                              counted(seen.unknown_frees, "free")));
  if (seen.incomplete)
    all.emplace_back("there were more kernels in different shapes, or processes, than are kept");
  return all;
}

Json memory_json(const RunAnswer& answer) {
  Json peak_of = Json::object();
  for (std::size_t kind = 0; kind < cuda::memory_kinds; ++kind)
    peak_of[std::string(cuda::memory_kind_names[kind])] = answer.seen.peak_of[kind];
  return {{"peak_bytes", answer.seen.peak_bytes},       {"peak_bytes_of", peak_of},
          {"refused_bytes", answer.seen.refused_bytes}, {"context_mib", answer.run.context.value},
          {"contexts", answer.seen.contexts},           {"needed_mib", answer.needed().value}};
}

void print_json(const RunAnswer& answer) {
  const DryRunAnswer& seen = answer.seen;
  const auto rows = kernel_rows(answer);
  const Profile* const holds = smallest_that_holds(answer.needed(), *answer.run.gpu);
  const Profile* const both = profile_for_both(answer, rows);
  const auto name_or_null = [](const Profile* profile) {
    return profile == nullptr ? Json(nullptr) : Json(profile->name);
  };
  print(Json{{"command", answer.run.command},
             {"ended", ended_in_words(seen)},
             {"exit_code", as_json(seen.exit_code)},
             {"signal", as_json(seen.signal)},
             {"seconds", seen.seconds},
             {"gpu", answer.run.gpu->key},
             {"memory", memory_json(answer)},
             {"allocations", seen.allocations},
             {"frees", seen.frees},
             {"unknown_frees", seen.unknown_frees},
             {"refusals", seen.refusals},
             {"launches", seen.launches},
             {"processes", seen.processes},
             {"kernels", json_rows(kernel_columns, rows)},
             {"profile_for_memory", name_or_null(holds)},
             {"profile", name_or_null(both)},
             {"remarks", run_remarks(answer)}});
}

std::string mib_text(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / bytes_per_mib);
}

void print_text(const RunAnswer& answer) {
  const DryRunAnswer& seen = answer.seen;
  fmt::print("{} {}, without a GPU\n\n", visible(shown(answer.run.command.front())),
             ended_in_words(seen));
  Table memory({"memory, at most", "MiB"});
  int kinds = 0;
  for (std::size_t kind = 0; kind < cuda::memory_kinds; ++kind)
    if (cuda::on_gpu(static_cast<cuda::MemoryKind>(kind)) && seen.peak_of[kind] > 0) {
      memory.add({std::string(cuda::memory_kind_names[kind]), mib_text(seen.peak_of[kind])});
      ++kinds;
    }
  if (kinds != 1) memory.add({"at the same time", mib_text(seen.peak_bytes)});
  if (seen.refused_bytes > 0 && !seen.ended_well())
    memory.add({"with what was refused", mib_text(seen.refused_bytes)});
  memory.add(
      {"CUDA context", fmt::format("{:.1f}", static_cast<double>(answer.run.context.value))});
  if (seen.contexts > 1) memory.add({"contexts at once", fmt::format("{}", seen.contexts)});
  memory.add({"needed", fmt::format("{:.1f}", static_cast<double>(answer.needed().value))});
  fmt::print("{}", memory.text());
  const std::int64_t pinned = seen.peak_of[static_cast<std::size_t>(cuda::MemoryKind::pinned)];
  if (pinned > 0) fmt::print("{} MiB of the host were pinned\n", mib_text(pinned));
  const auto rows = kernel_rows(answer);
  if (!rows.empty()) fmt::print("\n{}", text_rows(kernel_columns, rows));
  const Profile* const holds = smallest_that_holds(answer.needed(), *answer.run.gpu);
  const Profile* const both = profile_for_both(answer, rows);
  fmt::print("\n{}: ", answer.run.gpu->key);
  if (holds == nullptr)
    fmt::print("no profile holds it\n");
  else if (both == nullptr || both == holds)
    fmt::print("{} holds it\n", holds->name);
  else
    fmt::print("{} holds it; with {} no kernel takes more waves than on the whole GPU\n",
               holds->name, both->name);
  for (const std::string& remark : run_remarks(answer)) fmt::print("note: {}\n", remark);
}

Result<DryRunOptions> what_to_run(const ForecastRunCommandOptions& options) {
  DryRunOptions run;
  run.command = command_words();
  constexpr const char* usual_gpu = "A100-80GB";
  const auto gpu = find_gpu_model(options.gpu.empty() ? usual_gpu : options.gpu);
  if (!gpu) return fail_at("--gpu", gpu.error());
  run.gpu = *gpu;
  if (!options.profile.empty()) {
    run.profile = run.gpu->find(options.profile);
    if (run.profile == nullptr || !run.profile->usable || !run.profile->sms)
      return fail(ErrorKind::bad_usage, "--profile",
                  fmt::format("{} has no profile '{}' of known size", run.gpu->key,
                              visible(shown(options.profile))),
                  fmt::format("`cleave gpu {}` lists them", run.gpu->key));
  }
  run.context = sharing_modes().front().counted;
  if (!options.context.empty()) {
    const auto context = parse_size(options.context);
    if (!context) return fail_at("--context", context.error());
    run.context = *context;
  }
  constexpr Duration usual = std::chrono::minutes{1};
  run.limit = options.seconds.empty() ? usual : time_given(options.seconds);
  return run;
}

Result<int> follow(const ForecastRunCommandOptions& options) {
  if (!options.gpu.empty() || !options.profile.empty() || !options.context.empty())
    return fail(ErrorKind::bad_usage, "--live", "the program sees the GPU that is there",
                "leave --gpu, --profile and --context out");
  const char* without = !options.seconds.empty() ? "--seconds" : "--json";
  if (!options.seconds.empty() || options.json)
    return fail(ErrorKind::bad_usage, without,
                "with --live the command becomes the program, which runs to its own end and prints "
                "its own output",
                fmt::format("leave {} out", without));
  LiveRunOptions live{command_words(), std::nullopt, std::nullopt};
  if (!options.forecast.empty()) {
    const auto size = parse_size(options.forecast);
    if (!size) return fail_at("--forecast", size.error());
    live.forecast = *size;
  }
  if (!options.expected.empty()) live.expected = time_given(options.expected);
  return become_followed(live);
}

Result<int> forecast_run(const ForecastRunCommandOptions& options) {
  if (command_words().empty() || !options.before_dashes.empty())
    return fail(ErrorKind::bad_usage, "PROGRAM",
                options.before_dashes.empty() ? "no program is given"
                                              : fmt::format("'{}' was given without -- before it",
                                                            visible(options.before_dashes.front())),
                "write it after --, as in `cleave forecast run -- ./train --epochs 1`");
  if (options.live) return follow(options);
  if (!options.forecast.empty() || !options.expected.empty())
    return fail(ErrorKind::bad_usage, !options.expected.empty() ? "--expected" : "--forecast",
                "this applies only to a program that is followed", "give --live too");
  const auto run = what_to_run(options);
  if (!run) return std::unexpected(run.error());
  const auto seen = run_dry(*run);
  if (!seen) return std::unexpected(seen.error());
  const RunAnswer answer{options, *run, *seen};
  if (options.json)
    print_json(answer);
  else
    print_text(answer);
  if (seen->interrupted != 0) return 128 + seen->interrupted;
  return seen->ended_well() ? 0 : 1;
}

}  // namespace

void add_forecast_run(CommandLine& forecast, Run& run) {
  const auto [command, options] = add_command(
      forecast, run, "run",
      "Run a CUDA program without a GPU and find the memory and the grids that it would use",
      "cleave forecast run --gpu A100-40GB -- ./matrix 4096", forecast_run);
  command->add_option("--gpu", options.gpu, "GPU model that the program is shown")
      ->check(not_empty())
      ->default_str("A100-80GB");
  command
      ->add_option("--profile", options.profile,
                   "Profile of that GPU whose memory and SMs the program is shown; by default "
                   "the whole GPU")
      ->check(not_empty());
  command
      ->add_option("--context", options.context,
                   "Memory of the CUDA context; 615 MiB by default, as `cleave forecast model` "
                   "counts it")
      ->check(not_empty());
  command
      ->add_option("--seconds", options.seconds,
                   "Time after which the program is stopped; what it did until then is shown")
      ->check(time_between(std::chrono::milliseconds{1}, std::chrono::seconds{1'000'000}))
      ->type_name(time_type)
      ->default_str("1m");
  command->add_flag("--live", options.live,
                    "Run it on the GPU that is there, and report its memory to the daemon as it "
                    "runs");
  command
      ->add_option("--forecast", options.forecast,
                   "With --live: the memory that the program was said to need, without the "
                   "context; it is told on standard error when it holds more")
      ->check(not_empty());
  command
      ->add_option("--expected", options.expected,
                   "With --live: time that the program will run, so that a forecast knows its end")
      ->check(time_between(std::chrono::milliseconds{100}, std::chrono::seconds{1'000'000'000}))
      ->type_name(time_type);
  add_json(*command, options.json);
  command->add_option("PROGRAM", options.before_dashes,
                      "The program and its arguments, after --; its output goes to standard error");
}

}  // namespace cleave::cli
