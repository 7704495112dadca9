#include "model/workload/job_reader.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock_text.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "model/job_array.hpp"
#include "model/job_fields.hpp"
#include "model/speed_table.hpp"
#include "model/start_order.hpp"
#include "model/workload/stated_details.hpp"
#include "model/workload/stated_kind.hpp"
#include "model/workload/stated_offload.hpp"
#include "model/workload/stated_speed.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_id = 1024;
constexpr std::size_t most_tasks = 1'000'000;  // that the arrays of a file make

Duration sum(const Phases& phases) {
  return phases.cpu + phases.transfer + phases.compute + phases.bandwidth;
}

Duration whole_time(const SliceLaw& law) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(time_on(law, 1)));
}

/// On the whole GPU under MIG; empty where nothing, or two things, say it.
std::optional<Duration> duration_of(JsonReader& in, std::optional<Duration> duration,
                                    const SpeedModel& speed) {
  if (duration && speed.phases) {
    in.refuse("", "a job has a duration_s or phases, not both", "phases add up to the duration");
    return std::nullopt;
  }
  if (duration) return duration;
  if (speed.phases) return sum(*speed.phases);
  if (speed.law) return whole_time(*speed.law);
  in.refuse("", "the key 'duration_s' is missing");
  return std::nullopt;
}

bool fits(const Request& request, const std::string& profile) {
  if (!request.fits) return true;
  const std::string_view bare = std::string_view(profile).substr(profile.rfind(':') + 1);
  return std::ranges::any_of(*request.fits, [&](std::string_view name) {
    return name == profile || name == bare || name.substr(name.rfind(':') + 1) == bare;
  });
}

/// Only the profiles of its table of speeds hold the job; the one that it asks for must be among
/// them.
void restrict_to_table(JsonReader& in, const SpeedModel& speed, Request& request) {
  if (!speed.table) return;
  request.fits = profiles_of(*speed.table, speed.complete);
  const auto* wanted = std::get_if<ByProfile>(&request.wanted);
  if (wanted != nullptr && !fits(request, wanted->profile))
    in.refuse("speed",
              fmt::format("the job asks for {}, on which its speed table says it does not fit",
                          wanted->profile),
              "add its speed there, or ask for another profile");
}

/// Two names of one thing, in workloads and in submissions; only one may be used.
void refuse_both(JsonReader& in, std::string_view key, std::string_view of_submissions) {
  if (in.has(key) && in.has(of_submissions))
    in.refuse(of_submissions, fmt::format("{} says the same", key), "leave one of the two out");
}

std::string read_name(JsonReader& in) {
  refuse_both(in, "id", "name");
  return in.has("name") ? in.text("name") : in.text("id");
}

std::optional<Duration> read_duration(JsonReader& in) {
  refuse_both(in, "duration_s", "expected_s");
  const char* key = in.has("expected_s") ? "expected_s" : "duration_s";
  const auto duration = in.seconds_if(key);
  if (duration && *duration == Duration::zero())
    in.refuse(key, "a job that takes no time runs nowhere",
              "give seconds above 0, such as 0.5, or leave the job out");
  return duration;
}

/// What submissions say to the daemon alone changes nothing here.
void pass_over(JsonReader& in, const FieldInfo& field) {
  if (field.kind == FieldKind::texts)
    (void)in.texts(field.key);
  else if (field.kind == FieldKind::integer)
    (void)in.integer_if(field.key, field.least, field.most);
  else if (field.kind == FieldKind::seconds)
    (void)in.seconds_if(field.key);
  else
    (void)in.text_if(field.key);
}

/// The fields that workloads have only where a submission is read as one.
const std::vector<const FieldInfo*>& fields_of_submissions_alone() {
  static const std::vector<const FieldInfo*> fields = [] {
    std::vector<const FieldInfo*> found;
    for (const JobField& field : job_fields())
      if (field.workload.empty()) found.push_back(submission_field(field));
    return found;
  }();
  return fields;
}

/// The number of the details in the workload; most jobs have none.
std::uint32_t add(Workload& workload, const JobDetails& details) {
  if (details == JobDetails()) return Job::none;
  workload.details.push_back(details);
  return static_cast<std::uint32_t>(workload.details.size() - 1);
}

/// Services end only with the run, and do not wait for what is before them.
void refuse_order(JsonReader& in, const StatedKind& kind, const JobDetails& details) {
  if (!kind.service || details.start == StartTerms()) return;
  in.refuse("service", "a service waits for no other job, and is no task of an array",
            "leave out after, array and task_of");
}

