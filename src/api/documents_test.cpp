// Documents of the API: what is written is read again, what is wrong is refused, what is new is
// passed over.

#include "api/documents.hpp"

#include <gtest/gtest.h>

#include "api/plan_documents.hpp"
#include "api/time_text.hpp"
#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Times, AreReadAsTheyAreWritten) {
  EXPECT_EQ(utc_text(Instant{}), "1970-01-01T00:00:00.000Z");
  const auto leap = parse_utc_text("2024-02-29T23:59:59.5Z");
  ASSERT_TRUE(leap);
  EXPECT_EQ(utc_text(*leap), "2024-02-29T23:59:59.500Z");
  EXPECT_EQ(parse_utc_text("2026-05-04T10:11:12Z"), Instant{seconds(1777889472)});
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Instant instant{milliseconds(random.below(9'000'000'000'000))};
    ASSERT_EQ(parse_utc_text(utc_text(instant)), instant);
  }
  EXPECT_EQ(utc_text(Instant::min()), "1677-09-21T00:12:43.145Z");
  EXPECT_EQ(utc_text(Instant::max()), "2262-04-11T23:47:16.854Z");
  for (const char* wrong : {"", "2026-05-04", "2026-05-04T10:11:12", "2026-02-30T10:11:12Z",
                            "2026-05-04 10:11:12Z", "2026-05-04T24:11:12Z", "2026-05-04T10:11:12.Z",
                            "2026-05-04T10:11:12.1x3Z", "2026-05-04T10:11:12+00:00",
                            "-026-05-04T10:11:12Z", "2026-+5-04T10:11:12Z", "1969-05-04T10:11:12Z"})
    EXPECT_FALSE(parse_utc_text(wrong)) << wrong;
}

const char* const full_submission = R"({
  "command": ["python3", "train.py", "--name", "a \u001b[31m \" b"],
  "environment": ["PATH=/bin", "EMPTY="],
  "directory": "/home/u",
  "name": "train",
  "memory_mib": 9216,
  "compute_slices": 2,
  "priority": -3,
  "deadline_s": 1.5,
  "retries": 1,
  "restartable": true,
  "movable": true,
  "progress": "checkpoint",
  "checkpoint_signal": 10,
  "checkpoint_grace_s": 20,
  "stop_grace_s": 0,
  "out_of_memory_code": 77,
  "application": "resnet",
  "batch": 64,
  "expected_s": 120,
  "time_limit_s": 240,
  "cpus": 1.5,
  "host_memory_mib": 4096,
  "image": "/srv/pytorch.sif",
  "binds": ["/data:/data:ro"],
  "after": ["ok:12", "any:3-7"],
  "output": "logs/%j.out",
  "error": "logs/%j.err"
})";

TEST(Submissions, AreReadWhole) {
  Submission all;
  all.argv = {"python3", "train.py", "--name", "a \x1b[31m \" b"};
  all.environment = {"PATH=/bin", "EMPTY="};
  all.working_directory = "/home/u";
  all.name = "train";
  all.memory = MiB{9216};
  all.compute_slices = ComputeSlices{2};
  all.priority = -3;
  all.retries = 1;
  all.deadline = milliseconds(1500);
  all.restartable = all.movable = true;
  all.progress = Keeps::checkpoint;
  all.checkpoint_signal = 10;
  all.checkpoint_grace = seconds(20);
  all.stop_grace = seconds(0);
  all.out_of_memory_code = 77;
  all.application = "resnet";
  all.batch = 64;
  all.expected = seconds(120);
  all.time_limit = seconds(240);
  all.cpus = 1.5;
  all.host_memory = MiB{4096};
  all.image = "/srv/pytorch.sif";
  all.binds = {"/data:/data:ro"};
  all.after = {"ok:12", "any:3-7"};
  all.output_file = "logs/%j.out";
  all.error_file = "logs/%j.err";
  EXPECT_EQ(read_submission(Json::parse(full_submission), "request"), all);
  EXPECT_EQ(Json::parse(full_submission).size() + 10, field_infos<Submission>.size() - 6)
      << "all but profile, model, places, times, kernel, kinds, arrays and a checkpoint by a "
         "command, and but what is in the store only";
  Json least{{"command", {"true"}}, {"environment", Json::array()}, {"directory", "/"}};
  Submission read;
  read.argv = {"true"};
  read.working_directory = "/";
  EXPECT_EQ(read_submission(least, "request"), read);
  least["model"] = {{"name", "Llama-3-8B"}, {"memory_mib", 18636}};
  read.model = SizedModel{"Llama-3-8B", MiB{18636}};
  EXPECT_EQ(read_submission(least, "request"), read);
  EXPECT_EQ(in_words(read), "Llama-3-8B: 18.2 GiB");
  EXPECT_EQ(text(request_of(read)), "18636 MiB");
}

