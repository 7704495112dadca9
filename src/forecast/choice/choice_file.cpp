#include "forecast/choice/choice_file.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "forecast/choice/fraction.hpp"

namespace cleave {

namespace {

// Bounds beyond every measurement, within which nothing overflows.
constexpr double most = 1e15, least_above_zero = 1e-15;
constexpr std::int64_t most_slices = 64, most_batch = 1'000'000'000;

/// A required number in [low, high]; `low` after an error.
double need(JsonReader& in, std::string_view key, double low, double high) {
  const auto number = in.number_if(key);
  if (!number) {
    in.refuse("", fmt::format("the key '{}' is missing", shown(key)));
    return low;
  }
  if (*number >= low && *number <= high) return *number;
  in.refuse(key,
            low == least_above_zero && *number <= 0
                ? fmt::format("expected a number above zero, found {}", *number)
                : fmt::format("expected a number from {} to {}, found {}", low, high, *number));
  return low;
}

double need_above_zero(JsonReader& in, std::string_view key) {
  return need(in, key, least_above_zero, most);
}

std::optional<double> number_within(JsonReader& in, std::string_view key, double low, double high) {
  if (!in.number_if(key)) return std::nullopt;
  return need(in, key, low, high);
}

void need_list(JsonReader& in, std::string_view key) {
  if (!in.has(key)) in.refuse("", fmt::format("the key '{}' is missing", shown(key)));
}

/// Reads a whole document with `read`.
template <class Read>
auto parse(std::string_view text, const std::string& place, const Read& read)
    -> Result<decltype(read(std::declval<JsonReader&>()))> {
  const auto document = parse_json(without_byte_order_mark(text), place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  auto value = read(in);
  in.done();
  if (error) return std::unexpected(*error);
  return value;
}

MeasuredInstance read_instance(JsonReader& in) {
  MeasuredInstance instance;
  instance.sms = need_above_zero(in, "sms");
  instance.occupancy = number_within(in, "occupancy", 0, 1);
  instance.instance_occupancy = number_within(in, "instance_occupancy", 0, 1);
  if (!instance.occupancy && !instance.instance_occupancy)
    in.refuse("", "the key 'occupancy' is missing", "or give 'instance_occupancy'");
  instance.capacity = need_above_zero(in, "capacity");
  instance.peak = need(in, "peak", 0, most);
  instance.performance = need(in, "perf", 0, most);
  instance.offloaded = in.flag("offload", false);
  return instance;
}

RewardBasis read_basis(JsonReader& in) {
  RewardBasis basis;
  basis.alpha = number_within(in, "alpha", 0, most).value_or(basis.alpha);
  basis.gpu_sms = need_above_zero(in, "gpu_sms");
  basis.full_performance = need_above_zero(in, "perf_full");
  return basis;
}

}  // namespace

// --- which of the measured instances ---

RewardQuestion read_reward_question(JsonReader& in) {
  RewardQuestion question;
  question.basis = read_basis(in);
  need_list(in, "configs");
  for (JsonReader& config : in.objects("configs")) {
    const std::string name = config.text("name");
    question.instances.push_back(read_instance(config));
    question.instances.back().name = name;
    config.done();
  }
  return question;
}

RewardQuestion read_reward_of_one(JsonReader& in) {
  RewardQuestion question;
  question.basis = read_basis(in);
  question.instances.push_back(read_instance(in));
  return question;
}

Result<RewardQuestion> parse_reward_question(std::string_view text, const std::string& place) {
  bool several = false;
  auto question = parse(text, place, [&](JsonReader& in) {
    several = in.has("configs") || !in.has("sms");
    return several ? read_reward_question(in) : read_reward_of_one(in);
  });
  // For one instance alone the formula is evaluated with any input; nothing is chosen by it.
  for (std::size_t i = 0; several && question && i < question->instances.size(); ++i)
    if (const auto wrong = impossible(question->instances[i], question->basis.gpu_sms))
      return fail(ErrorKind::bad_input, fmt::format("{}: configs[{}].{}", place, i, wrong->key),
                  wrong->message, wrong->remedy);
  return question;
}

Json to_json(const RewardQuestion& question) {
  Json configs = Json::array();
  for (const MeasuredInstance& each : question.instances) {
    Json config = {{"name", each.name}, {"sms", each.sms}};
    if (each.occupancy) config["occupancy"] = *each.occupancy;
    if (each.instance_occupancy) config["instance_occupancy"] = *each.instance_occupancy;
    config["capacity"] = each.capacity;
    config["peak"] = each.peak;
    config["perf"] = each.performance;
    if (each.offloaded) config["offload"] = true;
    configs.push_back(std::move(config));
  }
  return {{"alpha", question.basis.alpha},
          {"gpu_sms", question.basis.gpu_sms},
          {"perf_full", question.basis.full_performance},
          {"configs", configs}};
}

Json to_json(const Reward& reward) {
  return {{"sm_waste", reward.sm_waste},
          {"memory_waste", reward.memory_waste},
          {"relative_performance", reward.relative_performance},
          {"reward", reward.reward}};
}

Json to_json(const RewardQuestion& question, const Recommendation& answer) {
  Json configs = Json::array(), equal = Json::array();
  for (std::size_t i = 0; i < question.instances.size(); ++i) {
    Json config = {{"name", question.instances[i].name},
                   {"offload", question.instances[i].offloaded}};
    config.update(to_json(answer.rewards[i]));
    configs.push_back(std::move(config));
  }
  for (const std::size_t i : answer.equal) equal.push_back(question.instances[i].name);
  const Json best = answer.best ? Json(question.instances[*answer.best].name) : Json();
  const Json index = answer.best ? Json(*answer.best) : Json();
  return {{"best", best}, {"best_index", index}, {"equal_best", equal}, {"configs", configs}};
}

// --- which partition for each job ---

namespace {

constexpr std::array<std::string_view, 2> base_names = {"own", "full"};

PartitionWeighing<double> read_weighing(JsonReader& in) {
  PartitionWeighing<double> weighing{0.5, 0.0};
  weighing.lambda = number_within(in, "lambda", 0, 1).value_or(weighing.lambda);
  weighing.margin = number_within(in, "margin", 0, most).value_or(weighing.margin);
  const std::string base = in.text_if("base").value_or("own");
  if (base == base_names[1]) {
    weighing.base = BatchBase::full;
  } else if (base != base_names[0]) {
    in.refuse("base", fmt::format("'{}' is not a base", shown(base)), "it is own or full");
  }
  return weighing;
}

/// The memory of a job by partition, or the one number for all.
std::vector<double> read_memory(JsonReader& in, std::span<const PartitionOption<double>> partitions,
                                BatchParts parts) {
  if (parts == BatchParts::jobs_alone && !in.has("memory")) return {};
  if (!in.has_object("memory")) return {need(in, "memory", 0, most)};
  std::vector<double> memory;
  auto by_partition = in.object_if("memory");
  if (parts == BatchParts::jobs_alone)
    in.refuse("memory", "the partitions are not in this file",
              "give one number for all of them, or none");
  if (!by_partition) return {0.0};  // another error was found already
  for (const auto& partition : partitions)
    memory.push_back(need(*by_partition, partition.name, 0, most));
  by_partition->done();
  return memory;
}

ChoiceJob read_job(JsonReader& in, std::span<const PartitionOption<double>> partitions,
                   BatchParts parts) {
  ChoiceJob job;
  job.id = in.text("id");
  job.application = in.text("model");
  job.batch = in.integer("batch", 1, most_batch);
  job.memory = read_memory(in, partitions, parts);
  job.deadline = number_within(in, "deadline", -most, most);
  in.done();
  return job;
}

std::vector<PartitionOption<double>> read_partitions(JsonReader& in) {
  std::vector<PartitionOption<double>> table;
  for (JsonReader& partition : in.objects("partitions")) {
    const std::string name = partition.text("name");
    const auto slices = static_cast<int>(partition.integer("slices", 1, most_slices));
    if (std::ranges::any_of(table, [&](const auto& other) { return other.name == name; }))
      partition.refuse("name", fmt::format("the partition '{}' is listed twice", shown(name)));
    table.push_back({name, slices, need(partition, "memory", 0, most)});
    partition.done();
  }
  return table;
}

std::vector<BatchQuestion::Row> read_rows(JsonReader& in,
                                          std::span<const PartitionOption<double>> partitions) {
  std::vector<BatchQuestion::Row> rows;
  std::set<std::tuple<std::string, std::int64_t, std::string>> there;
  for (JsonReader& row_in : in.objects("profiles")) {
    BatchQuestion::Row row{row_in.text("model"), row_in.text("partition"), {}};
    row.measured.batch = row_in.integer("batch", 1, most_batch);
    row.measured.latency = need_above_zero(row_in, "latency");
    row.measured.throughput = need_above_zero(row_in, "throughput");
    row_in.done();
    if (std::ranges::none_of(partitions,
                             [&](const auto& each) { return each.name == row.partition; }))
      row_in.refuse("partition", fmt::format("there is no partition '{}'", shown(row.partition)),
                    suggestion(row.partition, names_of(partitions)));
    if (!there.emplace(row.application, row.measured.batch, row.partition).second)
      row_in.refuse("",
                    fmt::format("{} with batch {} on {} is listed twice", shown(row.application),
                                row.measured.batch, shown(row.partition)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

BatchQuestion read_batch_question(JsonReader& in, BatchParts parts) {
  BatchQuestion question;
  question.weighing = read_weighing(in);
  if (in.has("partitions") || in.has("profiles")) parts = BatchParts::all;
  if (parts == BatchParts::all) {
    need_list(in, "partitions");
    question.partitions = read_partitions(in);
    need_list(in, "profiles");
    question.rows = read_rows(in, question.partitions);
  }
  need_list(in, "jobs");
  for (JsonReader& job : in.objects("jobs"))
    question.jobs.push_back(read_job(job, question.partitions, parts));
  return question;
}

Result<BatchQuestion> parse_batch_question(std::string_view text, const std::string& place,
                                           BatchParts parts) {
  auto question =
      parse(text, place, [parts](JsonReader& in) { return read_batch_question(in, parts); });
  std::set<std::string> ids;
  for (std::size_t i = 0; question && i < question->jobs.size(); ++i)
    if (!ids.insert(question->jobs[i].id).second)
      return fail(ErrorKind::bad_input, fmt::format("{}: jobs[{}].id", place, i),
                  fmt::format("the job '{}' is listed twice", shown(question->jobs[i].id)));
  return question;
}

Json to_json(const BatchQuestion& question) {
  Json partitions = Json::array(), profiles = Json::array(), jobs = Json::array();
  for (const auto& [name, slices, memory] : question.partitions)
    partitions.push_back({{"name", name}, {"slices", slices}, {"memory", memory}});
  for (const auto& [application, partition, measured] : question.rows)
    profiles.push_back({{"model", application},
                        {"batch", measured.batch},
                        {"partition", partition},
                        {"latency", measured.latency},
                        {"throughput", measured.throughput}});
  for (const ChoiceJob& job : question.jobs) {
    Json written = {{"id", job.id}, {"model", job.application}, {"batch", job.batch}};
    for (std::size_t i = 0; job.memory.size() > 1 && i < job.memory.size(); ++i)
      written["memory"][question.partitions[i].name] = job.memory[i];
    if (job.memory.size() == 1) written["memory"] = job.memory[0];
    if (job.deadline) written["deadline"] = *job.deadline;
    jobs.push_back(std::move(written));
  }
  return {{"lambda", question.weighing.lambda},
          {"margin", question.weighing.margin},
          {"base", base_names[static_cast<std::size_t>(question.weighing.base)]},
          {"partitions", partitions},
          {"jobs", jobs},
          {"profiles", profiles}};
}

namespace {

/// A number of the question in the requested arithmetic; empty if it has no such form.
template <class Number>
std::optional<Number> number_of(double value) {
  if constexpr (std::is_same_v<Number, double>) {
    return value;
  } else {
    const auto decimal = Ratio::parse(fmt::format("{}", value));
    if (!decimal) return std::nullopt;
    return Number(*decimal);
  }
}

/// Converts numbers and remembers whether one of them could not be converted.
template <class Number>
class Converter {
 public:
  Number operator()(double value) {
    const auto number = number_of<Number>(value);
    if (!number) failed_ = true;
    return number.value_or(Number{});
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

/// Empty if it does not fit.
std::optional<ExactNumber> result_of(double value) {
  return ExactNumber{value, std::nullopt};
}
std::optional<ExactNumber> result_of(const Fraction& fraction) {
  const auto ratio = fraction.ratio();
  if (!ratio) return std::nullopt;
  return ExactNumber{ratio->value(), *ratio};
}

template <class Number>
std::optional<PartitionChoice<ExactNumber>> result_of(const PartitionChoice<Number>& choice) {
  PartitionChoice<ExactNumber> result{{}, choice.excluded, choice.choice};
  for (const auto& edge : choice.edges) {
    const auto latency = result_of(edge.delta_latency),
               throughput = result_of(edge.delta_throughput), weight = result_of(edge.weight);
    if (!latency || !throughput || !weight) return std::nullopt;
    result.edges.push_back({edge.partition, *latency, *throughput, *weight});
  }
  return result;
}

/// All choices in one arithmetic; empty if it cannot represent them.
template <class Number>
std::optional<std::vector<PartitionChoice<ExactNumber>>> choose_with(
    const BatchQuestion& question) {
  Converter<Number> convert;
  const PartitionWeighing<Number> weighing{
      convert(question.weighing.lambda), convert(question.weighing.margin), question.weighing.base};
  std::vector<PartitionOption<Number>> table;
  for (const auto& [name, slices, memory] : question.partitions)
    table.push_back({name, slices, convert(memory)});
  ProfileRows<Number> rows;
  for (const auto& [application, partition, measured] : question.rows)
    rows.add(application, partition,
             {measured.batch, convert(measured.latency), convert(measured.throughput)});
  std::vector<PartitionChoice<ExactNumber>> choices;
  for (const ChoiceJob& job : question.jobs) {
    std::vector<Number> memory;
    for (const double each : job.memory) memory.push_back(convert(each));
    BatchJob<Number> asked{job.application, job.batch, memory, std::nullopt};
    if (job.deadline) asked.deadline = convert(*job.deadline);
    if (convert.failed()) return std::nullopt;
    const auto choice = result_of(
        choose_partition(rows, std::span<const PartitionOption<Number>>(table), asked, weighing));
    if (!choice) return std::nullopt;
    choices.push_back(*choice);
  }
  return choices;
}

Json exact_json(const ExactNumber& number) {
  Json json = {{"value", number.value}};
  if (number.exact) json["exact"] = number.exact->exact();
  return json;
}

}  // namespace

std::vector<PartitionChoice<ExactNumber>> choose_partitions(const BatchQuestion& question) {
  if (auto exact = choose_with<Fraction>(question)) return std::move(*exact);
  return choose_with<double>(question).value();
}

std::vector<PartitionDemand> demand_of(std::span<const PartitionChoice<ExactNumber>> choices) {
  std::map<std::size_t, std::int64_t> counts;
  for (const auto& choice : choices)
    if (choice.choice) ++counts[*choice.choice];
  std::vector<PartitionDemand> demand;
  for (const auto& [partition, count] : counts) demand.push_back({partition, count});
  return demand;
}

Json to_json(const BatchQuestion& question, std::span<const PartitionChoice<ExactNumber>> choices) {
  const auto& table = question.partitions;
  Json jobs = Json::array(), batch = Json::array();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Json edges = Json::array(), excluded = Json::array();
    for (const auto& edge : choices[i].edges)
      edges.push_back({{"partition", table[edge.partition].name},
                       {"delta_latency", exact_json(edge.delta_latency)},
                       {"delta_throughput", exact_json(edge.delta_throughput)},
                       {"weight", exact_json(edge.weight)}});
    for (const ExcludedPartition& one : choices[i].excluded)
      excluded.push_back({{"partition", table[one.partition].name}, {"reason", name(one.reason)}});
    const Json chosen = choices[i].choice ? Json(table[*choices[i].choice].name) : Json();
    jobs.push_back({{"id", question.jobs[i].id},
                    {"choice", chosen},
                    {"edges", edges},
                    {"excluded", excluded}});
  }
  for (const auto& [partition, count] : demand_of(choices))
    batch.push_back({{"partition", table[partition].name}, {"count", count}});
  return {{"jobs", jobs}, {"batch", batch}};
}

// --- what a GPU loses to MIG ---

WasteQuestion read_waste_question(JsonReader& in) {
  constexpr std::int64_t most_instances = 1'000'000;
  WasteQuestion question;
  question.gpu = {need_above_zero(in, "gpu_sms"), need_above_zero(in, "gpu_memory")};
  need_list(in, "instances");
  for (JsonReader& instance : in.objects("instances")) {
    const double sms = need(instance, "sms", 0, most), memory = need(instance, "memory", 0, most);
    const auto within = [&](std::string_view key, double one, std::optional<double> all) {
      if (one > all.value_or(one))
        instance.refuse(key, fmt::format("{} is more than the {} of the GPU", one, *all));
    };
    within("sms", sms, question.gpu.sms);
    within("memory", memory, question.gpu.memory);
    const auto count = instance.integer_if("count", 0, most_instances).value_or(1);
    question.instances.push_back({sms, memory, static_cast<double>(count)});
    instance.done();
  }
  return question;
}

Result<std::optional<WasteQuestion>> parse_waste_question(std::string_view text,
                                                          const std::string& place) {
  return parse(text, place, [](JsonReader& in) -> std::optional<WasteQuestion> {
    const bool asks = in.has("gpu_sms") || in.has("gpu_memory") || in.has("instances");
    return asks ? std::optional(read_waste_question(in)) : std::nullopt;
  });
}

namespace {

Json number_json(std::optional<double> number) {
  return number ? Json(*number) : Json();
}

}  // namespace

Json to_json(const WastedResources& waste) {
  return {{"wasted_sms", number_json(waste.sms)},
          {"wasted_sms_percent", number_json(waste.sms_percent)},
          {"wasted_memory", number_json(waste.memory)}};
}

Json published_waste_json() {
  Json rows = Json::array();
  const auto table = published_waste_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const PublishedWaste& line = published_waste()[i];
    rows.push_back({{"profile", line.profile},
                    {"sms", line.sms},
                    {"memory", line.memory},
                    {"max_instances", line.max_instances},
                    {"instances_assumed_by_print", table[i].printed_instances},
                    {"as_printed", to_json(table[i].as_printed)},
                    {"with_max_instances", to_json(table[i].achievable)},
                    {"printed", {{"sm", line.printed_sms}, {"memory", line.printed_memory}}}});
  }
  std::vector<InstanceCount> mix;
  for (const PublishedWaste& line : published_waste())
    if (line.memory_slices == 4) mix.push_back({line.sms, line.memory, 1});  // 3g.48gb and 4g.48gb
  return {{"rows", rows}, {"mix_4g_3g", to_json(wasted_resources(published_totals(), mix))}};
}

}  // namespace cleave
