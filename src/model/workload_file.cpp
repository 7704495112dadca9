#include "model/workload_file.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/overloads.hpp"
#include "base/text.hpp"
#include "model/profile_set.hpp"
#include "model/speed_table.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_iterations = 1'000'000'000'000;
/// A relative speed above this is a mistake, such as a time or a percentage.
constexpr double fastest = 1000;
constexpr double most_power_factor = 10;
/// Of the two parts of a job's law; together they stay below the longest time.
constexpr double longest_part_s = 1e9;
constexpr double most_overlap = 100;
constexpr double most_touches = 1e12;
constexpr std::int64_t most_tokens = 1'000'000'000'000;

bool some_gpu_has(std::string_view profile) {
  for (const GpuModel& model : gpu_models())
    for (const Profile& known : model.profiles)
      if (means_profile(profile, model, known)) return true;
  return false;
}

bool is_mig_off(std::string_view column) {
  return column.substr(column.rfind(':') + 1) == mig_off;
}

/// A column of a table of speeds as it is stored: PROFILE or MODEL:PROFILE with the model's key,
/// where the profile `none` means MIG off. Empty if no known GPU has it.
std::optional<std::string> known_column(const std::string& column) {
  if (!is_mig_off(column) && !some_gpu_has(column)) return std::nullopt;
  const std::size_t colon = column.rfind(':');
  if (colon == std::string::npos) return column;
  const auto model = find_gpu_model(column.substr(0, colon));
  if (!model) return std::nullopt;
  return fmt::format("{}:{}", (*model)->key, column.substr(colon + 1));
}

/// What a growing job requests of its allocator, and its context.
void read_requests(JsonReader& in, MemoryGrowth& growth) {
  const auto within = [&](std::string_view key, double otherwise, double least, double most) {
    const double value = in.number_if(key).value_or(otherwise);
    if (value >= least && value <= most) return value;
    in.refuse(key, fmt::format("{} is out of bounds", value),
              fmt::format("give a number from {} to {}", least, most));
    return otherwise;
  };
  growth.reuse_ratio = within("reuse_ratio", 1, least_reuse_ratio, most_reuse_ratio);
  growth.reuse_noise = within("reuse_noise", 0, 0, most_reuse_noise);
  growth.context = in.size_if("context_mib");
}

class WorkloadReader {
 public:
  WorkloadReader(std::optional<Error>& error, const ModelSizer& sizer, const KernelSizer& kernels)
      : error_(&error), sizer_(&sizer), kernels_(&kernels) {}

  void read(JsonReader& in) {
    Job job;
    job.id = in.text("id");
    job.arrival = Instant{} + in.seconds_if("arrival_s").value_or(Duration::zero());
    Request request = read_request(in);
    SpeedModel speed = read_speed(in);
    const auto duration = in.seconds_if("duration_s");
    job.details = read_details(in);
    const auto offload = read_offload(in, job, request);
    in.done();
    if (error_->has_value()) return;
    if (!fit_for_a_name(job.id))
      return in.refuse("id", "a job needs a name, without control characters");
    if (duration && speed.phases)
      return in.refuse("", "a job has a duration_s or phases, not both",
                       "phases add up to the duration");
    if (!duration && !speed.phases && !speed.law)
      return in.refuse("", "the key 'duration_s' is missing");
    job.duration = duration       ? *duration
                   : speed.phases ? sum(*speed.phases)
                                  : whole_time(*speed.law);
    if (speed.table) {
      request.fits = profiles_of(*speed.table, speed.complete);
    }
    if (offload) {
      // A profile is what the job runs on; of a size, less may do.
      if (std::holds_alternative<BySize>(request.wanted)) request.offload = offload->most;
      speed.offload = per_second(*offload, job.duration);
    }
    if (const auto* wanted = std::get_if<ByProfile>(&request.wanted);
        wanted != nullptr && !fits(request, wanted->profile))
      return in.refuse(
          "speed",
          fmt::format("the job asks for {}, on which its speed table says it does not fit",
                      wanted->profile),
          "add its speed there, or ask for another profile");
    if (!ids_.insert(job.id).second)
      return in.refuse("id", fmt::format("there are two jobs named '{}'", shown(job.id)));
    job.request = workload.intern(request);
    job.speed = workload.intern(speed);
    workload.jobs.push_back(std::move(job));
    ++workload.read;
  }

