// `cleave forecast source`: what CUDA sources ask for, as far as the compiler knows it.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/demangle.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"
#include "cli/child_program.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "forecast/choice/warp_folding.hpp"
#include "forecast/shape/model_memory.hpp"
#include "forecast/source/cuda_header.hpp"
#include "forecast/source/cuda_ir.hpp"

namespace cleave::cli {

namespace {

namespace fs = std::filesystem;

struct ForecastSourceCommandOptions {
  std::vector<std::string> files;
  std::string clang, gpu = "A100-80GB";
  bool json = false;
};

/// Equal allocations of one function.
struct AllocationRow {
  std::string file, function;
  SourceAllocation allocation;
  std::int64_t places = 1;  // in the function
};

std::string known_bytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? fmt::format("{}", *bytes) : "unknown";
}

const Columns<AllocationRow> allocation_columns = {
    {"file", json_only, &AllocationRow::file},
    {"function", "function", &AllocationRow::function,
     [](const AllocationRow& row) { return visible(shown(row.function)); }},
    {"call", "call", [](const AllocationRow& row) { return row.allocation.call; }},
    {"memory", "memory", [](const AllocationRow& row) { return name(row.allocation.memory); }},
    {"places", "places", &AllocationRow::places},
    {"bytes", "bytes", [](const AllocationRow& row) { return as_json(row.allocation.bytes); },
     [](const AllocationRow& row) { return known_bytes(row.allocation.bytes); }}};

/// A launch with what it takes of the GPU.
struct LaunchRow {
  std::string file, function;
  SourceLaunch launch;
  std::optional<Folding> folding;  // empty: its shape is unknown, or it cannot run there
  const Profile* profile = nullptr;

  [[nodiscard]] std::optional<std::int64_t> blocks() const {
    std::int64_t all = 1;
    if (!launch.grid) return std::nullopt;
    for (const std::uint32_t n : *launch.grid)
      if (__builtin_mul_overflow(all, std::int64_t{n}, &all)) return std::nullopt;
    return all;
  }
};

Json shape_json(const std::optional<SourceShape>& shape) {
  return shape ? Json(*shape) : Json(nullptr);
}
std::string shape_text(const std::optional<SourceShape>& shape) {
  return shape ? fmt::format("{}", fmt::join(*shape, "x")) : "unknown";
}

const Columns<LaunchRow> launch_columns = {
    {"file", json_only, &LaunchRow::file},
    {"function", json_only, &LaunchRow::function},
    {"kernel", "kernel",
     [](const LaunchRow& row) {
       return row.launch.kernel.empty() ? Json(nullptr) : Json(row.launch.kernel);
     },
     [](const LaunchRow& row) {
       return row.launch.kernel.empty() ? "unknown" : visible(shown(row.launch.kernel));
     }},
    {"grid", "grid", [](const LaunchRow& row) { return shape_json(row.launch.grid); },
     [](const LaunchRow& row) { return shape_text(row.launch.grid); }},
    {"block", "block", [](const LaunchRow& row) { return shape_json(row.launch.threads); },
     [](const LaunchRow& row) { return shape_text(row.launch.threads); }},
    {"shared_bytes", "shared",
     [](const LaunchRow& row) { return as_json(row.launch.shared_bytes); },
     [](const LaunchRow& row) { return known_bytes(row.launch.shared_bytes); }},
    {"blocks", json_only, &LaunchRow::blocks},
    {"sms_needed", "SMs at once",
     [](const LaunchRow& row) { return row.folding ? Json(row.folding->needed) : Json(nullptr); }},
    {"waves", "waves",
     [](const LaunchRow& row) { return row.folding ? Json(row.folding->waves) : Json(nullptr); }},
    {"sms_folded", "SMs folded",
     [](const LaunchRow& row) { return row.folding ? Json(row.folding->folded) : Json(nullptr); }},
    {"profile", "profile", [](const LaunchRow& row) {
       return row.profile == nullptr ? Json(nullptr) : Json(row.profile->name);
     }}};

/// Everything that is answered.
struct SourceAnswer {
  const GpuModel* gpu = nullptr;
  MiB context;
  std::vector<AllocationRow> allocations;
  std::vector<LaunchRow> launches;  // most blocks first, unknown ones last
  std::int64_t gpu_bytes = 0, pinned_bytes = 0;
  std::int64_t unknown = 0;  // allocations on the GPU
  std::size_t frees = 0;

