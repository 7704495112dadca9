#include "study/arena/arena_cell.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"

namespace cleave {
namespace {

constexpr std::string_view good =
    R"({"name": "a", "fleet": "1xA100-40GB", "workload": ["w1.jsonl", "w2.jsonl"], )"
    R"("seeds": [4, 7], "req": "mem", "speeds": "unknown", "times": "noisy", "mob": "ckpt", )"
    R"("sim": {}, "from": "me"})";

/// The line with one part of it replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string line(good);
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

ArenaCell cell_of(const std::string& line, ArenaWorld world = ArenaWorld::plain) {
  const auto cells = parse_arena_cells(line, "folder/cells.jsonl", world);
  EXPECT_TRUE(cells) << cells.error().text();
  return cells ? cells->front() : ArenaCell();
}

TEST(ArenaCell, SaysWhatSimulateWouldBeGiven) {
  const ArenaCell cell = cell_of(std::string(good));
  EXPECT_EQ(cell.name, "a");
  EXPECT_EQ(cell.place, "folder/cells.jsonl:1");
  EXPECT_EQ(cell.workloads, (std::vector<std::string>{"folder/w1.jsonl", "folder/w2.jsonl"}));
  EXPECT_EQ(cell.seeds, (std::vector<std::uint64_t>{4, 7}));
  EXPECT_EQ(text(cell.know), "speeds=learn;times=noise:0.7;memory=true");
  EXPECT_EQ(cell.may, MayInterrupt::checkpoint);
  EXPECT_EQ(cell.run.fleet, "1xA100-40GB");
  EXPECT_EQ(cell.run.profiles, "plain");
  EXPECT_EQ(cell.run.checkpoint, "30");
}

TEST(ArenaCell, MapsEachLevelOfKnowledge) {
  const auto know = [](const std::string& line) { return text(cell_of(line).know); };
  EXPECT_EQ(know(with(R"("unknown", "times": "noisy")", R"("known", "times": "known")")),
            "speeds=true;times=true;memory=true");
  EXPECT_EQ(know(with("noisy", "unknown")), "speeds=learn;times=unknown;memory=true");
  EXPECT_EQ(know(with(R"("unknown")", R"("none")")), "speeds=none;times=noise:0.7;memory=true");
  // Neither a size nor a table of speeds says where such a job runs.
  EXPECT_EQ(know(with(R"("mem")", R"("none")")), "speeds=learn;times=noise:0.7;memory=none");
  EXPECT_EQ(cell_of(with("ckpt", "none")).may, MayInterrupt::never);
  EXPECT_EQ(cell_of(with("ckpt", "all")).may, MayInterrupt::all);
}

TEST(ArenaCell, KeepsItsOwnSettingsInBothWorlds) {
  const ArenaCell plain = cell_of(std::string(good)),
                  physical = cell_of(std::string(good), ArenaWorld::physical);
  EXPECT_EQ(plain.run.link, "off");
  EXPECT_EQ(plain.run.power, "off");
  EXPECT_EQ(physical.run.link, "spread");
  EXPECT_EQ(physical.run.power, "");
  EXPECT_EQ(physical.run.checkpoint, "memory");
  EXPECT_EQ(physical.run.profiles, "plain");
  const std::string line = with(
      "{}", R"({"checkpoint": 120, "process_start": 0.5, "link": "together", "power": false})");
  for (const ArenaWorld world : {ArenaWorld::plain, ArenaWorld::physical}) {
    const cli::RunArguments run = cell_of(line, world).run;
    EXPECT_EQ(run.checkpoint, "120");
    EXPECT_EQ(run.process_start, "0.5");
    EXPECT_EQ(run.link, "together");
    EXPECT_EQ(run.power, "off");
  }
}

TEST(ArenaCell, ThatIsWrongIsNamedWithItsLine) {
  const std::pair<std::string, std::string> wrong[] = {
      {"{", "cells.jsonl:3"},
      {"7", "cells.jsonl:3"},
      {with(R"("a")", R"("")"), "name"},
      {std::string(good), "there is a cell 'a' before"},
      {with(R"("name": "a", )", ""), "name"},
      {with(R"("noisy")", R"("loud")"), "'loud' is not a value of it; write known"},
      {with(R"("ckpt")", R"("some")"), "mob"},
      {with(R"("mem")", R"("gpu")"), "req"},
      {with(R"("unknown")", R"("fast")"), "speeds"},
      {with("[4, 7]", "[4]"), "1 seed for 2 workloads"},
      {with("[4, 7]", "[4, 4]"), "a seed occurs twice"},
      {with("[4, 7]", "[4, -1]"), "seeds"},
      {with(R"("from")", R"("form")"), "form"},
      {with(R"({})", R"({"chekpoint": 1})"), "did you mean 'checkpoint'?"},
      {with(R"({})", R"({"link": "fast"})"), "spread|together|off"},
      {with(R"({})", R"({"checkpoint": [1]})"), "neither a number nor a text"},
      {with(R"({})", R"({"checkpoint": true})"), "neither a number nor a text"},
      {with(R"(["w1.jsonl", "w2.jsonl"])", "[]"), "workload"},
  };
  for (const auto& [line, said] : wrong) {
    const auto cells = parse_arena_cells(fmt::format("{}\n\n{}\n", good, line), "cells.jsonl", {});
    ASSERT_FALSE(cells) << line;
    EXPECT_EQ(exit_code(cells.error().kind), 2) << line;
    EXPECT_NE(cells.error().text().find("cells.jsonl:3"), std::string::npos)
        << cells.error().text();
    EXPECT_NE(cells.error().text().find(said), std::string::npos) << cells.error().text();
  }
  EXPECT_FALSE(parse_arena_cells("\n", "cells.jsonl", {}));
}

TEST(ArenaCell, OneWorkloadNeedsNoListAndNoSeed) {
  const ArenaCell cell =
      cell_of(with(R"(["w1.jsonl", "w2.jsonl"], "seeds": [4, 7])", R"("w.jsonl")"));
  EXPECT_EQ(cell.workloads, std::vector<std::string>{"folder/w.jsonl"});
  EXPECT_EQ(cell.seeds, std::vector<std::uint64_t>{1});
}

TEST(ArenaCell, TheDesignHalfIsReadWhole) {
  const std::string path = source_dir() + "/../shared/arena/cells.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the arena is not beside this source tree";
  for (const ArenaWorld world : {ArenaWorld::plain, ArenaWorld::physical}) {
    const auto cells = parse_arena_cells(*read_text(path), path, world);
    ASSERT_TRUE(cells) << cells.error().text();
    EXPECT_EQ(cells->size(), 68U);
  }
}

}  // namespace
}  // namespace cleave
