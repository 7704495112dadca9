#include "device/ledger.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

class LedgerFolder : public testing::Test {
 protected:
  [[nodiscard]] std::string content() const {
    std::stringstream text;
    text << std::ifstream(folder / "ledger.jsonl", std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const {
    std::ofstream(folder / "ledger.jsonl", std::ios::binary) << text;
  }
  void remove() const { std::filesystem::remove(folder / "ledger.jsonl"); }
  [[nodiscard]] Result<Ledger> opened() const { return Ledger::open(folder, "test"); }
  TemporaryFolder scratch;
  const std::filesystem::path& folder = scratch.path();
};
class LedgerFiles : public LedgerFolder {};
class LedgerCrashes : public LedgerFolder {};

InstancePlace place_at(std::uint32_t start, std::uint32_t profile = 9, const char* gpu = "GPU-a") {
  return {.gpu = gpu, .profile = "3g.20gb", .profile_id = ProfileId{profile}, .start = start};
}

InstanceSeen seen_at(InstancePlace place, std::uint32_t id, std::vector<std::string> uuids) {
  return {.place = std::move(place), .id = GpuInstanceId{id}, .uuids = std::move(uuids)};
}

TEST_F(LedgerFiles, KnowInstancesByTheirUuidAndByNothingElse) {
  auto ledger = opened();
  ASSERT_TRUE(ledger);
  EXPECT_EQ(content(), "") << "reading makes nothing";
  const auto number = ledger->will_create(place_at(4));
  ASSERT_TRUE(number);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::half_made);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {})), Ownership::half_made);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(0), 2, {"MIG-1"})), Ownership::foreign);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4, 9, "GPU-b"), 2, {"MIG-1"})),
            Ownership::foreign);
  ASSERT_TRUE(ledger->created(*number, GpuInstanceId{2}, {"MIG-1"}));
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::ours);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-2"})), Ownership::foreign)
      << "the id is used again";
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {})), Ownership::half_made)
      << "somebody took our compute instance away";
  const auto going = ledger->will_destroy(seen_at(place_at(4), 2, {"MIG-1"}));
  ASSERT_TRUE(going);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {})), Ownership::ours);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-2"})), Ownership::foreign);
  ASSERT_TRUE(ledger->destroyed(*going));
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {})), Ownership::foreign);
  ASSERT_TRUE(ledger->adopt(seen_at(place_at(0), 1, {"MIG-7"})));
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(0), 1, {"MIG-7"})), Ownership::ours);
  // A simulated node that is created again repeats its UUIDs.
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(2), 1, {"MIG-7"})), Ownership::foreign);
  // A second program reads the same.
  const auto other = opened();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->state().owner(seen_at(place_at(0), 1, {"MIG-7"})), Ownership::ours);
  EXPECT_TRUE(other->state().open().empty());
}

TEST_F(LedgerFiles, ATornLastLineIsDroppedAndDamageElsewhereIsAnError) {
  {
    auto ledger = opened();
    const auto number = ledger->will_create(place_at(4));
    ASSERT_TRUE(ledger->created(*number, GpuInstanceId{2}, {"MIG-1"}));
    ASSERT_TRUE(ledger->will_create(place_at(0)));
  }
  const std::string whole = content();
  write(whole.substr(0, whole.size() - 5));
  auto torn = opened();
  ASSERT_TRUE(torn);
  EXPECT_NE(torn->remark().find("ledger.jsonl:3: the last line is not complete"), std::string::npos)
      << torn->remark();
  EXPECT_EQ(torn->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::ours);
  ASSERT_TRUE(torn->will_create(place_at(0)));
  EXPECT_EQ(torn->remark(), "");
  const auto again = opened();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->state().lines(), 3U);

  const std::string first = whole.substr(0, whole.find('\n') + 1);
  for (const std::string& damage :
       {std::string("{\n"), std::string("\n"), std::string("{\"act\": \"create\"}\n"), first,
        std::string("{\"act\": \"flown\", \"number\": 9, \"at\": \"\", \"by\": \"\"}\n"),
        std::string("{\"act\": \"destroyed\", \"number\": 9, \"at\": \"\", \"by\": \"\"}\n"),
        std::string(40, '\0') + "\n"}) {
    write(first + damage + whole.substr(first.size()));
    const std::string before = content();
    auto broken = opened();
    ASSERT_FALSE(broken) << damage;
    EXPECT_NE(broken.error().place.find("ledger.jsonl:2"), std::string::npos)
        << broken.error().text();
    EXPECT_NE(broken.error().remedy.find("--adopt"), std::string::npos);
    EXPECT_EQ(content(), before);
  }
}

