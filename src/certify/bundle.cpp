#include "certify/bundle.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/recording_format.hpp"

namespace cleave::certify {

namespace {

constexpr const char* bundle_of = "cleave certify";
constexpr int bundle_version = 1;
constexpr std::int64_t codes_most = 1'000'000;

constexpr auto bundle_keys = std::to_array<std::string_view>(
    {"bundle", "version", "facts", "differences", "answers", "simulated_answers", "recording"});

/// Texts of a driver need not be UTF-8.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The word's place in a list of names; empty if it is not one of them.
template <class Value, std::size_t Count>
std::optional<Value> named(std::string_view word) {
  for (std::size_t i = 0; i < Count; ++i)
    if (name(static_cast<Value>(i)) == word) return static_cast<Value>(i);
  return {};
}

Json facts_json(const Facts& facts) {
  return {{"at", facts.at},
          {"system", facts.system},
          {"library", facts.library},
          {"root", facts.root},
          {"simulated", facts.simulated},
          {"instant", facts.instant},
          {"everybody", facts.everybody},
          {"name", facts.name},
          {"uuid", facts.uuid},
          {"model", facts.model},
          {"driver", facts.driver},
          {"nvml", facts.nvml},
          {"cuda", facts.cuda ? Json(*facts.cuda) : Json(nullptr)},
          {"mig", facts.mig}};
}

Facts facts_from(JsonReader& in) {
  Facts facts;
  facts.at = in.text("at");
  facts.system = in.text("system");
  facts.library = in.text("library");
  facts.root = in.flag("root", false);
  facts.simulated = in.flag("simulated", false);
  facts.instant = in.flag("instant", false);
  facts.everybody = in.flag("everybody", false);
  facts.name = in.text("name");
  facts.uuid = in.text("uuid");
  facts.model = in.text("model");
  facts.driver = in.text("driver");
  facts.nvml = in.text("nvml");
  facts.cuda = in.integer_if("cuda", 0, codes_most);
  facts.mig = in.flag("mig", false);
  in.done();
  return facts;
}

Json difference_json(const Check& check) {
  return {{"topic", name(check.topic)}, {"function", check.function},   {"about", check.about},
          {"gpu", check.gpu},           {"simulated", check.simulated}, {"means", check.means}};
}

/// A list with one element a line.
void add_list(std::string& text, std::string_view key, const std::vector<std::string>& lines) {
  text += fmt::format(",\n\"{}\": [", key);
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",", lines[i]);
  text += "\n]";
}

Result<Answers> answers_from(const Json& document, const char* key, const std::string& place) {
  Answers answers;
  const std::string where = fmt::format("{}: {}", place, key);
  if (!document.contains(key) || !document[key].is_array())
    return fail(ErrorKind::bad_input, where, "expected a list of answers");
  for (std::size_t i = 0; i < document[key].size(); ++i) {
    auto answer = answer_from(document[key][i], fmt::format("{}[{}]", where, i));
    if (!answer) return std::unexpected(answer.error());
    answers.push_back(std::move(*answer));
  }
  return answers;
}

/// The lines of the recording, which must be one.
Result<std::string> recording_from(const Json& document, const std::string& place) {
  const std::string where = place + ": recording";
  if (!document.contains("recording") || !document["recording"].is_array())
    return fail(ErrorKind::bad_input, where, "expected the lines of a recording");
  std::string text;
  for (const Json& line : document["recording"]) text += dumped(line) + "\n";
  if (text.empty()) return text;
  if (const auto entries = parse_recording(text, where); !entries)
    return std::unexpected(entries.error());
  return text;
}

std::optional<Error> wrong_head(const Json& document, const std::string& place) {
  std::optional<Error> error;
  if (!document.is_object())
    return Error{ErrorKind::bad_input, place, "expected a bundle of `cleave certify`", ""};
  Json head = Json::object();
  for (const auto& [key, value] : document.items())
    if (key == "bundle" || key == "version" || key == "facts") head[key] = value;
  JsonReader in(head, place, error);
  const std::string what = in.text("bundle");
  if (what != bundle_of)
    in.refuse("bundle", fmt::format("expected '{}', found '{}'", bundle_of, shown(what)));
  in.integer("version", bundle_version, bundle_version);
  return error;
}

}  // namespace

