// What a job says, as submission and as a line of a workload: the options exist, and one document
// means the same in both.

#include "model/job_fields.hpp"

#include <gtest/gtest.h>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "model/workload_file.hpp"
#include "program.hpp"

namespace cleave {
namespace {

TEST(JobFields, EveryOptionIsOneOfSubmit) {
  const auto help = testing_program::cleave("submit --help");
  ASSERT_EQ(help.exit_code, 0) << help.err;
  std::size_t options = 0;
  for (const JobField& field : job_fields()) {
    const std::string option(option_of(field));
    if (option.empty()) continue;
    ++options;
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  EXPECT_GT(options, 20U);
}

/// What both say of a lease.
Json details_of(const std::optional<LeaseTerms>& lease) {
  if (!lease) return nullptr;
  const auto seconds = [](const auto& time) { return time ? in_seconds(*time) : -1; };
  return {{"starts_within", seconds(lease->starts_within)},
          {"idle_after", seconds(lease->idle_after)},
          {"then", lease->then},
          {"idle_mib", lease->idle_memory.value_or(MiB{}).value}};
}

/// What both forms say of a job beside its request.
Json details_of(const JobSpec& spec) {
  return {{"name", spec.name},
          {"priority", spec.priority},
          {"deadline", spec.deadline ? in_seconds(*spec.deadline) : -1},
          {"batch", spec.batch.value_or(0)},
          {"application", spec.application.value_or("")},
          {"restartable", spec.restartable},
          {"movable", spec.movable},
          {"progress", name(spec.progress)},
          {"lease", details_of(spec.lease)},
          {"time", spec.expected ? in_seconds(*spec.expected) : -1}};
}

/// The same of a job of a workload that says whether it may be stopped or moved.
Json details_of(const Workload& workload) {
  const Job& job = workload.jobs.front();
  const JobDetails* const given = workload.details_of(job);
  const JobDetails details = given == nullptr ? JobDetails() : *given;
  return {{"name", job.id},
          {"priority", details.priority},
          {"deadline", details.deadline ? in_seconds(*details.deadline) : -1},
          {"batch", details.batch.value_or(0)},
          {"application", details.application.value_or("")},
          {"restartable", details.restartable.value_or(false)},
          {"movable", details.movable.value_or(false)},
          {"progress", name(details.keeps)},
          {"lease", details_of(details.lease)},
          {"time", in_seconds(job.duration)}};
}

void means_the_same(const Json& document) {
  SCOPED_TRACE(document.dump());
  const auto submission = read_submission(document, "submission");
  ASSERT_TRUE(submission) << submission.error().text();
  const auto workload = parse_workload(document.dump(), "jobs", {},
                                       [](const KernelUse&) { return ComputeSlices{2}; });
  ASSERT_TRUE(workload) << workload.error().text();
  const AskedSize& size = *submission;
  EXPECT_EQ(text(workload->requests.front()), text(request_of(size)));
  EXPECT_EQ(workload->requests.front(), request_of(size));
  EXPECT_EQ(details_of(*workload), details_of(static_cast<const JobSpec&>(*submission)));
}

Json usual() {
  return {{"command", Json::array({"train", "--fast"})},
          {"environment", Json::array({"HOME=/root"})},
          {"directory", "/tmp"},
          {"name", "a"},
          {"expected_s", 60}};
}

Json members(std::string_view text) {
  return *parse_json(fmt::format("{{{}}}", text), "members");
}

TEST(JobFields, OneDocumentMeansTheSameInBothForms) {
  means_the_same(usual());
  std::size_t documents = 0;
  for (const JobField& field : job_fields()) {
    // A name for the profile is not part of submissions' instances; the daemon knows a kernel's
    // slices only when it knows its GPUs. The tasks of an array have
    // names of their own in a workload. What is asked of a service is said in workloads only, and
    // so is that a lease saves its work unless it says so.
    if (field.workload != field.submission || field.workload == "instances" ||
        field.workload == "kernel" || field.workload == "service" || field.workload == "lease" ||
        field.workload == "array")
      continue;
    Json document = usual();
    document.update(members(field.beside));
    document.update(members(fmt::format(R"("{}": {})", field.workload, field.example)));
    means_the_same(document);
    ++documents;
  }
  EXPECT_GT(documents, 10U);
  for (const char* more :
       {R"("instances": 4, "profile": "1g.5gb", "together": "gpu")",
        R"("instances": 2, "memory_mib": 9000, "compute_slices": 2, "together": "spread")",
        R"("lease": {"idle_after_s": 900, "then": "shrink", "idle_mib": 400},)"
        R"( "profile": "3g.20gb", "progress": "checkpoint")",
        R"("gpus": 1)", R"("gpus": 16, "together": "node", "priority": -3, "retries": 2)",
        R"("model": {"name": "m", "memory_mib": 5000}, "instances": 3, "batch": 8)",
        R"("progress": "checkpoint", "movable": true, "stop_grace_s": 5, "checkpoint_signal": 10,)"
        R"( "checkpoint_grace_s": 60)"}) {
    Json document = usual();
    document.update(members(more));
    means_the_same(document);
  }
}

TEST(JobFields, WhatContradictsItselfIsRefusedInBothForms) {
  for (const char* wrong :
       {R"("gpus": 2, "profile": "1g.5gb")", R"("gpus": 2, "instances": 2)",
        R"("gpus": 2, "together": "gpu")", R"("gpus": 1, "together": "node")", R"("gpus": 0)",
        R"("instances": 4)", R"("instances": 0, "profile": "1g.5gb")",
        R"("instances": 2, "profile": "1g.5gb", "movable": true)",
        R"("profile": "1g.5gb", "memory_mib": 5000)", R"("compute_slices": 2)",
        R"("progress": "some")", R"("batch": 0)"}) {
    Json document = usual();
    document.update(members(wrong));
    EXPECT_FALSE(read_submission(document, "submission")) << wrong;
    EXPECT_FALSE(parse_workload(document.dump(), "jobs")) << wrong;
  }
}

}  // namespace
}  // namespace cleave
