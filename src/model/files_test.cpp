// Files people write: fleets and workloads, right and wrong.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "model/fleet_file.hpp"
#include "model/layout_text.hpp"
#include "model/workload_file.hpp"

namespace cleave {
namespace {

std::string fleet_error(std::string_view text, std::string_view profiles = "all") {
  const auto fleet = parse_fleet(text, "fleet.json", *ProfileChoice::parse(profiles));
  return fleet ? "none" : fleet.error().text();
}

std::string instances_error(std::string_view instances) {
  return fleet_error(
      std::string(R"({"gpus": [{"name": "g", "model": "A100-40GB", "instances": [)") +
      std::string(instances) + "]}]}");
}

TEST(FleetFile, ReadsEverythingOfTheContract) {
  const auto fleet = parse_fleet(R"({
    "gpus": [{"name": "n0/0", "model": "NVIDIA A100-SXM4-40GB",
              "instances": [{"profile": "4g.20gb", "start": 0, "workload": "a",
                             "movable": false, "memory_mib": "9GiB", "pin": "n0",
                             "forbid": ["n0/1"], "group": "g", "spread": "node", "max_moving": 2},
                            {"profile": "1g.5gb", "start": 6},
                            {"profile": "1g.5gb", "start": 5, "owned": false}]},
             {"name": "n1/%d", "model": "A30-24GB", "count": 3, "x-rack": 7}],
    "nodes": [{"name": "n0", "cpus": 64, "host_memory_mib": "512GiB"}],
    "waiting": [{"workload": "w", "profile": "2g.10gb"},
                {"workload": "v", "memory_mib": 9000, "compute_slices": 2}]})",
                                 "fleet.json", {});
  ASSERT_TRUE(fleet) << fleet.error().text();
  ASSERT_EQ(fleet->gpus.size(), 4U);
  EXPECT_EQ(fleet->gpus[3].name, "n1/2");
  EXPECT_EQ(fleet->geometries.size(), 2U);
  const InstanceEntry& a = fleet->gpus[0].instances[0];
  EXPECT_EQ(a.workload, "a");
  EXPECT_FALSE(a.movable);
  EXPECT_EQ(a.memory->value, 9216);
  EXPECT_EQ(a.constraints.max_moving, 2);
  EXPECT_TRUE(a.constraints.spread_over_nodes);
  EXPECT_FALSE(fleet->gpus[0].instances[2].owned);
  EXPECT_EQ(fleet->waiting.size(), 2U);
}

TEST(FleetFile, NamesThePlaceAndTheRemedy) {
  EXPECT_EQ(instances_error(R"({"profile": "2g.10gb", "start": 3})"),
            "fleet.json: gpus[0].instances[0]: 2g.10gb may start at 0, 2 or 4, not at 3");
  EXPECT_EQ(
      instances_error(R"({"profile": "4g.20gb", "start": 0}, {"profile": "1g.5gb", "start": 3})"),
      "fleet.json: gpus[0].instances[1]: 1g.5gb at 3 overlaps an instance before it; two instances "
      "never share a memory slice");
  EXPECT_EQ(instances_error(
                R"({"profile": "1g.5gb+me", "start": 0}, {"profile": "1g.5gb+me", "start": 3})"),
            "fleet.json: gpus[0].instances[1]: 1g.5gb+me at 3 is a second media-extension "
            "instance; a GPU "
            "has room for one +me instance");
  EXPECT_EQ(instances_error(R"({"profile": "2g.12gb", "start": 0})"),
            "fleet.json: gpus[0].instances[0]: the A100-40GB has no profile '2g.12gb'; did you "
            "mean '2g.10gb'?");
  EXPECT_EQ(
      instances_error(R"({"profile": "1g.5gb", "start": 1.5})"),
      "fleet.json: gpus[0].instances[0].start: expected a whole number from 0 to 99, found 1.5");
  EXPECT_EQ(instances_error(R"({"profile": "1g.5gb", "start": 1, "ownd": false})"),
            "fleet.json: gpus[0].instances[0]: unknown key 'ownd'; did you mean 'owned'?");
  EXPECT_EQ(fleet_error(R"({"gpus": [{"name": "a", "model": "A100-44GB"}]})"),
            "fleet.json: gpus[0].model: unknown GPU model 'A100-44GB'; did you mean 'A100-40GB'?");
  EXPECT_EQ(fleet_error(R"({"gpus": [{"name": "a", "model": "A30-24GB", "count": 2}]})"),
            "fleet.json: gpus[0].name: 2 GPUs cannot all be named 'a'; put %d where the number "
            "goes, like n0/%d");
  EXPECT_EQ(
      fleet_error(
          R"({"gpus": [{"name": "a", "model": "A30-24GB"}, {"name": "a", "model": "A30-24GB"}]})"),
      "fleet.json: gpus[1].name: there are two GPUs named 'a'");
  EXPECT_EQ(fleet_error(R"({"gpus": []})"), "fleet.json: the fleet has no GPU");
  EXPECT_EQ(fleet_error("{}"),
            "fleet.json: the key 'gpus' is missing; a fleet is {\"gpus\": [...]}");
  EXPECT_EQ(fleet_error("[]"), "fleet.json: expected an object in {}, found a list");
  EXPECT_EQ(fleet_error(R"({"gpus": 3})"), "fleet.json: gpus: expected a list in [], found 3");
}

