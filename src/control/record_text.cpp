#include "control/record_text.hpp"

#include <climits>

#include "base/format.hpp"
#include "base/record_json.hpp"
#include "base/text.hpp"
#include "model/instances_text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t version = 1;

Json begun() {
  Json json = Json::object();
  json["v"] = version;
  return json;
}

/// Never fails, whatever the bytes are.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads one text with `take`, which is given the reader once the version is right.
template <class Value, class Take>
Result<Value> read_text(std::string_view text, const std::string& place, Take take) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  const std::int64_t found = in.integer("v", 1, INT64_MAX);
  if (!error && found > version)
    return fail(ErrorKind::bad_input, place,
                fmt::format("it was written by a newer Cleave, version {} of this text", found),
                "run that one");
  Value value;
  take(in, value);
  in.done();
  if (error) return std::unexpected(*error);
  return value;
}

struct WantedJson {
  Json& json;
  void operator()(const ByProfile& by) const { json["profile"] = by.profile; }
  void operator()(const BySize& by) const {
    json["mib"] = by.memory.value;
    json["compute"] = by.compute.value;
  }
  void operator()(const ByShare& by) const {
    json["thousandths"] = by.thousandths;
    json["nearest"] = by.rule == ShareRule::nearest;
  }
  void operator()(const Unknown&) const {}
  void operator()(const WholeGpu&) const { json["whole"] = true; }
};

Together take_together(JsonReader& in) {
  const std::string word = in.text("together");
  const auto known = parse_together(word);
  if (!known)
    in.refuse("together", fmt::format("'{}' does not say where the places are", shown(word)));
  return known.value_or(Together::anywhere);
}

void add_request(Json& json, const Request& request) {
  std::visit(WantedJson{json}, request.wanted);
  if (request.fits) json["fits"] = *request.fits;
  if (request.at_least) json["at_least"] = request.at_least->value;
  if (request.places != 1) json["places"] = request.places;
  if (request.together != Together::anywhere)
    json["together"] = words_of_together[static_cast<std::size_t>(request.together)];
}

void take_request(JsonReader& in, Request& request) {
  if (in.has("profile")) {
    request.wanted = ByProfile{in.text("profile")};
  } else if (in.has("mib")) {
    const MiB memory{in.integer("mib", INT64_MIN, INT64_MAX)};
    request.wanted = BySize{memory, {static_cast<int>(in.integer("compute", INT_MIN, INT_MAX))}};
  } else if (in.has("thousandths")) {
    const int thousandths = static_cast<int>(in.integer("thousandths", INT_MIN, INT_MAX));
    request.wanted =
        ByShare{thousandths, in.flag("nearest", false) ? ShareRule::nearest : ShareRule::round_up};
  } else if (in.flag("whole", false)) {
    request.wanted = WholeGpu{};
  } else {
    request.wanted = Unknown{};
  }
  if (const auto places = in.integer_if("places", 1, most_places))
    request.places = static_cast<std::uint32_t>(*places);
  if (in.has("together")) request.together = take_together(in);
  if (in.has("fits")) request.fits = in.texts("fits");
  if (const auto least = in.integer_if("at_least", INT64_MIN, INT64_MAX))
    request.at_least = MiB{*least};
}

/// Whole nanoseconds, what is nothing left out, and no bounds: a record comes back as it went.
struct StoreForm {
  static constexpr bool strict = false, bounded = false;
  static bool has(const FieldInfo& info) {
    return info.use == FieldUse::everywhere || info.use == FieldUse::stored;
  }
  static std::string_view key(const FieldInfo& info) {
    return info.stored.empty() ? info.key : info.stored;
  }
  static bool needed(const FieldInfo& info) { return info.always_stored; }
  static bool omits(const FieldInfo& info) { return !info.always_stored; }

  static Json json(Duration time) { return time.count(); }
  static Json json(Instant time) { return time.time_since_epoch().count(); }
  static Json json(const Request& request) {
    Json json = Json::object();
    add_request(json, request);
    return json;
  }
  static bool read(JsonReader& in, std::string_view key, const FieldInfo& info, Duration& time) {
    const auto count = needed(info) ? std::optional(in.integer(key, INT64_MIN, INT64_MAX))
                                    : in.integer_if(key, INT64_MIN, INT64_MAX);
    if (count) time = Duration(*count);
    return count.has_value();
  }
  static bool read(JsonReader& in, std::string_view key, const FieldInfo& info, Instant& time) {
    Duration since{};
    const bool there = read(in, key, info, since);
    if (there) time = Instant(since);
    return there;
  }
  static bool read(JsonReader& in, std::string_view key, const FieldInfo&, Request& request) {
    auto object = in.object_if(key);
    if (!object) {
      in.refuse("", fmt::format("the key '{}' is missing", key));
      return false;
    }
    take_request(*object, request);
    object->done();
    return true;
  }
};

template <class Record>
std::string record_text(const Record& record) {
  Json json = begun();
  add_record<StoreForm>(json, record);
  return dumped(json);
}

template <class Record>
Result<Record> parse_record(std::string_view text, const std::string& place) {
  return read_text<Record>(
      text, place, [](JsonReader& in, Record& record) { read_record<StoreForm>(in, record); });
}

}  // namespace

std::string owner_text(const JobOwner& owner) {
  return record_text(owner);
}
Result<JobOwner> parse_owner(std::string_view text, const std::string& place) {
  return parse_record<JobOwner>(text, place);
}

std::string spec_text(const JobSpec& spec) {
  return record_text(spec);
}
Result<JobSpec> parse_spec(std::string_view text, const std::string& place) {
  return parse_record<JobSpec>(text, place);
}

std::string command_text(const JobCommand& command) {
  return record_text(command);
}
Result<JobCommand> parse_command(std::string_view text, const std::string& place) {
  return parse_record<JobCommand>(text, place);
}

std::string plan_text(const LivePlan& plan) {
  return record_text(plan);
}
Result<LivePlan> parse_plan(std::string_view text, const std::string& place) {
  return parse_record<LivePlan>(text, place);
}

std::string claim_text(const Claim& claim) {
  return record_text(claim);
}
Result<Claim> parse_claim(std::string_view text, const std::string& place) {
  return parse_record<Claim>(text, place);
}

std::string request_text(const Request& request) {
  Json json = begun();
  add_request(json, request);
  return dumped(json);
}

Result<Request> parse_request(std::string_view text, const std::string& place) {
  return read_text<Request>(text, place,
                            [](JsonReader& in, Request& request) { take_request(in, request); });
}

std::string instants_text(const std::vector<Instant>& instants) {
  Json json = begun();
  if (!instants.empty()) {
    Json& list = json["ns"] = Json::array();
    for (const Instant each : instants) list.push_back(each.time_since_epoch().count());
  }
  return dumped(json);
}

Result<std::vector<Instant>> parse_instants(std::string_view text, const std::string& place) {
  return read_text<std::vector<Instant>>(
      text, place, [](JsonReader& in, std::vector<Instant>& all) {
        for (const std::int64_t count : in.integers("ns", INT64_MIN, INT64_MAX))
          all.emplace_back(Duration(count));
      });
}

}  // namespace cleave