TEST_F(LedgerFiles, NothingIsWrittenToADamagedFile) {
  auto ledger = opened();
  ASSERT_TRUE(ledger->will_create(place_at(4)));
  write(content() + "{\n");
  const std::string before = content();
  EXPECT_FALSE(ledger->will_create(place_at(0)));
  EXPECT_EQ(content(), before);
}

/// As a daemon does, which knows what it made.
TEST_F(LedgerFiles, AFileThatIsRemovedUnderAProgramIsWrittenAnew) {
  auto ledger = opened();
  const auto number = ledger->will_create(place_at(4));
  ASSERT_TRUE(ledger->created(*number, GpuInstanceId{2}, {"MIG-1"}));
  ASSERT_TRUE(ledger->will_create(place_at(0)));
  remove();
  auto other = opened();
  ASSERT_TRUE(ledger->refresh());
  EXPECT_TRUE(ledger->take_rewritten());
  EXPECT_FALSE(ledger->take_rewritten());
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::ours);
  EXPECT_EQ(opened()->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::ours);
  EXPECT_EQ(opened()->state().open().size(), 1U);
  // What another program has begun in its place is not touched.
  remove();
  ASSERT_TRUE(other->refresh());
  EXPECT_FALSE(other->take_rewritten()) << "it knew of none";
  ASSERT_TRUE(other->adopt(seen_at(place_at(0), 1, {"MIG-7"})));
  ASSERT_TRUE(ledger->refresh());
  EXPECT_FALSE(ledger->take_rewritten());
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-1"})), Ownership::foreign);
}

TEST_F(LedgerFiles, LinesAreWrittenAndReadTheSame) {
  LedgerLine line;
  line.number = 12;
  line.at = "2026-05-04T10:11:12Z";
  line.by = "cleave 1";
  for (const LedgerAct act :
       {LedgerAct::create, LedgerAct::created, LedgerAct::not_created, LedgerAct::destroy,
        LedgerAct::destroyed, LedgerAct::not_destroyed, LedgerAct::adopt}) {
    line.act = act;
    line.place = place_at(4);
    line.id = GpuInstanceId{3};
    line.uuids = {"MIG-1", "MIG-\xff\"\n"};
    const std::string text = ledger_text(line);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    const auto read = parse_ledger_line(text.substr(0, text.size() - 1), "x");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(ledger_text(*read), text);
  }
}

TEST_F(LedgerFiles, WhatACrashLeftOpenIsSettledByWhatTheGpuShows) {
  auto ledger = opened();
  const auto made = ledger->will_create(place_at(0));
  ASSERT_TRUE(ledger->created(*made, GpuInstanceId{1}, {"MIG-1"}));
  ASSERT_TRUE(ledger->will_create(place_at(4)));                          // never made
  ASSERT_TRUE(ledger->will_destroy(seen_at(place_at(0), 1, {"MIG-1"})));  // and gone
  ASSERT_TRUE(ledger->will_create(place_at(2, 14)));                      // made
  EXPECT_EQ(ledger->state().open().size(), 3U);
  ASSERT_TRUE(ledger->settle("GPU-b", {}));
  EXPECT_EQ(ledger->state().open().size(), 3U) << "another GPU says nothing";
  const InstanceSeen half = seen_at(place_at(2, 14), 3, {"MIG-3"});
  ASSERT_TRUE(ledger->settle("GPU-a", {half}));
  EXPECT_EQ(ledger->state().open().size(), 1U);
  EXPECT_EQ(ledger->state().owner(half), Ownership::half_made);
  EXPECT_EQ(ledger->state().owner(seen_at(place_at(4), 2, {"MIG-2"})), Ownership::foreign);
  // One without compute instances that was to be destroyed stays ours until it is gone.
  ASSERT_TRUE(ledger->adopt(half));
  ASSERT_TRUE(ledger->will_destroy(half));
  const InstanceSeen bare = seen_at(place_at(2, 14), 3, {});
  ASSERT_TRUE(ledger->settle("GPU-a", {bare}));
  EXPECT_EQ(ledger->state().owner(bare), Ownership::ours);
}