TEST(FleetFile, AWorkloadStandsInOneInstance) {
  EXPECT_EQ(
      instances_error(
          R"({"profile": "1g.5gb", "start": 0, "workload": "a"},
              {"profile": "1g.5gb", "start": 1, "workload": "a"})"),
      "fleet.json: gpus[0].instances: the workload 'a' is in two instances; give each workload "
      "a name of "
      "its own");
}

TEST(FleetFile, InstancesOutsideTheProfileSetAreBadInput) {
  EXPECT_EQ(fleet_error(
                R"({"gpus": [{"name": "a", "model": "A100-40GB",
                        "instances": [{"profile": "1g.10gb", "start": 0}]}]})",
                "five"),
            "fleet.json: gpus[0].instances[0]: 1g.10gb is not among the chosen profiles; widen "
            "--profiles");
}

TEST(FleetInShort, CountsModels) {
  const auto fleet = parse_fleet_in_short("2xA100-40GB,1xA30-24GB", {});
  ASSERT_TRUE(fleet);
  EXPECT_EQ(fleet->gpus.size(), 3U);
  EXPECT_EQ(fleet->gpus[2].name, "n0/2");
  EXPECT_FALSE(parse_fleet_in_short("0xA100-40GB", {}));
  EXPECT_FALSE(parse_fleet_in_short("9999999xA100-40GB", {}));
  EXPECT_EQ(parse_fleet_in_short("1xA30-24GB,9223372036854775807xA30-24GB", {}).error().text(),
            "fleet: a fleet has at most 4000000 GPUs");
  EXPECT_FALSE(parse_fleet_in_short("4xA100-40GB,", {}));
}

TEST(FleetInShort, CountsNodes) {
  const auto names = [](const char* text) {
    const auto fleet = parse_fleet_in_short(text, {});
    if (!fleet) return fleet.error().text();
    std::string all;
    for (const GpuEntry& gpu : fleet->gpus)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", gpu.name,
                         fleet->geometries[gpu.geometry].model().key.substr(0, 3));
    return all;
  };
  EXPECT_EQ(names("2x3xA100-80GB"), "n0/0 A10, n0/1 A10, n0/2 A10, n1/0 A10, n1/1 A10, n1/2 A10");
  EXPECT_EQ(names("1x2xA100-80GB"), names("2xA100-80GB"));
  EXPECT_EQ(names("2x1xA100-40GB,2xA30-24GB,1xA100-40GB,1x1xA30-24GB"),
            "n0/0 A10, n1/0 A10, n2/0 A30, n2/1 A30, n2/2 A10, n3/0 A30");
  EXPECT_EQ(parse_fleet_in_short("4x8xA100-80GB", {})->gpus.back().name, "n3/7");
  const std::string not_a_number =
      " is not a number of GPUs; write COUNTxMODEL, like 4xA100-40GB, or NODESxCOUNTxMODEL, like "
      "4x8xA100-80GB";
  for (const char* wrong :
       {"0x8xA30-24GB", "4x0xA30-24GB", "-1x8xA30-24GB", "4x-8xA30-24GB", "x8xA30-24GB"})
    EXPECT_EQ(names(wrong), fmt::format("fleet: '{}'{}", wrong, not_a_number)) << wrong;
  for (const char* many : {"2001x2000xA30-24GB", "9223372036854775807x8xA30-24GB",
                           "8x9223372036854775807xA30-24GB", "1xA30-24GB,1000x4000xA30-24GB"})
    EXPECT_EQ(names(many), "fleet: a fleet has at most 4000000 GPUs") << many;
  EXPECT_TRUE(names("4x8x2xA30-24GB").starts_with("fleet: unknown GPU model '2xA30-24GB'"));
}

std::string job_error(const std::string& job) {
  const auto workload = parse_workload(job, "jobs.jsonl");
  return workload ? "none" : workload.error().text();
}

