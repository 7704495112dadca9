#include "control/book/stored_health.hpp"

#include <limits>
#include <optional>

#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Json json_of(const GpuCondition& condition) {
  Json json = {{"sign", name(*condition.fact)},
               {"since", condition.since.time_since_epoch().count()},
               {"job", condition.job}};
  if (!condition.device.empty()) json["device"] = condition.device;
  if (condition.uid) json["uid"] = *condition.uid;
  if (condition.accepted) json["accepted"] = true;
  if (condition.asked) json["asked"] = true;
  return json;
}

Json json_of(const JobFault& fault) {
  return {{"gpu", fault.gpu}, {"at", fault.at.time_since_epoch().count()}, {"grave", fault.grave}};
}

template <class Value>
std::string list_text(const std::vector<Value>& values) {
  if (values.empty()) return {};
  Json list = Json::array();
  for (const Value& each : values) list.push_back(json_of(each));
  return Json{{"list", std::move(list)}}.dump();
}

Instant instant(JsonReader& in, std::string_view key) {
  return Instant{} + Duration(in.integer(key, 0, largest));
}

std::optional<GpuCondition> condition_from(JsonReader& in) {
  GpuCondition condition;
  condition.fact = find_health_fact(in.text("sign"));
  condition.since = instant(in, "since");
  condition.job = in.integer("job", 0, largest);
  condition.device = in.text_if("device").value_or("");
  if (const auto uid = in.integer_if("uid", 0, UINT32_MAX))
    condition.uid = static_cast<std::uint32_t>(*uid);
  condition.accepted = in.flag("accepted", false);
  condition.asked = in.flag("asked", false);
  return condition.fact == nullptr ? std::nullopt : std::optional(condition);
}

std::optional<JobFault> fault_from(JsonReader& in) {
  JobFault fault;
  fault.gpu = in.text("gpu");
  fault.at = instant(in, "at");
  fault.grave = in.flag("grave", false);
  return fault;
}

template <class Value>
std::vector<Value> parse_list(std::string_view text, std::optional<Value> (*read)(JsonReader&)) {
  std::vector<Value> values;
  if (text.empty()) return values;
  const auto json = parse_json(text, "health");
  if (!json) return values;
  std::optional<Error> error;
  JsonReader in(*json, "health", error);
  for (JsonReader& each : in.objects("list")) {
    const auto value = read(each);
    if (!error && value) values.push_back(*value);
  }
  return values;
}

}  // namespace

std::string conditions_text(const std::vector<GpuCondition>& conditions) {
  return list_text(conditions);
}

std::string faults_text(const std::vector<JobFault>& faults) {
  return list_text(faults);
}

std::vector<GpuCondition> parse_conditions(std::string_view text) {
  return parse_list<GpuCondition>(text, condition_from);
}

std::vector<JobFault> parse_job_faults(std::string_view text) {
  return parse_list<JobFault>(text, fault_from);
}

}  // namespace cleave
