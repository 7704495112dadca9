#include "daemon/service/submission.hpp"

#include <csignal>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr const char* document_name = "submission";
constexpr int most_slices = 64;
constexpr std::int64_t most_retries = 1000;
constexpr Duration longest_grace = std::chrono::hours(24);

std::unexpected<Error> wrong_key(const char* key, std::string message, std::string remedy = {}) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", document_name, key), std::move(message),
              std::move(remedy));
}

Result<void> check_job_name(const std::optional<std::string>& text, const char* key) {
  if (!text || text->empty()) return {};
  if (text->size() > longest_job_name)
    return wrong_key(key, fmt::format("it has {} bytes, and {} at most are taken", text->size(),
                                      longest_job_name));
  if (!valid_utf8(*text) || !fit_for_a_name(*text))
    return wrong_key(key, fmt::format("'{}' has control characters", shown(*text)));
  // Commands take a job by number or by name.
  if (parse_integer(*text))
    return wrong_key(key, fmt::format("'{}' is a number", shown(*text)), "call it otherwise");
  if (trimmed(*text).empty()) return wrong_key(key, "it has blanks only", "call it otherwise");
  return {};
}

std::string size_in_words(MiB memory) {
  if (memory.value % 1024 == 0) return fmt::format("{} GiB", memory.value / 1024);
  if (memory.value >= 1024)
    return fmt::format("{:.1f} GiB", static_cast<double>(memory.value) / 1024);
  return fmt::format("{} MiB", memory.value);
}

Result<void> check_memory(MiB memory, const char* key) {
  if (memory.value < 1 || memory.value > most_job_memory_mib)
    return wrong_key(key, fmt::format("expected 1 to {} MiB", most_job_memory_mib));
  return {};
}

Result<void> put_request(const ApiSubmission& from, JobSpec& spec) {
  spec.request.wanted = Unknown{};
  spec.asked = "nothing";
  if (from.profile) {
    if (from.profile->empty()) return wrong_key("profile", "it is empty");
    spec.request.wanted = ByProfile{*from.profile};
    spec.asked = *from.profile;
  }
  if (from.memory) {
    if (const auto fine = check_memory(*from.memory, "memory_mib"); !fine) return fine;
    const ComputeSlices slices = from.compute_slices.value_or(ComputeSlices{0});
    if (slices.value > most_slices)
      return wrong_key("compute_slices", fmt::format("no GPU has more than {}", most_slices));
    spec.request.wanted = BySize{*from.memory, slices};
    spec.asked = size_in_words(*from.memory);
    if (slices.value > 0)
      spec.asked +=
          fmt::format(" with {}", counted(static_cast<std::size_t>(slices.value), "compute slice"));
  }
  if (from.model) {
    if (const auto fine = check_memory(from.model->memory, "model.memory_mib"); !fine) return fine;
    spec.request.wanted = BySize{from.model->memory, ComputeSlices{0}};
    spec.asked = fmt::format("{}: {}", from.model->name.empty() ? "model" : from.model->name,
                             size_in_words(from.model->memory));
  }
  return {};
}

Result<void> check_numbers(const ApiSubmission& from) {
  if (from.retries < 0 || from.retries > most_retries)
    return wrong_key("retries", fmt::format("expected 0 to {}", most_retries));
  const int checkpoint = from.checkpoint_signal.value_or(0);
  if (checkpoint == SIGKILL || checkpoint == SIGSTOP)
    return wrong_key("checkpoint_signal", "no program hears this signal", "USR1 is 10, USR2 is 12");
  if (from.checkpoint_grace && *from.checkpoint_grace > longest_grace)
    return wrong_key("checkpoint_grace_s", "it is longer than a day");
  if (from.expected && *from.expected <= Duration::zero())
    return wrong_key("expected_s", "it must be above zero");
  return {};
}

/// As the supervisor will, with the parts of a launch that are not known yet made up.
Result<void> check_command(const JobCommand& command, const JobSpec& spec, const JobOwner& owner) {
  Launch launch;
  launch.key = {1, 1};
  launch.uid = owner.uid;
  launch.gid = owner.gid;
  launch.groups = owner.groups;
  launch.argv = command.argv;
  launch.environment = command.environment;
  launch.working_directory = command.working_directory;
  launch.stop_grace = spec.stop_grace;
  return check_launch(launch, document_name);
}

Duration whole_milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

}  // namespace

Result<NewJob> new_job(ApiSubmission from, JobOwner owner) {
  for (const auto& [text, key] :
       {std::pair(&from.name, "name"), std::pair(&from.profile, "profile"),
        std::pair(&from.application, "application")})
    if (const auto fine = check_job_name(*text, key); !fine) return std::unexpected(fine.error());
  if (from.model)
    if (const auto fine = check_job_name(from.model->name, "model.name"); !fine)
      return std::unexpected(fine.error());
  if (const auto fine = check_numbers(from); !fine) return std::unexpected(fine.error());
  NewJob job;
  JobSpec& spec = job.spec;
  if (const auto fine = put_request(from, spec); !fine) return std::unexpected(fine.error());
  spec.name = from.name.value_or("");
  spec.priority = from.priority;
  spec.deadline = from.deadline;
  spec.retries = from.retries;
  spec.restartable = from.restartable;
  spec.movable = from.movable;
  spec.checkpoint_signal = from.checkpoint_signal.value_or(0);
  spec.checkpoint_grace = whole_milliseconds(from.checkpoint_grace.value_or(Duration::zero()));
  if (from.stop_grace) spec.stop_grace = whole_milliseconds(*from.stop_grace);
  spec.out_of_memory_code = from.out_of_memory_code;
  if (from.application && !from.application->empty()) spec.application = from.application;
  spec.batch = from.batch;
  spec.expected = from.expected;
  job.command = {std::move(from.command), std::move(from.environment), std::move(from.directory)};
  job.owner = std::move(owner);
  if (const auto fine = check_command(job.command, spec, job.owner); !fine)
    return std::unexpected(fine.error());
  return job;
}

Result<NewJob> read_new_job(std::string_view body, JobOwner owner) {
  const auto document = parse_json(body, document_name);
  if (!document) return std::unexpected(document.error());
  auto submission = read_submission(*document, document_name);
  if (!submission) return std::unexpected(submission.error());
  return new_job(std::move(*submission), std::move(owner));
}

}  // namespace cleave
