// The screen of `cleave top`, as a function of what the daemon said, the keys and the size.

#include "cli/daemon/top_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/format.hpp"
#include "base/terminal_text.hpp"

namespace cleave::cli {
namespace {

using Lines = std::vector<std::string>;

ApiJob job(std::int64_t id, const std::string& name, const std::string& state) {
  ApiJob made;
  made.id = id;
  made.name = name;
  made.state = state;
  made.user = "ada";
  made.submitted_at = Instant{} + std::chrono::hours(1);
  if (state == "running") {
    made.started_at = Instant{} + std::chrono::hours(2) + std::chrono::seconds(id);
    made.instance = ApiPlace{"GPU-x", 0, "MIG-a", "3g.20gb", 0};
    made.memory = MiB{1000 * id};
  }
  return made;
}

/// So many GPUs, each with two instances in use and one that is idle, and so many jobs, of which
/// the first two of each GPU run.
TopData world(std::int64_t gpus, std::int64_t jobs) {
  TopData data;
  data.status.version = "0.1.0";
  data.status.scheduler = "adaptive";
  data.now = Instant{} + std::chrono::hours(5);
  for (std::int64_t i = 0; i < gpus; ++i) {
    ApiGpu gpu;
    gpu.index = i;
    gpu.model = "A100-40GB";
    gpu.managed = gpu.mig = true;
    gpu.power_w = 214;
    gpu.instances = {
        {{"GPU-x", i, "MIG-a", "3g.20gb", 0}, "ours", {2 * i + 1}, {}, MiB{4974}, MiB{19968}},
        {{"GPU-x", i, "MIG-b", "2g.10gb", 4}, "ours", {2 * i + 2}, {}, MiB{9728}, MiB{9728}},
        {{"GPU-x", i, "MIG-c", "1g.5gb", 6}, "ours", {}, {}, MiB{0}, MiB{4864}}};
    data.gpus.push_back(std::move(gpu));
  }
  for (std::int64_t id = 1; id <= jobs; ++id)
    data.jobs.push_back(
        job(id, fmt::format("train-{}", id), id <= 2 * gpus ? "running" : "queued"));
  data.status.jobs.running = static_cast<std::size_t>(std::min(jobs, 2 * gpus));
  return data;
}

std::string text(const Lines& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

TopState after(TopState state, const std::string& bytes, const TopData& data, ScreenSize size) {
  std::string typed = bytes;
  for (const Key key : take_keys(typed, true)) state = after_key(std::move(state), key, data, size);
  return state;
}

std::size_t lines_with(const Lines& lines, const std::string& part) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.contains(part); }));
}

/// An array of which two jobs run, and the others wait for one of two reasons.
TopData sweep() {
  TopData data = world(1, 0);
  for (std::int64_t index = 1; index <= 40; ++index) {
    ApiJob each = job(11 + index, "sweep", index <= 2 ? "running" : "queued");
    each.array = ArrayTask{.job = 12, .last = 51, .index = index, .tasks = 40, .at_once = 0};
    if (index > 2)
      each.reason =
          index < 40 ? fmt::format("no GPU has room for it now; {} jobs wait before it", index - 3)
                     : "it waits until job 7 has finished, which nobody can say when";
    data.jobs.push_back(each);
  }
  return data;
}

TEST(TopView, FoldsWhatWaitsForOneReason) {
  const TopData data = sweep();
  const Lines lines = top_screen({}, data, {80, 40});
  EXPECT_EQ(lines_with(lines, "37 wait"), 1U) << text(lines);
  EXPECT_EQ(lines_with(lines, "12_3-39"), 1U) << text(lines);
  EXPECT_EQ(lines_with(lines, "12_40"), 1U) << text(lines);
  const Lines each = top_screen(after({}, "t", data, {80, 40}), data, {80, 40});
  EXPECT_EQ(lines_with(each, "37 wait"), 0U) << text(each);
  EXPECT_GT(lines_with(each, "queued"), 5U) << text(each);
}

