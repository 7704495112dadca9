#include "schema_check.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::trial {

namespace {

constexpr std::array<std::string_view, 23> known_words = {"type",
                                                          "description",
                                                          "properties",
                                                          "required",
                                                          "additionalProperties",
                                                          "items",
                                                          "enum",
                                                          "nullable",
                                                          "oneOf",
                                                          "allOf",
                                                          "anyOf",
                                                          "not",
                                                          "minimum",
                                                          "exclusiveMinimum",
                                                          "maximum",
                                                          "minItems",
                                                          "maxItems",
                                                          "pattern",
                                                          "format",
                                                          "minLength",
                                                          "maxLength",
                                                          "default",
                                                          "$ref"};

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

void check_bounds(const Json& schema, const Json& value, const std::string& at,
                  std::vector<std::string>& findings) {
  const auto refuse = [&](const char* what) {
    findings.push_back(fmt::format("{}: {}", at, what));
  };
  if (value.is_number()) {
    const double number = value.get<double>();
    const double least = schema.value("minimum", number), most = schema.value("maximum", number);
    if (number < least || number > most) refuse("out of its bounds");
    if (schema.value("exclusiveMinimum", false) && number <= least) refuse("not above its bound");
  }
  if (value.is_array()) {
    if (value.size() < schema.value("minItems", std::size_t{0})) refuse("too few");
    if (value.size() > schema.value("maxItems", value.size())) refuse("too many");
  }
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.size() < schema.value("minLength", std::size_t{0})) refuse("too short");
    if (text.size() > schema.value("maxLength", text.size())) refuse("too long");
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
      refuse("not of its pattern");
  }
}

}  // namespace

const Json& SchemaCheck::resolved(const Json& schema) const {
  if (!schema.contains("$ref")) return schema;
  const std::string name = schema["$ref"].get<std::string>();
  return resolved(description_.at(Json::json_pointer(name.substr(1))));
}

std::vector<std::string> SchemaCheck::check(const Json& schema, const Json& value) const {
  std::vector<std::string> findings;
  walk(schema, value, "$", findings);
  return findings;
}

void SchemaCheck::walk(const Json& given, const Json& value, const std::string& at,
                       std::vector<std::string>& findings) const {
  const Json& schema = resolved(given);
  for (const auto& [word, meaning] : schema.items())
    if (std::ranges::find(known_words, word) == known_words.end())
      findings.push_back(fmt::format("{}: the schema says '{}', which is not checked", at, word));
  if (value.is_null()) {
    if (!schema.value("nullable", false)) findings.push_back(fmt::format("{}: is null", at));
    return;
  }
  if (schema.contains("oneOf")) {
    std::vector<std::string> all;
    int fits = 0;
    for (const Json& each : schema["oneOf"]) {
      const auto wrong = check(each, value);
      fits += wrong.empty() ? 1 : 0;
      all.insert(all.end(), wrong.begin(), wrong.end());
    }
    if (fits != 1)
      findings.push_back(fmt::format("{}: fits {} of oneOf: {}", at, fits, fmt::join(all, "; ")));
    return;
  }
  walk_rules(schema, value, at, findings);
  const bool only_rules =
      !schema.contains("type") && (schema.contains("allOf") || schema.contains("anyOf") ||
                                   schema.contains("not") || schema.contains("required"));
  if (only_rules) return walk_object(schema, value, at, findings);
  if (!schema.contains("type") || !has_type(value, schema["type"].get<std::string>())) {
    findings.push_back(fmt::format("{}: is not {}", at, schema.value("type", "of any type")));
    return;
  }
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    findings.push_back(fmt::format("{}: {} is not one of its words", at, value.dump()));
  check_bounds(schema, value, at, findings);
  if (value.is_object()) walk_object(schema, value, at, findings);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      walk(schema.at("items"), value[i], fmt::format("{}[{}]", at, i), findings);
}

/// What is said of the value by other schemas.
void SchemaCheck::walk_rules(const Json& schema, const Json& value, const std::string& at,
                             std::vector<std::string>& findings) const {
  if (schema.contains("allOf"))
    for (const Json& each : schema["allOf"]) walk(each, value, at, findings);
  if (schema.contains("anyOf") && std::ranges::none_of(schema["anyOf"], [&](const Json& each) {
        return check(each, value).empty();
      }))
    findings.push_back(fmt::format("{}: fits none of {}", at, schema["anyOf"].dump()));
  if (schema.contains("not") && check(schema["not"], value).empty())
    findings.push_back(fmt::format("{}: is {}", at, schema["not"].dump()));
}

void SchemaCheck::walk_object(const Json& schema, const Json& value, const std::string& at,
                              std::vector<std::string>& findings) const {
  if (schema.contains("required"))
    for (const Json& key : schema["required"])
      if (!value.contains(key.get<std::string>()))
        findings.push_back(fmt::format("{}: lacks {}", at, key.get<std::string>()));
  if (!schema.contains("properties")) return;
  for (const auto& [key, inner] : value.items()) {
    if (schema["properties"].contains(key))
      walk(schema["properties"][key], inner, fmt::format("{}.{}", at, key), findings);
    else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false)
      findings.push_back(fmt::format("{}: has {}, of which nothing is said", at, key));
  }
}

std::string SchemaCheck::path_of(std::string_view path) const {
  const auto given = split(path, '/');
  for (const auto& [pattern, methods] : description_["paths"].items()) {
    const auto wanted = split(pattern, '/');
    const bool same = std::ranges::equal(wanted, given, [](std::string_view a, std::string_view b) {
      return a == b || (a.starts_with('{') && !b.empty());
    });
    if (same) return pattern;
  }
  return {};
}

std::vector<std::string> SchemaCheck::check_answer(const std::string& method, std::string_view path,
                                                   int status, std::string type,
                                                   const std::string& body) const {
  const std::string pattern = path_of(path);
  // An unknown path or method is still answered with an error.
  const Json* responses = &description_["components"]["responses"];
  if (!pattern.empty() && description_["paths"][pattern].contains(lowercase(method)))
    responses = &description_["paths"][pattern][lowercase(method)]["responses"];
  const std::string code = fmt::format("{}", status);
  const std::string place = fmt::format("{} {} {}", method, path, code);
  if (!responses->contains(code)) return {fmt::format("{}: this status is not told of", place)};
  const Json& content = resolved((*responses)[code])["content"];
  if (!content.contains(type)) return {fmt::format("{}: {} is not told of", place, type)};
  if (type != "application/json") return {};
  const Json document = Json::parse(body, nullptr, false);
  if (document.is_discarded())
    return {fmt::format("{}: is no JSON: {}", place, body.substr(0, 100))};
  auto findings = check(content[type]["schema"], document);
  for (std::string& each : findings) each = fmt::format("{}: {}", place, each);
  return findings;
}

}  // namespace cleave::trial