TEST(Submissions, AskForSeveralPlaces) {
  Json document{{"command", {"true"}}, {"environment", Json::array()}, {"directory", "/"}};
  const auto read = [&](const Json& more) {
    Json whole = document;
    whole.update(more);
    return read_submission(whole, "request");
  };
  const auto four = read({{"instances", 4}, {"profile", "1g.5gb"}, {"together", "gpu"}});
  ASSERT_TRUE(four) << four.error().text();
  EXPECT_EQ(text(request_of(*four)), "4 x 1g.5gb on one GPU");
  EXPECT_EQ(in_words(*four), "4 x 1g.5gb on one GPU");
  const auto gpus = read({{"gpus", 2}});
  ASSERT_TRUE(gpus) << gpus.error().text();
  EXPECT_EQ(text(request_of(*gpus)), "2 whole GPUs");
  const auto sized = read({{"instances", 3}, {"memory_mib", 9216}, {"together", "anywhere"}});
  ASSERT_TRUE(sized) << sized.error().text();
  EXPECT_EQ(in_words(*sized), "3 x 9 GiB");
  for (const Json& wrong :
       {Json{{"gpus", 0}}, Json{{"gpus", "2"}}, Json{{"gpus", 2}, {"profile", "1g.5gb"}},
        Json{{"gpus", 2}, {"together", "gpu"}}, Json{{"instances", 4}}, Json{{"together", "node"}},
        Json{{"instances", 4}, {"profile", "1g.5gb"}, {"movable", true}},
        Json{{"instances", 100'001}, {"profile", "1g.5gb"}},
        Json{{"gpus", 2}, {"together", "apart"}}}) {
    const auto refused = read(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(refused.error().place.starts_with("request: ")) << refused.error().text();
  }
}

TEST(Submissions, AreServicesAndLeases) {
  const Json document{{"command", {"true"}}, {"environment", Json::array()}, {"directory", "/"}};
  const auto read = [&](const Json& more) {
    Json whole = document;
    whole.update(more);
    return read_submission(whole, "request");
  };
  const auto service = read({{"service", {{"replicas", 3}}}});
  ASSERT_TRUE(service) << service.error().text();
  EXPECT_EQ(kind_of(*service), JobKind::service);
  EXPECT_EQ(service->service->replicas, 3U);
  EXPECT_TRUE(may_be_restarted(*service) && may_be_moved(*service));
  EXPECT_EQ(read({{"service", Json::object()}})->service->replicas, 1U);
  const auto lease = read(
      {{"lease",
        {{"starts_within_s", 30}, {"idle_after_s", 900}, {"then", "shrink"}, {"idle_mib", 4000}}},
       {"progress", "checkpoint"}});
  ASSERT_TRUE(lease) << lease.error().text();
  LeaseTerms terms;
  terms.starts_within = seconds(30);
  terms.idle_after = seconds(900);
  terms.then = LeaseTerms::Then::shrink;
  terms.idle_memory = MiB{4000};
  EXPECT_EQ(lease->lease, terms);
  EXPECT_EQ(kind_of(*lease), JobKind::lease);
  EXPECT_FALSE(may_be_moved(*read({{"lease", Json::object()}}))) << "it keeps nothing";

  const std::pair<Json, std::string> wrong[] = {
      {{{"service", {{"replicas", 0}}}}, "service.replicas"},
      {{{"service", {{"replicas", 1001}}}}, "service.replicas"},
      {{{"service", {{"latency_s", 1}}}}, "service.latency_s"},
      {{{"service", true}}, "service"},
      {{{"service", Json::object()}, {"lease", Json::object()}}, "lease"},
      {{{"service", Json::object()}, {"gpus", 1}}, "gpus"},
      {{{"service", Json::object()}, {"instances", 2}, {"profile", "1g.5gb"}}, "instances"},
      {{{"service", Json::object()}, {"progress", "checkpoint"}}, "progress"},
      {{{"service", Json::object()}, {"deadline_s", 5}}, "deadline_s"},
      {{{"service", Json::object()}, {"expected_s", 5}}, "expected_s"},
      {{{"service", Json::object()}, {"retries", 5}}, "retries"},
      {{{"lease", {{"idle_after_s", 0}}}}, "lease.idle_after_s"},
      {{{"lease", {{"then", "sleep"}, {"idle_after_s", 9}}}}, "lease.then"},
      {{{"lease", {{"then", "shrink"}}}, {"memory_mib", 9}, {"progress", "checkpoint"}},
       "lease.then"},
      {{{"lease", {{"idle_after_s", 9}, {"idle_mib", 9}}}}, "lease.idle_mib"},
      {{{"lease", {{"then", "shrink"}, {"idle_after_s", 9}}}, {"progress", "checkpoint"}},
       "lease.idle_mib"},
      {{{"lease", {{"then", "shrink"}, {"idle_after_s", 9}, {"idle_mib", 9}}}}, "progress"},
      {{{"lease", Json::object()}, {"deadline_s", 5}}, "deadline_s"},
  };
  for (const auto& [members, place] : wrong) {
    const auto refused = read(members);
    ASSERT_FALSE(refused) << members;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    const std::string text = refused.error().text();
    EXPECT_NE(text.find(place.substr(place.find('.') + 1)), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("request: " + place.substr(0, place.find('.')))) << text;
  }
}

TEST(Submissions, StateTimesByProfile) {
  Json document{{"command", {"true"}}, {"environment", Json::array()}, {"directory", "/"}};
  document["times"] = {{{"profile", "1g.5gb"}, {"time_s", 310}},
                       {{"profile", "A100-40GB:7g.40gb"}, {"time_s", 92.5}}};
  const auto read = read_submission(document, "request");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->times, (std::vector<StatedTime>{{"1g.5gb", seconds(310)},
                                                  {"A100-40GB:7g.40gb", milliseconds(92500)}}));
  const auto refused = [&](Json times, const Json& more = Json::object()) {
    Json other = document;
    other["times"] = std::move(times);
    other.update(more);
    const auto wrong = read_submission(other, "request");
    return wrong ? std::string("taken") : wrong.error().text();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const Json one{{"profile", "1g.5gb"}, {"time_s", 3}};
  EXPECT_EQ(refused(Json::array({one})), "taken");
  EXPECT_TRUE(has(refused(Json::array({one, one})), "given twice"));
  EXPECT_TRUE(has(refused(Json::array({one}), {{"expected_s", 4}}), "in place of expected_s"));
  EXPECT_TRUE(has(refused({{{"profile", "1g.5b"}, {"time_s", 3}}}), "did you mean '1g.5gb'"));
  EXPECT_TRUE(has(refused({{{"profile", "1g.5gb"}}}), "has no time"));
  for (const Json& wrong :
       {Json(3), Json("1g.5gb=3"), Json::array({3}), Json::array({{{"time_s", 3}}}),
        Json::array({{{"profile", "1g.5gb"}, {"time_s", 0}}}),
        Json::array({{{"profile", "1g.5gb"}, {"time_s", 3}, {"more", 1}}})})
    EXPECT_NE(refused(wrong), "taken") << wrong;
}

TEST(Submissions, StateAKernel) {
  Json document{{"command", {"true"}},
                {"environment", Json::array()},
                {"directory", "/"},
                {"memory_mib", 9216},
                {"kernel", {{"grid", {63, 63}}, {"threads", {256}}, {"registers", 40}}}};
  const auto read = read_submission(document, "request");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->kernel, (StatedKernel{{63, 63}, {256}, 40, 0}));
  EXPECT_EQ(in_words(*read->kernel), "63x63 blocks of 256 threads, 40 registers");
  EXPECT_EQ(use_of(*read->kernel).blocks, 3969);
  const auto refused = [&](const Json& kernel, bool sized = true) {
    Json other = document;
    other["kernel"] = kernel;
    if (!sized) other.erase("memory_mib");
    const auto wrong = read_submission(other, "request");
    return wrong ? std::string("taken") : wrong.error().text();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? std::string(part) : text;
  };
  // As of a workload's job.
  const Json fine{{"grid", {63}}, {"threads", {64}}};
  EXPECT_EQ(refused(fine), "taken");
  for (const char* part :
       {"request: kernel: a kernel says how much compute is asked for beside a size",
        "give memory_mib or model too"})
    EXPECT_EQ(says(refused(fine, false), part), part);
  const char* const dimensions = "these are not the sizes of one to three dimensions";
  for (const Json& sizes :
       {Json::array(), Json{1, 1, 1, 1}, Json{2147483647, 2147483647, 2147483647}}) {
    EXPECT_EQ(says(refused({{"grid", sizes}, {"threads", {64}}}), dimensions), dimensions);
    EXPECT_EQ(says(refused({{"grid", {1}}, {"threads", sizes}}), "kernel.threads"),
              "kernel.threads");
  }
  EXPECT_EQ(says(refused(Json::object()), "the key 'grid' is missing"),
            "the key 'grid' is missing");
  for (const Json& wrong :
       {Json(63), Json{{"grid", {1, 0}}, {"threads", {64}}}, Json{{"grid", 63}, {"threads", {64}}},
        Json{{"grid", {1}}, {"threads", {64}}, {"regs", 40}},
        Json{{"grid", {1}}, {"threads", {64}}, {"registers", 256}}})
    EXPECT_NE(refused(wrong), "taken") << wrong;
}

TEST(Submissions, SayWhatTheJobKeepsAndSoWhatMayBeDoneWithIt) {
  const auto allowed = [](Keeps keeps) {
    JobSpec spec;
    spec.progress = keeps;
    return std::pair(may_be_restarted(spec), may_be_moved(spec));
  };
  EXPECT_EQ(allowed(Keeps::unsaid), std::pair(false, false));
  EXPECT_EQ(allowed(Keeps::stateless), std::pair(true, true));
  EXPECT_EQ(allowed(Keeps::checkpoint), std::pair(true, true));
  EXPECT_EQ(allowed(Keeps::nothing), std::pair(false, false));
  JobSpec flags;
  flags.restartable = flags.movable = true;
  EXPECT_TRUE(may_be_restarted(flags) && may_be_moved(flags));
  const auto refused = [](const Json& more) {
    Json document{{"command", {"true"}}, {"environment", Json::array()}, {"directory", "/"}};
    document.update(more);
    const auto read = read_submission(document, "request");
    return read ? std::string("taken") : read.error().text();
  };
  EXPECT_EQ(refused({{"progress", "none"}, {"restartable", true}}), "taken");
  EXPECT_EQ(refused({{"progress", "none"}, {"checkpoint_signal", 10}}),
            "request: progress: a job that keeps nothing writes no checkpoint when it is "
            "signalled; leave out checkpoint_signal, or say that it keeps its last checkpoint: "
            "checkpoint");
  EXPECT_EQ(refused({{"progress", "checkpoint"}, {"checkpoint_signal", 10}}),
            "request: checkpoint_grace_s: TERM would follow the checkpoint signal at once; give "
            "the time that saving takes, or leave out checkpoint_signal: TERM asks for it then");
  EXPECT_EQ(
      refused({{"progress", "checkpoint"}, {"checkpoint_signal", 10}, {"checkpoint_grace_s", 5}}),
      "taken");
  const auto with_command = [&](const Json& more) {
    Json document{{"checkpoint_command", "save"}, {"checkpoint_grace_s", 5}, {"restartable", true}};
    document.update(more);
    return refused(document);
  };
  EXPECT_EQ(with_command({{"restore_command", "restore"}}), "taken");
  EXPECT_EQ(with_command({{"restartable", false}, {"progress", "checkpoint"}}), "taken");
  const std::pair<Json, const char*> wrong[] = {
      {{{"checkpoint_signal", 10}}, "it is given in place of checkpoint_signal"},
      {{{"progress", "none"}}, "a job that keeps nothing has no checkpoint"},
      {{{"restartable", false}}, "it is not said that the job may be stopped and started again"},
      {{{"image", "debian"}}, "it would not run in the job's container"},
      {{{"service", {{"replicas", 2}}}}, "a replica of a service takes over before"},
      {{{"gpus", 2}}, "it is for jobs of one instance or GPU"},
      {{{"profile", "1g.5gb"}, {"instances", 2}}, "it is for jobs of one instance or GPU"},
      {{{"checkpoint_grace_s", 0}}, "the checkpoint command would have no time"},
      {{{"checkpoint_command", " "}}, "it is blank"},
      {{{"checkpoint_command", ""}, {"restore_command", "restore"}},
       "there is no checkpoint_command that it would follow"},
  };
  for (const auto& [more, why] : wrong)
    EXPECT_NE(with_command(more).find(why), std::string::npos) << with_command(more);
}

TEST(Submissions, ThatAreWrongAreRefusedWithTheirPlace) {
  const auto refused = [](const char* key, Json value) {
    Json document = Json::parse(full_submission);
    document[key] = std::move(value);
    const auto read = read_submission(document, "request");
    return read ? std::string("taken") : read.error().text();
  };
  EXPECT_EQ(refused("x-mine", 3), "taken");
  EXPECT_NE(refused("retrie", 3).find("did you mean 'retries'?"), std::string::npos);
  EXPECT_NE(refused("profile", "2g.10gb").find("more than one of"), std::string::npos);
  EXPECT_NE(refused("memory_mib", nullptr).find("compute_slices"), std::string::npos);
  EXPECT_NE(refused("memory_mib", "9GiB").find("memory_mib"), std::string::npos) << "numbers only";
  EXPECT_EQ(refused("command", Json::array()), "request: command: it is empty");
  EXPECT_NE(refused("command", "true"), "taken");
  EXPECT_NE(refused("command", Json::array({1})), "taken");
  EXPECT_NE(refused("directory", nullptr), "taken");
  EXPECT_EQ(refused("directory", "home"), "request: directory: expected an absolute path");
  EXPECT_EQ(refused("environment", {"A=b", "=x"}), "request: environment: '=x' is not NAME=value");
  EXPECT_EQ(refused("name", "12"), "request: name: '12' is a number; choose another name");
  EXPECT_EQ(refused("application", std::string(257, 'x')),
            "request: application: it has 257 bytes, and the limit is 256");
  EXPECT_EQ(refused("name", "\xff"),
            "request: name: it is not UTF-8; rename what it names, or put it into a script");
  EXPECT_EQ(refused("retries", 1001),
            "request: retries: expected a whole number from 0 to 1000, found 1001");
  EXPECT_EQ(refused("checkpoint_signal", 9),
            "request: checkpoint_signal: no program can catch KILL or STOP; "
            "USR1, which is 10, is the usual one");
  EXPECT_EQ(refused("checkpoint_grace_s", 86401),
            "request: checkpoint_grace_s: it is longer than 86400 s");
  EXPECT_EQ(
      refused("expected_s", 0),
      "request: expected_s: expected a time above 0 s, found 0 s; leave it out where the time is "
      "unknown");
  EXPECT_EQ(refused("progress", "checkpoints"),
            "request: progress: expected stateless, checkpoint or none, found 'checkpoints'");
  EXPECT_NE(refused("progress", ""), "taken");
  EXPECT_EQ(refused("progress", nullptr), "taken");
  EXPECT_EQ(refused("progress", "none"),
            "request: progress: a job that keeps nothing cannot be moved; leave out movable, or "
            "say what the job keeps: stateless or checkpoint");
  EXPECT_NE(refused("deadline_s", -1), "taken");
  EXPECT_NE(refused("checkpoint_signal", 65), "taken");
  EXPECT_NE(refused("model", Json{{"name", "x"}, {"memory_mib", 3}, {"more", 1}}), "taken");
}

ApiJob full_job() {
  ApiJob job;
  job.id = 12;
  job.name = "train";
  job.user = "u";
  job.uid = 4294967294;
  job.state = "running";
  job.reason = "because";
  job.exit_code = 137;
  job.instance = ApiPlace{"GPU-1", 3, "MIG-1", "2g.10gb", 4};
  job.asked = "nothing";
  job.asks_now = "2g.10gb";
  job.priority = 5;
  job.restartable = true;
  job.progress = "stateless";
  job.deadline_at = job.submitted_at = job.started_at = Instant{seconds(1'700'000'000)};
  job.attempts = 2;
  job.early_restarts = 1;
  job.memory = MiB{4096};
  job.command = {"sleep", "5"};
  job.directory = "/";
  job.history = {{1, job.instance, job.started_at, job.started_at, job.ended_at, "early-restart",
                  "grows", 143, MiB{4000}},
                 {2, std::nullopt, std::nullopt, std::nullopt, std::nullopt, "", "", std::nullopt,
                  std::nullopt}};
  return job;
}

TEST(Jobs, AreReadAsTheyAreWrittenAndTolerateWhatIsNew) {
  ApiJob job = full_job();
  Json document = to_json(job, true);
  document["a_later_key"] = {1, 2};
  document["history"][0]["another"] = true;
  EXPECT_EQ(read_job(document, "answer"), job);
  job.command.clear();
  job.directory.clear();
  job.history.clear();
  const auto list = read_jobs(Json{{"jobs", {to_json(job, false)}}, {"more", 1}}, "answer");
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, std::vector<ApiJob>{job});
  EXPECT_TRUE(read_job(Json{{"id", 1}, {"state", "hibernating"}}, "answer"))
      << "a state of a later daemon";
  EXPECT_FALSE(read_job(Json{{"id", "1"}, {"state", "queued"}}, "answer"));
  EXPECT_FALSE(read_job(Json{{"id", 1}}, "answer"));
  EXPECT_FALSE(read_job(Json{{"id", 1}, {"state", "queued"}, {"submitted_at", "noon"}}, "answer"));
  EXPECT_FALSE(read_jobs(Json::object(), "answer"));
  EXPECT_FALSE(read_jobs(Json::array(), "answer"));
}

TEST(OtherAnswers, AreReadAsTheyAreWritten) {
  ApiGpu gpu;
  gpu.index = 1;
  gpu.uuid = "GPU-1";
  gpu.model = "A100-40GB";
  gpu.managed = gpu.mig = true;
  gpu.power_w = 61.5;
  gpu.layout = "2g.10gb@4";
  gpu.instances = {{{"GPU-1", 1, "MIG-1", "2g.10gb", 4}, "ours", {12}, {4711}, MiB{1}, MiB{9856}}};
  EXPECT_EQ(read_gpus(Json{{"gpus", {to_json(gpu)}}}, "answer"), std::vector<ApiGpu>{gpu});
  const ApiEvent event{7, Instant{seconds(5)}, "job-started", 12, "", "job 12 runs"};
  EXPECT_EQ(read_event(to_json(event), "answer"), event);
  const auto status = read_status(
      Json::parse(
          R"({"version": "0.1.0", "pid": 5, "uid": 0, "scheduler": "online", "simulated": true,
                      "jobs": {"queued": 2, "running": 1}, "troubles": ["disk full"],
                      "you": {"uid": 1000, "user": "u", "operator": true}})"),
      "answer");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->jobs.queued, 2);
  EXPECT_TRUE(status->you.operates && status->simulated && !status->paused);
  EXPECT_EQ(status->troubles, std::vector<std::string>{"disk full"});
}

TEST(Plans, AreReadAsTheyAreWritten) {
  PlanOrder order{"compact", seconds(90), {}};
  order.moves.push_back({2, 12, {"GPU-a", "3g.20gb", 0}, {"GPU-b", "3g.20gb", 4}, {}, {}, 0});
  order.expected = seconds(12);
  const auto same = read_plan_order(to_json(order), "plan");
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(*same, order);
  LivePlan plan;
  plan.number = 3;
  plan.kind = "compact";
  plan.state = PlanState::stopped;
  plan.why = "its time is up";
  plan.expected = seconds(12);
  plan.ended = Instant{seconds(5)};
  plan.moves = order.moves;
  plan.moves[0].state = MovePhase::left;
  plan.moves[0].why_not = "it runs on GPU 2";
  plan.frees = {"GPU-a"};
  plan.freed = 0;
  Json document = to_json(plan);
  document["new"] = 1;
  const auto again = read_live_plan(document, "answer");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, plan);
  EXPECT_EQ(read_live_plans({{"plans", {document}}}, "answer")->size(), 1U);
}

