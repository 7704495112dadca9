// `cleave bench cuda-trace`: what following a CUDA program costs. The same loop of allocations and
// frees runs over a CUDA whose calls take a given time, with and without the live library before
// it, in turns.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"
#include "cli/child_program.hpp"
#include "cli/columns.hpp"
#include "cli/forecast/followed_run.hpp"
#include "runner/descriptor.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchCudaTraceCommandOptions {
  std::int64_t allocations = 100'000, call_us = 10, turns = 10;
  bool json = false;
};

/// One way to run the loop.
struct LoopBench {
  std::string with;
  std::vector<double> ns;  // of a call, over stretches of twenty
  std::int64_t allocations = 0;

  [[nodiscard]] double call_ns() const { return median(ns); }
};

const Columns<LoopBench> columns = {{"with", "with", &LoopBench::with},
                                    {"allocations", "allocations", &LoopBench::allocations},
                                    {"call_ns", "ns a call", &LoopBench::call_ns, decimals(0)}};

/// A listener for reports, so that sending them costs what it does.
Result<Descriptor> listen_to_reports(const std::string& path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(ErrorKind::infeasible, path, "the path is too long for a socket",
                "set TMPDIR to a shorter one");
  std::strcpy(address.sun_path, path.c_str());
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail(ErrorKind::infeasible, path, "no socket can be made there");
  return socket;
}

/// What stands on the command line before the loop's program.
struct Before {
  std::vector<std::string> plain, followed;
};

Result<void> run_loop(const std::vector<std::string>& before, std::int64_t pairs, LoopBench& into) {
  std::vector<std::string> command = before;
  command.push_back(fmt::format("{}", pairs));
  const auto said = run_to_end(command, true);
  if (!said) return std::unexpected(said.error());
  constexpr double calls = 20;
  for (const std::string_view line : split(*said, '\n'))
    if (const auto ns = parse_integer(line)) into.ns.push_back(static_cast<double>(*ns) / calls);
  into.allocations += pairs;
  return {};
}

Result<Before> commands(const BenchCudaTraceCommandOptions& options, const std::string& socket) {
  const auto live = followed_library("libcleave-cuda.so");
  if (!live) return std::unexpected(live.error());
  const auto dry = followed_library("dry/libcleave-cuda-dry.so");
  if (!dry) return std::unexpected(dry.error());
  const auto loop = installed_program("cleave-cuda-loop");
  // Its own answers are the CUDA that is followed.
  const auto with = [&](const std::string& libraries) {
    return std::vector<std::string>{"/usr/bin/env",
                                    "-u",
                                    "CLEAVE_CUDA_RECORD",
                                    "LD_PRELOAD=" + libraries,
                                    fmt::format("CLEAVE_CUDA_CALL_US={}", options.call_us),
                                    "CLEAVE_REPORT=" + socket,
                                    loop.string()};
  };
  Before before{with(dry->string()), with(live->string() + ":" + dry->string())};
  // The one that stands for CUDA reports nothing.
  std::erase(before.plain, "CLEAVE_REPORT=" + socket);
  return before;
}

Result<int> cuda_trace(const BenchCudaTraceCommandOptions& options) {
  const auto folder = WorkFolder::make(std::filesystem::temp_directory_path(), "bench");
  if (!folder) return std::unexpected(folder.error());
  const std::string path = (folder->path() / "report").string();
  const auto socket = listen_to_reports(path);
  if (!socket) return std::unexpected(socket.error());
  const auto before = commands(options, path);
  if (!before) return std::unexpected(before.error());
  std::vector<LoopBench> runs = {{"nothing", {}, 0}, {"the live library", {}, 0}};
  const std::int64_t a_turn = options.allocations / options.turns;
  for (std::int64_t turn = 0; turn < options.turns; ++turn) {
    if (const auto done = run_loop(before->plain, a_turn, runs[0]); !done)
      return std::unexpected(done.error());
    if (const auto done = run_loop(before->followed, a_turn, runs[1]); !done)
      return std::unexpected(done.error());
    char line[1024];
    while (::recv(socket->number(), line, sizeof line, 0) > 0) {
    }
  }
  if (runs[0].ns.empty() || runs[1].ns.empty())
    return fail(ErrorKind::internal, "bench", "the loop said nothing");
  const double overhead = runs[1].call_ns() / runs[0].call_ns() - 1;
  if (options.json)
    print(Json{
        {"call_us", options.call_us}, {"runs", json_rows(columns, runs)}, {"overhead", overhead}});
  else
    fmt::print(
        "Allocations and frees whose calls take {} us, medians of stretches of twenty\n\n{}\n"
        "overhead: {:.2f} %\n",
        options.call_us, text_rows(columns, runs), 100 * overhead);
  return 0;
}

}  // namespace

void add_bench_cuda_trace(CommandLine& bench, Run& run) {
  const auto [command, options] = add_command(
      bench, run, "cuda-trace", "Measure what it costs to follow a CUDA program's allocations",
      "cleave bench cuda-trace --call-us 10", cuda_trace);
  command->add_option("--allocations", options.allocations, "Number of allocations, each freed")
      ->check(Check::range(std::int64_t{5000}, std::int64_t{100'000'000}))
      ->default_str("100000");
  command
      ->add_option("--call-us", options.call_us, "Time that a call of CUDA takes, in microseconds")
      ->check(Check::range(std::int64_t{0}, std::int64_t{10'000}))
      ->default_str("10");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
