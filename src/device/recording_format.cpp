#include "device/recording_format.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/text.hpp"
#include "device/nvml_library.hpp"

namespace cleave {

namespace {

constexpr const char* recording_of = "cleave door";
constexpr int recording_version = 1;

// The members of each record, listed once for writing and reading: visit("key", member) for each.
template <class V>
void members(V& visit, DriverFacts& x) {
  visit("library", x.library);
  visit("driver_version", x.driver_version);
  visit("nvml_version", x.nvml_version);
  visit("cuda_version", x.cuda_version);
  visit("missing", x.missing);
}
template <class V>
void members(V& visit, GpuFacts& x) {
  visit("index", x.index);
  visit("uuid", x.uuid);
  visit("name", x.name);
  visit("minor", x.minor);
  visit("pci_bus_id", x.pci_bus_id);
  visit("architecture", x.architecture);
}
template <class V>
void members(V& visit, MigMode& x) {
  visit("current", x.current);
  visit("pending", x.pending);
}
template <class V>
void members(V& visit, Engines& x) {
  visit("copy", x.copy);
  visit("decode", x.decode);
  visit("encode", x.encode);
  visit("jpeg", x.jpeg);
  visit("flow", x.flow);
}
template <class V>
void members(V& visit, DriverProfile& x) {
  visit("number", x.number);
  visit("id", x.id);
  visit("name", x.name);
  visit("slices", x.slices);
  visit("most", x.most);
  visit("sms", x.sms);
  visit("engines", x.engines);
  visit("memory_mib", x.memory);
}
template <class V>
void members(V& visit, Span& x) {
  visit("start", x.start);
  visit("size", x.size);
}
template <class V>
void members(V& visit, LiveGpuInstance& x) {
  visit("id", x.id);
  visit("profile", x.profile);
  visit("placement", x.placement);
}
template <class V>
void members(V& visit, DriverComputeProfile& x) {
  visit("number", x.number);
  visit("id", x.id);
  visit("slices", x.slices);
  visit("most", x.most);
  visit("sms", x.sms);
}
template <class V>
void members(V& visit, LiveComputeInstance& x) {
  visit("id", x.id);
  visit("profile", x.profile);
  visit("placement", x.placement);
  visit("uuid", x.uuid);
}
template <class V>
void members(V& visit, LiveProcess& x) {
  visit("pid", x.pid);
  visit("memory_bytes", x.memory_bytes);
  visit("gpu_instance", x.gpu_instance);
  visit("compute_instance", x.compute_instance);
}
template <class V>
void members(V& visit, MemoryUse& x) {
  visit("total_bytes", x.total_bytes);
  visit("used_bytes", x.used_bytes);
}
template <class V>
void members(V& visit, BusyShares& x) {
  visit("sm_activity", x.sm_activity);
  visit("sm_occupancy", x.sm_occupancy);
  visit("tensor_activity", x.tensor_activity);
  visit("dram_activity", x.dram_activity);
}
template <class V>
void members(V& visit, GpuHealth& x) {
  visit("recovery_action", x.recovery_action);
  visit("rows_pending", x.rows_pending);
  visit("rows_failed", x.rows_failed);
  visit("uncorrected", x.uncorrected);
}
template <class V>
void members(V& visit, GpuEvent& x) {
  visit("kind", x.kind);
  visit("gpu", x.gpu);
  visit("data", x.data);
  visit("gpu_instance", x.gpu_instance);
  visit("compute_instance", x.compute_instance);
}
template <class V>
void members(V& visit, Refusal& x) {
  visit("code", x.code);
  visit("function", x.call);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
concept Counted = requires(T count) {
  count.value = {};
}
&&!IsOptional<T>::value;

struct MemberWriter;
template <class T>
Json written(T& value);

/// Writes each visited member into an object, without empty ones.
struct MemberWriter {
  Json& out;

  template <class T>
  void operator()(const char* key, T& value) {
    if constexpr (IsOptional<T>::value) {
      if (value) (*this)(key, *value);
    } else {
      out[key] = written(value);
    }
  }
};

template <class T>
Json written(T& value) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<std::int64_t>(
        value);  // all 64 bits, as a signed number, on which readers of JSON agree
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (auto& each : value) list.push_back(written(each));
    return list;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, std::string_view>) {
    return value;
  } else if constexpr (Counted<T>) {
    return value.value;
  } else {
    Json object = Json::object();
    MemberWriter writer{object};
    members(writer, value);
    return object;
  }
}

/// Reads each visited member from an object; the JsonReader keeps errors.
struct MemberReader {
  JsonReader& in;

