#include "model/workload/stated_kind.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_replicas = 100'000;
constexpr double most_per_s = 1e12;

double rate(JsonReader& in, std::string_view key, double least) {
  const auto given = in.number_if(key);
  if (!given) in.refuse("", fmt::format("the key '{}' is missing", key));
  if (given && !(*given >= least && *given <= most_per_s))
    in.refuse(key, fmt::format("{} a second are not possible", *given),
              fmt::format("give a number from {:g} to {:g}", least, most_per_s));
  return given.value_or(least);
}

std::vector<ServiceTerms::Step> read_load(JsonReader& in) {
  std::vector<ServiceTerms::Step> load;
  if (in.has("requests_per_s")) load.push_back({{}, rate(in, "requests_per_s", 0)});
  if (!in.has("load")) return load;
  if (!load.empty())
    in.refuse("load", "a service has requests_per_s or load, not both",
              "load says how many requests come from when on");
  for (JsonReader& step : in.objects("load")) {
    const Duration from = step.seconds_if("from_s").value_or(Duration::zero());
    if (!load.empty() && from <= load.back().from)
      step.refuse("from_s", "the steps of a load are in the order of time", "sort them");
    load.push_back({from, rate(step, "requests_per_s", 0)});
    step.done();
  }
  if (load.empty()) in.refuse("load", "the load has no steps", "give at least one");
  return load;
}

ServiceTerms read_service(JsonReader& in) {
  ServiceTerms service;
  service.replicas =
      static_cast<std::uint32_t>(in.integer_if("replicas", 1, most_replicas).value_or(1));
  constexpr double least_served = 1e-9;
  service.served_per_s = rate(in, "served_per_s", least_served);
  service.load = read_load(in);
  service.latency = in.seconds_if("latency_s");
  if (service.latency && *service.latency <= Duration::zero())
    in.refuse("latency_s", "no request is answered in no time", "give seconds, more than 0");
  if (service.load.empty() && !service.latency)
    in.refuse("", "the service has no target", "give requests_per_s, load or latency_s");
  in.done();
  return service;
}

std::vector<LeaseTerms::Span> read_active(JsonReader& in) {
  std::vector<LeaseTerms::Span> active;
  for (JsonReader& each : in.objects("active")) {
    const LeaseTerms::Span span{each.seconds_if("from_s").value_or(Duration::zero()),
                                each.seconds_if("to_s").value_or(longest_duration)};
    if (span.from >= span.to)
      each.refuse("to_s", "the work ends before it begins", "give a later time");
    if (!active.empty() && span.from <= active.back().to)
      each.refuse("from_s", "the times of work are apart, in their order",
                  "sort them, and join those that touch");
    active.push_back(span);
    each.done();
  }
  return active;
}

LeaseTerms read_lease(JsonReader& in) {
  LeaseTerms lease;
  lease.starts_within = in.seconds_if("starts_within_s");
  lease.idle_after = in.seconds_if("idle_after_s");
  if (const auto word = in.text_if("then")) {
    const auto found = std::ranges::find(words_of_then, *word);
    if (found == words_of_then.end())
      in.refuse("then", fmt::format("'{}' is not what becomes of a lease", shown(*word)),
                "write give-back or shrink");
    else
      lease.then = static_cast<LeaseTerms::Then>(found - words_of_then.begin());
    if (!lease.idle_after)
      in.refuse("then", "it is not said when the lease is idle", "give idle_after_s too");
  }
  lease.active =
      in.has("active") ? read_active(in) : std::vector{LeaseTerms::Span{{}, longest_duration}};
  lease.idle_memory = in.size_if("idle_mib");
  if (lease.idle_memory && lease.then != LeaseTerms::Then::shrink)
    in.refuse("idle_mib", "this lease does not shrink", "add \"then\": \"shrink\"");
  in.done();
  return lease;
}

/// What is not for services, or not for leases.
void refuse_details(JsonReader& in, std::string_view kind, const JobDetails& details) {
  const auto refuse = [&](bool said, std::string_view key) {
    if (said)
      in.refuse(key,
                fmt::format("this says something of the work of a batch, and a {} has none", kind),
                "leave it out");
  };
  refuse(details.fails_after.has_value(), "fails_after");
  refuse(details.deadline.has_value(), "deadline_s");
  refuse(details.growth.has_value(), "memory");
  refuse(details.checkpoint_every.has_value(), "checkpoint_every_s");
  refuse(details.output_tokens.has_value(), "output_tokens");
}

/// A person stays as long on every instance.
void apply_lease(JsonReader& in, const LeaseTerms& lease, const Request& request, SpeedModel& speed,
                 JobDetails& details) {
  refuse_details(in, "lease", details);
  if (speed.table || speed.law || speed.phases)
    in.refuse("", "a lease lasts as long on every instance", "leave out speed, law and phases");
  const auto* size = std::get_if<BySize>(&request.wanted);
  if (lease.then == LeaseTerms::Then::shrink && !lease.idle_memory && size == nullptr)
    in.refuse("lease", "how much memory it holds while it is idle is not known",
              "give idle_mib, or ask for memory_mib");
  if (request.places > 1) in.refuse("lease", "a lease has one place", "ask for one");
  speed.flat = true;
  details.lease = lease;
  if (details.keeps == Keeps::unsaid) details.keeps = Keeps::checkpoint;
}

void apply_service(JsonReader& in, const Request& request, JobDetails& details) {
  refuse_details(in, "service", details);
  if (request.places > 1)
    in.refuse("service", "a replica has one place", "give the number of replicas");
  if (details.keeps != Keeps::unsaid && details.keeps != Keeps::stateless)
    in.refuse("progress", "a service is stateless", "leave it out");
  details.keeps = Keeps::stateless;
}

}  // namespace

StatedKind read_kind(JsonReader& in) {
  StatedKind kind;
  if (auto service = in.object_if("service")) kind.service = read_service(*service);
  if (auto lease = in.object_if("lease")) kind.lease = read_lease(*lease);
  if (kind.service && kind.lease) in.refuse("lease", "a job is a service or a lease, not both");
  return kind;
}

void apply_kind(JsonReader& in, const StatedKind& kind, const Request& request, SpeedModel& speed,
                JobDetails& details) {
  if (kind.lease) apply_lease(in, *kind.lease, request, speed, details);
  if (kind.service) apply_service(in, request, details);
}

Json json_of(const ServiceTerms& service) {
  Json json{{"replicas", service.replicas}, {"served_per_s", service.served_per_s}};
  if (service.latency) json["latency_s"] = in_seconds(*service.latency);
  for (const ServiceTerms::Step& step : service.load)
    json["load"].push_back(
        {{"from_s", in_seconds(step.from)}, {"requests_per_s", step.requests_per_s}});
  return json;
}

Json json_of(const LeaseTerms& lease) {
  Json json{{"active", Json::array()}};
  if (lease.starts_within) json["starts_within_s"] = in_seconds(*lease.starts_within);
  if (lease.idle_after) {
    json["idle_after_s"] = in_seconds(*lease.idle_after);
    json["then"] = words_of_then[static_cast<std::size_t>(lease.then)];
  }
  for (const LeaseTerms::Span& span : lease.active)
    json["active"].push_back({{"from_s", in_seconds(span.from)}, {"to_s", in_seconds(span.to)}});
  if (lease.idle_memory) json["idle_mib"] = lease.idle_memory->value;
  return json;
}

}  // namespace cleave
