#include "base/format.hpp"
#include "base/json.hpp"
#include "base/overloads.hpp"
#include "model/share_rule_text.hpp"
#include "model/workload/stated_kind.hpp"
#include "model/workload_file.hpp"

namespace cleave {

namespace {

void write_details(Json& line, const JobDetails& details) {
  if (details.deadline) line["deadline_s"] = in_seconds(*details.deadline);
  if (details.priority != 0) line["priority"] = details.priority;
  if (details.batch) line["batch"] = *details.batch;
  if (details.restartable) line["restartable"] = *details.restartable;
  if (details.movable) line["movable"] = *details.movable;
  if (details.keeps != Keeps::unsaid) line["progress"] = name(details.keeps);
  if (details.checkpoint_every) line["checkpoint_every_s"] = in_seconds(*details.checkpoint_every);
  if (details.application) line["application"] = *details.application;
  if (details.user) line["user"] = *details.user;
  if (details.account) line["account"] = *details.account;
  if (details.latency) line["latency_s"] = in_seconds(*details.latency);
  if (details.fails_after) line["fails_after"] = *details.fails_after;
  if (details.output_tokens) line["output_tokens"] = *details.output_tokens;
  if (details.offload) line["offload_mib"] = details.offload->value;
  if (details.offload_touches) line["offload_touches"] = *details.offload_touches;
  if (details.host_memory) line["host_memory_mib"] = details.host_memory->value;
  if (details.cpus) line["cpus"] = *details.cpus;
  if (details.lease) line["lease"] = json_of(*details.lease);
  if (!details.start.after.empty()) line["after"] = details.start.after;
  if (!details.start.task_of.empty()) line["task_of"] = details.start.task_of;
  if (details.start.at_once > 0) line["at_once"] = details.start.at_once;
  if (details.growth)
    line["memory"] = {{"base_mib", details.growth->base.value},
                      {"per_iteration_mib", details.growth->per_iteration.value},
                      {"noise_mib", details.growth->noise.value},
                      {"iterations", details.growth->iterations}};
  if (!details.growth) return;
  const MemoryGrowth& growth = *details.growth;
  if (growth.reuse_ratio != 1) line["memory"]["reuse_ratio"] = growth.reuse_ratio;
  if (growth.reuse_noise != 0) line["memory"]["reuse_noise"] = growth.reuse_noise;
  if (growth.context) line["memory"]["context_mib"] = growth.context->value;
}

void write_request(Json& line, const Request& request) {
  std::visit(
      Overloads{[&](const ByProfile& wanted) { line["profile"] = wanted.profile; },
                [&](const BySize& size) {
                  line["memory_mib"] = size.memory.value;
                  if (size.compute.value > 0) line["compute_slices"] = size.compute.value;
                },
                [&](const ByShare& share) {
                  line["gpu_share"] = share.thousandths / 1000.0;
                  if (share.rule != ShareRule::round_up) line["share_rule"] = name(share.rule);
                },
                [](const Unknown&) {}, [&](const WholeGpu&) { line["gpus"] = request.places; }},
      request.wanted);
  if (request.places == 1) return;
  if (!std::holds_alternative<WholeGpu>(request.wanted)) line["instances"] = request.places;
  if (request.together != Together::anywhere)
    line["together"] = words_of_together[static_cast<std::size_t>(request.together)];
}

void write_speed(Json& line, const SpeedModel& speed, Duration duration) {
  if (speed.transfer_share > 0) line["transfer_share"] = speed.transfer_share;
  if (speed.kappa != 1) line["power_factor"] = speed.kappa;
  if (speed.phases) {
    const Phases& p = *speed.phases;
    line["phases"] = {{"cpu_s", in_seconds(p.cpu)},
                      {"transfer_s", in_seconds(p.transfer)},
                      {"compute_s", in_seconds(p.compute)},
                      {"bandwidth_s", in_seconds(p.bandwidth)}};
  } else {
    line["duration_s"] = in_seconds(duration);
  }
  if (speed.flat) line["flat"] = true;
  if (speed.table) {
    line["speed"] = *speed.table;
    if (speed.complete) line["speed"]["complete"] = true;
  }
  if (speed.law) {
    line["law"] = {{"a_s", speed.law->fixed}, {"w_s", speed.law->bound}};
    if (speed.law->overlap != job_overlap) line["law"]["p"] = speed.law->overlap;
  }
  if (speed.reference != nullptr) line["reference_model"] = speed.reference->key;
}

/// The line of its first replica becomes that of the service.
void write_service(Json& line, const ServiceTerms& service) {
  line["id"] = service.id;
  line["service"] = json_of(service);
  if (service.runs_for)
    line["duration_s"] = in_seconds(*service.runs_for);
  else
    line.erase("duration_s");
}

}  // namespace

std::string workload_text(const Workload& workload) {
  std::string lines;
  std::vector<bool> written(workload.services.size());  // by service
  for (const Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    const bool replica = details != nullptr && details->service.has_value();
    if (replica && written[*details->service]) continue;
    Json line{{"id", job.id}, {"arrival_s", in_seconds(job.arrival.time_since_epoch())}};
    write_request(line, workload.requests[job.request]);
    write_speed(line, workload.speeds[job.speed], job.duration);
    if (details != nullptr) write_details(line, *details);
    if (replica) {
      written[*details->service] = true;
      write_service(line, workload.services[*details->service]);
    }
    lines += line.dump();
    lines += '\n';
  }
  return lines;
}

}  // namespace cleave