  Workload workload;

 private:
  static Duration sum(const Phases& phases) {
    return phases.cpu + phases.transfer + phases.compute + phases.bandwidth;
  }

  static Duration whole_time(const SliceLaw& law) {
    return std::chrono::round<Duration>(std::chrono::duration<double>(time_on(law, 1)));
  }

  static bool fits(const Request& request, const std::string& profile) {
    if (!request.fits) return true;
    const std::string_view bare = std::string_view(profile).substr(profile.rfind(':') + 1);
    return std::ranges::any_of(*request.fits, [&](std::string_view name) {
      return name == profile || name == bare || name.substr(name.rfind(':') + 1) == bare;
    });
  }

  Request read_request(JsonReader& in) {
    Request request{Unknown{}, {}};
    const auto profile = in.text_if("profile");
    const auto asked = in.size_if("memory_mib");
    const auto sized = size_of_model(in);
    if (asked && sized) in.refuse("", "a job has a shape or memory_mib, not both");
    if (profile && sized) in.refuse("", "a job has a shape or a profile, not both");
    const auto memory = sized ? sized : asked;
    const auto compute = in.integer_if("compute_slices", 0, 99);
    if (profile && memory) in.refuse("", "a request names a profile or a size, not both");
    if (compute && !memory)
      in.refuse("compute_slices", "compute slices are asked for together with memory_mib or shape");
    if (profile) {
      if (!some_gpu_has(*profile))
        in.refuse("profile", fmt::format("no known GPU has a profile '{}'", shown(*profile)),
                  "`cleave gpu MODEL` lists a model's profiles");
      request.wanted = ByProfile{*profile};
    } else if (memory) {
      request.wanted = BySize{*memory, {static_cast<int>(compute.value_or(0))}};
    }
    if (auto kernel = in.object_if("kernel")) read_kernel(in, *kernel, request);
    return request;
  }

  /// Raises the compute of the request to what the job's kernel needs.
  void read_kernel(JsonReader& job, JsonReader& in, Request& request) {
    auto* const size = std::get_if<BySize>(&request.wanted);
    if (size == nullptr)
      return job.refuse("kernel", "a kernel says how much compute is asked for beside a size",
                        "give memory_mib or shape too");
    StatedKernel kernel;
    const auto sizes = [&](const char* key) {
      if (in.has(key)) return in.integers(key, 1, most_kernel_size);
      in.refuse("", fmt::format("the key '{}' is missing", key),
                "give grid and threads, each with one to three sizes");
      return std::vector<std::int64_t>{};
    };
    kernel.grid = sizes("grid");
    kernel.threads = sizes("threads");
    kernel.registers = in.integer_if("registers", 0, 255).value_or(0);
    kernel.shared_bytes = in.integer_if("shared_bytes", 0, most_kernel_size).value_or(0);
    if (const auto wrong = wrong_dimensions(kernel))
      in.refuse(*wrong, std::string(wrong_dimensions_text));
    in.done();
    if (*error_) return;
    if (!*kernels_) return job.refuse("kernel", "no GPU model is known here to fit a kernel to");
    const auto slices = (*kernels_)(use_of(kernel));
    if (!slices)
      job.refuse("kernel", slices.error().message, slices.error().remedy);
    else
      size->compute = std::max(size->compute, *slices);
  }

  /// The memory of the job's model, if it names one.
  std::optional<MiB> size_of_model(JsonReader& in) {
    const auto shape = in.text_if("shape");
    if (!shape) {
      for (const char* key : {"context", "precision", "train"})
        if (in.has(key)) in.refuse(key, "this belongs to a job's model", "give its shape too");
      return std::nullopt;
    }
    ModelUse use;
    use.shape = *shape;
    use.precision = in.text_if("precision").value_or("");
    use.batch = in.integer_if("batch", 1, INT32_MAX).value_or(1);
    use.context = in.integer_if("context", 1, INT32_MAX).value_or(0);
    use.train = in.flag("train", false);
    if (error_->has_value()) return std::nullopt;
    if (!*sizer_) {
      in.refuse("shape", "models' files are not opened here", "give profile or memory_mib");
      return std::nullopt;
    }
    const auto size = (*sizer_)(use);
    if (size) return *size;
    in.refuse("shape", size.error().text(), "`cleave forecast model` shows what a model takes");
    return std::nullopt;
  }

