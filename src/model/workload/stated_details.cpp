#include "model/workload/stated_details.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/host_share.hpp"
#include "model/job_array.hpp"
#include "model/start_order.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_iterations = 1'000'000'000'000;
constexpr std::int64_t most_tokens = 1'000'000'000'000;
constexpr double most_touches = 1e12;

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

/// What it keeps when it is moved, stopped or lost.
void read_progress(JsonReader& in, JobDetails& details) {
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

void check_touches(JsonReader& in, const JobDetails& details) {
  const auto touches = details.offload_touches;
  if (!touches) return;
  const char* const what = "offload_touches";
  if (!(*touches >= 0 && *touches <= most_touches))
    in.refuse(what, "this is how often all that is on the host crosses the link",
              fmt::format("give a number from 0 to {}", most_touches));
  if (!details.offload)
    in.refuse(what, "this belongs to memory that the job can keep on the host",
              "give offload_mib too");
  if (details.growth)
    in.refuse(what, "a job whose memory grows does not offload", "leave out one of the two");
}

/// What it waits for beside its place.
StartTerms read_start(JsonReader& in) {
  StartTerms start;
  start.after = in.texts("after");
  for (const std::string& each : start.after)
    if (!parse_awaited(each))
      in.refuse("after", fmt::format("'{}' does not say how a job must have ended", shown(each)),
                "write ok:ID, failed:ID or any:ID, with the id of a job or of an array");
  if (start.after.size() > static_cast<std::size_t>(most_jobs_named))
    in.refuse("after", "these are too many jobs", fmt::format("name at most {}", most_jobs_named));
  if (const auto array = in.text_if("task_of")) {
    start.task_of = *array;
    if (array->empty()) in.refuse("task_of", "the name is empty", "leave the key out");
  }
  start.at_once = in.integer_if("at_once", 1, most_array_tasks).value_or(0);
  if (start.at_once > 0 && start.task_of.empty())
    in.refuse("at_once", "this job is a task of no array", "name the array in task_of");
  return start;
}

}  // namespace

JobDetails read_details(JsonReader& in) {
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
  details.offload_touches = in.number_if("offload_touches");
  details.host_memory = in.size_if("host_memory_mib");
  details.cpus = in.number_if("cpus");
  if (details.cpus && !(*details.cpus >= 0 && *details.cpus <= most_cpus))
    in.refuse("cpus", "this is no number of CPUs", "give a number from 0 to a million");
  if (auto growth = in.object_if("memory")) {
    const auto size = [&](std::string_view key) { return growth->size_if(key).value_or(MiB{0}); };
    details.growth = MemoryGrowth{size("base_mib"), size("per_iteration_mib"), size("noise_mib"),
                                  growth->integer("iterations", 1, most_iterations)};
    read_requests(*growth, *details.growth);
    growth->done();
  }
  details.start = read_start(in);
  check_touches(in, details);
  return details;
}

}  // namespace cleave
