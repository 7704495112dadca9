// `cleave forecast kernel`: how many SMs a launch fills, and the smallest instance on which it
// takes no more time steps than on the whole GPU.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "forecast/choice/warp_folding.hpp"

namespace cleave::cli {

namespace {

struct ForecastKernelCommandOptions {
  std::vector<std::string> grid, threads;
  std::int64_t registers = 0, shared_bytes = 0, more_waves = 0;
  std::optional<std::int64_t> sharing;
  std::string gpu;
  bool json = false;
};

constexpr int threads_of_warp = 32;
/// No SM holds nearly as many blocks.
constexpr int most_sharing = 1000;

/// A compute capability and what one of its SMs holds of the kernel.
struct CapabilityRow {
  SmLimits limits;
  int warps_of_block = 0;
  Result<Residency> held;

  [[nodiscard]] std::optional<int> blocks() const {
    return held ? std::optional(held->blocks) : std::nullopt;
  }
  [[nodiscard]] std::optional<int> warps() const {
    return held ? std::optional(held->blocks * warps_of_block) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> occupancy() const {
    return held ? std::optional(static_cast<double>(*warps()) / limits.warps) : std::nullopt;
  }
};

const Columns<CapabilityRow> capability_columns = {
    {"capability", "capability", [](const CapabilityRow& row) { return row.limits.capability; }},
    {"blocks_of_sm", "blocks an SM", &CapabilityRow::blocks},
    {"warps_of_sm", "warps an SM", &CapabilityRow::warps},
    {"occupancy", "occupancy", &CapabilityRow::occupancy,
     [](const CapabilityRow& row) {
       return row.occupancy() ? percent(*row.occupancy()) : std::string("-");
     }},
    {"limited_by", "limited by", [](const CapabilityRow& row) {
       return row.held ? Json(name(row.held->limit)) : Json(nullptr);
     }}};

/// A profile and how the kernel runs on it.
struct ProfileRow {
  const Profile* profile;
  std::int64_t waves;
};

const Columns<ProfileRow> profile_columns = {
    {"profile", "profile", [](const ProfileRow& row) { return row.profile->name; }},
    {"sms", "SMs", [](const ProfileRow& row) { return row.profile->sms; }},
    {"waves", "waves", &ProfileRow::waves}};

/// One to three sizes, multiplied.
Result<std::int64_t> product(const std::vector<std::string>& sizes, const char* option) {
  std::int64_t all = 1;
  constexpr std::int64_t most = 2147483647;
  for (const std::string& text : sizes) {
    const auto size = parse_integer(text);
    if (!size || *size < 1 || *size > most || sizes.size() > 3 ||
        __builtin_mul_overflow(all, *size, &all))
      return fail(ErrorKind::bad_usage, option,
                  fmt::format("'{}' is not a size in one of three dimensions", shown(text)),
                  "give one to three whole numbers from 1 on, as in 256,2");
  }
  return all;
}

Result<KernelLaunch> launch_of(const ForecastKernelCommandOptions& options) {
  const auto blocks = product(options.grid, "--grid"),
             threads = product(options.threads, "--threads");
  if (!blocks) return std::unexpected(blocks.error());
  if (!threads) return std::unexpected(threads.error());
  constexpr std::int64_t too_many = 1 << 20;
  return KernelLaunch{*blocks, static_cast<int>(std::min(*threads, too_many)),
                      static_cast<int>(options.registers), options.shared_bytes};
}

/// Of one GPU model.
struct KernelAnswer {
  const GpuModel* gpu = nullptr;
  Folding folding;
  const Profile* profile = nullptr;
  std::vector<ProfileRow> profiles;
};

Result<KernelAnswer> ask(const ForecastKernelCommandOptions& options, const KernelLaunch& launch) {
  const auto gpu = find_gpu_model(options.gpu);
  if (!gpu) return fail_at("--gpu", gpu.error());
  KernelAnswer answer{*gpu, {}, nullptr, {}};
  const auto sms = answer.gpu->largest().sms;
  if (!sms)
    return fail(ErrorKind::bad_usage, "--gpu",
                fmt::format("the number of SMs of {} is not known", answer.gpu->key));
  FoldingOptions folding;
  if (options.sharing) folding.sharing = static_cast<int>(*options.sharing);
  folding.more_waves = options.more_waves;
  const SmLimits limits = sm_limits_of(*answer.gpu);
  const auto folded = fold(launch, limits, sms->value, folding);
  if (!folded) return std::unexpected(folded.error());
  answer.folding = *folded;
  const auto onto = fold_onto(launch, *answer.gpu, folding);
  if (!onto) return std::unexpected(onto.error());
  answer.profile = *onto;
  for (const Profile& profile : answer.gpu->profiles) {
    if (profile.attribute != Attribute::none || !profile.sms) continue;
    answer.profiles.push_back(
        {&profile, fold(launch, limits, profile.sms->value, folding).value().waves});
  }
  return answer;
}

std::vector<CapabilityRow> capabilities(const KernelLaunch& launch) {
  std::vector<CapabilityRow> rows;
  for (const SmLimits& limits : sm_limits())
    rows.push_back({limits, (launch.threads + threads_of_warp - 1) / threads_of_warp,
                    residency(launch, limits)});
  return rows;
}

void print_json(const KernelLaunch& launch, const std::vector<CapabilityRow>& rows,
                const std::optional<KernelAnswer>& answer) {
  Json json{{"blocks", launch.blocks},
            {"threads", launch.threads},
            {"registers", launch.registers},
            {"shared_bytes", launch.shared_bytes},
            {"capabilities", json_rows(capability_columns, rows)}};
  if (answer)
    json["gpu"] = {
        {"model", answer->gpu->key},
        {"sms", answer->gpu->largest().sms->value},
        {"sms_needed", answer->folding.needed},
        {"waves", answer->folding.waves},
        {"sms_folded", answer->folding.folded},
        {"waves_folded", answer->folding.folded_waves},
        {"sms_freed", answer->folding.freed},
        {"profile", answer->profile == nullptr ? Json(nullptr) : Json(answer->profile->name)},
        {"profiles", json_rows(profile_columns, answer->profiles)}};
  print(json);
}

void print_text(const KernelLaunch& launch, const std::vector<CapabilityRow>& rows,
                const std::optional<KernelAnswer>& answer) {
  say("{} blocks of {} threads, {} registers a thread, {} bytes of shared memory a block\n\n{}",
      launch.blocks, launch.threads, launch.registers, launch.shared_bytes,
      text_rows(capability_columns, rows));
  if (!answer) return;
  const Folding& folding = answer->folding;
  const std::string folded = folding.folded_waves == folding.waves
                                 ? std::string("and")
                                 : fmt::format("{}", folding.folded_waves);
  say("\n{}: {} SMs would run the grid at once; {} {} on {} SMs, {} on {}\n\n{}\n",
      answer->gpu->key, folding.needed, folding.waves, folding.waves == 1 ? "wave" : "waves",
      answer->gpu->largest().sms->value, folded, folding.folded,
      text_rows(profile_columns, answer->profiles));
  if (answer->profile == nullptr)
    fmt::print("no profile has {} SMs\n", folding.folded);
  else
    fmt::print("smallest profile with {} SMs: {}\n", folding.folded, answer->profile->name);
}

Result<int> forecast_kernel(const ForecastKernelCommandOptions& options) {
  const auto launch = launch_of(options);
  if (!launch) return std::unexpected(launch.error());
  if (options.gpu.empty() && (options.sharing || options.more_waves > 0))
    return fail(ErrorKind::bad_usage, options.sharing ? "--sharing" : "--more-waves",
                "waves need a GPU", "give --gpu MODEL too");
  const auto rows = capabilities(*launch);
  // What no capability accepts is a wrong launch.
  if (std::ranges::none_of(rows, [](const CapabilityRow& row) { return row.held.has_value(); }))
    return std::unexpected(rows.back().held.error());
  std::optional<KernelAnswer> answer;
  if (!options.gpu.empty()) {
    auto asked = ask(options, *launch);
    if (!asked) return std::unexpected(asked.error());
    answer = std::move(*asked);
  }
  if (options.json)
    print_json(*launch, rows, answer);
  else
    print_text(*launch, rows, answer);
  return 0;
}

}  // namespace

void add_forecast_kernel(CommandLine& forecast, Run& run) {
  const auto [command, options] = add_command(
      forecast, run, "kernel",
      "Compute how a kernel's launch fills SMs, and the smallest instance that is enough for it",
      "cleave forecast kernel --grid 63,63 --threads 16,16 --registers 40 --gpu A100-40GB",
      forecast_kernel);
  command->add_option("--grid", options.grid, "Blocks of the grid: X, X,Y or X,Y,Z")
      ->delimiter(',')
      ->required();
  command->add_option("--threads", options.threads, "Threads of a block: X, X,Y or X,Y,Z")
      ->delimiter(',')
      ->required();
  command
      ->add_option("--registers", options.registers,
                   "Registers of a thread, as `nvcc -Xptxas -v` prints them; 0 if they are not "
                   "known")
      ->check(Check::range(0, 255))
      ->default_str("0");
  command
      ->add_option("--shared-memory", options.shared_bytes,
                   "Shared memory of a block in bytes, static and dynamic")
      ->check(Check::range(0, 1 << 20))
      ->default_str("0");
  command->add_option("--gpu", options.gpu, "GPU model whose profiles are compared");
  command
      ->add_option("--sharing", options.sharing,
                   "Blocks that share an SM without slowing each other; by default as many as it "
                   "holds")
      ->check(Check::range(1, most_sharing));
  command
      ->add_option("--more-waves", options.more_waves,
                   "How many more waves than on the whole GPU are acceptable")
      ->check(whole_number(0))
      ->default_str("0");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