TEST(Plans, ThatAreWrongAreRefusedWithTheirPlace) {
  const auto why = [](const char* text) {
    const auto read = read_plan_order(Json::parse(text), "plan");
    return read ? std::string() : read.error().text();
  };
  EXPECT_EQ(why(R"({"kind":"compact","moves":[]})"), "") << "whether it moves anything is another";
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {R"({"moves":[]})", "kind"},
           {R"({"kind":"compact","moves":[],"more":1})", "more"},
           {R"({"kind":"compact","within_s":0})", "within_s"},
           {R"({"kind":"compact","moves":[{"wave":0}]})", "moves[0].wave"},
           {R"({"kind":"compact","moves":[{"wave":1,"job":1}]})", "from"},
           {R"({"kind":"compact","moves":[{"wave":1,"job":1,
               "from":{"gpu":"","profile":"a","start":0},
               "to":{"gpu":"0","profile":"a","start":0}}]})",
            "gpu"}})
    EXPECT_NE(why(text).find(part), std::string::npos) << text << ": " << why(text);
}

TEST(Errors, KeepTheirKindOverTheSocket) {
  for (const ErrorKind kind :
       {ErrorKind::bad_usage, ErrorKind::bad_input, ErrorKind::infeasible, ErrorKind::internal}) {
    const Error error{kind, "request: command", "there is none", "give one"};
    const Error read = read_error(400, error_document(error).dump());
    EXPECT_EQ(read.kind, kind);
    EXPECT_EQ(read.text(), error.text());
  }
  EXPECT_EQ(read_error(503, "<html>").text(), "the daemon answered with status 503");
  EXPECT_EQ(read_error(404, "{}").kind, ErrorKind::bad_input);
  EXPECT_EQ(read_error(409, "{}").kind, ErrorKind::infeasible);
  EXPECT_EQ(read_error(500, R"({"error": 5})").kind, ErrorKind::internal);
  EXPECT_EQ(read_error(400, R"({"error": {"kind": "odd"}})").kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace cleave