  template <class T>
  void operator()(const char* key, T& value) {
    if constexpr (IsOptional<T>::value) {
      if (in.has(key)) (*this)(key, value.emplace());
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      read_large(key, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!in.has(key)) in.refuse(key, "is missing");
      value = in.flag(key, false);
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      (*this)(key, number);
      value = static_cast<T>(number);
    } else if constexpr (std::is_floating_point_v<T>) {
      value = in.number_if(key).value_or(0);
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      value = static_cast<T>(in.integer(key, Limits::min(), Limits::max()));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = in.text(key);
    } else if constexpr (std::is_same_v<T, std::vector<std::string_view>>) {
      read_functions(key, value);
    } else if constexpr (IsVector<T>::value) {
      if (!in.has(key)) in.refuse(key, "is missing");
      for (JsonReader& each : in.objects(key)) read_into(each, value.emplace_back());
    } else if constexpr (Counted<T>) {
      (*this)(key, value.value);
    } else {
      auto object = in.object_if(key);
      if (!object) return in.refuse(key, "is missing");
      read_into(*object, value);
    }
  }

 private:
  template <class T>
  static void read_into(JsonReader& object, T& value) {
    MemberReader reader{object};
    members(reader, value);
    object.done();
  }

  void read_large(const char* key, std::uint64_t& value) {
    using Limits = std::numeric_limits<std::int64_t>;
    value = static_cast<std::uint64_t>(in.integer(key, Limits::min(), Limits::max()));
  }