  static SliceLaw read_law(JsonReader& in) {
    const auto part = [&](std::string_view key) {
      const auto given = in.number_if(key);
      if (!given) in.refuse("", fmt::format("the key '{}' is missing", key), "either may be 0");
      if (given && !(*given >= 0 && *given <= longest_part_s))
        in.refuse(key, fmt::format("a part of {} s is not possible", *given),
                  "give the seconds of the two parts on the whole GPU");
      return given.value_or(0);
    };
    const SliceLaw law{part("a_s"), part("w_s"), in.number_if("p").value_or(job_overlap)};
    if (!(law.overlap >= 1 && law.overlap <= most_overlap))
      in.refuse("p", fmt::format("an exponent of {} is not possible", law.overlap),
                fmt::format("1 adds the parts up; without p it is {}", job_overlap));
    if (law.fixed == 0 && law.bound == 0)
      in.refuse("", "a_s and w_s are both 0", "at least one part takes time");
    in.done();
    return law;
  }

  static void read_table(JsonReader& in, JsonReader& table, SpeedModel& speed) {
    speed.table.emplace();
    speed.complete = table.flag("complete", false);
    for (const auto& [profile, relative] : table.numbers()) {
      if (!(relative > 0 && relative <= fastest))
        table.refuse(profile, fmt::format("a speed of {} is not possible", relative),
                     "speeds are relative to the largest profile, which has 1");
      const auto known = known_column(profile);
      if (!known)
        table.refuse(profile, "no known GPU has this profile",
                     "`cleave gpu MODEL` lists a model's profiles; none is MIG off");
      if (known && !speed.table->emplace(*known, relative).second)
        table.refuse(profile, "this profile occurs twice in the table", "keep one of the two");
    }
    if (speed.table->empty()) in.refuse("speed", "the table of speeds is empty");
    if (speed.complete && profiles_of(*speed.table, true) == profiles_of(*speed.table, false))
      table.refuse("complete", "nothing can be completed from these profiles",
                   "list two profiles of a GPU model that differ in compute slices");
  }

  SpeedModel read_speed(JsonReader& in) {
    SpeedModel speed;
    if (auto table = in.object_if("speed")) read_table(in, *table, speed);
    if (auto law = in.object_if("law")) speed.law = read_law(*law);
    if (auto phases = in.object_if("phases")) {
      // At most a quarter of the longest time each, so that the sum stays below it.
      const auto time = [&](std::string_view key) {
        const Duration each = phases->seconds_if(key).value_or(Duration::zero());
        if (each > longest_duration / 4)
          phases->refuse(key, "a phase must be at most 25 years",
                         "give seconds, not milliseconds or a date");
        return std::min(each, longest_duration / 4);
      };
      speed.phases =
          Phases{time("cpu_s"), time("transfer_s"), time("compute_s"), time("bandwidth_s")};
      phases->done();
    }
    if (speed.table && speed.phases)
      in.refuse("", "a job has a table of speeds or phases, not both");
    if (speed.law && (speed.table || speed.phases))
      in.refuse("law", "a job has a law or a table of speeds or phases, not both");
    read_demands(in, speed);
    if (const auto reference = in.text_if("reference_model")) {
      const auto model = find_gpu_model(*reference);
      if (!model) in.refuse("reference_model", model.error().message, model.error().remedy);
      if (model) speed.reference = *model;
    }
    return speed;
  }

  /// What it takes from what the instances of a GPU share.
  static void read_demands(JsonReader& in, SpeedModel& speed) {
    if (const auto share = in.number_if("transfer_share")) {
      speed.transfer_share = *share;
      if (!(*share >= 0 && *share <= 1))
        in.refuse("transfer_share", "this is a share of the job's time on the whole GPU",
                  "give a number from 0 to 1");
      if (speed.phases)
        in.refuse("transfer_share", "phases say how long the job transfers", "leave it out");
      for (const auto& [profile, relative] : speed.table.value_or(SpeedTable{}))
        if (relative * *share > 1)
          in.refuse("transfer_share",
                    fmt::format("on {} the job is faster than its transfers alone", shown(profile)),
                    "lower the share or correct the speed");
    }
    if (const auto factor = in.number_if("power_factor")) {
      speed.kappa = *factor;
      if (!(*factor >= 0 && *factor <= most_power_factor))
        in.refuse("power_factor",
                  "this is what the job draws relative to work that keeps a GPU at its cap",
                  fmt::format("give a number from 0 to {}", most_power_factor));
    }
  }