TEST(WorkloadFile, ReadsEverythingOfTheContract) {
  const auto workload = parse_workload(R"(
{"id": "b", "arrival_s": 20.5, "memory_mib": "9GiB", "compute_slices": 2,)"
                                       R"( "duration_s": 60, "deadline_s": 100, "priority": 3,)"
                                       R"( "restartable": true}
{"id": "a", "arrival_s": 10, "profile": "1g.5gb", "duration_s": 30,)"
                                       R"( "speed": {"1g.5gb": 0.36, "7g.40gb": 1, "none": 1.1}}

{"id": "c", "arrival_s": 20.5, "phases": {"cpu_s": 1, "compute_s": 9},)"
                                       R"( "reference_model": "A100-40GB", "memory":)"
                                       R"( {"base_mib": 100, "per_iteration_mib": 2,)"
                                       R"( "iterations": 50}}
{"id": "d", "arrival_s": 21, "duration_s": 1, "memory": {"base_mib": 100, "iterations": 5,)"
                                       R"( "reuse_ratio": 4.76, "reuse_noise": 0.01,)"
                                       R"( "context_mib": "1GiB"}}
)",
                                       "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 4U);
  EXPECT_EQ(workload->jobs[0].id, "a") << "in order of arrival";
  EXPECT_EQ(workload->jobs[1].id, "b") << "equal arrivals in the order of the file";
  EXPECT_EQ(workload->jobs[2].duration, std::chrono::seconds(10));
  EXPECT_EQ(text(workload->requests[workload->jobs[1].request]), "9216 MiB with 2 compute slices");
  EXPECT_EQ(*workload->details_of(workload->jobs[1])->deadline, std::chrono::seconds(100));
  EXPECT_EQ(workload->details_of(workload->jobs[0]), nullptr);
  const MemoryGrowth plain = *workload->details_of(workload->jobs[2])->growth;
  EXPECT_EQ(plain.iterations, 50);
  EXPECT_EQ(plain.reuse_ratio, 1);
  EXPECT_EQ(plain.context, std::nullopt);
  const MemoryGrowth reusing = *workload->details_of(workload->jobs[3])->growth;
  EXPECT_EQ(reusing.reuse_ratio, 4.76);
  EXPECT_EQ(reusing.reuse_noise, 0.01);
  EXPECT_EQ(reusing.context, MiB{1024});

  const auto again = parse_workload(workload_text(*workload), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(workload_text(*again), workload_text(*workload));
}

TEST(WorkloadFile, KeepsAJobsOnlyDetail) {
  for (const char* detail : {R"("deadline_s":5.0)", R"("priority":-3)", R"("batch":4)",
                             R"("restartable":false)", R"("movable":false)", R"("progress":"none")",
                             R"("application":"bert")", R"("user":"ann")", R"("account":"physics")",
                             R"("latency_s":0.5)", R"("fails_after":0.25)", R"("output_tokens":7)",
                             R"("offload_mib":100)", R"("host_memory_mib":64)", R"("cpus":2.0)"}) {
    const auto workload =
        parse_workload(fmt::format(R"({{"id": "a", "duration_s": 1, {}}})", detail), "jobs");
    ASSERT_TRUE(workload) << workload.error().text();
    EXPECT_NE(workload_text(*workload).find(detail), std::string::npos)
        << detail << " is lost: " << workload_text(*workload);
  }
}

TEST(WorkloadFile, SaysWhatAJobTakesFromItsNeighbours) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 1, "transfer_share": 0.25, "power_factor": 1.1})", "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->speeds[0].transfer_share, 0.25);
  EXPECT_EQ(workload->speeds[0].kappa, 1.1);
  EXPECT_EQ(workload_text(*parse_workload(workload_text(*workload), "again")),
            workload_text(*workload));
  EXPECT_EQ(
      job_error(R"({"id": "a", "duration_s": 1, "transfer_share": 25})"),
      "jobs.jsonl:1: transfer_share: this is a share of the job's time on the whole GPU; give "
      "a number from 0 to 1");
  EXPECT_EQ(job_error(R"({"id": "a", "phases": {"cpu_s": 1}, "transfer_share": 0.1})"),
            "jobs.jsonl:1: transfer_share: phases say how long the job transfers; leave it out");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "speed": {"7g.40gb": 1, "none": 5}, )"
                      R"("transfer_share": 0.5})"),
            "jobs.jsonl:1: transfer_share: on none the job is faster than its transfers alone; "
            "lower the share or correct the speed");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "power_factor": -1})"),
            "jobs.jsonl:1: power_factor: this is what the job draws relative to work that keeps a "
            "GPU at its cap; give a number from 0 to 10");
}

TEST(WorkloadFile, SaysWhatAJobKeeps) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 9, "progress": "checkpoint", "checkpoint_every_s": 0.5}
{"id": "b", "duration_s": 9, "progress": "none"})",
      "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->details[0].keeps, Keeps::checkpoint);
  EXPECT_EQ(workload->details[0].checkpoint_every, std::chrono::milliseconds(500));
  EXPECT_EQ(workload->details[1].keeps, Keeps::nothing);
  EXPECT_EQ(workload_text(*parse_workload(workload_text(*workload), "again")),
            workload_text(*workload));
  const auto table = parse_workload("id,duration_s,progress\na,1,stateless\n", "jobs.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->details[0].keeps, Keeps::stateless);
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "progress": "some"})"),
            "jobs.jsonl:1: progress: 'some' is not a kind of progress; write stateless, checkpoint "
            "or none");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "checkpoint_every_s": 5})"),
            "jobs.jsonl:1: checkpoint_every_s: this job does not write checkpoints; add "
            "\"progress\": \"checkpoint\"");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "progress": "checkpoint", )"
                      R"("checkpoint_every_s": 0})"),
            "jobs.jsonl:1: checkpoint_every_s: this is the time from one checkpoint to the next; "
            "give seconds, more than 0");
}

