#include "forecast/choice/profile_exports.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

bool passes(const ProfileKey& key, const ProfileFilter& filter) {
  return (filter.application.empty() || key.application == filter.application) &&
         (filter.gpu_model.empty() || key.gpu_model == filter.gpu_model) &&
         (!filter.batch || key.batch == *filter.batch);
}

/// Records are about models and profiles of our tables; null for a run without MIG.
const GpuModel& model_of(const ProfileKey& key) {
  return **find_gpu_model(key.gpu_model);
}
const Profile* profile_of(const ProfileKey& key) {
  return model_of(key).find(key.profile);
}

// --- training ---

/// A cell of CSV, in quotes if needed.
std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted_text = "\"";
  for (const char c : text) quoted_text += c == '"' ? "\"\"" : std::string(1, c);
  return quoted_text + "\"";
}

template <class Value>
std::string cell_if(const std::optional<Value>& value) {
  if constexpr (requires { value->value; }) {
    return value ? fmt::format("{}", value->value) : "";
  } else {
    return value ? fmt::format("{}", *value) : "";
  }
}

std::string training_row(const ProfileRecord& record,
                         const std::set<std::string, std::less<>>& counters) {
  const GpuModel& model = model_of(record.key);
  const Profile* profile = profile_of(record.key);
  std::string row =
      fmt::format("{},{},{},{},{},{},{},{},{}", cell(record.key.application),
                  cell(record.key.gpu_model), cell(record.key.profile), record.key.batch,
                  (profile != nullptr ? profile->compute : model.compute).value,
                  (profile != nullptr ? profile->memory : model.memory_slices).value,
                  cell_if(profile != nullptr ? profile->sms : model.sms),
                  record.key.offload ? 1 : 0, cell_if(record.peak_memory));
  for (const std::string& counter : counters) {
    const auto found = record.counters.find(counter);
    row += found == record.counters.end() ? "," : fmt::format(",{}", found->second);
  }
  return row + fmt::format(",{}\n", *record.time_s);
}

}  // namespace

std::vector<const ProfileRecord*> filtered(const ProfileRepository& repository,
                                           const ProfileFilter& filter) {
  std::vector<const ProfileRecord*> records;
  for (const auto& [key, record] : repository.records())
    if (passes(key, filter)) records.push_back(&record);
  return records;
}

TrainingTable training_table(const ProfileRepository& repository, const ProfileFilter& filter) {
  const auto records = filtered(repository, filter);
  std::set<std::string, std::less<>> counters;
  for (const ProfileRecord* record : records)
    for (const auto& [counter, value] : record->counters)
      if (record->time_s) counters.insert(counter);
  TrainingTable table;
  table.csv =
      "application,gpu_model,profile,batch,compute_slices,memory_slices,sms,offload,peak_memory_"
      "mib";
  for (const std::string& counter : counters) table.csv.append(",").append(cell(counter));
  table.csv += ",time_s\n";
  for (const ProfileRecord* record : records) {
    if (!record->time_s) {
      table.left_out.push_back({record->key, "time_s"});
      continue;
    }
    table.csv += training_row(*record, counters);
    ++table.rows;
  }
  return table;
}

// --- recommend ---

namespace {

struct PerformanceMeasure {
  std::string_view name;
  std::optional<double> (*of)(const ProfileRecord& record);
};
constexpr std::array<PerformanceMeasure, 3> performances = {{
    {"tokens_per_s", [](const ProfileRecord& record) { return record.tokens_per_s; }},
    {"throughput_per_s", [](const ProfileRecord& record) { return record.throughput_per_s; }},
    {"1/time_s",
     [](const ProfileRecord& record) {
       return record.time_s ? std::optional(1 / *record.time_s) : std::nullopt;
     }},
}};

/// All records that pass must agree in the part of their keys that `part` returns.
template <class Part>
Result<void> one_of(const std::vector<const ProfileRecord*>& records, const Part& part,
                    std::string_view what) {
  std::set<std::string> there;
  for (const ProfileRecord* record : records) there.insert(fmt::format("{}", part(record->key)));
  if (there.size() < 2) return {};
  return fail(ErrorKind::bad_usage, "",
              fmt::format("there are profiles of {} {}s", there.size(), what),
              fmt::format("choose one: {}", shown(fmt::format("{}", fmt::join(there, ", ")), 200)));
}

Result<void> one_question(const std::vector<const ProfileRecord*>& records) {
  if (records.empty())
    return fail(ErrorKind::infeasible, "", "the repository has no profile that is asked for",
                "`cleave profiles list` shows what it has");
  if (auto one = one_of(
          records, [](const ProfileKey& key) { return key.application; }, "application");
      !one)
    return one;
  if (auto one = one_of(
          records, [](const ProfileKey& key) { return key.gpu_model; }, "GPU model");
      !one)
    return one;
  return one_of(
      records, [](const ProfileKey& key) { return key.batch; }, "batch size");
}

/// The run on the whole GPU, preferably without MIG; null if there is none.
const ProfileRecord* whole_gpu(const std::vector<const ProfileRecord*>& records,
                               const GpuModel& model) {
  for (const std::string_view profile : {no_mig, model.largest().name})
    for (const ProfileRecord* record : records)
      if (record->key.profile == profile && !record->key.offload) return record;
  return nullptr;
}

/// The record as the reward takes it; otherwise what it lacks.
std::expected<MeasuredInstance, std::string> instance_of(const ProfileRecord& record,
                                                         const Profile& profile,
                                                         const PerformanceMeasure& performance,
                                                         double gpu_sms) {
  const auto counter = [&](std::string_view name) -> std::optional<double> {
    const auto found = record.counters.find(name);
    if (found == record.counters.end()) return std::nullopt;
    return found->second;
  };
  MeasuredInstance instance;
  instance.occupancy = counter("gpu_sm_occupancy");
  instance.instance_occupancy = counter("sm_occupancy");
  for (const auto& occupancy : {instance.occupancy, instance.instance_occupancy})
    if (occupancy && !(*occupancy >= 0 && *occupancy <= 1))
      return std::unexpected("an occupancy from 0 to 1");
  if (!instance.occupancy && !instance.instance_occupancy)
    return std::unexpected("the counter sm_occupancy");
  if (!record.peak_memory) return std::unexpected("peak_memory_mib");
  if (!profile.sms || !profile.usable)
    return std::unexpected("a profile with known SMs and memory");
  const auto measured = performance.of(record);
  if (!measured) return std::unexpected(std::string(performance.name));
  instance.name = record.key.profile;
  instance.sms = profile.sms->value;
  instance.capacity = static_cast<double>(profile.usable->value);
  instance.peak = static_cast<double>(record.peak_memory->value);
  instance.performance = *measured;
  instance.offloaded = record.key.offload;
  if (const auto wrong = impossible(instance, gpu_sms))
    return std::unexpected(fmt::format("a {} that can be: {}", wrong->key, wrong->message));
  return instance;
}

}  // namespace

