// What `cleave arena` does: its options, its progress, and where its answers go.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/output_files.hpp"
#include "model/default_scheduler.hpp"
#include "study/arena/arena_compaction.hpp"
#include "study/arena/arena_page.hpp"
#include "study/arena/arena_report.hpp"
#include "study/arena/kept_runs.hpp"
#include "study/study_commands.hpp"

namespace cleave::cli {

namespace {

struct ArenaCommandOptions {
  std::string cells, schedulers{default_scheduler}, baselines, pattern, keep, csv, page, compaction;
  std::uint64_t threads = 0;
  bool physical = false, json = false, timing = false;
};

/// Whether the name fits a pattern in which * stands for anything.
bool fits(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= name.size(); ++at)
    if (fits(name.substr(at), rest)) return true;
  return false;
}

Result<std::vector<OpenArenaCell>> open_cells(const ArenaCommandOptions& options,
                                              ArenaWorld world) {
  const auto text = read_text(options.cells);
  if (!text) return std::unexpected(text.error());
  const auto cells = parse_arena_cells(*text, options.cells, world);
  if (!cells) return std::unexpected(cells.error());
  std::vector<OpenArenaCell> open;
  const auto patterns = split(options.pattern, ',');
  for (const ArenaCell& cell : *cells) {
    if (!options.pattern.empty() && std::ranges::none_of(patterns, [&](std::string_view pattern) {
          return fits(cell.name, trimmed(pattern));
        }))
      continue;
    auto opened = open_arena_cell(cell);
    if (!opened) return std::unexpected(opened.error());
    open.push_back(*std::move(opened));
  }
  if (open.empty())
    return fail(ErrorKind::bad_usage, "--cells",
                fmt::format("no cell fits '{}'", shown(options.pattern)),
                suggestion(options.pattern, names_of(*cells)));
  return open;
}

/// On a terminal a line that counts; elsewhere a line now and then.
ArenaProgress progress_of_runs(ArenaWorld world) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto between = terminal ? std::chrono::milliseconds(200) : std::chrono::seconds(15);
  return [=, last = Clock::now()](std::size_t done, std::size_t all) mutable {
    if (terminal && done == all) {
      fmt::print(stderr, "\r{:60}\r", "");  // results follow in its place
    } else if (Clock::now() - last >= between) {
      last = Clock::now();
      fmt::print(stderr, "{}arena, {} world: {} of {} runs{}", terminal ? "\r" : "", name(world),
                 done, all, terminal ? "" : "\n");
    }
    std::fflush(stderr);
  };
}

/// The first law that a scheduler broke.
Result<int> exit_code_of(const ArenaResults& results) {
  for (const ArenaResults::Of& cell : results.cells)
    for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant)
      for (const ArenaRun& run : cell.runs[contestant])
        if (run.why && run.why->kind == ErrorKind::internal)
          return fail_at(
              fmt::format("{}: {}", cell.cell.name, results.contestants[contestant].spec),
              *run.why);
  return 0;
}

Result<std::unique_ptr<KeptRuns>> open_kept(const ArenaCommandOptions& options) {
  if (options.keep.empty()) return nullptr;
  const auto program = program_hash();
  if (!program) return std::unexpected(program.error());
  return KeptRuns::open(options.keep, *program);
}

/// The cells in one world.
Result<ArenaResults> results_in(ArenaWorld world, const ArenaCommandOptions& options,
                                const std::vector<ArenaContestant>& contestants, KeptRuns* kept) {
  const auto cells = open_cells(options, world);
  if (!cells) return std::unexpected(cells.error());
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  ArenaResults results = run_arena(*cells, contestants,
                                   {.most_threads = options.threads > 0 ? options.threads : cores,
                                    .kept = kept,
                                    .own_runs_only = !options.page.empty(),
                                    .progress = progress_of_runs(world)});
  if (kept != nullptr)
    if (const auto written = kept->written(); !written) return std::unexpected(written.error());
  return results;
}

Result<int> write_page(const ArenaCommandOptions& options,
                       const std::vector<ArenaContestant>& contestants, KeptRuns* kept) {
  const auto plain = results_in(ArenaWorld::plain, options, contestants, kept);
  if (!plain) return std::unexpected(plain.error());
  const auto physical = results_in(ArenaWorld::physical, options, contestants, kept);
  if (!physical) return std::unexpected(physical.error());
  if (const auto done = write_whole(options.page, arena_page(*plain, *physical, 0)); !done)
    return std::unexpected(done.error());
  const auto code = exit_code_of(*plain);
  return code ? exit_code_of(*physical) : code;
}