TEST(WorkloadFile, AJobMayOffload) {
  const auto read = [](const std::string& more) {
    return parse_workload(R"({"id": "a", "duration_s": 50, )" + more + "}", "jobs");
  };
  const auto offers = read(R"("memory_mib": 9000, "offload_mib": 4000, "offload_touches": 100)");
  ASSERT_TRUE(offers) << offers.error().text();
  const Offload expected{MiB{9000}, MiB{4000}, 2};
  EXPECT_EQ(offers->speeds.front().offload, expected) << "100 times in 50 s";
  EXPECT_EQ(offers->requests.front().offload, MiB{4000});
  EXPECT_EQ(text(offers->requests.front()), "9000 MiB, of which 4000 MiB may stay on the host");
  const auto again = parse_workload(workload_text(*offers), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(workload_text(*again), workload_text(*offers));
  EXPECT_EQ(again->speeds, offers->speeds);

  for (const char* nothing : {R"("memory_mib": 9000, "offload_mib": 4000)",
                              R"("memory_mib": 9000, "offload_mib": 0, "offload_touches": 3)"}) {
    const auto workload = read(nothing);
    ASSERT_TRUE(workload) << nothing << workload.error().text();
    EXPECT_FALSE(workload->speeds.front().offload) << nothing;
    EXPECT_FALSE(workload->requests.front().offload) << nothing;
  }
  const auto beside = read(R"("profile": "2g.10gb", "offload_mib": 4000, "offload_touches": 3)");
  ASSERT_TRUE(beside) << beside.error().text();
  EXPECT_TRUE(beside->speeds.front().offload) << "what does not fit on the profile";
  for (const char* wrong : {R"("memory_mib": 9000, "offload_touches": 3)",
                            R"("memory_mib": 9000, "offload_mib": 4000, "offload_touches": -1)",
                            R"("memory_mib": 9000, "offload_mib": 4000, "offload_touches": 3, )"
                            R"("memory": {"base_mib": 100, "iterations": 10})"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

TEST(WorkloadFile, SpeedsMayBeALawOrATableToComplete) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 5, "law": {"a_s": 0.2, "w_s": 0.9}}
{"id": "b", "duration_s": 5, "speed": {"2g.10gb": 0.4, "A100-40GB:7g.40gb": 1, "complete": true}}
{"id": "c", "duration_s": 5, "speed": {"2g.10gb": 0.4, "7g.40gb": 1, "complete": false}}
{"id": "d", "law": {"a_s": 3, "w_s": 4, "p": 2}})",
      "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  const auto speed = [&](std::size_t job) { return workload->speeds[workload->jobs[job].speed]; };
  const auto fits = [&](std::size_t job) {
    return workload->requests[workload->jobs[job].request].fits;
  };
  EXPECT_EQ(speed(0).law, (SliceLaw{0.2, 0.9}));
  EXPECT_EQ(workload->jobs[0].duration, std::chrono::seconds(5)) << "the law is of a part of it";
  EXPECT_FALSE(fits(0)) << "it may run on every profile";
  EXPECT_EQ(workload->jobs[3].duration, std::chrono::seconds(5)) << "sqrt(3^2 + 4^2)";
  EXPECT_TRUE(speed(1).complete);
  const auto has = [&](std::string_view name) {
    const auto names = fits(1);
    return std::ranges::find(*names, name) != names->end();
  };
  EXPECT_TRUE(has("A100-40GB:3g.20gb"));
  EXPECT_FALSE(has("A100-40GB:1g.5gb")) << "it has less memory than any that was listed";
  EXPECT_EQ(fits(2)->size(), 2U);
  const auto again = parse_workload(workload_text(*workload), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->speeds, workload->speeds);
  EXPECT_EQ(again->requests, workload->requests);
}

TEST(WorkloadFile, LawsAndTablesThatSayNothingAreRefused) {
  const auto error = [](const std::string& keys) {
    return job_error(R"({"id": "a", "duration_s": 1, )" + keys + "}").substr(14);
  };
  EXPECT_EQ(error(R"("law": {"a_s": 1})"), "law: the key 'w_s' is missing; either may be 0");
  EXPECT_EQ(error(R"("law": {"a_s": -1, "w_s": 1})"),
            "law.a_s: a part of -1 s is not possible; give the seconds of the two parts on the "
            "whole GPU");
  EXPECT_EQ(error(R"("law": {"a_s": 0, "w_s": 0})"),
            "law: a_s and w_s are both 0; at least one part takes time");
  EXPECT_EQ(error(R"("law": {"a_s": 1, "w_s": 1, "p": 0.5})"),
            "law.p: an exponent of 0.5 is not possible; 1 adds the parts up; without p it is 2.5");
  EXPECT_EQ(error(R"("law": {"a_s": 1, "w_s": 1}, "speed": {"7g.40gb": 1})"),
            "law: a job has a law or a table of speeds or phases, not both");
  EXPECT_EQ(error(R"("speed": {"7g.40gb": 1, "complete": true})"),
            "speed.complete: nothing can be completed from these profiles; list two profiles of a "
            "GPU model that differ in compute slices");
  EXPECT_EQ(error(R"("speed": {"7g.40gb": 1, "complete": 1})"),
            "speed.complete: expected true or false, found 1");
}

TEST(WorkloadFile, JobsMayHaveSeveralPlaces) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 1, "gpus": 4, "together": "node"}
{"id": "b", "duration_s": 1, "instances": "4x1g.5gb", "together": "gpu"}
{"id": "c", "duration_s": 1, "instances": 3, "memory_mib": "9GiB", "compute_slices": 2}
{"id": "d", "duration_s": 1, "instances": 2, "profile": "A100-40GB:2g.10gb", "together": "spread"}
{"id": "e", "duration_s": 1, "gpus": 1}
{"id": "f", "duration_s": 1, "instances": 2, "gpu_share": 0.25, "together": "anywhere"}
{"id": "g", "duration_s": 1, "instances": 1, "profile": "1g.5gb"})",
      "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  const auto asked = [&](std::size_t job) {
    return workload->requests[workload->jobs[job].request];
  };
  const auto several = [](Request request, std::uint32_t places, Together together) {
    request.places = places;
    request.together = together;
    return request;
  };
  EXPECT_EQ(asked(0), several({WholeGpu{}, {}}, 4, Together::node));
  EXPECT_EQ(asked(1), several({ByProfile{"1g.5gb"}, {}}, 4, Together::gpu));
  EXPECT_EQ(asked(2), several({BySize{{9216}, {2}}, {}}, 3, Together::anywhere));
  EXPECT_EQ(asked(3), several({ByProfile{"A100-40GB:2g.10gb"}, {}}, 2, Together::spread));
  EXPECT_EQ(asked(4), several({WholeGpu{}, {}}, 1, Together::anywhere));
  EXPECT_EQ(asked(5), several({ByShare{250, ShareRule::round_up}, {}}, 2, Together::anywhere));
  EXPECT_EQ(asked(6), (Request{ByProfile{"1g.5gb"}, {}}));
  EXPECT_EQ(text(asked(1)), "4 x 1g.5gb on one GPU");

  const auto again = parse_workload(workload_text(*workload), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->requests, workload->requests);
  EXPECT_EQ(workload_text(*again), workload_text(*workload));

  const auto table = parse_workload(
      "id,duration_s,gpus,instances,profile,together\na,1,4,,,node\nb,1,,4x1g.5gb,,gpu\n"
      "c,1,,2,1g.5gb,\n",
      "jobs.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->requests[table->jobs[0].request], asked(0));
  EXPECT_EQ(table->requests[table->jobs[1].request], asked(1));
  EXPECT_EQ(table->requests[table->jobs[2].request].places, 2U);
}

