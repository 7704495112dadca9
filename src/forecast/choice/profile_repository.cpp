#include "forecast/choice/profile_repository.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/text.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

namespace {

// Bounds beyond every measurement, within which means stay finite.
constexpr double largest = 1e15;
constexpr std::int64_t most_samples = 1'000'000'000'000;

constexpr std::array<std::string_view, 2> rule_names = {"mean", "replace"};

constexpr std::array<std::string_view, 10> other_columns = {
    "application", "gpu_model",       "profile", "batch",          "offload",
    "sms",         "peak_memory_mib", "time_s",  "compute_slices", "memory_slices"};

/// How many samples a measure is the mean of.
std::int64_t samples_of(const ProfileRecord& record, std::string_view measure) {
  const auto fewer = record.measured_in.find(measure);
  return fewer == record.measured_in.end() ? record.samples : fewer->second;
}

double weighted(double a, std::int64_t samples_a, double b, std::int64_t samples_b) {
  return a +
         (b - a) * (static_cast<double>(samples_b) / static_cast<double>(samples_a + samples_b));
}

/// If both were measured, the result of `combine`; otherwise the one that was.
template <class Value, class Combine>
std::optional<Value> either(const std::optional<Value>& a, const std::optional<Value>& b,
                            const Combine& combine) {
  if (a && b) return combine(*a, *b);
  return b ? b : a;
}

// --- reading ---

std::optional<double> measure(JsonReader& in, std::string_view key) {
  const auto number = in.number_if(key);
  if (number && (*number < 0 || *number > largest))
    in.refuse(key, fmt::format("expected a number from 0 to {}, found {}", largest, *number));
  return number;
}

/// Times and rates: above zero, since other numbers are divided by them.
std::optional<double> rate(JsonReader& in, std::string_view key) {
  const auto number = measure(in, key);
  if (number && *number < 1 / largest)
    in.refuse(key, fmt::format("expected a number above zero, found {}", *number));
  return number;
}

bool digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// YYYY-MM-DD, optionally followed by characters that are allowed in a name.
bool is_date(std::string_view text) {
  const bool written = text.size() >= 10 && text.size() <= 40 && digits(text.substr(0, 4)) &&
                       text[4] == '-' && digits(text.substr(5, 2)) && text[7] == '-' &&
                       digits(text.substr(8, 2)) && fit_for_a_name(text);
  if (!written) return false;
  const auto number = [&](std::size_t at, std::size_t size) {
    return *parse_integer(text.substr(at, size));
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return date.ok();
}

/// The key of the GPU model, by any of its names, and a profile of it.
void read_where(JsonReader& in, ProfileKey& key) {
  const std::string written = in.text("gpu_model");
  key.profile = in.text("profile");
  const auto model = find_gpu_model(written);
  if (!model) return in.refuse("gpu_model", model.error().message, model.error().remedy);
  key.gpu_model = (*model)->key;
  if (key.profile == no_mig || (*model)->find(key.profile) != nullptr) return;
  auto known = names_of((*model)->profiles);
  known.emplace_back(no_mig);
  in.refuse("profile", fmt::format("{} has no profile '{}'", key.gpu_model, shown(key.profile)),
            suggestion(key.profile, known));
}

void read_counters(JsonReader& in, ProfileRecord& record) {
  auto counters = in.object_if("counters");
  if (!counters) return;
  for (const auto& [name, number] : counters->numbers()) {
    if (!fit_for_a_name(name) || reserved_counter(name))
      counters->refuse(name, reserved_counter(name)
                                 ? "the training table has a column of that name already"
                                 : "this is not a name for a counter");
    if (number < -largest || number > largest)
      counters->refuse(name, fmt::format("expected a number from {} to {}, found {}", -largest,
                                         largest, number));
    record.counters[name] = number;
  }
}

/// Counts of measures that the record has, each at most its samples.
void read_measured_in(JsonReader& in, ProfileRecord& record) {
  auto counts = in.object_if("measured_in");
  if (!counts) return;
  const auto known = [&](std::string_view name) {
    return record.counters.contains(name) || (name == "time_s" && record.time_s) ||
           (name == "tokens_per_s" && record.tokens_per_s) ||
           (name == "throughput_per_s" && record.throughput_per_s);
  };
  for (const auto& [name, number] : counts->numbers()) {
    if (!known(name)) counts->refuse(name, "the record has no mean of that name");
    const auto count = counts->integer_if(name, 1, record.samples);
    if (count && *count < record.samples) record.measured_in[name] = *count;
  }
}

ProfileRecord read_record(JsonReader& in, const Json& document) {
  ProfileRecord record;
  record.key.application = in.text("application");
  if (!fit_for_a_name(record.key.application)) in.refuse("application", "this is not a name");
  read_where(in, record.key);
  record.key.batch = in.integer_if("batch", 1, most_measured_batch).value_or(1);
  record.key.offload = in.flag("offload", false);
  read_counters(in, record);
  record.time_s = rate(in, "time_s");
  if (const auto mib = in.integer_if("peak_memory_mib", 0, 1'000'000'000))
    record.peak_memory = MiB{*mib};
  record.tokens_per_s = rate(in, "tokens_per_s");
  record.throughput_per_s = rate(in, "throughput_per_s");
  record.p98_latency_s = rate(in, "p98_latency_s");
  record.samples = in.integer_if("samples", 1, most_samples).value_or(1);
  read_measured_in(in, record);
  record.date = in.text_if("date").value_or("");
  if (!record.date.empty() && !is_date(record.date))
    in.refuse("date", fmt::format("'{}' is not a date", shown(record.date)),
              "write it like 2025-03-31");
  in.done();
  if (document.is_object())
    for (const auto& [key, value] : document.items())
      if (key.starts_with("x-"))
        record.extra[key] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return record;
}

// --- writing ---

template <class Value>
void put(Json& line, const char* key, const std::optional<Value>& value) {
  if (value) line[key] = *value;
}

Json record_json(const ProfileRecord& record) {
  Json line = {{"application", record.key.application},
               {"gpu_model", record.key.gpu_model},
               {"batch", record.key.batch},
               {"profile", record.key.profile}};
  if (record.key.offload) line["offload"] = true;
  for (const auto& [name, number] : record.counters) line["counters"][name] = number;
  put(line, "time_s", record.time_s);
  if (record.peak_memory) line["peak_memory_mib"] = record.peak_memory->value;
  put(line, "tokens_per_s", record.tokens_per_s);
  put(line, "throughput_per_s", record.throughput_per_s);
  put(line, "p98_latency_s", record.p98_latency_s);
  line["samples"] = record.samples;
  for (const auto& [measure, count] : record.measured_in) line["measured_in"][measure] = count;
  if (!record.date.empty()) line["date"] = record.date;
  for (const auto& [key, text] : record.extra) line[key] = Json::parse(text);
  return line;
}

}  // namespace

std::string_view name(MergeRule rule) {
  return rule_names[static_cast<std::size_t>(rule)];
}

std::optional<MergeRule> merge_rule(std::string_view name) {
  const auto* const found = std::ranges::find(rule_names, name);
  if (found == rule_names.end()) return std::nullopt;
  return static_cast<MergeRule>(found - rule_names.begin());
}

bool reserved_counter(std::string_view name) {
  return std::ranges::find(other_columns, name) != other_columns.end();
}

ProfileRecord merged(const ProfileRecord& earlier, const ProfileRecord& later, MergeRule rule) {
  ProfileRecord result = later;
  result.date = std::max(earlier.date, later.date);
  for (const auto& [key, value] : earlier.extra) result.extra.emplace(key, value);
  if (rule == MergeRule::replace) return result;
  result.samples = std::min(earlier.samples + later.samples, most_samples);
  result.measured_in.clear();
  const auto mean = [&](std::string_view measure, const std::optional<double>& a,
                        const std::optional<double>& b) {
    const std::int64_t before = a ? samples_of(earlier, measure) : 0,
                       after = b ? samples_of(later, measure) : 0;
    if (const std::int64_t count = std::min(before + after, most_samples);
        count > 0 && count < result.samples)
      result.measured_in[std::string(measure)] = count;
    return either(a, b, [&](double x, double y) { return weighted(x, before, y, after); });
  };
  const auto larger = [](const auto& a, const auto& b) { return std::max(a, b); };
  result.counters.insert(earlier.counters.begin(), earlier.counters.end());
  const auto counter_of = [](const ProfileRecord& record, const std::string& counter) {
    const auto found = record.counters.find(counter);
    return found == record.counters.end() ? std::nullopt : std::optional(found->second);
  };
  for (auto& [counter, value] : result.counters)
    value = *mean(counter, counter_of(earlier, counter), counter_of(later, counter));
  result.time_s = mean("time_s", earlier.time_s, later.time_s);
  result.tokens_per_s = mean("tokens_per_s", earlier.tokens_per_s, later.tokens_per_s);
  result.throughput_per_s =
      mean("throughput_per_s", earlier.throughput_per_s, later.throughput_per_s);
  result.peak_memory = either(earlier.peak_memory, later.peak_memory, larger);
  result.p98_latency_s = either(earlier.p98_latency_s, later.p98_latency_s, larger);
  return result;
}

void ProfileRepository::add(ProfileRecord record, MergeRule rule) {
  const auto [at, is_new] = records_.try_emplace(record.key, record);
  if (!is_new) at->second = merged(at->second, record, rule);
}

const ProfileRecord* ProfileRepository::find(const ProfileKey& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

Result<std::size_t> add_profiles(ProfileRepository& repository, std::string_view text,
                                 const std::string& place, MergeRule rule) {
  std::optional<Error> error;
  std::vector<ProfileRecord> records;
  std::size_t number = 0;
  for (const std::string_view line : split(without_byte_order_mark(text), '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::string here = fmt::format("{}:{}", place, number);
    const auto document = parse_json_line(line, here);
    if (!document) return std::unexpected(document.error());
    JsonReader in(*document, here, error);
    records.push_back(read_record(in, *document));
    if (error) return std::unexpected(*error);
  }
  for (ProfileRecord& record : records) repository.add(std::move(record), rule);
  return records.size();
}

std::string profile_text(const ProfileRecord& record) {
  return record_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string repository_text(const ProfileRepository& repository) {
  std::string text;
  for (const auto& [key, record] : repository.records()) text += profile_text(record) + "\n";
  return text;
}

}  // namespace cleave