/// Each scheduler under test with the rules and without.
Result<int> compare_compaction(const ArenaCommandOptions& options) {
  const auto rules = parse_compaction(options.compaction);
  if (!rules) return fail_at("--compaction", rules.error());
  if (!*rules)
    return fail(ErrorKind::bad_usage, "--compaction", "off is what it is compared with",
                "write on, or the rules");
  const auto contestants = arena_contestants(options.schedulers, "");
  if (!contestants) return std::unexpected(contestants.error());
  std::vector<ArenaCompactionRow> rows;
  for (const ArenaContestant& each : *contestants) {
    if (each.role != ArenaRole::tested) continue;
    const auto results = results_in(options.physical ? ArenaWorld::physical : ArenaWorld::plain,
                                    options, with_and_without(each, **rules), nullptr);
    if (!results) return std::unexpected(results.error());
    if (const auto code = exit_code_of(*results); !code) return code;
    rows.push_back(compaction_row(*results));
  }
  if (options.json)
    print(compaction_json(**rules, rows));
  else
    fmt::print("{}", compaction_text(**rules, rows));
  return 0;
}

Result<int> arena(const ArenaCommandOptions& options) {
  if (!options.compaction.empty()) return compare_compaction(options);
  const std::vector<OutputOption> outputs = {
      {"--keep", options.keep}, {"--csv", options.csv}, {"--page", options.page}};
  if (const auto apart = written_once(outputs); !apart) return std::unexpected(apart.error());
  for (const auto& [option, path] : outputs)
    if (const auto apart = not_read_too(option, path, {options.cells}); !apart)
      return std::unexpected(apart.error());
  const auto contestants = arena_contestants(options.schedulers, options.baselines);
  if (!contestants) return std::unexpected(contestants.error());
  const auto kept = open_kept(options);
  if (!kept) return std::unexpected(kept.error());
  if (!options.page.empty()) return write_page(options, *contestants, kept->get());
  const auto begin = std::chrono::steady_clock::now();
  const auto results = results_in(options.physical ? ArenaWorld::physical : ArenaWorld::plain,
                                  options, *contestants, kept->get());
  if (!results) return std::unexpected(results.error());
  const double seconds = in_seconds(std::chrono::steady_clock::now() - begin);
  if (!options.csv.empty())
    if (const auto done = write_whole(options.csv, arena_csv(*results)); !done)
      return std::unexpected(done.error());
  if (options.json)
    print(arena_json(*results, 0, options.timing));
  else
    fmt::print("{}", arena_text(*results, 0));
  if (options.timing && !options.json) fmt::print("\n{}", arena_timing(*results, seconds));
  return exit_code_of(*results);
}

}  // namespace

void add_arena_options(CommandLine& command, Run& run) {
  auto options = std::make_shared<ArenaCommandOptions>();
  command.callback([options, &run] { run = [options] { return arena(*options); }; });
  command.add_option("CELLS", options->cells, "The cells, a line of JSON each; see docs/arena.md")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--schedulers", options->schedulers,
                  "SPEC,SPEC,...: those under test; the first is looked at cell by cell")
      ->default_str(options->schedulers);
  command
      .add_option("--baselines", options->baselines,
                  "SPEC,SPEC,...: what they are measured against, in place of the usual ones")
      ->check(not_empty());
  command
      .add_option("--cells", options->pattern,
                  "Only the cells of these names, separated by commas; * stands for anything")
      ->check(not_empty());
  command.add_flag("--world", options->physical,
                   "With links, power, and costs that depend on memory; see docs/arena.md");
  command
      .add_option("--keep", options->keep,
                  "Keep the results of single runs in FILE, and use again what is there")
      ->check(not_empty())
      ->type_name("FILE");
  command.add_option("--csv", options->csv, "Write the figures of each run to FILE, as CSV")
      ->check(not_empty())
      ->type_name("FILE");
  command.add_flag("--timing", options->timing, "Also print which runs took how long");
  add_json(command, options->json);
  command
      .add_option("--threads", options->threads,
                  "Number of runs at a time; the answer does not depend on it")
      ->check(whole_number(1))
      ->default_str("one for each core");
  Option* compaction =
      command
          .add_option("--compaction", options->compaction,
                      "Compare each of --schedulers with itself without: on, or the rules as "
                      "`cleave simulate --compaction` takes them")
          ->check(not_empty())
          ->type_name("RULES");
  for (const char* other : {"--baselines", "--keep", "--csv", "--timing"})
    compaction->excludes(other);
  Option* page =
      command
          .add_option("--page", options->page,
                      "Write docs/arena.md to FILE: the cells in both worlds, by runs of this "
                      "program only")
          ->check(not_empty())
          ->type_name("FILE");
  for (const char* other : {"--world", "--csv", "--json", "--compaction"}) page->excludes(other);
}

}  // namespace cleave::cli