TEST(WorkloadFile, PlacesThatContradictAreRefused) {
  const auto error = [](const std::string& keys) {
    return job_error(R"({"id": "a", "duration_s": 1, )" + keys + "}").substr(14);
  };
  const std::string two_sizes =
      "gpus: a whole GPU has no profile, size or model; leave those out, or ask for instances of "
      "that size";
  EXPECT_EQ(error(R"("gpus": 2, "profile": "1g.5gb")"), two_sizes);
  EXPECT_EQ(error(R"("gpus": 2, "memory_mib": 5)"), two_sizes);
  EXPECT_EQ(error(R"("gpus": 2, "gpu_share": 0.5)"), two_sizes);
  EXPECT_EQ(error(R"("gpus": 2, "instances": "2x1g.5gb")"),
            "gpus: a job has whole GPUs or instances, not both; leave out gpus or instances");
  EXPECT_EQ(error(R"("gpus": 2, "together": "gpu")"),
            "together: several whole GPUs are never on one GPU; node keeps them on one machine");
  for (const char* absurd : {"0", "-1", "100001", "1.5", "1e9"})
    EXPECT_TRUE(error(fmt::format(R"("gpus": {})", absurd))
                    .starts_with("gpus: expected a whole number from 1 to 100000, found "))
        << absurd;
  const std::string one_place =
      "together: it says how several lie, and the job has one; leave it out, or give gpus or "
      "instances";
  EXPECT_EQ(error(R"("gpus": 1, "together": "node")"), one_place);
  EXPECT_EQ(error(R"("profile": "1g.5gb", "together": "spread")"), one_place);
  EXPECT_EQ(error(R"("gpus": 2, "together": "rack")"),
            "together: 'rack' does not say where the places are; write gpu, node, spread or "
            "anywhere");
  EXPECT_EQ(error(R"("instances": 4)"),
            "instances: it is not said of which size they are; name a profile or a memory size "
            "too");
  for (const char* text : {"4x", "x1g.5gb", "1g.5gb", "", "-x1g.5gb"})
    EXPECT_EQ(error(fmt::format(R"("instances": "{}")", text)),
              fmt::format("instances: '{}' does not say how many instances of which profile; write "
                          "COUNTxPROFILE, such as 4x1g.5gb",
                          text));
  EXPECT_EQ(error(R"("instances": "4")"),
            "instances: the size of the instances is missing; write COUNTxPROFILE, such as "
            "4x1g.5gb, or name their size beside the number");
  for (const char* absurd : {"0", "-1", "999999999"})
    EXPECT_EQ(error(fmt::format(R"("instances": "{}x1g.5gb")", absurd)),
              fmt::format("instances: {} instances are not possible; a job has from 1 to 100000",
                          absurd));
  EXPECT_EQ(error(R"("instances": "2x9g.90gb")"),
            "instances: no known GPU has a profile '9g.90gb'; `cleave gpu MODEL` lists a model's "
            "profiles");
  EXPECT_EQ(error(R"("instances": "2x1g.5gb", "profile": "1g.5gb")"),
            "instances: the job names the size of its instances twice; give a number here, or "
            "leave the other size out");
  EXPECT_EQ(error(R"("instances": "2x1g.5gb", "movable": true)"),
            "movable: a job of several processes is not moved while it runs; leave it out");
}

TEST(WorkloadFile, JobsMayAskForAShare) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 1, "gpu_share": 0.46, "flat": true}
{"id": "b", "duration_s": 1, "gpu_share": 1, "share_rule": "nearest"})",
      "jobs.jsonl");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->requests[0], (Request{ByShare{460, ShareRule::round_up}, {}}));
  EXPECT_EQ(workload->requests[1], (Request{ByShare{1000, ShareRule::nearest}, {}}));
  EXPECT_TRUE(workload->speeds[0].flat);
  const auto again = parse_workload(workload_text(*workload), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->requests, workload->requests);
  EXPECT_EQ(again->speeds, workload->speeds);
  const auto error = [](const std::string& keys) {
    return job_error(R"({"id": "a", "duration_s": 1, )" + keys + "}").substr(14);
  };
  for (const char* share : {"0", "-1", "1.001", "1e300", "0.0001"})
    EXPECT_NE(error(fmt::format(R"("gpu_share": {})", share)).find("is not possible"),
              std::string::npos)
        << share;
  EXPECT_EQ(error(R"("gpu_share": 0.5, "share_rule": "up")"),
            "share_rule: 'up' is not a rule for shares; write round-up or nearest");
  EXPECT_EQ(error(R"("share_rule": "nearest")"),
            "share_rule: this is how a share becomes a profile; give gpu_share too");
  EXPECT_EQ(error(R"("gpu_share": 0.5, "profile": "1g.5gb")"),
            "gpu_share: a job asks for a share of a GPU or for a size, not both");
  EXPECT_EQ(error(R"("flat": true, "law": {"a_s": 1, "w_s": 1})"),
            "flat: a job is as fast everywhere, or has speeds, phases or a law, not both");
}

