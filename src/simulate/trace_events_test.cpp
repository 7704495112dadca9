// The files that a run writes: an event log that adds up, and a trace that is valid in its format.

#include "simulate/trace_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "model/workload_file.hpp"
#include "simulate/event_log.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/random_places_test.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

struct Written {
  Json trace;
  std::vector<Json> events;
  RunSummary summary;
};

Written written(const FleetFile& fleet, const Workload& workload, std::string_view spec,
                SimulationOptions options = {}) {
  std::ostringstream log_text, trace_text;
  EventLog log(fleet, workload, log_text);
  TraceEvents trace(fleet, workload, {{"scheduler", "a \"name\""}}, trace_text);
  RunObservers both{&log, nullptr, &trace};
  options.observer = &both;
  const auto summary = simulate(fleet, workload, *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << summary.error().text();
  trace.finish();
  Written result;
  result.summary = *summary;
  const auto document = parse_json(trace_text.str(), "trace");
  EXPECT_TRUE(document) << document.error().text();
  result.trace = *document;
  std::istringstream lines(log_text.str());
  for (std::string line; std::getline(lines, line);)
    result.events.push_back(*parse_json(line, "line"));
  return result;
}

FleetFile fleet_of_events(std::string_view text) {
  return *parse_fleet_in_short(text, {});
}

using Lane = std::pair<std::int64_t, std::int64_t>;  // process and thread

/// The format's rules, as far as this program uses them.
void expect_valid(const Json& document) {
  EXPECT_TRUE(document["displayTimeUnit"] == "ms" || document["displayTimeUnit"] == "ns");
  std::map<Lane, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;
  std::set<Lane> named;
  std::map<std::int64_t, std::string> flows;
  for (const Json& event : document["traceEvents"]) {
    const std::string ph = event["ph"];
    EXPECT_TRUE(event["name"].is_string() && event["ts"].is_number() && event["ts"] >= 0) << event;
    const Lane lane{event["pid"], event["tid"]};
    EXPECT_TRUE(lane.first > 0 && lane.second > 0) << event;
    if (ph == "X") {
      EXPECT_GT(event["dur"], 0) << event;
      EXPECT_TRUE(named.contains(lane)) << event;
      spans[lane].emplace_back(event["ts"], event["dur"]);
    } else if (ph == "M") {
      EXPECT_TRUE(event["args"].is_object() && event["args"].size() == 1) << event;
      if (event["name"] == "thread_name") named.insert(lane);
    } else if (ph == "C") {
      EXPECT_TRUE(event["args"]["value"].is_number() && event["args"]["value"] >= 0) << event;
    } else if (ph == "i") {
      EXPECT_TRUE(event["s"] == "t" || event["s"] == "p") << event;
    } else {
      ASSERT_TRUE(ph == "s" || ph == "f") << event;
      flows[event["id"]] += ph;
    }
  }
  for (auto& [lane, all] : spans) {
    std::ranges::sort(all);
    for (std::size_t i = 1; i < all.size(); ++i)
      ASSERT_LE(all[i - 1].first + all[i - 1].second, all[i].first)
          << "process " << lane.first << ", thread " << lane.second;
  }
  for (const auto& [id, ends] : flows) EXPECT_EQ(ends, "sf") << id;
}

/// Of jobs of several places once.
std::size_t count(const std::vector<Json>& events, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(events, [&](const Json& event) {
    return event["event"] == name && event.value("rank", 0) == 0;
  }));
}

TEST(TraceEvents, AJobByHand) {
  Workload workload = *parse_workload(
      R"({"id": "a \"b\"", "arrival_s": 1, "profile": "2g.10gb", "duration_s": 60, )"
      R"("speed": {"2g.10gb": 0.5, "7g.40gb": 1}})",
      "jobs");
  SimulationOptions options;
  options.reconfiguration = std::chrono::seconds{2};
  const Written run = written(fleet_of_events("1xA100-40GB"), workload, "online", options);
  expect_valid(run.trace);
  std::vector<std::string> spans;
  for (const Json& event : run.trace["traceEvents"])
    if (event["ph"] == "X")
      spans.push_back(fmt::format("{} {} {}+{}", event["tid"].get<int>() % 32,
                                  event["name"].get<std::string>(), event["ts"].get<long>(),
                                  event["dur"].get<long>()));
  // On both slices of the instance: made for two seconds, then in use.
  EXPECT_EQ(spans, (std::vector<std::string>{
                       "4 creating 2g.10gb 1000000+2000000", "5 creating 2g.10gb 1000000+2000000",
                       "4 a \"b\" 3000000+120000000", "5 a \"b\" 3000000+120000000"}));
  ASSERT_EQ(run.events.size(), 4U);
  EXPECT_EQ(
      run.events[1],
      Json::parse(
          R"({"at_s": 1, "event": "created", "gpu": "n0/0", "profile": "2g.10gb", "start": 4, )"
          R"("until_s": 3})"));
  EXPECT_EQ(run.events[3]["event"], "finished");
  EXPECT_EQ(run.events[3]["at_s"], 123);
}