  /// What the job may leave on the host; the touches are those of all its work.
  std::optional<Offload> read_offload(JsonReader& in, const Job& job, const Request& request) {
    const auto touches = in.number_if("offload_touches");
    if (!touches) return std::nullopt;
    const JobDetails* details = workload.details_of(job);
    const std::optional<MiB> memory = memory_with(in, request, details);
    const char* const what = "offload_touches";
    if (!(*touches >= 0 && *touches <= most_touches))
      in.refuse(what, "this is how often all that is on the host crosses the link",
                fmt::format("give a number from 0 to {}", most_touches));
    if (details == nullptr || !details->offload)
      in.refuse(what, "this belongs to memory that the job can keep on the host",
                "give offload_mib too");
    if (details != nullptr && details->growth)
      in.refuse(what, "a job whose memory grows does not offload", "leave out one of the two");
    if (error_->has_value()) return std::nullopt;
    workload.details[job.details].offload_touches = touches;
    if (*details->offload == MiB{0}) return std::nullopt;
    return Offload{*memory, std::min(*details->offload, *memory), *touches};
  }

  /// The memory of a job that offloads: what it asks for or, where it asks for a profile, what that
  /// has and what does not fit there.
  static std::optional<MiB> memory_with(JsonReader& in, const Request& request,
                                        const JobDetails* details) {
    if (const auto* size = std::get_if<BySize>(&request.wanted)) return size->memory;
    const auto* profile = std::get_if<ByProfile>(&request.wanted);
    const auto usable = profile != nullptr ? usable_of(profile->profile) : std::nullopt;
    if (!usable) {
      in.refuse("offload_touches", "how much does not fit on the GPU follows from the memory",
                "give memory_mib or shape, or a profile of one GPU model: MODEL:NAME");
      return std::nullopt;
    }
    return *usable + (details != nullptr ? details->offload.value_or(MiB{0}) : MiB{0});
  }

  /// What programs can use of a profile; nullopt where models that have it differ, or nobody knows.
  static std::optional<MiB> usable_of(std::string_view name) {
    std::optional<MiB> usable;
    const std::size_t colon = name.rfind(':');
    for (const GpuModel& model : gpu_models()) {
      if (colon != std::string_view::npos && model.key != name.substr(0, colon)) continue;
      const Profile* profile =
          model.find(colon == std::string_view::npos ? name : name.substr(colon + 1));
      if (profile == nullptr) continue;
      if (!profile->usable || (usable && *usable != *profile->usable)) return std::nullopt;
      usable = profile->usable;
    }
    return usable;
  }

  /// Work that takes no time crosses no link.
  static Offload per_second(Offload offload, Duration duration) {
    const double seconds = in_seconds(duration);
    offload.touches_per_s = seconds > 0 ? offload.touches_per_s / seconds : 0;
    return offload;
  }

  std::uint32_t read_details(JsonReader& in) {
    JobDetails details;
    details.deadline = in.seconds_if("deadline_s");
    details.priority = in.integer_if("priority", INT32_MIN, INT32_MAX).value_or(0);
    details.batch = in.integer_if("batch", 1, INT32_MAX);
    if (in.has("restartable")) details.restartable = in.flag("restartable", false);
    if (in.has("movable")) details.movable = in.flag("movable", false);
    read_progress(in, details);
    details.application = in.text_if("application");
    details.user = in.text_if("user");
    if (details.user && details.user->empty())
      in.refuse("user", "the name is empty", "name a user, or leave the key out");
    details.account = in.text_if("account");
    if (details.account && details.account->empty())
      in.refuse("account", "the name is empty", "name an account, or leave the key out");
    details.latency = in.seconds_if("latency_s");
    details.output_tokens = in.integer_if("output_tokens", 1, most_tokens);
    details.fails_after = in.number_if("fails_after");
    if (details.fails_after && !(*details.fails_after >= 0 && *details.fails_after < 1))
      in.refuse("fails_after", "this is the share of its work after which the job fails",
                "give a number from 0 to below 1");
    details.offload = in.size_if("offload_mib");
    details.host_memory = in.size_if("host_memory_mib");
    details.cpus = in.number_if("cpus");
    if (auto growth = in.object_if("memory")) {
      const auto size = [&](std::string_view key) { return growth->size_if(key).value_or(MiB{0}); };
      details.growth = MemoryGrowth{size("base_mib"), size("per_iteration_mib"), size("noise_mib"),
                                    growth->integer("iterations", 1, most_iterations)};
      read_requests(*growth, *details.growth);
      growth->done();
    }
    const bool anything = details.deadline || details.growth || details.batch || details.offload ||
                          details.host_memory || details.cpus || details.priority != 0 ||
                          details.restartable || details.movable ||
                          details.keeps != Keeps::unsaid || details.application || details.user ||
                          details.latency || details.fails_after || details.output_tokens;
    if (!anything) return Job::none;
    workload.details.push_back(details);
    return static_cast<std::uint32_t>(workload.details.size() - 1);
  }