TEST_F(LedgerFiles, OneFactMayAnswerSeveralIntents) {
  const InstanceSeen whole = seen_at(place_at(0), 1, {"MIG-1"}), bare = seen_at(place_at(0), 1, {});
  auto ledger = opened();
  ASSERT_TRUE(ledger->adopt(whole));
  const auto first = ledger->will_destroy(whole);
  ASSERT_TRUE(first);
  const auto again = ledger->will_destroy(bare);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first) << "what is open for the same instance serves again";
  EXPECT_EQ(ledger->state().open().size(), 1U);
  // It got another compute instance: a new intent. And one to create at the same placement.
  ASSERT_TRUE(ledger->will_destroy(seen_at(place_at(0), 1, {"MIG-2"})));
  ASSERT_TRUE(ledger->will_create(place_at(0)));
  EXPECT_EQ(ledger->state().open().size(), 3U);
  ASSERT_TRUE(ledger->settle("GPU-a", {}));
  EXPECT_TRUE(ledger->state().open().empty());
  const auto read = opened();
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->state().owner(whole), Ownership::foreign);
}

TEST_F(LedgerFiles, LateFactsAreTakenSoThatAFileThatHasThemCanBeRead) {
  // Earlier versions wrote two intents to destroy one instance, and a fact for each.
  const std::string at = "\"at\": \"\", \"by\": \"\"";
  const std::string place =
      "\"gpu\": \"GPU-a\", \"profile\": \"3g.20gb\", \"profile_id\": 9, \"start\": 0, "
      "\"gpu_instance\": 1";
  const auto act = [&](const std::string& name, int number, const std::string& more = "") {
    return "{\"act\": \"" + name + "\", \"number\": " + std::to_string(number) + ", " + at + more +
           "}\n";
  };
  const std::string uuid = ", \"uuids\": [\"MIG-1\"]", none = ", \"uuids\": []";
  const std::string both = act("adopt", 1, ", " + place + uuid) +
                           act("destroy", 2, ", " + place + uuid) +
                           act("destroy", 3, ", " + place + none) + act("destroyed", 2);
  write(both + act("adopt", 4, ", " + place + ", \"uuids\": [\"MIG-4\"]") + act("destroyed", 3));
  const auto healed = opened();
  ASSERT_TRUE(healed) << healed.error().text();
  EXPECT_EQ(healed->state().owner(seen_at(place_at(0), 1, {"MIG-4"})), Ownership::ours)
      << "a late fact is not of what came after";
  EXPECT_TRUE(healed->state().open().empty());
  for (const std::string& wrong :
       {act("destroyed", 2), act("created", 3, ", \"gpu_instance\": 1" + uuid),
        act("destroyed", 3) + act("destroyed", 3), act("not-created", 3)}) {
    write(both + wrong);
    EXPECT_FALSE(opened()) << wrong;
  }
}

TEST_F(LedgerFiles, CompactKeepsWhatMatters) {
  auto ledger = opened();
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto number = ledger->will_create(place_at(i % 2 * 4, 9, i < 10 ? "GPU-a" : "GPU-b"));
    ASSERT_TRUE(ledger->created(*number, GpuInstanceId{i}, {"MIG-" + std::to_string(i)}));
  }
  ASSERT_TRUE(ledger->will_create(place_at(4)));
  auto reader = opened();
  const std::vector<InstanceSeen> live = {seen_at(place_at(0), 8, {"MIG-8"})};
  ASSERT_TRUE(ledger->compact({"GPU-a"}, live));
  EXPECT_EQ(ledger->state().lines(), 12U)
      << "one on GPU-a, ten on GPU-b which nobody looked at, one intent";
  ASSERT_TRUE(reader->refresh()) << "who had the old file reads the new one";
  EXPECT_EQ(reader->state().lines(), 12U);
  EXPECT_EQ(reader->state().owner(live[0]), Ownership::ours);
  EXPECT_EQ(reader->state().owner(seen_at(place_at(4), 9, {"MIG-9"})), Ownership::half_made);
  EXPECT_EQ(reader->state().owner(seen_at(place_at(0, 9, "GPU-b"), 10, {"MIG-10"})),
            Ownership::ours);
  EXPECT_TRUE(reader->will_create(place_at(0)));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger.jsonl.part"));
}