  void read_functions(const char* key, std::vector<std::string_view>& value) {
    for (const std::string& name : in.texts(key)) {
      const auto& known = nvml::optional_functions();
      const auto found = std::ranges::find(known, name);
      if (found == known.end())
        in.refuse(key, fmt::format("'{}' is not an optional function of NVML", shown(name)));
      if (found != known.end()) value.push_back(*found);
    }
  }
};

/// Reads the answer of this call from the entry's line.
template <class Answer>
AnyAnswer answer_from(JsonReader& in) {
  MemberReader reader{in};
  if constexpr (std::is_same_v<Answer, DriverFacts>) {
    DriverFacts facts;
    reader("answer", facts);
    return facts;
  } else {
    if (in.has("refusal")) {
      Refusal refusal;
      reader("refusal", refusal);
      return Answer(std::unexpected(std::move(refusal)));
    }
    using Value = typename Answer::value_type;
    if constexpr (std::is_void_v<Value>) {
      bool done = false;
      reader("answer", done);
      if (!done) in.refuse("answer", "what was done without a refusal is true");
      return Answer();
    } else {
      Value value{};
      reader("answer", value);
      return Answer(std::move(value));
    }
  }
}

/// The arguments of each call; a placement is optional, and so is an instance if the GPU may stand
/// for it.
enum Takes : unsigned {
  gpu_ = 1,
  instance_ = 2,
  compute_ = 4,
  profile_ = 8,
  placement_ = 16,
  enabled_ = 32,
  time_ = 64,
  counting_ = 128,
  maybe_instance_ = 256
};

struct CallRow {
  DoorCall call;
  const char* name;
  unsigned takes;
  AnyAnswer (*read)(JsonReader&);
};
template <class T>
constexpr auto of = &answer_from<DriverAnswer<T>>;

constexpr auto calls = std::to_array<CallRow>({
    {DoorCall::driver, "driver", 0, &answer_from<DriverFacts>},
    {DoorCall::gpu_count, "gpu_count", 0, of<std::uint32_t>},
    {DoorCall::gpu, "gpu", gpu_, of<GpuFacts>},
    {DoorCall::mig_mode, "mig_mode", gpu_, of<MigMode>},
    {DoorCall::set_mig_mode, "set_mig_mode", gpu_ | enabled_, of<nvml::Return>},
    {DoorCall::profiles, "profiles", gpu_, of<std::vector<DriverProfile>>},
    {DoorCall::placements, "placements", gpu_ | profile_, of<std::vector<Span>>},
    {DoorCall::remaining, "remaining", gpu_ | profile_, of<std::uint32_t>},
    {DoorCall::gpu_instances, "gpu_instances", gpu_, of<std::vector<LiveGpuInstance>>},
    {DoorCall::create_gpu_instance, "create_gpu_instance", gpu_ | profile_ | placement_,
     of<LiveGpuInstance>},
    {DoorCall::destroy_gpu_instance, "destroy_gpu_instance", gpu_ | instance_, of<void>},
    {DoorCall::compute_profiles, "compute_profiles", gpu_ | instance_,
     of<std::vector<DriverComputeProfile>>},
    {DoorCall::compute_instances, "compute_instances", gpu_ | instance_,
     of<std::vector<LiveComputeInstance>>},
    {DoorCall::create_compute_instance, "create_compute_instance",
     gpu_ | instance_ | profile_ | placement_, of<LiveComputeInstance>},
    {DoorCall::destroy_compute_instance, "destroy_compute_instance", gpu_ | instance_ | compute_,
     of<void>},
    {DoorCall::processes, "processes", gpu_, of<std::vector<LiveProcess>>},
    {DoorCall::gpu_memory, "gpu_memory", gpu_, of<MemoryUse>},
    {DoorCall::instance_memory, "instance_memory", gpu_ | instance_ | compute_, of<MemoryUse>},
    {DoorCall::power_milliwatts, "power_milliwatts", gpu_, of<std::uint32_t>},
    {DoorCall::power_limit_milliwatts, "power_limit_milliwatts", gpu_, of<std::uint32_t>},
    {DoorCall::energy_millijoules, "energy_millijoules", gpu_, of<std::uint64_t>},
    {DoorCall::busy_shares, "busy_shares", gpu_ | maybe_instance_ | counting_,
     of<std::optional<BusyShares>>},
    {DoorCall::health, "health", gpu_, of<GpuHealth>},
    {DoorCall::uncorrected_errors, "uncorrected_errors", gpu_ | instance_ | compute_,
     of<std::uint64_t>},
    {DoorCall::wait_event, "wait_event", time_, of<std::optional<GpuEvent>>},
});

const CallRow& row_of(DoorCall call) {
  return *std::ranges::find(calls, call, &CallRow::call);
}

/// Visits each argument of the call.
template <class Visit>
void arguments_of(unsigned takes, DoorArguments& arguments, Visit visit) {
  if ((takes & gpu_) != 0) visit("gpu", arguments.gpu);
  if ((takes & (instance_ | maybe_instance_)) != 0) visit("instance", arguments.instance);
  if ((takes & compute_) != 0) visit("compute", arguments.compute);
  if ((takes & profile_) != 0) visit("profile", arguments.profile);
  if ((takes & placement_) != 0) visit("placement", arguments.placement);
  if ((takes & enabled_) != 0) visit("enabled", arguments.enabled);
  if ((takes & time_) != 0) visit("at_most_ms", arguments.at_most_ms);
  if ((takes & counting_) != 0) visit("counting", arguments.counting);
}

template <class Answer>
void add_answer(Json& line, Answer& answer) {
  if constexpr (std::is_same_v<Answer, DriverFacts>) {
    line["answer"] = written(answer);
  } else if (!answer) {
    line["refusal"] = written(answer.error());
  } else if constexpr (std::is_void_v<typename Answer::value_type>) {
    line["answer"] = true;
  } else {
    MemberWriter{line}("answer", *answer);  // no event: no answer
  }
}

DoorEntry entry_from(JsonReader& in) {
  DoorEntry entry;
  const std::string name = in.text("call");
  const auto* row =
      std::ranges::find_if(calls, [&](const CallRow& each) { return each.name == name; });
  if (row == calls.end()) {
    in.refuse("call", fmt::format("there is no call '{}'", shown(name)));
    return entry;
  }
  entry.call = row->call;
  arguments_of(row->takes, entry.arguments, [&](const char* key, auto& argument) {
    const bool may_lack = std::string_view(key) == "placement" ||
                          (std::string_view(key) == "instance" && (row->takes & instance_) == 0);
    if (!may_lack && !in.has(key)) in.refuse(key, "is missing");
    MemberReader{in}(key, argument);
  });
  entry.answer = row->read(in);
  in.done();
  return entry;
}

/// Reads a recording line by line.
class RecordingText {
 public:
  RecordingText(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  Result<std::vector<DoorEntry>> read() {
    if (auto error = head()) return std::unexpected(std::move(*error));
    std::vector<DoorEntry> entries;
    for (;;) {
      const auto line = next();
      if (!line) return std::unexpected(line.error());
      std::optional<Error> error;
      JsonReader in(*line, here(), error);
      if (in.has("calls")) return ended(in, error, std::move(entries));
      DoorEntry entry = entry_from(in);
      if (error) return std::unexpected(std::move(*error));
      entry.line = line_;
      entries.push_back(std::move(entry));
    }
  }

 private:
  [[nodiscard]] std::string here() const { return fmt::format("{}: line {}", place_, line_); }

  Result<Json> next() {
    ++line_;
    const std::size_t end = text_.find('\n');
    if (end == std::string_view::npos)
      return fail(ErrorKind::bad_input, here(), "the recording ends in the middle",
                  "its last line says how many calls there were; record again");
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return parse_json_line(line, here());
  }

  std::optional<Error> head() {
    const auto line = next();
    if (!line) return line.error();
    std::optional<Error> error;
    JsonReader in(*line, here(), error);
    const std::string what = in.text("recording");
    in.integer("version", recording_version, recording_version);
    in.done();
    if (what != recording_of)
      in.refuse("recording", fmt::format("expected '{}', found '{}'", recording_of, shown(what)));
    return error;
  }

  Result<std::vector<DoorEntry>> ended(JsonReader& in, std::optional<Error>& error,
                                       std::vector<DoorEntry> entries) {
    const auto count = in.integer("calls", 0, std::numeric_limits<std::int64_t>::max());
    in.done();
    if (static_cast<std::uint64_t>(count) != entries.size())
      in.refuse("calls", fmt::format("says {}, and {} are there", count, entries.size()));
    if (!text_.empty()) in.refuse("", "there is text after the last line");
    if (error) return std::unexpected(std::move(*error));
    return entries;
  }

  std::string_view text_;
  std::string place_;
  std::size_t line_ = 0;
};

}  // namespace

Json recording_head() {
  return {{"recording", recording_of}, {"version", recording_version}};
}

Json recording_end(std::uint64_t count) {
  return {{"calls", count}};
}

Json call_json(DoorCall call, DoorArguments arguments) {
  const CallRow& row = row_of(call);
  Json line = {{"call", row.name}};
  arguments_of(row.takes, arguments, MemberWriter{line});
  return line;
}

Json entry_json(DoorEntry entry) {
  Json line = call_json(entry.call, entry.arguments);
  std::visit([&](auto& answer) { add_answer(line, answer); }, entry.answer);
  return line;
}

Result<std::vector<DoorEntry>> parse_recording(std::string_view text, const std::string& place) {
  return RecordingText(text, place).read();
}

}  // namespace cleave