  /// What it keeps when it is moved, stopped or lost.
  static void read_progress(JsonReader& in, JobDetails& details) {
    if (const auto word = in.text_if("progress")) {
      if (const auto keeps = parse_keeps(*word))
        details.keeps = *keeps;
      else
        in.refuse("progress", fmt::format("'{}' is not a kind of progress", shown(*word)),
                  "write stateless, checkpoint or none");
    }
    details.checkpoint_every = in.seconds_if("checkpoint_every_s");
    if (!details.checkpoint_every) return;
    if (details.keeps != Keeps::checkpoint)
      in.refuse("checkpoint_every_s", "this job does not write checkpoints",
                "add \"progress\": \"checkpoint\"");
    if (*details.checkpoint_every <= Duration::zero())
      in.refuse("checkpoint_every_s", "this is the time from one checkpoint to the next",
                "give seconds, more than 0");
  }

  std::optional<Error>* error_;
  const ModelSizer* sizer_;
  const KernelSizer* kernels_;
  std::unordered_set<std::string> ids_;
};

Result<Workload> finished(Workload workload, const std::string& place) {
  if (workload.jobs.empty())
    return fail(ErrorKind::bad_input, place, "the workload has no jobs", "is it the right file?");
  workload.sort();
  return workload;
}

Result<Workload> parse_lines(std::string_view text, const std::string& place,
                             const ModelSizer& sizer, const KernelSizer& kernels) {
  std::optional<Error> error;
  WorkloadReader reader(error, sizer, kernels);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::string here = fmt::format("{}:{}", place, number);
    auto document = parse_json(line, here);
    if (!document) {
      // A file that begins in another way is another kind of file.
      if (reader.workload.jobs.empty())
        document.error().remedy = "a workload is CSV with a header, or one JSON object a line";
      return std::unexpected(document.error());
    }
    JsonReader in(*document, here, error);
    reader.read(in);
    if (error) return std::unexpected(*error);
  }
  return finished(std::move(reader.workload), place);
}

/// A cell as JSON: columns of text stay text, others are numbers, true, false or objects.
Json cell_value(std::string_view column, const std::string& cell) {
  constexpr std::array texts = {"id",          "profile",  "shape", "precision", "reference_model",
                                "application", "progress", "user",  "account"};
  if (std::ranges::find(texts, column) != texts.end()) return cell;
  auto value = parse_json(cell, "cell");
  return value ? *value : Json(cell);
}

Result<Workload> parse_table(std::string_view text, const std::string& place,
                             const ModelSizer& sizer, const KernelSizer& kernels) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  if (std::ranges::none_of(csv->columns(), [](const auto& name) { return trimmed(name) == "id"; }))
    return fail(ErrorKind::bad_input, fmt::format("{}:1", place),
                "this is not a workload: its first line names no column 'id'",
                "write CSV with a header, or one JSON object a line");
  std::optional<Error> error;
  WorkloadReader reader(error, sizer, kernels);
  std::vector<std::string> cells;
  while (true) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!trimmed(cells[i]).empty())
        row[std::string(trimmed(csv->columns()[i]))] =
            cell_value(trimmed(csv->columns()[i]), std::string(trimmed(cells[i])));
    JsonReader in(row, csv->place(), error);
    reader.read(in);
    if (error) return std::unexpected(*error);
  }
  return finished(std::move(reader.workload), place);
}