  [[nodiscard]] MiB needed() const {
    return mib_that_hold(static_cast<std::uint64_t>(gpu_bytes)) + context;
  }
  [[nodiscard]] const Profile* profile() const {
    return unknown > 0 ? nullptr : smallest_that_holds(needed(), *gpu);
  }
};

Result<void> write_headers(const fs::path& folder) {
  std::ofstream header(folder / cuda_header_name);
  header << cuda_header();
  bool good = static_cast<bool>(header.flush());
  for (const std::string_view other : other_cuda_header_names()) {
    std::ofstream leads(folder / other);
    leads << fmt::format("#pragma once\n#include \"{}\"\n", cuda_header_name);
    good = good && leads.flush();
  }
  if (good) return {};
  return fail(ErrorKind::infeasible, folder.string(), "the headers cannot be written there",
              "set TMPDIR to a folder on a disk with room");
}

/// The first of these that can be run.
Result<std::string> find_clang(const std::string& given) {
  const std::vector<std::string> names =
      given.empty() ? std::vector<std::string>{"clang++-19", "clang++"} : std::vector{given};
  for (const std::string& each : names)
    if (run_to_end({each, "--version"}, false)) return each;
  return fail(ErrorKind::bad_usage, given.empty() ? "clang++-19" : "--clang " + shown(given),
              "clang cannot be run", "install clang-19, or name another clang with --clang");
}

Result<SourceModule> compile(const std::string& clang, const std::string& file,
                             const fs::path& folder) {
  const std::string made = (folder / "source.ll").string();
  std::error_code ignored;
  fs::remove(made, ignored);
  std::vector<std::string> command = {clang,
                                      "-std=c++17",
                                      "-O1",
                                      "-w",
                                      "-I" + folder.string(),
                                      "-include",
                                      std::string(cuda_header_name)};
  command.insert(command.end(), command_words().begin(), command_words().end());
  // A path of its own, so that a file whose name begins with a dash is one.
  for (const std::string& each :
       {std::string("-x"), std::string("cuda"), std::string("--cuda-host-only"),
        std::string("-nocudainc"), std::string("-nocudalib"), std::string("-S"),
        std::string("-emit-llvm"), std::string("-o"), made, fs::absolute(file).string()})
    command.push_back(each);
  if (!run_to_end(command, false))
    return fail(ErrorKind::bad_input, shown(file, 200), "clang does not compile it, as shown above",
                "correct it, or give clang what it needs after --, as in `-- -I include`");
  const auto text = read_text(made);
  if (!text)
    return fail(ErrorKind::bad_usage, clang, "it ended well and wrote no LLVM IR",
                "name a clang with --clang");
  return read_cuda_ir(*text, shown(file, 200));
}

void add_function(const std::string& file, const SourceFunction& function, SourceAnswer& answer) {
  const std::string in_words = in_source(function.name);
  answer.frees += function.frees;
  const std::size_t first = answer.allocations.size();
  for (const SourceAllocation& each : function.allocations) {
    const bool pinned = each.memory == SourceMemory::pinned;
    std::int64_t& sum = pinned ? answer.pinned_bytes : answer.gpu_bytes;
    if (!each.bytes)
      answer.unknown += pinned ? 0 : 1;
    else if (__builtin_add_overflow(sum, *each.bytes, &sum))
      sum = INT64_MAX;
    const auto same = std::find_if(
        answer.allocations.begin() + static_cast<std::ptrdiff_t>(first), answer.allocations.end(),
        [&](const AllocationRow& row) { return row.allocation == each; });
    if (same != answer.allocations.end())
      ++same->places;
    else
      answer.allocations.push_back({file, in_words, each});
  }
  for (const SourceLaunch& each : function.launches) {
    LaunchRow row{file, in_words, each, std::nullopt};
    const auto blocks = row.blocks();
    const auto sms = answer.gpu->largest().sms;
    if (blocks && each.threads && each.shared_bytes && sms) {
      constexpr std::uint64_t too_many = 1 << 20;
      std::uint64_t threads = 1;
      for (const std::uint32_t n : *each.threads) threads = std::min(threads * n, too_many);
      const KernelLaunch launch{*blocks, static_cast<int>(threads), 0, *each.shared_bytes};
      if (const auto folding = fold(launch, sm_limits_of(*answer.gpu), sms->value)) {
        row.folding = *folding;
        if (const auto onto = fold_onto(launch, *answer.gpu)) row.profile = *onto;
      }
    }
    answer.launches.push_back(std::move(row));
  }
}

std::vector<std::string> source_remarks(const SourceAnswer& answer) {
  std::vector<std::string> all;
  if (!answer.allocations.empty())
    all.emplace_back(
        "the sum bounds the peak if each place is reached once: what is in a loop, or in a "
        "function "
        "that is called again, may hold more");
  if (answer.unknown > 0)
    all.push_back(fmt::format(
        "{} {} on the GPU {} on data: `cleave forecast run` finds {} where the program can be run",
        answer.unknown, answer.unknown == 1 ? "allocation" : "allocations",
        answer.unknown == 1 ? "depends" : "depend", answer.unknown == 1 ? "it" : "them"));
  if (answer.allocations.empty() && answer.launches.empty())
    all.emplace_back("no call of CUDA that allocates or launches is in these sources");
  return all;
}

void print_json(const ForecastSourceCommandOptions& options, const SourceAnswer& answer) {
  const Profile* const profile = answer.profile();
  print(Json{{"files", options.files},
             {"gpu", answer.gpu->key},
             {"allocations", json_rows(allocation_columns, answer.allocations)},
             {"gpu_bytes", answer.gpu_bytes},
             {"pinned_bytes", answer.pinned_bytes},
             {"unknown", answer.unknown},
             {"frees", answer.frees},
             {"context_mib", answer.context.value},
             {"needed_mib", answer.unknown > 0 ? Json(nullptr) : Json(answer.needed().value)},
             {"launches", json_rows(launch_columns, answer.launches)},
             {"profile", profile == nullptr ? Json(nullptr) : Json(profile->name)},
             {"remarks", source_remarks(answer)}});
}

void print_text(const SourceAnswer& answer) {
  if (!answer.allocations.empty())
    fmt::print("{}\n", text_rows(allocation_columns, answer.allocations));
  fmt::print("on the GPU: {} bytes of known size, {} of unknown size; {} {}\n", answer.gpu_bytes,
             counted(static_cast<std::size_t>(answer.unknown), "allocation"), answer.frees,
             answer.frees == 1 ? "call frees" : "calls free");
  if (answer.pinned_bytes > 0) fmt::print("pinned on the host: {} bytes\n", answer.pinned_bytes);
  if (!answer.launches.empty()) {
    fmt::print("\n{}\n", text_rows(launch_columns, answer.launches));
    const LaunchRow& largest = answer.launches.front();
    if (largest.folding)
      fmt::print("largest known grid: {} blocks, {} SMs at once\n", *largest.blocks(),
                 largest.folding->needed);
  }
  const Profile* const profile = answer.profile();
  if (answer.unknown > 0)
    fmt::print("{}: the profile depends on data\n", answer.gpu->key);
  else if (profile == nullptr)
    fmt::print("{}: no profile holds {} MiB\n", answer.gpu->key, answer.needed().value);
  else
    fmt::print("{}: {} holds {} MiB, {} of them for the CUDA context\n", answer.gpu->key,
               profile->name, answer.needed().value, answer.context.value);
  for (const std::string& remark : source_remarks(answer)) fmt::print("note: {}\n", remark);
}

Result<int> forecast_source(const ForecastSourceCommandOptions& options) {
  const auto gpu = find_gpu_model(options.gpu);
  if (!gpu) return fail_at("--gpu", gpu.error());
  for (const std::string& file : options.files) {
    std::error_code ignored;
    if (!fs::exists(file, ignored) || fs::is_directory(file, ignored))
      return fail(ErrorKind::bad_usage, shown(file, 200), "there is no such file",
                  "name a CUDA source; arguments for clang stand after --");
  }
  const auto folder = WorkFolder::make_temporary("source");
  if (!folder) return std::unexpected(folder.error());
  if (const auto written = write_headers(folder->path()); !written)
    return std::unexpected(written.error());
  const auto clang = find_clang(options.clang);
  if (!clang) return std::unexpected(clang.error());
  std::vector<SourceModule> modules;
  for (const std::string& file : options.files) {
    auto module = compile(*clang, file, folder->path());
    if (!module) return std::unexpected(module.error());
    modules.push_back(std::move(*module));
  }
  keep_what_main_reaches(modules);
  SourceAnswer answer;
  answer.gpu = *gpu;
  answer.context = sharing_modes().front().counted;
  for (std::size_t i = 0; i < modules.size(); ++i)
    for (const SourceFunction& function : modules[i].functions)
      add_function(options.files[i], function, answer);
  std::ranges::stable_sort(answer.launches, std::greater{},
                           [](const LaunchRow& row) { return row.blocks().value_or(-1); });
  if (options.json)
    print_json(options, answer);
  else
    print_text(answer);
  return 0;
}

}  // namespace

void add_forecast_source(CommandLine& forecast, Run& run) {
  const auto [command, options] = add_command(
      forecast, run, "source",
      "Compile CUDA sources and find the memory and the grids that they ask for, as far as they do "
      "not depend on data",
      "cleave forecast source --gpu A100-40GB saxpy.cu -- -I include", forecast_source);
  command
      ->add_option("FILE", options.files,
                   "CUDA sources of one program; arguments for clang stand after --")
      ->required();
  command->add_option("--clang", options.clang,
                      "The clang that compiles them; by default clang++-19, else clang++");
  command->add_option("--gpu", options.gpu, "GPU model whose profiles are compared")
      ->default_str("A100-80GB");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