TEST(TopView, ReasonsAreWholeOnNarrowScreens) {
  const Lines lines = top_screen({}, sweep(), {60, 40});
  std::string words;
  for (const std::string& line : lines) {
    EXPECT_LE(columns_of(line), 60U);
    words += line.substr(std::min(line.size(), line.find_first_not_of(' '))) + " ";
  }
  EXPECT_TRUE(words.contains("no GPU has room for it now; 0 jobs wait before it")) << text(lines);
  EXPECT_TRUE(words.contains("it waits until job 7 has finished, which nobody can say when"))
      << text(lines);
}

TEST(TopView, FitsEveryScreenWithJobsInSight) {
  for (const std::int64_t gpus : {1, 4, 16, 64})
    for (const std::size_t width : {60, 80, 100})
      for (const std::size_t height : {24, 30, 50}) {
        SCOPED_TRACE(fmt::format("{} GPUs on {} x {}", gpus, width, height));
        const TopData data = world(gpus, 200);
        const Lines lines = top_screen({}, data, {width, height});
        EXPECT_EQ(lines.size(), height);
        for (const std::string& line : lines) EXPECT_LE(columns_of(line), width) << line;
        EXPECT_GE(lines_with(lines, "train-"), 3U) << text(lines);
        EXPECT_GE(lines_with(lines, "running"), 2U) << text(lines);
        EXPECT_GE(lines_with(lines, "[AAAABBc."), 1U) << text(lines);
        EXPECT_TRUE(lines.back().contains("of 200")) << lines.back();
      }
}

TEST(TopView, ShowsAll64GpusOnAnOrdinaryScreen) {
  const Lines lines = top_screen({}, world(64, 200), {80, 30});
  EXPECT_TRUE(text(lines).contains(" 63 [AAAABBc.")) << text(lines);
  EXPECT_GE(lines_with(lines, "train-"), 5U) << text(lines);
}

TEST(TopView, SaysHowMuchOfEachInstanceIsUsed) {
  const Lines few = top_screen({}, world(2, 3), {80, 24});
  EXPECT_TRUE(text(few).contains("A 3g.20gb")) << text(few);
  EXPECT_TRUE(text(few).contains("4.9 of 19.5 GiB")) << text(few);
  EXPECT_TRUE(text(few).contains("job 1 train-1")) << text(few);
  const Lines many = top_screen({}, world(10, 3), {80, 24});
  EXPECT_TRUE(text(many).contains("A 25%  B 100%  c 0%")) << text(many);
}

TEST(TopView, SaysForWhomAGpuIsReservedAndWhatAClaimHas) {
  TopData data = world(2, 3);
  const Instant now = std::chrono::system_clock::now();
  data.gpus[0].reserved_for = "ann";
  data.gpus[0].reserved_from = now - std::chrono::hours(1);
  data.gpus[0].reserved_until = now + std::chrono::hours(1);
  data.gpus[1].reserved_for = "";
  ApiInstance& claimed = data.gpus[1].instances[2];
  claimed.claim = "slurm:12";
  claimed.claim_holder = "job 12 of ann";
  const std::string few = text(top_screen({}, data, {100, 24}));
  EXPECT_TRUE(few.contains("reserved for ann until ")) << few;
  EXPECT_TRUE(few.contains("claim slurm:12 (job 12 of ann)")) << few;
  EXPECT_TRUE(few.contains("C 1g.5gb")) << few;
  data = world(64, 3);
  data.gpus[0].reserved_for = "ann";
  EXPECT_TRUE(text(top_screen({}, data, {80, 30})).contains("]R"));
}

/// As on Hopper: the driver counts how busy instances with jobs are.
TopData counted_world(std::int64_t gpus, std::int64_t jobs) {
  TopData data = world(gpus, jobs);
  for (ApiGpu& gpu : data.gpus) {
    gpu.instances[0].activity = 0.87;
    gpu.instances[1].activity = 0.05;
  }
  return data;
}

