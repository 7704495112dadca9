#include "daemon/service/submission.hpp"

#include "api/documents.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr const char* document_name = "submission";

/// As the supervisor will, with the parts of a launch that are not known yet made up.
Result<void> check_command(const NewJob& job) {
  Launch launch;
  launch.key = {1, 1};
  launch.uid = job.owner.uid;
  launch.gid = job.owner.gid;
  launch.groups = job.owner.groups;
  launch.argv = job.command.argv;
  launch.environment = job.command.environment;
  launch.working_directory = job.command.working_directory;
  launch.stop_grace = job.spec.stop_grace;
  return check_launch(launch, document_name);
}

void round_to_milliseconds(Duration& time) {
  time = std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

}  // namespace

Result<NewJob> read_new_job(std::string_view body, JobOwner owner) {
  const auto document = parse_json(body, document_name);
  if (!document) return std::unexpected(document.error());
  auto submission = read_submission(*document, document_name);
  if (!submission) return std::unexpected(submission.error());
  const AskedSize& size = *submission;
  NewJob job;
  job.owner = std::move(owner);
  job.spec = std::move(static_cast<JobSpec&>(*submission));
  job.spec.request = request_of(size);
  job.spec.asked = in_words(size);
  round_to_milliseconds(job.spec.checkpoint_grace);
  round_to_milliseconds(job.spec.stop_grace);
  if (job.spec.application && job.spec.application->empty()) job.spec.application.reset();
  job.command = std::move(static_cast<JobCommand&>(*submission));
  if (const auto fine = check_command(job); !fine) return std::unexpected(fine.error());
  return job;
}

}  // namespace cleave