TEST(TraceEvents, ValidUnderFaultsAndEveryScheduler) {
  for (const char* spec : {"full-gpu", "online", "online:policy=first-fit"})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SimulationOptions options;
      options.seed = seed;
      options.faults.between_losses = std::chrono::hours{4};
      options.faults.repair = std::chrono::minutes{20};
      options.faults.job_failure = 0.1;
      options.process_start = std::chrono::seconds{3};
      Workload workload = *generate_workload("lab-day", seed);
      if (seed % 2 == 0) ask_for_several(workload, seed, 3);
      const Written run = written(fleet_of_events("3xA100-40GB"), workload, spec, options);
      expect_valid(run.trace);
      const RunSummary& s = run.summary;
      EXPECT_EQ(count(run.events, "submitted"), s.jobs);
      EXPECT_EQ(count(run.events, "finished"), s.finished);
      EXPECT_EQ(count(run.events, "failed"), s.failed);
      EXPECT_EQ(count(run.events, "created"), s.creates);
      EXPECT_EQ(count(run.events, "destroyed"), s.destroys);
      EXPECT_EQ(count(run.events, "gpu-lost"), s.gpu_losses);
      EXPECT_EQ(count(run.events, "evicted"), s.evictions);
      EXPECT_GT(s.gpu_losses, 0U);
    }
}

// By hand: a migration whose old place is used until the replica runs, and a loss that cuts it off.
TEST(TraceEvents, MigrationsCheckpointsAndSharing) {
  const FleetFile fleet = fleet_of_events("2xA30-24GB");
  const Workload workload = *parse_workload(
      "{\"id\": \"a\", \"duration_s\": 9}\n{\"id\": \"b\", \"duration_s\": 9}", "jobs");
  const auto place = *fleet.geometries[0].find("2g.12gb", 0);
  const auto other = *fleet.geometries[0].find("2g.12gb", 2);
  const auto at = [](int s) { return Instant{} + std::chrono::seconds{s}; };
  const auto a = JobId{0}, b = JobId{1};
  const auto here = GpuId{0}, there = GpuId{1};
  using Kind = RunEvent::Kind;
  std::ostringstream text;
  TraceEvents trace(fleet, workload, {}, text);
  const RunEvent events[] = {{at(0), Kind::submitted, a, {}, {}, {}},
                             {at(0), Kind::submitted, b, {}, {}, {}},
                             {at(0), Kind::created, {}, here, place, at(1)},
                             {at(0), Kind::started, a, here, place, at(1)},
                             {at(2), Kind::started, b, here, place, at(2)},
                             {at(4), Kind::checkpointed, b, here, place, at(7)},
                             {at(10), Kind::created, {}, there, other, at(12)},
                             {at(10), Kind::migrated, a, there, other, at(15)},
                             {at(11), Kind::destroyed, {}, here, place, {}},
                             {at(11), Kind::created, {}, here, place, at(16)},
                             {at(13), Kind::gpu_lost, {}, here, {}, {}},
                             {at(14), Kind::gpu_returned, {}, here, {}, {}},
                             {at(20), Kind::finished, a, there, other, {}}};
  for (const RunEvent& event : events) trace.on(event);
  trace.finish();
  const Json document = *parse_json(text.str(), "trace");
  expect_valid(document);
  std::map<std::string, std::string> rows;
  for (const Json& event : document["traceEvents"])
    if (event["ph"] == "X" && event["tid"].get<int>() % 2 == 0)
      rows[fmt::format("{}.{}", event["pid"].get<int>() - 2, event["tid"].get<int>() % 32)] +=
          fmt::format("{} {}-{}; ", event["name"].get<std::string>(),
                      event["ts"].get<long>() / 1000000,
                      (event["ts"].get<long>() + event["dur"].get<long>()) / 1000000);
  EXPECT_EQ(rows["0.0"], "creating 2g.12gb 0-1; a 1-2; 2 jobs 2-7; a 7-13; GPU lost 13-14; ");
  EXPECT_EQ(rows["1.2"], "creating 2g.12gb 10-15; a 15-20; ");
}

}  // namespace
}  // namespace cleave