TEST(TopView, SaysHowBusyEachInstanceIsWhereThatIsCounted) {
  EXPECT_FALSE(text(top_screen({}, world(2, 3), {80, 24})).contains("busy"));
  TopData data = counted_world(2, 3);
  data.gpus[1].instances[0].activity.reset();
  const Lines few = top_screen({}, data, {80, 24});
  const auto first =
      std::ranges::find_if(few, [](const std::string& line) { return line.contains("A 3g.20gb"); });
  ASSERT_NE(first, few.end());
  EXPECT_TRUE(first->contains(" 87%  job 1 train-1")) << *first;
  EXPECT_TRUE(text(few).contains("39%")) << "(3 x 0.87 + 2 x 0.05) / 7\n" << text(few);
  EXPECT_EQ(lines_with(few, "%"), 4U) << "an idle instance has none, and an unknown one neither\n"
                                      << text(few);
  const Lines many = top_screen({}, counted_world(10, 3), {80, 24});
  EXPECT_TRUE(text(many).contains("A 87%  B 5%  c -")) << text(many);
  const Lines narrow = top_screen({}, counted_world(10, 3), {60, 24});
  EXPECT_TRUE(text(narrow).contains("39%  A 25%")) << "of the GPU\n" << text(narrow);
  for (const std::size_t width : {60, 80, 100})
    for (const std::string& line : top_screen({}, counted_world(64, 200), {width, 30}))
      EXPECT_LE(columns_of(line), width) << line;
  const Lines all = top_screen({}, counted_world(64, 200), {100, 30});
  EXPECT_TRUE(text(all).contains(" 63 [AAAABBc.] 39%")) << text(all);
  EXPECT_GE(lines_with(all, "train-"), 5U) << text(all);
  ::setenv("LC_ALL", "C", 1);
  const Lines narrow_all = top_screen({}, counted_world(64, 200), {80, 30});
  EXPECT_TRUE(text(narrow_all).contains(" 63 [AAAABBc.]-")) << "a level\n" << text(narrow_all);
  ::unsetenv("LC_ALL");
}

TEST(TopView, ScrollsToTheEndAndBack) {
  const TopData data = world(4, 200);
  const ScreenSize size{80, 24};
  TopState state;
  EXPECT_EQ(after(state, "\x1b[A", data, size), state) << "there is nothing above";
  EXPECT_EQ(after(state, "jj\x1b[B", data, size).first, 3U);
  EXPECT_EQ(after(state, "jjk", data, size).first, 1U);
  state = after(state, "\x1b[F", data, size);
  EXPECT_TRUE(text(top_screen(state, data, size)).contains("train-200"));
  EXPECT_EQ(after(state, "j", data, size), state) << "there is nothing below";
  EXPECT_EQ(after(state, "\x1b[H", data, size).first, 0U);
  // Page by page, no job is left out.
  TopState page;
  std::size_t seen = 0;
  for (int i = 0; i < 100 && page.first != state.first; ++i) {
    page = after(page, " ", data, size);
    seen = std::max(seen, page.first);
  }
  EXPECT_EQ(seen, state.first);
  // A larger screen, or fewer jobs, and the lines are there all the same.
  EXPECT_TRUE(text(top_screen(state, data, {80, 50})).contains("train-200"));
  EXPECT_TRUE(text(top_screen(state, world(4, 12), size)).contains("train-12"));
}