Json to_json(const Answer& answer) {
  Json json = {{"topic", name(answer.topic)}, {"function", answer.function}};
  if (!answer.about.empty()) json["about"] = answer.about;
  if (answer.outcome == Outcome::answered)
    json["code"] = static_cast<std::int32_t>(answer.code);
  else
    json["outcome"] = name(answer.outcome);
  if (!answer.note.empty()) json["note"] = answer.note;
  if (!answer.value.is_null()) json["value"] = answer.value;
  return json;
}

Result<Answer> answer_from(const Json& json, const std::string& place) {
  Answer answer;
  std::optional<Error> error;
  Json rest = json;
  if (rest.is_object() && rest.contains("value")) {
    answer.value = rest["value"];
    rest.erase("value");
  }
  JsonReader in(rest, place, error);
  const std::string topic = in.text("topic");
  const auto known = named<Topic, topics>(topic);
  if (!known) in.refuse("topic", fmt::format("there is no topic '{}'", shown(topic)));
  answer.topic = known.value_or(Topic::driver);
  answer.function = in.text("function");
  answer.about = in.text_if("about").value_or("");
  answer.note = in.text_if("note").value_or("");
  const auto code = in.integer_if("code", 0, codes_most);
  const auto outcome = in.text_if("outcome");
  answer.code = static_cast<nvml::Return>(code.value_or(0));
  if (code.has_value() == outcome.has_value())
    in.refuse("code", "expected either a code or an outcome");
  if (outcome) {
    const auto one = named<Outcome, 5>(*outcome);
    if (!one || *one == Outcome::answered)
      in.refuse("outcome", fmt::format("there is no outcome '{}'", shown(*outcome)));
    answer.outcome = one.value_or(Outcome::not_asked);
  }
  if (!answer.value.is_null() && !answer.told())
    in.refuse("value", "only answers with code 0 have a value");
  in.done();
  if (error) return std::unexpected(std::move(*error));
  return answer;
}

std::string text_of(const Bundle& bundle, const std::vector<Check>& checks) {
  std::string text = fmt::format("{{\n\"bundle\": \"{}\",\n\"version\": {},\n\"facts\": {}",
                                 bundle_of, bundle_version, dumped(facts_json(bundle.facts)));
  std::vector<std::string> lines;
  for (const Check& each : checks)
    if (each.verdict == Verdict::different) lines.push_back(dumped(difference_json(each)));
  add_list(text, "differences", lines);
  for (const auto& [key, answers] :
       {std::pair("answers", &bundle.gpu), std::pair("simulated_answers", &bundle.simulated)}) {
    lines.clear();
    for (const Answer& each : *answers) lines.push_back(dumped(to_json(each)));
    add_list(text, key, lines);
  }
  lines.clear();
  for (const std::string_view line : split(bundle.recording, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  add_list(text, "recording", lines);
  return text + "\n}\n";
}

Result<Bundle> parse_bundle(std::string_view text, const std::string& place) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  if (auto error = wrong_head(*document, place)) return std::unexpected(std::move(*error));
  Bundle bundle;
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  if (auto facts = in.object_if("facts"))
    bundle.facts = facts_from(*facts);
  else
    in.refuse("facts", "is missing");
  for (const auto& [key, value] : document->items())
    if (std::ranges::find(bundle_keys, key) == bundle_keys.end())
      in.refuse(key, "is not a key of a bundle");
  if (error) return std::unexpected(std::move(*error));
  auto gpu = answers_from(*document, "answers", place);
  if (!gpu) return std::unexpected(gpu.error());
  auto simulated = answers_from(*document, "simulated_answers", place);
  if (!simulated) return std::unexpected(simulated.error());
  auto recording = recording_from(*document, place);
  if (!recording) return std::unexpected(recording.error());
  bundle.gpu = std::move(*gpu);
  bundle.simulated = std::move(*simulated);
  bundle.recording = std::move(*recording);
  return bundle;
}

}  // namespace cleave::certify
