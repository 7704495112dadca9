#include "simulate/advice/past_jobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/speed_table.hpp"

namespace cleave {
namespace {

FleetFile fleet_of_past(const char* fleet) {
  return *parse_fleet_in_short(fleet, ProfileChoice::plain());
}

Instant at_second(std::int64_t second) {
  return Instant{} + std::chrono::seconds(1'000'000 + second);
}

PastJob past_job(std::int64_t number, const char* asks) {
  PastJob past;
  past.number = number;
  past.name = "train";
  past.application = "resnet";
  past.user = "ann";
  past.asks = asks;
  past.submitted = at_second(100 * number);
  past.started = at_second(100 * number + 30);
  past.ended = at_second(100 * number + 90);
  past.ran_on = "2g.10gb";
  return past;
}

Request request_of(const PastJob& past, const char* fleet = "1xA100-40GB") {
  const auto read = past_workload({{past}}, fleet_of_past(fleet));
  EXPECT_TRUE(read.has_value());
  return read ? read->workload.requests[read->workload.jobs.front().request] : Request{};
}

TEST(PastJobs, BecomeAWorkloadInTheirOrder) {
  const std::vector<PastJob> newest_first = {past_job(5, "2g.10gb"), past_job(3, "2g.10gb")};
  const auto past = past_workload(newest_first, fleet_of_past("1xA100-40GB"));
  ASSERT_TRUE(past.has_value());
  ASSERT_EQ(past->workload.jobs.size(), 2U);
  const Job& first = past->workload.jobs[0];
  EXPECT_EQ(first.id, "train-3");
  EXPECT_EQ(first.arrival, Instant{}) << "the first arrives at 0";
  EXPECT_EQ(past->workload.jobs[1].arrival, Instant{} + std::chrono::seconds(200));
  EXPECT_EQ(first.duration, std::chrono::seconds(60)) << "without its wait";
  const JobDetails* details = past->workload.details_of(first);
  ASSERT_NE(details, nullptr);
  EXPECT_EQ(details->application, "resnet");
  EXPECT_EQ(details->user, "ann");
  ASSERT_EQ(past->ran_on.size(), 2U);
  EXPECT_EQ(past->ran_on[0].profile->name, "2g.10gb");
}

TEST(PastJobs, WaitForOneAnotherAsTheyDid) {
  std::vector<PastJob> jobs;
  for (std::int64_t number = 3; number <= 9; ++number) jobs.push_back(past_job(number, "1g.5gb"));
  for (std::size_t i = 0; i < 3; ++i)  // 3 to 5 are an array
    jobs[i].task = ArrayTask{
        .job = 3, .last = 5, .index = static_cast<std::int64_t>(i), .tasks = 3, .at_once = 2};
  for (std::size_t i = 3; i < 5; ++i) jobs[i].at_once = JobsAtOnce{6, 7, 1};
  jobs[5].after = {{Dependency::On::ok, 3, 5}, {Dependency::On::failed, 6, 6}};
  jobs[6].after = {{Dependency::On::ok, 2, 2}};  // which is not among them
  jobs[4].user = "ben";
  jobs[3].after = {{Dependency::On::any, 5, 7}};  // 7 is another user's
  const auto past = past_workload(jobs, fleet_of_past("1xA100-40GB"));
  ASSERT_TRUE(past.has_value());
  const auto start = [&](std::size_t job) {
    return past->workload.details_of(past->workload.jobs[job])->start;
  };
  EXPECT_EQ(start(0), (StartTerms{{}, "array-3", 2}));
  EXPECT_EQ(start(4), (StartTerms{{}, "request-6", 1}));
  EXPECT_EQ(start(3), (StartTerms{{"any:train-5"}, "request-6", 1}));
  EXPECT_EQ(start(5).after, (std::vector<std::string>{"any:array-3", "any:train-6"}));
  EXPECT_EQ(start(6), StartTerms());
  EXPECT_EQ(past->order.after, 2U);
  EXPECT_EQ(past->order.at_once, 5U);
  EXPECT_EQ(past->order.elsewhere, 1U);
}

// The words of text(Request) are read back as what they were written from.
TEST(PastJobs, AskForWhatTheyAskedFor) {
  const auto size = [](std::int64_t mib, int slices = 0) {
    return Request{BySize{MiB{mib}, ComputeSlices{slices}}, {}};
  };
  Request four{ByProfile{"1g.5gb"}, {}};
  four.places = 4;
  four.together = Together::gpu;
  Request whole{WholeGpu{}, {}};
  Request two_whole = whole;
  two_whole.places = 2;
  two_whole.together = Together::node;
  Request grown{ByProfile{"2g.10gb"}, {}};
  grown.at_least = MiB{12'000};
  Request offloads = size(9216, 2);
  offloads.offload = MiB{2000};
  for (const Request& asked :
       {size(9216), size(9216, 2), four, whole, two_whole, grown, offloads}) {
    PastJob past = past_job(1, "");
    past.asks = text(asked);
    past.places = asked.places;
    EXPECT_EQ(request_of(past), asked) << past.asks;
  }
  EXPECT_EQ(text(request_of(past_job(1, "A100-40GB:2g.10gb"))), "2g.10gb");
  EXPECT_EQ(request_of(past_job(1, "8696 MiB, found by running")), size(8696));
  PastJob several = past_job(1, "3 x nothing, found to need 8696 MiB");
  several.places = 3;
  EXPECT_EQ(text(request_of(several)), "3 x 8696 MiB");
}

TEST(PastJobs, WithoutASizeHaveWhatTheyUsedOrRanOn) {
  const FleetFile fleet = fleet_of_past("1xA100-40GB");
  PastJob reported = past_job(1, "nothing");
  reported.peak = MiB{7300};
  const PastJob silent = past_job(2, "nothing");
  PastJob nowhere = past_job(3, "nothing");
  nowhere.ran_on.reset();
  PastJob on_whole = past_job(4, "a whole GPU");
  on_whole.ran_on = std::string(mig_off);
  const std::vector<PastJob> jobs = {reported, silent, nowhere, on_whole};
  const auto past = past_workload(jobs, fleet);
  ASSERT_TRUE(past.has_value());
  std::vector<std::string> asked;
  for (const Job& job : past->workload.jobs)
    asked.push_back(text(past->workload.requests[job.request]));
  EXPECT_EQ(asked, (std::vector<std::string>{"7300 MiB", "2g.10gb", "nothing", "a whole GPU"}));
  EXPECT_EQ(past->sizes.by_peak, 1U);
  EXPECT_EQ(past->sizes.by_place, 2U);
  EXPECT_EQ(past->sizes.nowhere, 1U) << "the whole GPU is a place";
}

// The advice may be for another fleet than that on which they ran.
TEST(PastJobs, OfAnotherModelAskForASizeLikeIt) {
  EXPECT_EQ(text(request_of(past_job(1, "2g.20gb"), "1xA100-40GB")).find("2g.20gb"),
            std::string::npos);
  EXPECT_TRUE(
      std::holds_alternative<BySize>(request_of(past_job(1, "2g.20gb"), "1xA100-40GB").wanted));
  EXPECT_EQ(text(request_of(past_job(1, "2g.20gb"), "1xA100-80GB")), "2g.20gb");
}

TEST(PastJobs, ThatNeverRanAreLeftOutWithTheReason) {
  PastJob cancelled = past_job(2, "2g.10gb"), running = past_job(3, "2g.10gb");
  PastJob service = past_job(4, "2g.10gb"), unknown = past_job(5, "2g.10gb");
  cancelled.started.reset();
  running.ended.reset();
  service.batch = false;
  unknown.submitted.reset();
  const std::vector<PastJob> jobs = {past_job(1, "2g.10gb"), cancelled, running, service};
  const auto past = past_workload(jobs, fleet_of_past("1xA100-40GB"));
  ASSERT_TRUE(past.has_value());
  EXPECT_EQ(past->workload.read, 4U);
  EXPECT_EQ(past->workload.jobs.size(), 1U);
  std::vector<std::string> reasons;
  for (const auto& left : past->workload.left_out) {
    EXPECT_EQ(left.count, 1U);
    reasons.push_back(left.reason);
  }
  EXPECT_EQ(reasons,
            (std::vector<std::string>{"has not ended", "is a service or lease", "never ran"}));
  const std::vector<PastJob> none_ran = {cancelled, running, unknown};
  const auto none = past_workload(none_ran, fleet_of_past("1xA100-40GB"));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::bad_input);
  EXPECT_NE(none.error().remedy.find("ps --all --json"), std::string::npos);
}

}  // namespace
}  // namespace cleave