TEST_F(LedgerFiles, LinksAreNotFollowed) {
  const auto elsewhere = folder / "elsewhere";
  std::ofstream(elsewhere).close();
  for (const char* name : {"ledger.jsonl", "ledger.lock"}) {
    std::filesystem::create_symlink(elsewhere, folder / name);
    auto ledger = opened();
    EXPECT_FALSE(ledger && ledger->will_create(place_at(0))) << name;
    std::filesystem::remove(folder / name);
  }
  EXPECT_EQ(std::filesystem::file_size(elsewhere), 0U);
}

TEST_F(LedgerFiles, SeveralProgramsAppendWithoutLosingALine) {
  constexpr int programs = 4, each = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < programs; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto ledger = opened();
      const std::string gpu = "GPU-" + std::to_string(p);
      bool good = ledger.has_value();
      for (std::uint32_t i = 0; good && i < each; ++i) {
        const auto number = ledger->will_create(place_at(i, 9, gpu.c_str()));
        good = number && ledger->created(*number, GpuInstanceId{i}, {gpu + std::to_string(i)});
        if (good && p == 0 && i % 10 == 0) good = ledger->compact({}, {}).has_value();
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto ledger = opened();
  ASSERT_TRUE(ledger) << ledger.error().text();
  for (int p = 0; p < programs; ++p)
    for (std::uint32_t i = 0; i < each; ++i) {
      const std::string gpu = "GPU-" + std::to_string(p);
      EXPECT_EQ(
          ledger->state().owner(seen_at(place_at(i, 9, gpu.c_str()), i, {gpu + std::to_string(i)})),
          Ownership::ours);
    }
}

TEST_F(LedgerFiles, AFileThatComesIntoBeingWhileItIsLookedForIsNoError) {
  // Created and destroyed all the time by one program while this one looks.
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 3000; ++i) {
      write("");
      std::error_code ignored;
      std::filesystem::remove(folder / "ledger.jsonl", ignored);
    }
    ::_exit(0);
  }
  int status = 0, looks = 0;
  for (; ::waitpid(child, &status, WNOHANG) == 0; ++looks) {
    const auto ledger = opened();
    EXPECT_TRUE(ledger) << ledger.error().text();
  }
  EXPECT_GT(looks, 10);
}

/// A GPU with eight starts and one profile of one slice; it reuses numbers, but not UUIDs.
struct TinyGpu {
  struct Instance {
    InstanceSeen seen;
    bool ours;
    std::size_t intent_end;  // the length of the file when its intent was complete
  };
  std::vector<Instance> live;
  int next_uuid = 0;

  [[nodiscard]] std::optional<std::uint32_t> free_start(Random& random) const {
    std::vector<std::uint32_t> free;
    for (std::uint32_t start = 0; start < 8; ++start)
      if (std::ranges::none_of(
              live, [&](const Instance& each) { return each.seen.place.start == start; }))
        free.push_back(start);
    if (free.empty()) return {};
    return free[random.below(free.size())];
  }
  Instance& make(std::uint32_t start, bool ours, std::size_t intent_end) {
    // The lowest free number.
    std::uint32_t id = 1;
    while (std::ranges::any_of(
        live, [&](const Instance& each) { return each.seen.id == GpuInstanceId{id}; }))
      ++id;
    live.push_back({seen_at(place_at(start), id, {}), ours, intent_end});
    return live.back();
  }
  void give_compute(Instance& instance) {
    instance.seen.uuids = {"MIG-" + std::to_string(next_uuid++)};
  }
};

/// Random operations of our program and of others; our program dies after `stop_after` single steps
/// (lines written and driver calls).
class LedgerStory {
 public:
  LedgerStory(Ledger& ledger, std::uint64_t seed, int stop_after)
      : ledger_(ledger), random_(seed), left_(stop_after) {}

