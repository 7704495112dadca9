// Health, what monitors show, and performance monitoring.

#include <thread>

#include "base/format.hpp"
#include "certify/questions.hpp"

namespace cleave::certify {

namespace {

/// The fields of nvmlDeviceGetFieldValues that the header of API version 13 knows are below this.
constexpr std::uint32_t fields_most = 274;
constexpr std::uint32_t process_list_room = 128;

void ask_fields(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  for (std::uint32_t number = 1; number < fields_most; ++number)
    asking.ask(Topic::monitoring, "nvmlDeviceGetFieldValues", f.nvmlDeviceGetFieldValues != nullptr,
               fmt::format("field {}", number), [&] {
                 nvml::FieldValue field{};
                 field.field = number;
                 const nvml::Return code = f.nvmlDeviceGetFieldValues(subject.device, 1, &field);
                 Json value = {{"answer", static_cast<int>(field.answer)}};
                 if (field.answer == nvml::Return::success) {
                   value["type"] = field.value_type;
                   value["value"] = field.value;
                 }
                 return Told{code, value};
               });
}

/// The functions of one kind of list of processes: only the third version says which instances.
template <class Process>
void ask_processes(Asking& asking, const char* name,
                   nvml::Return (*function)(nvml::Device, std::uint32_t*, Process*),
                   nvml::Device gpu) {
  asking.ask(Topic::monitoring, name, function != nullptr, "", [&] {
    std::vector<Process> processes(process_list_room);
    std::uint32_t count = process_list_room;
    const nvml::Return code = function(gpu, &count, processes.data());
    return Told{code, Json{{"count", count}}};
  });
}

/// Metrics of GPM that are asked for in one call, from the first to the last.
struct MetricRange {
  std::uint32_t first, last;
};
constexpr MetricRange metric_ranges[] = {{1, 13}, {20, 21}, {30, 46}, {60, 97}, {100, 147}};

Json metrics_between(const nvml::EveryFunction& f, nvml::GpmSample before, nvml::GpmSample after,
                     MetricRange range, nvml::Return& code) {
  auto metrics = std::make_unique<nvml::GpmMetricsGet>();
  metrics->version = nvml::gpm_version;
  metrics->metrics_count = range.last - range.first + 1;
  metrics->sample1 = before;
  metrics->sample2 = after;
  for (std::uint32_t i = 0; i < metrics->metrics_count; ++i)
    metrics->metrics[i].metric_id = range.first + i;
  code = f.nvmlGpmMetricsGet(metrics.get());
  Json codes = Json::object(), values = Json::object();
  for (std::uint32_t i = 0; i < metrics->metrics_count; ++i) {
    const nvml::GpmMetric& each = metrics->metrics[i];
    const std::string key = fmt::format("{}", each.metric_id);
    codes[key] = static_cast<int>(each.answer);
    if (each.answer == nvml::Return::success) values[key] = each.value;
  }
  return {{"codes", codes}, {"values", values}};
}

}  // namespace

void ask_health(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::health;
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetEccMode), "current", "pending",
                            gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDefaultEccMode), "", gpu);
  asking.ask(topic, "nvmlDeviceGetRemappedRows", f.nvmlDeviceGetRemappedRows != nullptr, "", [&] {
    std::uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    const nvml::Return code =
        f.nvmlDeviceGetRemappedRows(gpu, &corrected, &uncorrected, &pending, &failed);
    return Told{code, Json{{"corrected", corrected},
                           {"uncorrected", uncorrected},
                           {"pending", pending},
                           {"failed", failed}}};
  });
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetRowRemapperHistogram), "", gpu);
  for (std::uint32_t kind = 0; kind < 2; ++kind)
    for (std::uint32_t counter = 0; counter < 2; ++counter) {
      const std::string about = fmt::format("{}, {}", kind == 0 ? "corrected" : "uncorrected",
                                            counter == 0 ? "since the load" : "ever");
      asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTotalEccErrors), about, gpu, kind, counter);
      asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDetailedEccErrors), about, gpu, kind, counter);
      for (std::uint32_t location = 0; location < nvml::memory_locations; ++location)
        asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMemoryErrorCounter),
                   fmt::format("{}, location {}", about, location), gpu, kind, counter, location);
    }
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetSupportedEventTypes), "", gpu);
}

void ask_monitoring(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::monitoring;
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetUtilizationRates), "", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetEncoderUtilization), "percent",
                            "period_us", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetDecoderUtilization), "percent",
                            "period_us", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetJpgUtilization), "percent",
                            "period_us", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetOfaUtilization), "percent",
                            "period_us", gpu);
  for (std::uint32_t counter = 0; counter < 2; ++counter)
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPcieThroughput),
               counter == 0 ? "sent" : "received", gpu, counter);
#define CLEAVE_PROCESSES(name) ask_processes(asking, #name, f.name, gpu)
  CLEAVE_PROCESSES(nvmlDeviceGetComputeRunningProcesses);
  CLEAVE_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2);
  CLEAVE_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3);
  CLEAVE_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3);
  CLEAVE_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3);
#undef CLEAVE_PROCESSES
  for (std::uint32_t kind = 0; kind < 10; ++kind)
    asking.ask(topic, "nvmlDeviceGetSamples", f.nvmlDeviceGetSamples != nullptr,
               fmt::format("kind {}", kind), [&] {
                 std::vector<nvml::Sample> samples(4096);
                 auto count = static_cast<std::uint32_t>(samples.size());
                 std::uint32_t type = 0;
                 const nvml::Return code = f.nvmlDeviceGetSamples(gpu, nvml::SampleKind{kind}, 0,
                                                                  &type, &count, samples.data());
                 return Told{code, Json{{"type", type}, {"count", count}}};
               });
  ask_fields(asking, subject);
}

void ask_counting(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  constexpr auto topic = Topic::counting;
  asking.versioned<nvml::GpmSupport>(topic, CLEAVE_NAMED(f, nvmlGpmQueryDeviceSupport), "",
                                     nvml::gpm_version, subject.device);
  const bool there = f.nvmlGpmSampleAlloc != nullptr && f.nvmlGpmSampleGet != nullptr &&
                     f.nvmlGpmMetricsGet != nullptr && f.nvmlGpmSampleFree != nullptr;
  nvml::GpmSample before = nullptr, after = nullptr;
  const bool taken = asking
                         .ask(topic, "nvmlGpmSampleGet", there, "",
                              [&] {
                                for (nvml::GpmSample* each : {&before, &after})
                                  if (const nvml::Return code = f.nvmlGpmSampleAlloc(each);
                                      code != nvml::Return::success)
                                    return Told{code, {}};
                                return Told{f.nvmlGpmSampleGet(subject.device, before), true};
                              })
                         .has_value();
  if (!taken) {
    asking.leave(topic, "nvmlGpmMetricsGet", "", "there is no sample of the GPU");
    return;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  (void)f.nvmlGpmSampleGet(subject.device, after);
  for (const MetricRange range : metric_ranges)
    asking.ask(topic, "nvmlGpmMetricsGet", true,
               fmt::format("metrics {} to {}", range.first, range.last), [&] {
                 nvml::Return code = nvml::Return::unknown;
                 Json value = metrics_between(f, before, after, range, code);
                 return Told{code, value};
               });
  (void)f.nvmlGpmSampleFree(before);
  (void)f.nvmlGpmSampleFree(after);
}

}  // namespace cleave::certify