/// The replicas of a service are jobs of their own, and so are the tasks of an array.
std::vector<Job> jobs_of(const Job& job, const std::optional<ServiceTerms>& service,
                         const std::vector<std::int64_t>& tasks) {
  if (!tasks.empty()) {
    std::vector<Job> jobs(tasks.size(), job);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      jobs[i].id = fmt::format("{}_{}", job.id, tasks[i]);
    return jobs;
  }
  std::vector<Job> jobs(service ? service->replicas : 1, job);
  for (std::size_t i = 0; service && i < jobs.size(); ++i)
    jobs[i].id = fmt::format("{}.{}", job.id, i);
  return jobs;
}

/// What waits for itself, over others perhaps, never starts.
Result<void> refuse_circle(const Workload& workload, const JobsOrder& order,
                           const std::string& place) {
  const std::vector<std::uint32_t> circle = waiting_circle(order);
  if (circle.empty()) return {};
  std::vector<std::string> names;
  for (const std::uint32_t job : circle)
    names.push_back(fmt::format("'{}'", shown(workload.jobs[job].id)));
  return fail(
      ErrorKind::bad_input, fmt::format("{}: after", place),
      names.size() == 1
          ? fmt::format("the job {} waits for itself", names.front())
          : fmt::format(
                "the jobs {} wait for one another",
                fmt::join(names.begin(),
                          names.begin() + std::min<std::ptrdiff_t>(std::ssize(names), 5), ", ")),
      "leave out one of them");
}

}  // namespace

std::vector<std::int64_t> JobReader::read_array(JsonReader& in, const std::string& id,
                                                JobDetails& details) {
  const auto text = in.text_if("array");
  if (!text || text->empty()) return {};
  auto array = parse_array(*text);
  if (!array) {
    in.refuse("array", array.error().message, array.error().remedy);
    return {};
  }
  if (!details.start.task_of.empty())
    in.refuse("array", "the job is a task of another array", "leave out task_of");
  tasks_ += array->indices.size();
  if (tasks_ > most_tasks)
    in.refuse("array", fmt::format("the arrays of this file have more than {} tasks", most_tasks),
              "leave out some of them");
  details.start.task_of = id;
  details.start.at_once = array->at_once;
  return std::move(array->indices);
}

Arrivals JobReader::read_arrival(JsonReader& in, const Json& document, Job& job) const {
  const auto found = document.find("arrival_s");
  Arrivals written = Arrivals::seconds;
  if (found == document.end() || !found->is_string()) {
    job.arrival = Instant{} + in.seconds_if("arrival_s").value_or(Duration::zero());
  } else {
    const std::string text = in.text("arrival_s");
    const auto clock = parse_clock(trimmed(text));
    const auto since_1970 = clock ? duration_from_seconds(clock->seconds) : Result<Duration>{};
    if (!clock || !since_1970) {
      in.refuse("arrival_s", fmt::format("'{}' is not a time", shown(text)),
                "write seconds from the beginning of the workload, or a time such as "
                "2024-01-31T12:00:00 or 2024-01-31T12:00:00+01:00");
      return arrivals_;
    }
    job.arrival = Instant{} + *since_1970;
    written = clock->zoned ? Arrivals::zoned_clock : Arrivals::clock;
  }
  if (arrivals_ != Arrivals::unsaid && written != arrivals_)
    in.refuse("arrival_s", "the jobs before this one write arrivals in another way",
              "write seconds for all jobs, or times of day for all, with a zone or without");
  return written;
}