  /// Sometimes dies, restarts, closes the intents whose outcome the GPU shows, and continues.
  void live_through(int deaths) {
    for (int i = 0; i < deaths && !testing::Test::HasFatalFailure(); ++i) {
      left_ = 1 + static_cast<int>(random_.below(6));
      play(6);
      if (random_.below(3) == 0) foreign_comes();
      if (random_.below(3) == 0) foreign_goes();
      // What was half destroyed when the program died may be gone now, by another program.
      if (random_.below(3) == 0)
        std::erase_if(gpu.live, [](const auto& each) { return each.seen.uuids.empty(); });
      if (random_.below(3) == 0)
        continue;  // the next program does not look: it could not read the GPU
      std::vector<InstanceSeen> live;
      for (const auto& each : gpu.live) live.push_back(each.seen);
      ASSERT_TRUE(ledger_.settle("GPU-a", live));
      ASSERT_TRUE(ledger_.state().answered("GPU-a", live).empty());
    }
  }

  void play(int acts) {
    for (int i = 0; i < acts && left_ > 0; ++i) {
      const auto what = random_.below(6);
      if (what < 2) create();
      if (what == 2 || what == 3) destroy();
      if (what == 4) foreign_comes();
      if (what == 5) foreign_goes();
    }
  }
  /// Others continue after the death of our program.
  void foreign_comes() {
    const auto start = gpu.free_start(random_);
    if (start) gpu.give_compute(gpu.make(*start, false, 0));
  }
  void foreign_goes() {
    std::erase_if(gpu.live, [&](const auto& each) { return !each.ours && random_.below(2) == 0; });
  }

  TinyGpu gpu;

 private:
  bool step() { return left_-- > 0; }

  void create() {
    const auto start = gpu.free_start(random_);
    if (!start || !step()) return;
    const auto number = ledger_.will_create(place_at(*start));
    ASSERT_TRUE(number);
    if (random_.below(5) == 0) {  // refused
      if (step()) {
        ASSERT_TRUE(ledger_.not_created(*number));
      }
      return;
    }
    if (!step()) return;
    auto& made = gpu.make(*start, true, std::filesystem::file_size(ledger_.file()));
    if (!step()) return;
    gpu.give_compute(made);
    if (!step()) return;
    ASSERT_TRUE(ledger_.created(*number, made.seen.id, made.seen.uuids));
  }

  void destroy() {
    const auto ours = std::ranges::find(gpu.live, true, &TinyGpu::Instance::ours);
    if (ours == gpu.live.end() || !step()) return;
    if (ledger_.state().owner(ours->seen) != Ownership::ours) {
      ASSERT_TRUE(ledger_.adopt(ours->seen));  // half made
    }
    const auto number = ledger_.will_destroy(ours->seen);
    ASSERT_TRUE(number);
    if (random_.below(5) == 0) {  // in use
      if (step()) {
        ASSERT_TRUE(ledger_.not_destroyed(*number));
      }
      return;
    }
    if (!step()) return;
    ours->seen.uuids.clear();
    if (!step()) return;
    gpu.live.erase(ours);
    if (!step()) return;
    ASSERT_TRUE(ledger_.destroyed(*number));
  }

  Ledger& ledger_;
  Random random_;
  int left_;
};

/// The file cut after `kept` bytes, compared with the GPU.
void is_true_of(const std::string& text, std::size_t kept, const TinyGpu& gpu) {
  LedgerState state;
  std::istringstream lines(text.substr(0, text.substr(0, kept).rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = parse_ledger_line(line, "x");
    ASSERT_TRUE(parsed);
    ASSERT_TRUE(state.take(*parsed, "x"));
  }
  for (const auto& each : gpu.live) {
    const Ownership owner = state.owner(each.seen);
    if (each.ours && each.intent_end <= kept) {
      EXPECT_NE(owner, Ownership::foreign) << "cut at " << kept;
    }
    if (!each.ours) {
      EXPECT_NE(owner, Ownership::ours) << "cut at " << kept;
    }
    if (each.ours && kept == text.size() && !each.seen.uuids.empty() && state.open().empty()) {
      EXPECT_EQ(owner, Ownership::ours);
    }
  }
}

TEST_F(LedgerCrashes, WhatWeMadeIsNeverForeignAndWhatOthersMadeIsNeverOurs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::error_code ignored;
    std::filesystem::remove(folder / "ledger.jsonl", ignored);
    auto ledger = opened();
    ASSERT_TRUE(ledger);
    LedgerStory story(*ledger, seed, 1 + static_cast<int>(seed % 41));
    story.play(14);
    // Others act between the crash and the next look.
    if (seed % 3 == 1) story.foreign_comes();
    if (seed % 3 == 2) story.foreign_goes();
    const std::string text = content();
    for (std::size_t kept = 0; kept <= text.size(); ++kept) is_true_of(text, kept, story.gpu);
    if (HasFatalFailure()) return;
  }
}

