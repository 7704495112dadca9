#include "api_description.hpp"

#include <span>

#include "api/claim_documents.hpp"
#include "api/documents.hpp"
#include "api/plan_documents.hpp"
#include "api/usage_documents.hpp"
#include "base/format.hpp"
#include "engine/scheduler.hpp"

namespace cleave::trial {

namespace {

/// A schema by its name: the rows, and whether answers (every field is there) or submissions (only
/// what is needed is) are described, and whether fields of a single record's answer are among them.
struct Described {
  std::string name;
  std::span<const FieldInfo> rows;
  bool is_answer = true, whole = true;
};

const std::vector<Described>& all_described() {
  static const std::vector<Described> all = {
      {"Submission", field_infos<Submission>, false},
      {"StatedTime", field_infos<StatedTime>, false},
      {"ArrayTask", field_infos<ArrayTask>},
      {"JobsAtOnce", field_infos<JobsAtOnce>},
      {"StatedKernel", field_infos<StatedKernel>, false},
      {"PredictionErrors", field_infos<ApiPredictionErrors>},
      {"Place", field_infos<ApiPlace>},
      {"Attempt", field_infos<ApiAttempt>},
      {"Process", field_infos<ApiProcess>},
      {"ListedJob", field_infos<ApiJob>, true, false},
      {"Job", field_infos<ApiJob>},
      {"Instance", field_infos<ApiInstance>},
      {"Gpu", field_infos<ApiGpu>},
      {"Event", field_infos<ApiEvent>},
      {"Status", field_infos<ApiStatus>},
      {"PlannedPlace", field_infos<PlannedPlace>, false},
      {"PlanPurpose", field_infos<PlanPurpose>, false},
      {"PlannedMove", field_infos<PlannedMove>, false},
      {"PlanOrder", field_infos<PlanOrder>, false},
      {"Plan", field_infos<LivePlan>},
      {"FleetGpu", field_infos<ApiFleetGpu>},
      {"FleetWork", field_infos<ApiFleetWork>},
      {"ChangeTimes", field_infos<ApiChangeTimes>},
      {"ClaimAsk", field_infos<ClaimAsk>, false},
      {"ClaimOrder", field_infos<ClaimOrder>, false},
      {"ClaimInstance", field_infos<ApiClaimInstance>},
      {"ClaimEnvironment", field_infos<ApiClaimEnvironment>},
      {"Claim", field_infos<ApiClaim>},
      {"Usage", field_infos<ApiUsage>},
  };
  return all;
}

bool is_there(const FieldInfo& row, bool whole) {
  return row.use != FieldUse::stored && (whole || row.use != FieldUse::whole);
}

Json object_schema(std::span<const FieldInfo> rows, bool is_answer, bool whole);

/// A hundred years are the end of all times, and not a bound that anyone meets.
bool is_bounded(const FieldInfo& row) {
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(longest_duration).count();
  return row.has_most() && !(row.kind == FieldKind::seconds && row.most >= longest);
}

/// What the rule of a text takes.
std::string pattern_of(const FieldInfo& row) {
  if (row.text == wrong_job_name)
    return R"(^(?!-?[0-9]{1,18}$)(?![ \t\r\n]+$)[^\u0000-\u001f\u007f]*$)";
  if (row.pattern.empty() && row.text != nullptr) return R"(^[^\u0000-\u001f\u007f]*$)";
  return std::string(row.pattern);
}

void add_bounds(Json& schema, const FieldInfo& row) {
  const bool text = row.kind == FieldKind::text;
  if (row.has_least()) schema[text ? "minLength" : "minimum"] = row.least;
  if (row.above_least) schema["exclusiveMinimum"] = true;
  if (is_bounded(row)) schema[text ? "maxLength" : "maximum"] = row.most;
  if (text && !pattern_of(row).empty()) schema["pattern"] = pattern_of(row);
}

Json integer_schema(const FieldInfo& row) {
  Json schema{{"type", "integer"}, {"format", "int64"}};
  add_bounds(schema, row);
  return schema;
}

Json reference(std::string_view name) {
  return {{"$ref", fmt::format("#/components/schemas/{}", name)}};
}

/// Without the description.
Json value_schema(const FieldInfo& row, bool is_answer) {
  Json schema;
  switch (row.kind) {
    case FieldKind::flag:
      return {{"type", "boolean"}};
    case FieldKind::integer:
      return integer_schema(row);
    case FieldKind::number:
    case FieldKind::seconds:
      schema = {{"type", "number"}};
      add_bounds(schema, row);
      return schema;
    case FieldKind::text:
      schema = {{"type", "string"}};
      add_bounds(schema, row);
      break;
    case FieldKind::time:
      return {{"type", "string"},
              {"pattern", R"(^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$)"},
              {"format", "date-time"}};
    case FieldKind::integers:
      return {{"type", "array"}, {"items", integer_schema(row)}};
    case FieldKind::texts:
      schema = {{"type", "array"}, {"items", {{"type", "string"}}}};
      if (!row.pattern.empty()) schema["items"]["pattern"] = row.pattern;
      if (row.has_least()) schema["minItems"] = row.least;
      return schema;
    case FieldKind::records:
      return {{"type", "array"}, {"items", reference(row.record)}};
    case FieldKind::record:
      if (row.record.empty()) return object_schema(row.inside, is_answer, true);
      return {{"oneOf", Json::array({reference(row.record)})}};
  }
  for (const std::string_view word : row.words) schema["enum"].push_back(word);
  const bool may_be_null = row.optional && row.null == NullWhen::absent && is_answer;
  if (!row.words.empty() && (may_be_null || row.null == NullWhen::empty))
    schema["enum"].push_back(nullptr);
  return schema;
}

Json object_schema(std::span<const FieldInfo> rows, bool is_answer, bool whole) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldInfo& row : rows) {
    if (!is_there(row, whole)) continue;
    Json schema = value_schema(row, is_answer);
    if (!row.help.empty()) schema["description"] = row.help;
    const bool null_if_absent = row.optional && row.null == NullWhen::absent && is_answer;
    if (null_if_absent || row.null == NullWhen::empty) schema["nullable"] = true;
    properties[std::string(row.key)] = std::move(schema);
    if (is_answer || row.needed) required.push_back(row.key);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

std::string type_in_words(const FieldInfo& row) {
  const std::string of(row.record.empty() ? "object" : row.record);
  switch (row.kind) {
    case FieldKind::flag:
      return "boolean";
    case FieldKind::integer:
      return "integer";
    case FieldKind::number:
      return "number";
    case FieldKind::text:
      return "text";
    case FieldKind::seconds:
      return "seconds";
    case FieldKind::time:
      return "time";
    case FieldKind::integers:
      return "list of integers";
    case FieldKind::texts:
      return "list of texts";
    case FieldKind::record:
      return of;
    case FieldKind::records:
      return fmt::format("list of {}", of);
  }
  return "";
}

/// "integer, 0 to 1000", "text or null", "seconds, above 0"
std::string type_and_bounds(const FieldInfo& row, bool is_answer) {
  std::string text = type_in_words(row);
  if (is_answer && ((row.optional && row.null == NullWhen::absent) || row.null == NullWhen::empty))
    text += " or null";
  const bool number = row.kind == FieldKind::integer || row.kind == FieldKind::seconds;
  if (is_answer || !number || !row.has_least()) return text;
  if (row.above_least) return fmt::format("{}, above {}", text, row.least);
  if (!is_bounded(row)) return fmt::format("{}, at least {}", text, row.least);
  return fmt::format("{}, {} to {}", text, row.least, row.most);
}

std::string fields_table(const Described& described) {
  std::string text = "\n| field | type | meaning |\n|---|---|---|\n";
  for (const FieldInfo& row : described.rows) {
    if (!is_there(row, described.whole)) continue;
    std::string meaning(row.help);
    if (!row.words.empty()) meaning += fmt::format(": `{}`", fmt::join(row.words, "`, `"));
    if (row.use == FieldUse::whole) meaning += "; not in lists";
    if (!described.is_answer && row.needed) meaning += "; required";
    text += fmt::format("| `{}` | {} | {} |\n", row.key, type_and_bounds(row, described.is_answer),
                        meaning);
  }
  return text + "\n";
}

}  // namespace

namespace {

/// Of these fields of a submission at most one may be there.
const std::vector<std::vector<std::string>> apart = {
    {"profile", "memory_mib", "model", "gpus"},
    {"expected_s", "times"},
    {"service", "expected_s"},
    {"service", "times"},
    {"lease", "times"},
    {"service", "deadline_s"},
    {"lease", "deadline_s"},
    {"gpus", "instances"},
    {"service", "lease", "gpus"},
    {"service", "lease", "instances"},
};

/// Where the first is there, one of the others must be.
struct Need {
  std::string field;
  std::vector<std::string> one_of;
};
const std::vector<Need> needs = {
    {"compute_slices", {"memory_mib"}},
    {"kernel", {"memory_mib", "model"}},
    {"instances", {"profile", "memory_mib", "model"}},
};

Json without(const std::vector<std::string>& fields) {
  return {{"not", {{"required", fields}}}};
}

/// What is refused although each field alone would do.
Json rules_together() {
  Json all = Json::array();
  for (const auto& fields : apart)
    for (std::size_t i = 0; i < fields.size(); ++i)
      for (std::size_t k = i + 1; k < fields.size(); ++k)
        all.push_back(without({fields[i], fields[k]}));
  for (const Need& need : needs) {
    Json any = Json::array({without({need.field})});
    for (const std::string& each : need.one_of) any.push_back({{"required", {each}}});
    all.push_back({{"anyOf", std::move(any)}});
  }
  return all;
}

Json scheduler_schema() {
  std::vector<std::string_view> names;
  for (const auto& each : schedulers()) names.push_back(each.name);
  return {{"type", "object"},
          {"properties",
           {{"scheduler",
             {{"type", "string"},
              {"pattern", fmt::format("^({})(:.+)?$", fmt::join(names, "|"))},
              {"description",
               "NAME, or NAME:OPTION=VALUE and further options behind commas; docs/schedulers.md "
               "has the options. Some need a fleet that this daemon does not have"}}}}},
          {"required", {"scheduler"}},
          {"additionalProperties", false}};
}

}  // namespace

Json table_schemas() {
  Json schemas = Json::object();
  for (const Described& each : all_described())
    schemas[each.name] = object_schema(each.rows, each.is_answer, each.whole);
  schemas["Submission"]["allOf"] = rules_together();
  schemas["Scheduler"] = scheduler_schema();
  return schemas;
}

std::string with_schemas(std::string_view openapi) {
  Json document = Json::parse(openapi);
  const Json schemas = table_schemas();
  for (const auto& [name, schema] : schemas.items())
    document["components"]["schemas"][name] = schema;
  return document.dump(1) + "\n";
}

std::string with_fields(std::string_view page) {
  constexpr std::string_view mark = "<!-- fields: ", end = "<!-- end -->";
  std::string text(page);
  for (const Described& each : all_described()) {
    const std::string begin = fmt::format("{}{} -->\n", mark, each.name);
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) continue;
    const std::size_t to = text.find(end, from);
    if (to == std::string::npos) continue;
    text.replace(from + begin.size(), to - from - begin.size(), fields_table(each));
  }
  return text;
}

}  // namespace cleave::trial