TEST(TopView, FiltersWhileTyping) {
  const TopData data = world(4, 200);
  const ScreenSize size{80, 24};
  TopState state = after({}, "/TRAIN-19", data, size);
  EXPECT_TRUE(state.typing);
  EXPECT_TRUE(top_screen(state, data, size).back().starts_with("/TRAIN-19_"));
  EXPECT_EQ(lines_with(top_screen(state, data, {80, 50}), " train-19"), 11U);
  state = after(state, "\x7f\x7f\x7fq\x7f-20\r", data, size);
  EXPECT_FALSE(state.typing || state.ends) << "q is a letter there";
  EXPECT_EQ(state.filter, "TRAIN-20");
  EXPECT_EQ(after(state, "\x1b", data, size).filter, "");
  EXPECT_EQ(after(state, "/never\r", data, size).filter, "never");
  EXPECT_EQ(lines_with(top_screen(after(state, "/never\r", data, size), data, size), "  running  "),
            0U);
}

TEST(TopView, SortsJobs) {
  const TopData data = world(2, 6);
  const ScreenSize size{80, 24};
  const auto first_job = [&](const TopState& state) {
    const Lines lines = top_screen(state, data, size);
    const auto header = std::ranges::find_if(
        lines, [](const std::string& line) { return line.contains("job  name"); });
    return header == lines.end() ? std::string() : (header + 1)->substr(0, 12);
  };
  TopState state;
  EXPECT_TRUE(first_job(state).contains("1  train-1"));
  for (const char* expected :
       {"5  train-5", "4  train-4", "1  train-1", "1  train-1", "6  train-6"}) {
    state = after(state, "s", data, size);
    EXPECT_TRUE(first_job(state).contains(expected)) << job_orders[state.order] << first_job(state);
    EXPECT_TRUE(top_screen(state, data, size).back().contains(job_orders[state.order]));
  }
  EXPECT_EQ(after(state, "s", data, size).order, 0U);
}

TEST(TopView, ShowsGpusOrJobsAloneAndHelp) {
  const TopData data = world(64, 200);
  const ScreenSize size{80, 24};
  const TopState gpus = after({}, "g", data, size);
  EXPECT_TRUE(text(top_screen(gpus, data, size)).contains("A 3g.20gb"));
  EXPECT_TRUE(text(top_screen(after(gpus, "\x1b[4~", data, size), data, size)).contains(" 63 "));
  const Lines jobs = top_screen(after(gpus, "g", data, size), data, size);
  EXPECT_EQ(lines_with(jobs, "[AAAA"), 0U);
  EXPECT_GE(lines_with(jobs, "train-"), 18U);
  const TopState help = after({}, "?", data, size);
  EXPECT_TRUE(text(top_screen(help, data, size)).contains("page up, page down"));
  EXPECT_FALSE(after(help, "x", data, size).help);
  EXPECT_TRUE(after(help, "q", data, size).ends);
  EXPECT_TRUE(after({}, "q", data, size).ends);
}

TEST(TopView, KeepsTroublesShortAndOldDataMarked) {
  TopData data = world(4, 20);
  for (int i = 0; i < 30; ++i) data.status.troubles.push_back("GPU 3 is lost");
  data.trouble = "the daemon cannot be reached";
  const Lines lines = top_screen({}, data, {80, 24});
  EXPECT_TRUE(lines.front().contains("cannot be reached"));
  EXPECT_EQ(lines_with(lines, "more lines"), 1U) << text(lines);
  EXPECT_GE(lines_with(lines, "train-"), 5U) << text(lines);
}

TEST(TopView, TakesKeysThatComeInPieces) {
  using Kind = Key::Kind;
  std::string bytes = "a\x1b[";
  EXPECT_EQ(take_keys(bytes, false), (std::vector<Key>{{Kind::character, 'a'}}));
  EXPECT_EQ(bytes, "\x1b[");
  bytes += "5~\x1bOB\x1b[200~";
  EXPECT_EQ(take_keys(bytes, false), (std::vector<Key>{{Kind::page_up, 0}, {Kind::down, 0}}));
  EXPECT_EQ(bytes, "");
  bytes = "\x1b";
  EXPECT_TRUE(take_keys(bytes, false).empty());
  EXPECT_EQ(take_keys(bytes, true), (std::vector<Key>{{Kind::escape, 0}}));
}

}  // namespace
}  // namespace cleave::cli