TEST(WorkloadFile, CsvHasTheSameKeys) {
  const auto workload = parse_workload(
      "id,arrival_s,profile,duration_s,speed\n1,0,1g.5gb,5,\"{\"\"1g.5gb\"\": 0.5}\"\nx,2.5,,7,\n",
      "jobs.csv");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->jobs[0].id, "1") << "a name may look like a number";
  EXPECT_EQ(workload->speeds[workload->jobs[0].speed].table->at("1g.5gb"), 0.5);
  EXPECT_EQ(text(workload->requests[workload->jobs[1].request]), "nothing");
  EXPECT_EQ(parse_workload("id,duration_s\na,soon\n", "jobs.csv").error().text(),
            "jobs.csv:2: duration_s: expected a number, found the text 'soon'");
}

std::vector<double> arrivals_of(const Workload& workload) {
  std::vector<double> seconds;
  for (const Job& job : workload.jobs)
    seconds.push_back(in_seconds(job.arrival.time_since_epoch()));
  return seconds;
}

TEST(WorkloadFile, ArrivalsMayBeTimesOfDay) {
  const auto csv = parse_workload(
      "id;arrival_s;duration_s\nb;2024-01-31 12:01:00;1\na;2024-01-31 12:00:30.5;1\n", "w");
  ASSERT_TRUE(csv) << csv.error().text();
  EXPECT_EQ(csv->jobs[0].id, "a");
  EXPECT_EQ(arrivals_of(*csv), (std::vector<double>{0, 29.5}));
  const auto zoned = parse_workload(
      "{\"id\": \"a\", \"arrival_s\": \"2024-01-31T12:00:00Z\", \"duration_s\": 1}\n"
      "{\"id\": \"b\", \"arrival_s\": \"2024-01-31T14:00:00+01:00\", \"duration_s\": 1}\n",
      "w");
  ASSERT_TRUE(zoned) << zoned.error().text();
  EXPECT_EQ(arrivals_of(*zoned), (std::vector<double>{0, 3600}));
  const std::string first = "id,arrival_s,duration_s\na,2024-01-31T12:00:00,1\n";
  for (const char* other : {"b,5,1\n", "b,,1\n", "b,2024-01-31T12:00:00Z,1\n"})
    EXPECT_EQ(parse_workload(first + other, "w").error().text(),
              "w:3: arrival_s: the jobs before this one write arrivals in another way; write "
              "seconds for all jobs, or times of day for all, with a zone or without");
  EXPECT_EQ(parse_workload("id,arrival_s,duration_s\na,31.1.2024,1\n", "w").error().place,
            "w:2: arrival_s");
}

TEST(WorkloadFile, SpeedsAndSizesMayFollowFromUse) {
  const auto read = [](const std::string& rows) {
    return parse_workload("id,duration_s,gpu_util,gpu_memory\n" + rows, "w.csv");
  };
  const auto workload = read("a,10,100,9000\nb,10,40,4.5GiB\nc,10,0,0\nd,10,39.6,\ne,10,,\n");
  ASSERT_TRUE(workload) << workload.error().text();
  const auto law = [&](std::size_t i) { return workload->speeds[workload->jobs[i].speed].law; };
  EXPECT_EQ(law(0), (SliceLaw{0, 1, job_overlap})) << "all of its time is the GPU's";
  ASSERT_TRUE(law(1));
  EXPECT_EQ(law(1)->bound, 0.4);
  EXPECT_NEAR(time_on(*law(1), 1), 1, 1e-12) << "the whole GPU is where it was seen";
  EXPECT_GT(time_on(*law(1), 6), 2);
  EXPECT_LT(time_on(*law(1), 6), 0.5 * time_on(*law(0), 6));
  EXPECT_EQ(time_on(*law(2), 6), 1) << "a slice slows nothing";
  EXPECT_EQ(law(3), law(1)) << "to a percent";
  EXPECT_FALSE(law(4));
  const auto asks = [&](std::size_t i) {
    return text(workload->requests[workload->jobs[i].request]);
  };
  EXPECT_EQ(asks(0), "9000 MiB");
  EXPECT_EQ(asks(1), "4608 MiB");
  EXPECT_EQ(asks(2), "1 MiB");
  EXPECT_EQ(asks(3), "nothing");
  EXPECT_EQ(read("a,10,101,\n").error().text(),
            "w.csv:2: gpu_util: 101 is not a percentage; give the percent of the job's time in "
            "which its GPU was busy, 0 to 100");
  EXPECT_EQ(read("a,10,0.4,\nb,10,1,\n").error().text(),
            "w.csv: no gpu_util is above 1, as if they were shares; gpu_util is in percent: write "
            "50 for half of the time");
  EXPECT_TRUE(read("a,10,1,\nb,10,0,\n")) << "it may be so little";
  EXPECT_EQ(parse_workload(R"({"id": "a", "duration_s": 1, "gpu_util": 5, "flat": true})", "w")
                .error()
                .message,
            "the job's speeds are given beside it");
  EXPECT_EQ(parse_workload(R"({"id": "a", "duration_s": 1, "gpu_memory": 5, "memory_mib": 9})", "w")
                .error()
                .message,
            "memory_mib says the same");
}

