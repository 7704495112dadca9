// Pictures of plans: well formed with any names, complete, explained and repeatable.

#include "planner/pages/plan_svg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/text.hpp"
#include "planner/fleets_test.hpp"
#include "planner/pages/plan_picture.hpp"
#include "planner/pages/svg_pen.hpp"

namespace cleave {
namespace {

using namespace testing_fleets;

/// Reads XML as far as SVG needs it: declaration, elements with quoted attributes, text with the
/// five entities. Problems are in `error`.
class Xml {
 public:
  explicit Xml(std::string_view document) : rest_(document) {
    skip("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    while (error.empty() && !rest_.empty()) rest_.starts_with('<') ? tag() : characters();
    if (error.empty() && !open_.empty()) error = fmt::format("<{}> is not closed", open_.back());
  }

  std::string error;
  std::multiset<std::string> elements;
  std::set<std::string> ids;
  std::string text;  // of all elements, a line each

 private:
  void skip(std::string_view what) {
    if (!rest_.starts_with(what)) error = fmt::format("{} expected", what);
    rest_.remove_prefix(std::min(what.size(), rest_.size()));
  }

  void tag() {
    const std::size_t end = rest_.find('>');
    if (end == std::string_view::npos) return void(error = "a tag has no end");
    const std::string inside(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    if (inside.starts_with('/')) {
      if (open_.empty() || inside.substr(1) != open_.back())
        return void(error = "wrong end: " + inside);
      open_.pop_back();
      return;
    }
    static const std::regex form(R"(^(\w+)((?: [\w:-]+="[^"<>]*")*)(/?)$)");
    std::smatch match;
    if (!std::regex_match(inside, match, form)) return void(error = "not a tag: " + inside);
    elements.insert(match[1]);
    attributes(match[2]);
    if (match[3].length() == 0) open_.push_back(match[1]);
  }

  void attributes(const std::string& list) {
    static const std::regex form(R"re( ([\w:-]+)="([^"]*)")re");
    std::set<std::string> names;
    for (std::sregex_iterator at(list.begin(), list.end(), form), end; at != end; ++at) {
      if (!names.insert((*at)[1]).second) error = "twice: " + list;
      if ((*at)[1] == "id" && !ids.insert((*at)[2]).second) error = "an id twice: " + list;
      unescaped((*at)[2]);
    }
  }

  void characters() {
    const std::string_view piece = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(piece.size());
    const std::string words = unescaped(std::string(piece));
    if (open_.empty() && words != "\n") error = "text outside of all elements: " + words;
    text += words + "\n";
  }

  std::string unescaped(std::string from) {
    constexpr std::pair<std::string_view, char> entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
    std::string to;
    for (std::string_view left = from; !left.empty();) {
      if (static_cast<unsigned char>(left[0]) < 0x20 && left[0] != '\n')
        error = "a control character";
      const auto* entity = std::ranges::find_if(
          entities, [&](const auto& each) { return left.starts_with(each.first); });
      if (entity != std::end(entities)) {
        to += entity->second;
        left.remove_prefix(entity->first.size());
        continue;
      }
      if (left[0] == '&') error = "not escaped: " + from;
      to += left[0];
      left.remove_prefix(1);
    }
    if (!valid_utf8(to)) error = "not UTF-8: " + to;
    return to;
  }

  std::string_view rest_;
  std::vector<std::string> open_;
};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A plan and moves made by hand.
struct MadeUp {
  Made made;
  Plan plan;
  Moves moves;

  MadeUp(FleetFile file, ProblemKind kind) : made(make(std::move(file), kind)) {
    plan.method = "optimal";
    plan.status = PlanStatus::optimal;
    plan.goal = goal_of_now(made.problem);
  }

  [[nodiscard]] WorkloadIndex named(std::string_view name) const {
    const auto at = std::ranges::find(made.problem.workloads, name, &PlanWorkload::name);
    EXPECT_NE(at, made.problem.workloads.end()) << name;
    return static_cast<WorkloadIndex>(at - made.problem.workloads.begin());
  }

  std::vector<Step>& wave(std::size_t number) {
    if (moves.waves.size() < number) moves.waves.resize(number);
    moves.waves_bound = static_cast<std::int64_t>(moves.waves.size());
    return moves.waves[number - 1];
  }

  /// In this wave the workload starts there, and leaves its old place.
  void start(std::size_t number, WorkloadIndex who, std::size_t gpu, std::string_view profile,
             int at) {
    const auto id = static_cast<GpuId>(gpu);
    const Seat seat{id, *made.problem.geometry(id).find(profile, at)};
    wave(number).push_back({Op::create, seat, who});
    wave(number).push_back({Op::start, seat, who});
    if (plan.goal[who]) wave(number).push_back({Op::drain, *plan.goal[who], who});
    plan.goal[who] = seat;
  }

  void stop(std::size_t number, WorkloadIndex who) {
    wave(number).push_back({Op::stop, *plan.goal[who], who});
    plan.goal[who].reset();
  }

  [[nodiscard]] std::string svg() const { return plan_svg(made.problem, plan, moves); }
};

/// n0/0 takes two, n0/1 becomes empty, one of n0/2 leaves for a while, n0/3 does not change.
MadeUp compaction() {
  MadeUp example(
      fleet("A100-80GB", {"chat 4g.40gb@0", "search 3g.40gb@0, speech 2g.20gb@4",
                          "spam 1g.10gb@6, vision 1g.20gb@2, - 2g.20gb@0", "fixed 7g.80gb@0!", ""}),
      ProblemKind::compact);
  example.start(1, example.named("search"), 0, "3g.40gb", 4);
  example.start(1, example.named("vision"), 4, "1g.20gb", 0);
  example.start(2, example.named("speech"), 2, "2g.20gb", 2);
  example.start(2, example.named("vision"), 2, "1g.20gb", 4);
  return example;
}

/// 200 workloads of the first forty GPUs go to the other forty, in four waves.
MadeUp large() {
  std::vector<std::string> names;
  for (int gpu = 0; gpu < 40; ++gpu)
    names.push_back(
        fmt::format("a-service-with-a-name-{0}-0 1g.10gb@0, w{0}-1 1g.10gb@1, w{0}-2 1g.10gb@2, "
                    "w{0}-3 1g.10gb@3, w{0}-4 1g.10gb@4",
                    gpu));
  names.resize(80);
  MadeUp example(fleet("A100-80GB", {names.begin(), names.end()}), ProblemKind::compact);
  for (WorkloadIndex i = 0; i < 200; ++i)
    example.start(i % 4 + 1, i, 40 + i / 5, "1g.10gb", 6 - static_cast<int>(i % 5));
  return example;
}

TEST(PlanSvg, FewMovesAreArrowsWithTheirWaves) {
  const Xml page(compaction().svg());
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(
      holds(page.text,
            "compact: 4 GPUs in use now, 3 after; 3 workloads move in 2 waves; proven optimal"));
  for (const char* id : {"before-1", "after-1", "arrow-1-1", "before-2", "after-2", "arrow-2-1",
                         "arrow-2-2", "stop-2-1", "before-3", "after-3", "arrow-3-1"})
    EXPECT_TRUE(page.ids.contains(id)) << id;
  for (const char* words :
       {"Emptied: n0/1.", "no order needs fewer", "1 more GPU does not change.",
        "search: 3g.40gb, from n0/1 at 0 to n0/0 at 4 in wave 1",
        "vision: 1g.20gb, from n0/2 at 2, stopping over on n0/4 at 0 in wave 1, then to n0/2 "
        "at 4 in wave 2"})
    EXPECT_TRUE(holds(page.text, words)) << words;
}

TEST(PlanSvg, EveryGpuThatChangesIsThereAndNoOther) {
  const Xml page(compaction().svg());
  for (const char* gpu : {"\nn0/0\n", "\nn0/1\n", "\nn0/2\n", "\nn0/4\n"})
    EXPECT_TRUE(holds(page.text, gpu)) << gpu;
  EXPECT_FALSE(holds(page.text, "\nn0/3\n"));
}

TEST(PlanSvg, TheLegendExplainsWhatOccursAndNothingElse) {
  const Xml page(compaction().svg());
  for (const char* words : {"a temporary place", "the number of a wave", "fixed: must stay",
                            "loses all its work", "wasted: a compute slice"})
    EXPECT_TRUE(holds(page.text, words)) << words;
  for (const char* words : {"an instance without work", "new work that", "work that is stopped"})
    EXPECT_FALSE(holds(page.text, words)) << words;
}

TEST(PlanSvg, NewAndStoppedWorkAndIdleInstancesAreMarked) {
  FleetFile file =
      fleet("A100-80GB", {"old 4g.40gb@0, idle 1g.10gb@6, kept 1g.10gb@4"}, {"fresh 3g.40gb"});
  for (InstanceEntry& instance : file.gpus[0].instances)
    if (instance.workload == "idle") instance.workload.reset();
  MadeUp example(std::move(file), ProblemKind::joint);
  example.stop(1, example.named("old"));
  example.start(2, example.named("fresh"), 0, "3g.40gb", 0);
  const Xml page(example.svg());
  EXPECT_EQ(page.error, "");
  for (const char* words :
       {"joint: 1 GPU in use now, 1 after; 1 new workload starts, 1 workload stops in 2 waves",
        "old: 4g.40gb on n0/0 at 0, stopped in wave 1",
        "fresh: 3g.40gb, new, to n0/0 at 0 in wave 2", "\nnew\n", "\nstops\n", "\nidle\n",
        "an instance without work", "new work that", "work that is stopped"})
    EXPECT_TRUE(holds(page.text, words)) << words;
}

TEST(PlanSvg, UnreachableMovesAreNotedAndNotDrawn) {
  MadeUp example = compaction();
  example.moves.reached = {goal_of_now(example.made.problem), {}};
  example.moves.waves.clear();
  example.moves.disruptive = {{example.named("search"), "its place is never free"}};
  const Xml page(example.svg());
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(holds(page.text, "no workload moves; its goal is proven optimal"));
  EXPECT_TRUE(
      holds(page.text,
            "Not done, since it would interrupt running work: search (its place is never free)."));
  EXPECT_TRUE(holds(page.text, "5 GPUs do not change."));
}

TEST(PlanSvg, MovesThatNoWaveHasAreDrawnWithoutANumber) {
  MadeUp example = compaction();
  example.moves.waves.clear();
  const Xml page(example.svg());
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(page.ids.contains("arrow-1-1"));
  EXPECT_FALSE(holds(page.text, "the number of a wave"));
}

TEST(PlanSvg, ManyMovesAreMatchedByNumbers) {
  const MadeUp example = large();
  const std::string svg = example.svg();
  EXPECT_LT(svg.size(), 700'000U);
  const Xml page(svg);
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(holds(page.text, "40 GPUs in use now, 40 after; 200 workloads move in 4 waves"));
  EXPECT_FALSE(page.ids.contains("arrow-1-1"));
  const PlanPicture picture = picture_of(example.made.problem, example.plan, example.moves);
  ASSERT_EQ(picture.trips.size(), 200U);
  for (std::size_t i = 0; i < picture.trips.size(); ++i) {
    for (const char* side : {"before", "after"})
      EXPECT_TRUE(page.ids.contains(fmt::format("{}-{}", side, i + 1))) << side << i + 1;
    EXPECT_TRUE(page.ids.contains(fmt::format("move-{}-1", i + 1))) << i + 1;
    EXPECT_TRUE(holds(page.text, told(example.made.problem, picture.trips[i]))) << i + 1;
  }
  EXPECT_TRUE(std::ranges::is_sorted(picture.trips, {}, &Trip::first_wave));
  for (const PlanGpu& gpu : example.made.problem.gpus)
    EXPECT_TRUE(holds(page.text, fmt::format("\n{}\n", gpu.name))) << gpu.name;
}

TEST(PlanSvg, NothingToDoIsSaid) {
  const MadeUp example(fleet("A100-80GB", {"a 1g.10gb@0", "", ""}), ProblemKind::compact);
  const Xml page(example.svg());
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(
      holds(page.text, "compact: 1 GPU in use now, 1 after; no workload moves; proven optimal"));
  EXPECT_TRUE(holds(page.text, "3 GPUs do not change."));
  const MadeUp nobody(fleet("A100-80GB", {}), ProblemKind::joint);
  EXPECT_EQ(Xml(nobody.svg()).error, "");
}

TEST(PlanSvg, NamesFromOutsideAreTextAndNothingElse) {
  FleetFile file = fleet("A100-80GB", {"a 1g.10gb@0", ""});
  const std::vector<std::string> names = {"<script>alert(\"1\")</script>&amp;'",
                                          "bell\x07 bad\xff end\uFFFF"};
  file.gpus[0].name = "]]>\"</g><!-- & 'n0'";
  file.gpus[1].name = std::string(5000, 'x') + "\u7b97\u529b";
  file.gpus[0].instances.push_back(file.gpus[0].instances[0]);
  file.gpus[0].instances[1].placement = *file.geometries[0].find("1g.10gb", 1);
  for (std::size_t i = 0; i < names.size(); ++i) file.gpus[0].instances[i].workload = names[i];
  MadeUp example(std::move(file), ProblemKind::compact);
  for (WorkloadIndex i = 0; i < 2; ++i) example.start(1, i, 1, "1g.10gb", static_cast<int>(i));
  const Xml page(example.svg());
  EXPECT_EQ(page.error, "");
  EXPECT_FALSE(page.elements.contains("script"));
  EXPECT_TRUE(holds(page.text, names[0]));
  EXPECT_TRUE(holds(page.text, "bell\\x07 bad\\xff end"));
}

TEST(PlanSvg, NeedsNothingBesideItself) {
  for (std::string svg : {compaction().svg(), large().svg()}) {
    const std::string_view xmlns = "xmlns=\"http://www.w3.org/2000/svg\"";
    svg.erase(svg.find(xmlns), xmlns.size());
    for (const char* word :
         {"http", "href", "<script", "<image", "@import", "@font-face", "<foreignObject"})
      EXPECT_FALSE(holds(svg, word)) << word;
    for (std::size_t at = svg.find("url("); at != std::string::npos; at = svg.find("url(", at + 1))
      EXPECT_EQ(svg.substr(at, 11), "url(#hatch)");
  }
}

TEST(PlanSvg, SameInputSameBytesWithOneDecimal) {
  EXPECT_EQ(compaction().svg(), compaction().svg());
  EXPECT_EQ(large().svg(), large().svg());
  static const std::regex long_number(R"re( (x|y|width|height|d|cx|cy|r)="[^"]*\.\d\d)re");
  static const std::regex odd(R"re(nan|inf|-0\.0|e[+-]\d)re");
  for (const std::string& svg : {compaction().svg(), large().svg()}) {
    EXPECT_FALSE(std::regex_search(svg.substr(svg.find("</defs>")), long_number));
    static const std::regex coordinate(R"re( (?:x|y|width|height|d)="([^"]*)")re");
    for (std::sregex_iterator at(svg.begin(), svg.end(), coordinate), end; at != end; ++at)
      EXPECT_FALSE(std::regex_search((*at)[1].str(), odd)) << (*at)[1];
  }
}

/// Plans of all kinds for fleets of all models, moved in some waves.
TEST(PlanSvg, AnyPlanIsWellFormed) {
  std::size_t drawn = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Draw draw{{"A100-80GB", "A30-24GB", "RTX-PRO-6000-BW-96GB"},
              "all",
              1 + random.below(30),
              12,
              true,
              false};
    MadeUp example(fleet(random, draw),
                   seed % 2 == 0 ? ProblemKind::joint : ProblemKind::reconfigure);
    PlanOptions options;
    options.method = seed % 2 == 0 ? "rules" : "first-fit";
    if (const auto plan = make_plan(example.made.problem, options)) example.plan = *plan;
    const Goal goal = example.plan.goal;
    example.plan.goal = goal_of_now(example.made.problem);
    for (WorkloadIndex i = 0; i < goal.size(); ++i) {
      if (goal[i] == example.plan.goal[i]) continue;
      if (!goal[i]) {
        example.stop(i % 3 + 1, i);
        continue;
      }
      const Geometry& geometry = example.made.problem.geometry(goal[i]->gpu);
      const Placement& to = geometry[goal[i]->placement];
      const PlacementSet alike = geometry.of_profile(to.profile_index);
      const std::size_t gpu = index(goal[i]->gpu);
      // Some with one temporary place, some with two; whether there is room does not matter here.
      if (i % 4 > 1) example.start(1, i, gpu, to.profile->name, geometry[alike.last()].start);
      if (i % 4 > 2) example.start(2, i, gpu, to.profile->name, geometry[alike.first()].start);
      example.start(i % 3 + 3, i, gpu, to.profile->name, to.start);
    }
    const Xml page(example.svg());
    ASSERT_EQ(page.error, "") << seed;
    drawn += page.ids.empty() ? 0 : 1;
  }
  EXPECT_GE(drawn, 20U);
}

TEST(SvgText, IsShortenedInItsMiddleAndOnlyBetweenCharacters) {
  EXPECT_EQ(fitted("speech", 100, 10), "speech");
  EXPECT_EQ(fitted("inference-llama-7b-12", 60, 10), "infere\u2026-12");
  EXPECT_EQ(fitted("speech", 1, 10), "");
  EXPECT_EQ(fitted("", 10, 10), "");
  const std::string wide = fitted("\u7b97\u529b\u7b97\u529b\u7b97\u529b", 45, 10);
  EXPECT_TRUE(valid_utf8(wide)) << wide;
  EXPECT_LE(text_width(wide, 10), 45);
  EXPECT_EQ(xml_escaped("a<b & \"c\" 'd' > e\n"),
            "a&lt;b &amp; &quot;c&quot; &#39;d&#39; &gt; e\\x0a");
}

}  // namespace
}  // namespace cleave
