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
  /// What else an engine is made from.
  struct More {
    bool gangs = false;
    Forecaster* forecaster = nullptr;
    std::vector<GpuReservation> reservations = {};
  };
  EngineDriver(std::string_view spec, FleetFile fleet)
      : EngineDriver(spec, std::move(fleet), More{}) {}
  EngineDriver(std::string_view spec, FleetFile fleet, const More& more)
      : file_(std::move(fleet)),
        fleet_(file_),
        requests_(file_.geometries),
        engine_(*Engine::make(*parse_scheduler(spec),
                              {.fleet = fleet_,
                               .requests = requests_,
                               .facts = &facts_,
                               .reservations = more.reservations,
                               .gangs = more.gangs},
                              requests_, more.forecaster)) {}

  /// A fleet with profiles without attributes.
  static FleetFile in_short(std::string_view fleet) {
    return *parse_fleet_in_short(fleet, *ProfileChoice::parse("plain"));
  }
  RequestId request(std::string profile) { return request({ByProfile{std::move(profile)}, {}}); }
  RequestId request(const Request& request) { return requests_.intern(request); }

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
  /// A job of several places, or of whole GPUs. Its processes but the first have the numbers from
  /// 100 times its own on.
  std::string submit(unsigned job, const Request& asked, std::int64_t priority = 0,
                     std::string user = "") {
    const auto id = static_cast<JobId>(job);
    facts_.of[id] = priority;
    facts_.users[id] = std::move(user);
    know_gang(job, asked.places);
    return answer(Submitted{id, request(asked)});
  }
  void know_gang(unsigned job, std::uint32_t places) {
    const Gang gang{static_cast<JobId>(job), static_cast<JobId>(100 * job), places};
    for (std::uint32_t rank = 0; rank < places; ++rank) facts_.gangs[gang.member(rank)] = gang;
  }
  /// The reason is that of the last job that was turned away.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] Outlook outlook(unsigned job) const {
    return engine_.outlook(static_cast<JobId>(job));
  }

  std::string finish(unsigned job) { return answer(Finished{static_cast<JobId>(job)}); }
  std::string cancel(unsigned job) { return answer(Cancelled{static_cast<JobId>(job)}); }
  std::string run_out(unsigned job, std::int64_t had) {
    return answer(OutOfMemory{static_cast<JobId>(job), MiB{had}});
  }
  std::string lose(unsigned gpu) { return answer(GpuLost{static_cast<GpuId>(gpu)}); }
  std::string recover(unsigned gpu) { return answer(GpuReturned{static_cast<GpuId>(gpu)}); }

  /// Before the first settle.
  void tell(const Event& event, std::vector<Command>& commands) {
    engine_.on(event, Instant{}, commands);
  }
  std::string answer(const Event& event, Instant now = {}) {
    std::vector<Command> commands;
    engine_.on(event, now, commands);
    for (const Command& command : commands)
      if (const auto* rejected = std::get_if<RejectJob>(&command)) reason_ = rejected->reason;
    engine_.settle(now, commands);
    return CommandWords(fleet_).text(commands);
  }

 private:
  /// As the jobs were submitted.
  class Facts final : public JobFacts {
   public:
    [[nodiscard]] std::int64_t priority(JobId job) const override {
      const auto known = of.find(job);
      return known == of.end() ? 0 : known->second;
    }
    [[nodiscard]] Gang gang(JobId job) const override { return gangs.at(job); }
    [[nodiscard]] const std::string* user(JobId job) const override {
      const auto known = users.find(gangs.contains(job) ? gang(job).leader : job);
      return known == users.end() ? nullptr : &known->second;
    }
    [[nodiscard]] bool restartable(JobId job) const override { return gangs.contains(job); }
    std::map<JobId, std::int64_t> of;
    std::map<JobId, Gang> gangs;
    std::map<JobId, std::string> users;
  };

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  Facts facts_;
  std::string reason_;
  Engine engine_;
};

}  // namespace cleave