TEST(WorkloadFile, BadLinesMayBePassedOver) {
  BadLines bad;
  const auto csv =
      parse_workload("id,duration_s\na,1\ntorn\nb,soon\na,2\nc,3\n", "w.csv", {}, {}, &bad);
  ASSERT_TRUE(csv) << csv.error().text();
  EXPECT_EQ(csv->jobs.size(), 2U);
  EXPECT_EQ(csv->read, 2U);
  EXPECT_EQ(csv->notes.at("bad_lines"), 3U);
  ASSERT_EQ(bad.first.size(), 3U);
  EXPECT_EQ(bad.first[0].place, "w.csv:3");
  EXPECT_EQ(bad.first[1].place, "w.csv:4: duration_s");
  EXPECT_EQ(bad.first[2].message, "there are two jobs named 'a'");

  BadLines of_json;
  std::string lines = R"({"id": "a", "duration_s": 1})"
                      "\n";
  for (int i = 0; i < 7; ++i) lines += "{\"id\": \n";
  // Half of a service must not stay behind where its second replica is refused.
  lines += R"({"id": "s.1", "duration_s": 1})"
           "\n";
  lines += R"({"id": "s", "memory_mib": 100, "service": {"replicas": 2, "served_per_s": 10,)"
           R"( "requests_per_s": 5}})"
           "\n";
  const auto json = parse_workload(lines, "w.jsonl", {}, {}, &of_json);
  ASSERT_TRUE(json) << json.error().text();
  EXPECT_EQ(json->jobs.size(), 2U);
  EXPECT_TRUE(json->services.empty());
  EXPECT_EQ(of_json.count, 8U);
  EXPECT_EQ(of_json.first.size(), BadLines::most_kept);

  BadLines all;
  EXPECT_EQ(parse_workload("id,duration_s\na,x\n", "w", {}, {}, &all).error().message,
            "the workload has no jobs");
  EXPECT_EQ(all.count, 1U);
}

TEST(WorkloadFile, NamesThePlaceAndTheRemedy) {
  EXPECT_EQ(
      job_error(R"({"id": "a", "duration_s": 1, "memory": {"iterations": 1, "reuse_ratio": )"
                R"(0}})"),
      "jobs.jsonl:1: memory.reuse_ratio: 0 is out of bounds; give a number from 0.01 to 1000");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": -1})"),
            "jobs.jsonl:1: duration_s: a time of -1 s is negative");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 0})"),
            "jobs.jsonl:1: duration_s: a job that takes no time runs nowhere; give seconds above "
            "0, such as 0.5, or leave the job out");
  EXPECT_EQ(job_error(R"({"name": "a", "expected_s": 1e-10})").substr(0, 24),
            "jobs.jsonl:1: expected_s");
  EXPECT_EQ(job_error(R"({"id": "a"})"), "jobs.jsonl:1: the key 'duration_s' is missing");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "profile": "9g.90gb"})"),
            "jobs.jsonl:1: profile: no known GPU has a profile '9g.90gb'; `cleave gpu MODEL` lists "
            "a model's "
            "profiles");
  EXPECT_EQ(job_error("{\"id\": \"a\", \"duration_s\": 1}\n{\"id\": \"a\", \"duration_s\": 1}"),
            "jobs.jsonl:2: id: there are two jobs named 'a'");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "speed": {"1g.5gb": 0}})"),
            "jobs.jsonl:1: speed.1g.5gb: a speed of 0 is not possible; speeds are relative to the "
            "largest "
            "profile, which has 1");
  EXPECT_EQ(
      job_error(R"({"id": "a", "duration_s": 1, "profile": "1g.5gb", "speed": {"7g.40gb": 1}})"),
      "jobs.jsonl:1: speed: the job asks for 1g.5gb, on which its speed table says it does not "
      "fit; "
      "add its speed there, or ask for another profile");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1, "profile": "1g.5gb", "memory_mib": 5})"),
            "jobs.jsonl:1: a request names a profile or a size, not both");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1e300})"),
            "jobs.jsonl:1: duration_s: a time must be at most a hundred years; give seconds, not "
            "milliseconds or a date");
  EXPECT_EQ(job_error(R"({"id": "a", "phases": {"cpu_s": 3.1e9, "compute_s": 3.1e9}})"),
            "jobs.jsonl:1: phases.cpu_s: a phase must be at most 25 years; give seconds, not "
            "milliseconds or "
            "a date");
  EXPECT_EQ(job_error(R"([{"id": "a"}])"),
            "jobs.jsonl: this is one JSON list; write one JSON object a line, without a list "
            "around them");
  EXPECT_EQ(job_error("\xef\xbb\xbf{\"id\": \"a\", \"duration_s\": 1}"), "none")
      << "a byte order mark is passed over";
  EXPECT_EQ(job_error("id,id,duration_s\na,b,1\n"),
            "jobs.jsonl:1: the column 'id' occurs twice in the header; keep one of the two");
  EXPECT_EQ(job_error(R"({"id": "a\u001b[31m", "duration_s": 1})"),
            "jobs.jsonl:1: id: a job needs a name, without control characters");
  EXPECT_EQ(job_error(""),
            "jobs.jsonl: the file is empty; a workload is CSV with a header, or "
            "one JSON object a line");
  EXPECT_EQ(job_error(R"({"id": "a", "duration_s": 1)"),
            "jobs.jsonl:1: column 28: the JSON text ends in the middle; a workload is CSV with a "
            "header, or one JSON object a line");
  EXPECT_EQ(job_error("{\"id\": \"a\", \"duration_s\": NaN}\n"),
            "jobs.jsonl:1: column 27: this is not valid JSON; JSON has no NaN and no infinity; "
            "write a number, or leave the key out");
  EXPECT_EQ(job_error("id,duration_s,wieght\na,1,2\n"),
            "jobs.jsonl:1: unknown column 'wieght'; a column of your own is called x-wieght");
  EXPECT_EQ(job_error("id,duration,x-mine\na,1,2\n"),
            "jobs.jsonl:1: unknown column 'duration'; did you mean 'duration_s'? Otherwise, a "
            "column of your own is called x-duration");
  EXPECT_EQ(job_error(R"({"id": "a", "phases": {}})"),
            "jobs.jsonl:1: phases: the phases take no time; give at least one of them");
  EXPECT_EQ(job_error(fmt::format(R"({{"id": "{}", "duration_s": 1}})", std::string(1025, 'a'))),
            "jobs.jsonl:1: id: a name of 1025 bytes is too long; at most 1024 are taken");
}