Result<void> JobReader::read(const Json& document, const std::string& place) {
  std::optional<Error> error;
  before_ = workload_.jobs.size();
  JsonReader in(document, place, error);
  Job job;
  job.id = read_name(in);
  const Arrivals arrivals = read_arrival(in, document, job);
  Request request = read_request(in, document, sizers_);
  SpeedModel speed = read_speed(in);
  const auto duration = read_duration(in);
  JobDetails details = read_details(in);
  const std::vector<std::int64_t> tasks = read_array(in, job.id, details);
  StatedKind kind = read_kind(in);
  refuse_order(in, kind, details);
  for (const FieldInfo* const field : fields_of_submissions_alone())
    if (in.has(field->key)) pass_over(in, *field);
  in.done();
  if (!fit_for_a_name(job.id)) in.refuse("id", "a job needs a name, without control characters");
  if (job.id.size() > longest_id)
    in.refuse("id", fmt::format("a name of {} bytes is too long", job.id.size()),
              fmt::format("at most {} are taken", longest_id));
  if (error) return std::unexpected(*error);
  if (kind.service) {
    kind.service->id = job.id;
    kind.service->runs_for = duration;  // by the clock, not by work
  } else {
    job.duration = duration_of(in, duration, speed).value_or(Duration::zero());
  }
  speed.offload = read_offload(in, request, details, job.duration);
  // A profile is what the job runs on; of a size, less may do.
  if (speed.offload && std::holds_alternative<BySize>(request.wanted))
    request.offload = speed.offload->most;
  restrict_to_table(in, speed, request);
  apply_kind(in, kind, request, speed, details);
  const std::vector<Job> jobs = jobs_of(job, kind.service, tasks);
  for (const Job& each : jobs)
    if (ids_.contains(workload_.jobs, each.id))
      in.refuse("id", fmt::format("there are two jobs named '{}'", shown(each.id)));
  if (error) return std::unexpected(*error);
  arrivals_ = arrivals;
  if (const auto busy = document.find("gpu_util"); busy != document.end() && busy->is_number()) {
    const auto percent = busy->get<double>();
    most_busy_ = std::max(most_busy_, percent);
    parts_of_percent_ = parts_of_percent_ || percent != std::round(percent);
  }
  const std::uint32_t asks = workload_.intern(request), runs = workload_.intern(speed);
  if (kind.service) {
    details.service = static_cast<std::uint32_t>(workload_.services.size());
    workload_.services.push_back(*kind.service);
  }
  const std::uint32_t says = add(workload_, details);
  for (Job each : jobs) {
    each.request = asks;
    each.speed = runs;
    each.details = says;
    admit(std::move(each));
  }
  return {};
}

void JobReader::admit(Job job) {
  workload_.jobs.push_back(std::move(job));
  ids_.insert(workload_.jobs, workload_.jobs.size() - 1);
  ++workload_.read;
}

bool JobReader::read_alike(std::string_view line) {
  if (alike_.empty() || arrivals_ != Arrivals::seconds || !take_apart(line, parts_)) return false;
  const auto found = alike_.find(parts_.rest);
  if (found == alike_.end()) return false;
  const auto arrival = duration_from_seconds(parts_.arrival_s);
  const auto duration = duration_from_seconds(parts_.duration_s);
  if (!arrival || !duration || *duration == Duration::zero() || parts_.id.empty() ||
      parts_.id.size() > longest_id || ids_.contains(workload_.jobs, parts_.id))
    return false;
  Job job;
  job.id = parts_.id;
  job.arrival = Instant{} + *arrival;
  job.duration = *duration;
  job.request = found->second.request;
  job.speed = found->second.speed;
  admit(std::move(job));
  return true;
}

/// Only where nothing but the three values depends on them: one job, of which no more is said, and
/// whose speed is none that is worked out from the time it takes.
void JobReader::remember(std::string_view line) {
  if (workload_.jobs.size() != before_ + 1 || alike_.size() >= most_alike) return;
  const Job& job = workload_.jobs.back();
  const SpeedModel& speed = workload_.speeds[job.speed];
  if (job.details != Job::none || speed.phases || speed.law || speed.offload ||
      workload_.requests[job.request].offload || !take_apart(line, parts_))
    return;
  alike_.try_emplace(parts_.rest, Alike{job.request, job.speed});
}

Result<Workload> JobReader::finish(const std::string& place) && {
  if (parts_of_percent_ && most_busy_ <= 1)
    return fail(ErrorKind::bad_input, place, "no gpu_util is above 1, as if they were shares",
                "gpu_util is in percent: write 50 for half of the time");
  const bool by_clock = arrivals_ == Arrivals::clock || arrivals_ == Arrivals::zoned_clock;
  if (by_clock) {
    const Duration first =
        std::ranges::min_element(workload_.jobs, {}, &Job::arrival)->arrival.time_since_epoch();
    for (Job& job : workload_.jobs) job.arrival -= first;
  }
  const JobsOrder order = start_order_of(workload_);
  if (const auto possible = refuse_circle(workload_, order, place); !possible)
    return std::unexpected(possible.error());
  if (order.elsewhere > 0) workload_.notes["awaited_elsewhere"] = order.elsewhere;
  return std::move(workload_);
}

}  // namespace cleave
