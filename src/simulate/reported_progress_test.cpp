// What schedulers hear of the progress of jobs that run, and what is learnt from it.

#include <gtest/gtest.h>

#include "base/overloads.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

constexpr JobId a{0}, b{1};
constexpr GpuId gpu{0};

/// Runs job a for 30 s on 2g.10gb, saves it, and goes on with it on 4g.20gb; asks as it goes.
class Asking final : public Scheduler {
 public:
  explicit Asking(const SchedulerSetup& setup)
      : geometry_(setup.fleet.graphs().front()->geometry()), facts_(*setup.facts) {}

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& commands) override {
    std::visit(Overloads{[&](const Submitted& submitted) {
                           if (submitted.job == a) return start(a, "2g.10gb", now, commands);
                           of_others = ratio();
                           start(b, "1g.5gb", now, commands);
                         },
                         [&](const Woken&) {
                           heard.push_back(facts_.progress(a));
                           if (heard.size() == 1) return;
                           if (heard.size() == 2) {
                             commands.emplace_back(CheckpointJob{a});
                             start(a, "4g.20gb", now, commands);
                           }
                         },
                         [](const auto&) {}},
               event);
  }

  static inline std::vector<std::optional<double>> heard;
  static inline double of_others = 0;

 private:
  [[nodiscard]] int profile(std::string_view name) const {
    return static_cast<int>(geometry_.model().find(name) - geometry_.model().profiles.data());
  }
  void start(JobId job, std::string_view name, Instant now, std::vector<Command>& commands) {
    const PlacementId place = geometry_.of_profile(profile(name)).last();
    commands.emplace_back(CreateInstance{gpu, place});
    commands.emplace_back(StartJob{job, gpu, place});
    if (job == a) commands.emplace_back(WakeAt{now + seconds(15)});
    if (job == a) commands.emplace_back(WakeAt{now + seconds(30)});
  }
  [[nodiscard]] double ratio() const {
    return facts_.speed_on(b, 0, profile("4g.20gb")).value_or(0) /
           facts_.speed_on(b, 0, profile("2g.10gb")).value_or(1);
  }

  const Geometry& geometry_;
  const JobFacts& facts_;
};

Result<std::unique_ptr<Scheduler>> make_asking(const SchedulerSetup& setup,
                                               const OptionTexts& /*options*/) {
  return std::make_unique<Asking>(setup);
}

/// Job b, of the same application, comes when a has ended.
void run(std::string_view know) {
  Asking::heard.clear();
  const SchedulerRow row{.name = "asking",
                         .summary = "",
                         .source = "",
                         .priority = "",
                         .options = {},
                         .make = make_asking};
  const auto workload = *parse_workload(
      R"({"id": "a", "duration_s": 60, "application": "x", "progress": "checkpoint", )"
      R"("profile": "2g.10gb", "speed": {"2g.10gb": 0.4, "4g.20gb": 0.6, "1g.5gb": 0.3}}
{"id": "b", "duration_s": 60, "application": "x", "arrival_s": 500, )"
      R"("profile": "2g.10gb", "speed": {"2g.10gb": 0.4, "4g.20gb": 0.6, "1g.5gb": 0.3}})",
      "jobs");
  SimulationOptions options;
  options.know = *parse_knowledge(know);
  options.reconfiguration = seconds(0);
  options.stops.checkpoint = seconds(10);
  const auto fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
  const auto summary = simulate(fleet, workload, {&row, {}, "asking"}, options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->finished, 2U);
}

TEST(ReportedProgress, IsHeardWhereSpeedsAreToldOrLearnt) {
  for (const char* know : {"", "speeds=learn", "times=unknown;speeds=learn"}) {
    run(know);
    ASSERT_GE(Asking::heard.size(), 4U) << know;
    EXPECT_DOUBLE_EQ(*Asking::heard[0], 0.1) << "15 s at 0.4";
    EXPECT_DOUBLE_EQ(*Asking::heard[1], 0.2);
    EXPECT_DOUBLE_EQ(*Asking::heard[2], 0.25) << "5 s to write, 5 s to read, 5 s at 0.6";
    EXPECT_DOUBLE_EQ(*Asking::heard[3], 0.4);
  }
  run("speeds=none");
  for (const auto& each : Asking::heard) EXPECT_EQ(each, std::nullopt);
}

// It never ran on one instance from its beginning to its end.
TEST(ReportedProgress, TeachesFromPartsOfRuns) {
  run("times=unknown;speeds=learn");
  EXPECT_NEAR(Asking::of_others, 0.6 / 0.4, 1e-6);
  run("times=unknown;speeds=none");
  EXPECT_EQ(Asking::of_others, 0) << "nothing is told";
}

}  // namespace
}  // namespace cleave