TEST(Share, MapsToProfilesByTheRule) {
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  const auto profiles = Geometry(a100, ProfileChoice().on(a100)).profile_list();
  const auto mapped = [&](int thousandths, ShareRule rule) {
    return std::string(profile_of_share(a100, profiles, {thousandths, rule})->name);
  };
  // Sevenths: 143, 286, 429, 571, 1000 thousandths.
  EXPECT_EQ(mapped(1, ShareRule::round_up), "1g.5gb");
  EXPECT_EQ(mapped(142, ShareRule::round_up), "1g.5gb");
  EXPECT_EQ(mapped(143, ShareRule::round_up), "2g.10gb") << "143/1000 is more than a seventh";
  EXPECT_EQ(mapped(428, ShareRule::round_up), "3g.20gb");
  EXPECT_EQ(mapped(460, ShareRule::round_up), "4g.20gb");
  EXPECT_EQ(mapped(572, ShareRule::round_up), "7g.40gb");
  EXPECT_EQ(mapped(1000, ShareRule::round_up), "7g.40gb");
  EXPECT_EQ(mapped(460, ShareRule::nearest), "3g.20gb");
  EXPECT_EQ(mapped(500, ShareRule::nearest), "4g.20gb") << "3.5 sevenths: ties up";
  EXPECT_EQ(mapped(785, ShareRule::nearest), "4g.20gb");
  EXPECT_EQ(mapped(786, ShareRule::nearest), "7g.40gb");
  EXPECT_EQ(mapped(0, ShareRule::nearest), "1g.5gb");
}

TEST(WorkloadFile, AModelStandsForItsSize) {
  std::vector<ModelUse> asked;
  const ModelSizer sizer = [&](const ModelUse& use) -> Result<MiB> {
    asked.push_back(use);
    if (use.shape == "broken") return fail(ErrorKind::bad_input, "broken", "torn");
    return MiB{5000 + 100 * use.batch};
  };
  const auto workload = parse_workload(
      "{\"id\": \"a\", \"duration_s\": 1, \"shape\": \"m/config.json\", \"batch\": 4, \"context\": "
      "512, "
      "\"train\": true, "
      "\"precision\": \"fp32\", \"compute_slices\": 2}",
      "jobs", sizer);
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0], (ModelUse{"m/config.json", "fp32", 4, 512, true}));
  EXPECT_EQ(std::get<BySize>(workload->requests[0].wanted), (BySize{{5400}, {2}}));
  EXPECT_TRUE(parse_workload("id,duration_s,shape,batch\na,1,vision:resnet50,8\n", "jobs", sizer));
  EXPECT_EQ(asked[1], (ModelUse{"vision:resnet50", "", 8, 0, false}));
  const auto refused = [&](const std::string& keys, const ModelSizer& by) {
    const auto answer =
        parse_workload("{\"id\": \"a\", \"duration_s\": 1" + keys + "}", "jobs", by);
    EXPECT_FALSE(answer) << keys;
    return answer ? std::string() : answer.error().message;
  };
  EXPECT_EQ(refused(R"(, "shape": "broken")", sizer), "broken: torn");
  EXPECT_EQ(refused(R"(, "shape": "m")", {}), "models' files are not opened here");
  EXPECT_EQ(refused(R"(, "shape": "m", "memory_mib": 5)", sizer),
            "a job has a shape or memory_mib, not both");
  EXPECT_EQ(refused(R"(, "shape": "m", "profile": "1g.5gb")", sizer),
            "a job has a shape or a profile, not both");
  EXPECT_EQ(refused(R"(, "train": true)", sizer), "this belongs to a job's model");
}

}  // namespace
}  // namespace cleave