/// As above over many deaths, so that several intents are open at one place.
TEST_F(LedgerCrashes, ManyDeathsLeaveALedgerThatCanBeReadAndIsTrue) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::error_code ignored;
    std::filesystem::remove(folder / "ledger.jsonl", ignored);
    auto ledger = opened();
    ASSERT_TRUE(ledger);
    LedgerStory story(*ledger, seed, 0);
    story.live_through(12);
    if (HasFatalFailure()) return;
    const auto read = opened();
    ASSERT_TRUE(read) << read.error().text();
    const std::string text = content();
    is_true_of(text, text.size(), story.gpu);
    if (HasFailure()) return;
  }
}

/// Intents and facts that no GPU would produce: any number of intents for one placement, facts in
/// any order, some late, any state of the GPU. What was written can always be read again, and
/// settling leaves no intent open whose outcome the GPU shows.
TEST_F(LedgerCrashes, IntentsAndFactsInAnyOrderCanBeRead) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::error_code ignored;
    std::filesystem::remove(folder / "ledger.jsonl", ignored);
    auto ledger = opened();
    ASSERT_TRUE(ledger);
    Random random(seed);
    const auto some = [&] {
      std::vector<std::string> uuids;
      if (random.below(3) != 0) uuids.push_back("MIG-" + std::to_string(random.below(4)));
      return seen_at(place_at(static_cast<std::uint32_t>(random.below(2))),
                     static_cast<std::uint32_t>(random.below(2)), std::move(uuids));
    };
    std::vector<LedgerLine> without_fact;  // intents that this program has not ended
    for (int i = 0; i < 25; ++i) {
      const auto what = random.below(5);
      if (what < 2) {
        const InstanceSeen instance = some();
        LedgerLine line;
        line.act = what == 0 ? LedgerAct::create : LedgerAct::destroy;
        line.place = instance.place;
        const std::size_t before = ledger->state().lines();
        const auto number =
            what == 0 ? ledger->will_create(instance.place) : ledger->will_destroy(instance);
        ASSERT_TRUE(number) << number.error().text();
        line.number = *number;
        if (ledger->state().lines() > before) without_fact.push_back(line);
      } else if (what == 2 && !without_fact.empty()) {
        const auto chosen =
            without_fact.begin() + static_cast<std::ptrdiff_t>(random.below(without_fact.size()));
        const bool create = chosen->act == LedgerAct::create, done = random.below(2) == 0;
        const InstanceSeen instance = some();
        const auto number = chosen->number;
        without_fact.erase(chosen);
        const auto written =
            create ? (done ? ledger->created(number, instance.id, instance.uuids)
                           : ledger->not_created(number))
                   : (done ? ledger->destroyed(number) : ledger->not_destroyed(number));
        ASSERT_TRUE(written) << written.error().text();
      } else if (what == 3) {
        ASSERT_TRUE(ledger->adopt(some()));
      } else {
        std::vector<InstanceSeen> live;
        for (std::uint64_t count = random.below(3); count > 0; --count) live.push_back(some());
        const std::vector<LedgerLine> open = ledger->state().open();
        const auto settled = ledger->settle("GPU-a", live);
        ASSERT_TRUE(settled) << settled.error().text();
        EXPECT_TRUE(ledger->state().answered("GPU-a", live).empty());
        // The program of these intents has ended: otherwise it would hold the lock.
        const std::vector<LedgerLine> left = ledger->state().open();
        std::erase_if(without_fact, [&](const LedgerLine& line) {
          return std::ranges::find(open, line.number, &LedgerLine::number) != open.end() &&
                 std::ranges::find(left, line.number, &LedgerLine::number) == left.end();
        });
      }
      const auto read = opened();
      ASSERT_TRUE(read) << read.error().text();
      ASSERT_EQ(read->state().lines(), ledger->state().lines());
    }
  }
}

}  // namespace
}  // namespace cleave