void write_details(Json& line, const JobDetails& details) {
  if (details.deadline) line["deadline_s"] = in_seconds(*details.deadline);
  if (details.priority != 0) line["priority"] = details.priority;
  if (details.batch) line["batch"] = *details.batch;
  if (details.restartable) line["restartable"] = *details.restartable;
  if (details.movable) line["movable"] = *details.movable;
  if (details.keeps != Keeps::unsaid) line["progress"] = name(details.keeps);
  if (details.checkpoint_every) line["checkpoint_every_s"] = in_seconds(*details.checkpoint_every);
  if (details.application) line["application"] = *details.application;
  if (details.user) line["user"] = *details.user;
  if (details.account) line["account"] = *details.account;
  if (details.latency) line["latency_s"] = in_seconds(*details.latency);
  if (details.fails_after) line["fails_after"] = *details.fails_after;
  if (details.output_tokens) line["output_tokens"] = *details.output_tokens;
  if (details.offload) line["offload_mib"] = details.offload->value;
  if (details.offload_touches) line["offload_touches"] = *details.offload_touches;
  if (details.host_memory) line["host_memory_mib"] = details.host_memory->value;
  if (details.cpus) line["cpus"] = *details.cpus;
  if (details.growth)
    line["memory"] = {{"base_mib", details.growth->base.value},
                      {"per_iteration_mib", details.growth->per_iteration.value},
                      {"noise_mib", details.growth->noise.value},
                      {"iterations", details.growth->iterations}};
  if (!details.growth) return;
  const MemoryGrowth& growth = *details.growth;
  if (growth.reuse_ratio != 1) line["memory"]["reuse_ratio"] = growth.reuse_ratio;
  if (growth.reuse_noise != 0) line["memory"]["reuse_noise"] = growth.reuse_noise;
  if (growth.context) line["memory"]["context_mib"] = growth.context->value;
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, const std::string& place,
                                const ModelSizer& sizer, const KernelSizer& kernels) {
  const std::string_view content = without_byte_order_mark(text);
  if (trimmed(content).starts_with('['))
    return fail(ErrorKind::bad_input, place, "this is one JSON list",
                "write one JSON object a line, without a list around them");
  return trimmed(content).starts_with('{') ? parse_lines(content, place, sizer, kernels)
                                           : parse_table(content, place, sizer, kernels);
}

std::string workload_text(const Workload& workload) {
  std::string lines;
  for (const Job& job : workload.jobs) {
    const Request& request = workload.requests[job.request];
    const SpeedModel& speed = workload.speeds[job.speed];
    Json line{{"id", job.id}, {"arrival_s", in_seconds(job.arrival.time_since_epoch())}};
    std::visit(Overloads{[&](const ByProfile& wanted) { line["profile"] = wanted.profile; },
                         [&](const BySize& size) {
                           line["memory_mib"] = size.memory.value;
                           if (size.compute.value > 0) line["compute_slices"] = size.compute.value;
                         },
                         [](const ByShare&) {}, [](const Unknown&) {},  // not in the format
                         [](const WholeGpu&) {}},
               request.wanted);
    if (speed.transfer_share > 0) line["transfer_share"] = speed.transfer_share;
    if (speed.kappa != 1) line["power_factor"] = speed.kappa;
    if (speed.phases) {
      const Phases& p = *speed.phases;
      line["phases"] = {{"cpu_s", in_seconds(p.cpu)},
                        {"transfer_s", in_seconds(p.transfer)},
                        {"compute_s", in_seconds(p.compute)},
                        {"bandwidth_s", in_seconds(p.bandwidth)}};
    } else {
      line["duration_s"] = in_seconds(job.duration);
    }
    if (speed.table) {
      line["speed"] = *speed.table;
      if (speed.complete) line["speed"]["complete"] = true;
    }
    if (speed.law) {
      line["law"] = {{"a_s", speed.law->fixed}, {"w_s", speed.law->bound}};
      if (speed.law->overlap != job_overlap) line["law"]["p"] = speed.law->overlap;
    }
    if (speed.reference != nullptr) line["reference_model"] = speed.reference->key;
    if (const JobDetails* details = workload.details_of(job)) write_details(line, *details);
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace cleave
