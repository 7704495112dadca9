#include "kinds_scenario.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace cleave::laws {

namespace {

using namespace std::chrono_literals;

Duration seconds_below(Random& random, std::uint64_t most) {
  return std::chrono::seconds{1 + random.below(most)};
}

/// Without what only batches say of themselves.
JobDetails details_for(const Workload& workload, const Job& job) {
  JobDetails details;
  if (const JobDetails* said = workload.details_of(job)) {
    details.priority = said->priority;
    details.user = said->user;
    details.account = said->account;
  }
  return details;
}

void make_lease(Workload& workload, Job& job, Random& random) {
  JobDetails details = details_for(workload, job);
  LeaseTerms lease;
  lease.starts_within = seconds_below(random, 100);
  if (random.below(4) > 0) lease.idle_after = seconds_below(random, 300);
  for (Duration at{}; random.below(3) > 0;) {
    at += seconds_below(random, 400);
    const Duration to = at + seconds_below(random, 400);
    lease.active.push_back({at, to});
    at = to;
  }
  if (lease.idle_after && random.below(2) == 0) {
    lease.then = LeaseTerms::Then::shrink;
    lease.idle_memory = MiB{1000};
  }
  details.lease = lease;
  details.keeps = Keeps::stateless;  // it moves by a replica, as the checker knows it
  SpeedModel speed;
  speed.flat = true;
  job.duration = seconds_below(random, 2000);
  job.speed = workload.intern(speed);
  job.details = static_cast<std::uint32_t>(workload.details.size());
  workload.details.push_back(details);
}

void make_service(Workload& workload, Job& job, Random& random) {
  JobDetails details = details_for(workload, job);
  ServiceTerms service;
  service.id = job.id;
  service.served_per_s = 10;
  service.load = {{{}, static_cast<double>(random.below(10))},
                  {seconds_below(random, 1000), static_cast<double>(random.below(10))}};
  if (random.below(2) == 0) service.latency = 1s;
  if (random.below(4) > 0) service.runs_for = seconds_below(random, 3000);
  details.service = static_cast<std::uint32_t>(workload.services.size());
  details.keeps = Keeps::stateless;
  job.duration = {};
  job.details = static_cast<std::uint32_t>(workload.details.size());
  workload.details.push_back(details);
  workload.services.push_back(std::move(service));
}

}  // namespace

void add_kinds(Scenario& scenario, std::uint64_t seed) {
  Random random(seed);
  Workload& workload = scenario.workload;
  bool first = true;
  for (Job& job : workload.jobs) {
    const Request& request = workload.requests[job.request];
    const bool one_place = request.places == 1 && !std::holds_alternative<WholeGpu>(request.wanted);
    // Without the first there might be nothing but services.
    if (std::exchange(first, false) || !one_place) continue;
    if (const auto drawn = random.below(10); drawn == 0)
      make_service(workload, job, random);
    else if (drawn == 1)
      make_lease(workload, job, random);
  }
  // One without an end may hold for good what a batch waits for.
  const auto endless = [](const ServiceTerms& terms) { return !terms.runs_for; };
  if (std::ranges::any_of(workload.services, endless)) scenario.must_end = false;
}

}  // namespace cleave::laws