Result<MeasuredQuestion> reward_question(const ProfileRepository& repository,
                                         const ProfileFilter& filter) {
  const auto records = filtered(repository, filter);
  if (const auto one = one_question(records); !one) return std::unexpected(one.error());
  MeasuredQuestion result;
  result.batch = records.front()->key.batch;
  result.model = &model_of(records.front()->key);
  const std::string about =
      fmt::format("{} with batch {} on the {}", shown(records.front()->key.application),
                  result.batch, result.model->key);
  const ProfileRecord* full = whole_gpu(records, *result.model);
  if (full == nullptr)
    return fail(ErrorKind::infeasible, about, "it was not measured on the whole GPU",
                fmt::format("measure it on {} or without MIG", result.model->largest().name));
  const auto* const performance = std::ranges::find_if(
      performances, [&](const auto& each) { return each.of(*full).has_value(); });
  if (performance == performances.end())
    return fail(ErrorKind::infeasible, about, "its run on the whole GPU has no performance",
                "give tokens_per_s, throughput_per_s or time_s");
  if (!result.model->sms)
    return fail(ErrorKind::infeasible, about, "the number of SMs of this GPU is unknown");
  result.performance = performance->name;
  result.question.basis.gpu_sms = result.model->sms->value;
  result.question.basis.full_performance = *performance->of(*full);
  for (const ProfileRecord* record : records) {
    const Profile* profile = profile_of(record->key);
    if (profile == nullptr) continue;  // without MIG: the run the others are compared with
    const auto instance =
        instance_of(*record, *profile, *performance, result.question.basis.gpu_sms);
    if (instance) {
      result.question.instances.push_back(*instance);
    } else {
      result.left_out.push_back({record->key, instance.error()});
    }
  }
  std::ranges::stable_sort(result.question.instances, {}, &MeasuredInstance::sms);
  return result;
}

// --- choose ---

BatchQuestion batch_tables(const ProfileRepository& repository, const GpuModel& model,
                           std::vector<LeftOutProfile>* left_out) {
  BatchQuestion tables;
  for (const Profile& profile : model.profiles) {
    if (profile.attribute != Attribute::none || !profile.usable) continue;
    tables.partitions.push_back({std::string(profile.name), profile.compute.value,
                                 static_cast<double>(profile.usable->value)});
  }
  std::ranges::reverse(tables.partitions);  // from small to large, as in the paper's figures
  const auto leave_out = [&](const ProfileKey& key, const char* lacks) {
    if (left_out != nullptr) left_out->push_back({key, lacks});
  };
  for (const ProfileRecord* record :
       filtered(repository, {"", std::string(model.key), std::nullopt})) {
    const ProfileKey& key = record->key;
    const auto partition = [&](const auto& each) { return each.name == key.profile; };
    if (key.offload || std::ranges::none_of(tables.partitions, partition)) continue;
    const auto latency = record->p98_latency_s ? record->p98_latency_s : record->time_s;
    const auto throughput = record->tokens_per_s ? record->tokens_per_s : record->throughput_per_s;
    if (!latency) {
      leave_out(key, "p98_latency_s or time_s");
    } else if (!throughput) {
      leave_out(key, "tokens_per_s or throughput_per_s");
    } else {
      tables.rows.push_back({key.application, key.profile, {key.batch, *latency, *throughput}});
    }
  }
  return tables;
}

void fill_from(BatchQuestion& question, const ProfileRepository& repository,
               const GpuModel& model) {
  BatchQuestion tables = batch_tables(repository, model);
  question.partitions = std::move(tables.partitions);
  question.rows = std::move(tables.rows);
  for (ChoiceJob& job : question.jobs) {
    if (!job.memory.empty()) continue;
    for (const auto& partition : question.partitions) {
      const ProfileRecord* record = repository.find(
          {job.application, std::string(model.key), job.batch, partition.name, false});
      const bool known = record != nullptr && record->peak_memory;
      job.memory.push_back(known ? static_cast<double>(record->peak_memory->value) : 0.0);
    }
  }
}

}  // namespace cleave
