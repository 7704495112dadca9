#pragma once
// For tests: an engine driven by hand, which answers in words: "create 0 1g.5gb@6, start 1 on 0
// 1g.5gb@6".

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"
#include "model/layout_text.hpp"

namespace cleave {

/// One scheduler on one fleet.
class EngineDriver {
 public:
  explicit EngineDriver(std::string_view spec, std::string_view fleet = "1xA100-40GB")
      : EngineDriver(spec, in_short(fleet)) {}
  EngineDriver(std::string_view spec, FleetFile fleet)
      : file_(std::move(fleet)),
        fleet_(file_),
        requests_(file_.geometries),
        engine_(*Engine::make(*parse_scheduler(spec), {fleet_, requests_, true, &facts_}, requests_,
                              nullptr)) {}

  /// A fleet with profiles without attributes.
  static FleetFile in_short(std::string_view fleet) {
    return *parse_fleet_in_short(fleet, *ProfileChoice::parse("plain"));
  }
  RequestId request(std::string profile) {
    return requests_.intern({ByProfile{std::move(profile)}, {}});
  }

  std::string submit(unsigned job, std::string profile, std::int64_t priority = 0) {
    return submit_all({{std::move(profile), priority}}, job);
  }
  /// Several at one instant.
  std::string submit_all(const std::vector<std::pair<std::string, std::int64_t>>& jobs,
                         unsigned first) {
    std::vector<Command> commands;
    for (const auto& [profile, priority] : jobs) {
      facts_.of[static_cast<JobId>(first)] = priority;
      engine_.on(Submitted{static_cast<JobId>(first++), request(profile)}, Instant{}, commands);
    }
    engine_.settle(Instant{}, commands);
    return CommandWords(fleet_).text(commands);
  }
  std::string finish(unsigned job) { return answer(Finished{static_cast<JobId>(job)}); }
  std::string cancel(unsigned job) { return answer(Cancelled{static_cast<JobId>(job)}); }
  std::string run_out(unsigned job, std::int64_t had) {
    return answer(OutOfMemory{static_cast<JobId>(job), MiB{had}});
  }
  std::string lose(unsigned gpu) { return answer(GpuLost{static_cast<GpuId>(gpu)}); }
  std::string recover(unsigned gpu) { return answer(GpuReturned{static_cast<GpuId>(gpu)}); }

  std::string answer(const Event& event, Instant now = {}) {
    std::vector<Command> commands;
    engine_.on(event, now, commands);
    engine_.settle(now, commands);
    return CommandWords(fleet_).text(commands);
  }

 private:
  /// As the jobs were submitted.
  class Priorities final : public JobFacts {
   public:
    [[nodiscard]] std::int64_t priority(JobId job) const override {
      const auto known = of.find(job);
      return known == of.end() ? 0 : known->second;
    }
    std::map<JobId, std::int64_t> of;
  };

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  Priorities facts_;
  Engine engine_;
};

}  // namespace cleave
