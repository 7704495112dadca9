// A plan of evictions as JSON, for programs.

#include "base/json.hpp"
#include "kubecontrol/eviction_plan.hpp"

namespace cleave {

namespace {

Json name_json(const KubeName& name) {
  return {{"namespace", name.space}, {"name", name.name}};
}

Json eviction_json(const PlannedEviction& each) {
  return {{"wave", each.wave},
          {"pod", name_json(each.pod)},
          {"owner", {{"kind", each.owner.kind}, {"name", each.owner.name}}},
          {"from", each.from},
          {"to", each.to},
          {"budgets", each.budgets}};
}

}  // namespace

Json to_json(const EvictionDecision& decision) {
  Json json = {{"has_room", decision.has_room},
               {"why_not", decision.why_not},
               {"plan", nullptr},
               {"stays", Json::array()}};
  for (const StayingPod& each : decision.stays)
    json["stays"].push_back(
        {{"pod", name_json(each.pod)}, {"place", each.place}, {"why", each.why}});
  if (!decision.plan) return json;
  const EvictionPlan& plan = *decision.plan;
  Json evictions = Json::array();
  for (const PlannedEviction& each : plan.evictions) evictions.push_back(eviction_json(each));
  json["plan"] = {{"pod", plan.uid.empty() ? Json() : name_json(plan.pod)},
                  {"node", plan.node},
                  {"device", plan.device},
                  {"place", plan.place},
                  {"memory_slices", plan.memory_slices},
                  {"fewest", plan.fewest},
                  {"evictions", std::move(evictions)}};
  return json;
}

}  // namespace cleave
