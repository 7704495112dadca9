// The commands that talk to the daemon, from outside and against a stub of it: what they send and
// print, how they end, and that a job's output cannot control the user's terminal.

#include <sys/stat.h>

#include <thread>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "sim_node.hpp"
#include "stub_world.hpp"
#include "terminal.hpp"

namespace cleave {
namespace {

using testing_program::document;
using testing_program::Outcome;
using testing_program::shell;
using testing_program::StubWorld;
using testing_program::Terminal;

void says(const Outcome& outcome, int exit_code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
  for (const char* part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << "no '" << part << "' in: " << outcome.err;
}

ApiJob job_of(std::int64_t id, const std::string& state, std::optional<int> exit_code = {}) {
  ApiJob job;
  job.id = id;
  job.state = state;
  job.exit_code = exit_code;
  job.submitted_at = parse_utc_text("2026-05-04T10:11:12Z");
  return job;
}

ApiJob ended_after(std::int64_t attempts, int exit_code) {
  ApiJob job = job_of(12, exit_code == 0 ? "finished" : "failed", exit_code);
  job.attempts = attempts;
  return job;
}

TEST(Submit, SaysHowAJobIsSavedAndBroughtBack) {
  StubWorld world;
  const Outcome sent = shell(world.command(
      "submit --restartable --checkpoint-command 'criu dump -t $CLEAVE_PID' --restore-command "
      "'criu restore' --checkpoint-grace 60 -- true"));
  EXPECT_EQ(sent.exit_code, 0) << sent.err;
  const Json job = world.submissions().at(0);
  EXPECT_EQ(job["checkpoint_command"], "criu dump -t $CLEAVE_PID");
  EXPECT_EQ(job["restore_command"], "criu restore");
  const auto refused = [&](const std::string& options) {
    const Outcome outcome = shell(world.command("submit " + options + " -- true"));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_EQ(refused("--checkpoint-grace 5"),
            "cleave: --checkpoint-grace: nothing is said that it is for; give --checkpoint-signal "
            "or --checkpoint-command too\n");
  EXPECT_EQ(refused("--restartable --checkpoint-command save"),
            "cleave: --checkpoint-grace: the checkpoint command would have no time; give the time "
            "that it may take\n");
  EXPECT_NE(refused("--checkpoint-command save --checkpoint-signal USR1")
                .find("--checkpoint-signal and --checkpoint-command cannot be used"),
            std::string::npos);
  EXPECT_EQ(world.submissions().size(), 1U);
}

TEST(Submit, SendsTheCommandWordByWordWithFolderAndEnvironment) {
  StubWorld world;
  const Outcome sent = shell(
      "cd /usr/bin && KEPT='a b' CUDA_VISIBLE_DEVICES=9 CLEAVE_JOB=3 " +
      world.command(
          "submit --name 'train it' --env MORE=x=y --env EMPTY= --priority -2 --deadline 1.5 "
          "--retry 2 "
          "--restartable --checkpoint-signal SIGUSR1 --checkpoint-grace 20 --out-of-memory-code 77 "
          "--memory 9GiB --compute-slices 2 -- sh -c '[1,2]' '' --json -- '%%' '{}' \"a'b\""));
  EXPECT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_EQ(sent.out, "job 12\n");
  ASSERT_EQ(world.submissions().size(), 1U);
  const Json job = world.submissions()[0];
  EXPECT_EQ(job["command"],
            Json::parse(R"(["sh", "-c", "[1,2]", "", "--json", "--", "%%", "{}", "a'b"])"));
  EXPECT_EQ(job["directory"], "/usr/bin");
  EXPECT_EQ(job["name"], "train it");
  EXPECT_EQ(job["memory_mib"], 9216);
  EXPECT_EQ(job["compute_slices"], 2);
  EXPECT_EQ(job["priority"], -2);
  EXPECT_EQ(job["deadline_s"], 1.5);
  EXPECT_EQ(job["retries"], 2);
  EXPECT_EQ(job["restartable"], true);
  EXPECT_EQ(job["checkpoint_signal"], SIGUSR1);
  EXPECT_EQ(job["checkpoint_grace_s"], 20.0);
  EXPECT_EQ(job["out_of_memory_code"], 77);
  EXPECT_FALSE(job.contains("movable"));
  EXPECT_FALSE(job.contains("progress"));
  const auto has = [&](const std::string& variable) {
    return std::ranges::find(job["environment"], Json(variable)) != job["environment"].end();
  };
  EXPECT_TRUE(has("KEPT=a b") && has("MORE=x=y") && has("EMPTY="));
  EXPECT_EQ(job.dump().find("CUDA_VISIBLE_DEVICES"), std::string::npos)
      << "it is the daemon's to say";
  EXPECT_EQ(job.dump().find("CLEAVE_JOB"), std::string::npos);
}

TEST(Submit, TakesACleanEnvironmentAndOmitsInvalidUtf8) {
  StubWorld world;
  EXPECT_EQ(shell("SECRET=1 PASSED=2 LC_TIME=C " +
                  world.command("submit --clean-env --env PASSED --cwd /tmp -- true"))
                .exit_code,
            0);
  const std::string sent = world.submissions().at(0).dump();
  EXPECT_EQ(sent.find("SECRET"), std::string::npos);
  EXPECT_NE(sent.find("\"PASSED=2\""), std::string::npos);
  EXPECT_NE(sent.find("\"LC_TIME=C\""), std::string::npos);
  EXPECT_NE(sent.find("\"directory\":\"/tmp\""), std::string::npos);
  const Outcome odd = shell("ODD=$(printf '\\377') " + world.command("submit -- true"));
  says(odd, 0, {"ODD is not UTF-8"});
  says(shell(world.command("submit -- printf \"$(printf '\\377')\"")), 2, {"COMMAND", "UTF-8"});
  says(world.run("submit --env NOT_SET_ANYWHERE -- true"), 2,
       {"'NOT_SET_ANYWHERE' is not set here"});
  says(world.run("submit --env =x -- true"), 2, {"has no name"});
  says(world.run("submit --env CLEAVE_REPORT=x -- true"), 2, {"by the daemon"});
}

TEST(Submit, SaysWhatTheJobKeeps) {
  StubWorld world;
  EXPECT_EQ(world.run("submit --progress checkpoint -- true").exit_code, 0);
  EXPECT_EQ(world.submissions().at(0)["progress"], "checkpoint");
  says(world.run("submit --progress some -- true"), 2,
       {"--progress", "stateless, checkpoint or none"});
  says(world.run("submit --progress none --movable -- true"), 2,
       {"--progress", "cannot be moved", "stateless or checkpoint"});
}

TEST(Submit, TakesJobsOfSeveral) {
  StubWorld world;
  EXPECT_EQ(world.run("submit --gpus 2 --together node -- true").exit_code, 0);
  EXPECT_EQ(world.submissions().at(0)["gpus"], 2);
  EXPECT_EQ(world.submissions().at(0)["together"], "node");
  EXPECT_EQ(world.run("submit --instances 4x1g.5gb --together gpu -- true").exit_code, 0);
  EXPECT_EQ(world.submissions().at(1)["instances"], 4);
  EXPECT_EQ(world.submissions().at(1)["profile"], "1g.5gb");
  EXPECT_EQ(world.run("submit --instances 3 --memory 9GiB -- true").exit_code, 0);
  EXPECT_EQ(world.submissions().at(2)["instances"], 3);
  EXPECT_EQ(world.submissions().at(2)["memory_mib"], 9216);
  says(world.run("submit --gpus 2 --memory 9GiB -- true"), 2, {"--gpus", "no profile, size"});
  says(world.run("submit --gpus 2 --instances 2x1g.5gb -- true"), 2, {"--gpus", "not both"});
  says(world.run("submit --gpus 0 -- true"), 2, {"--gpus", "from 1 to 100000"});
  says(world.run("submit --gpus 2 --together gpu -- true"), 2, {"--together", "never on one GPU"});
  says(world.run("submit --profile 1g.5gb --together gpu -- true"), 2, {"--together", "has one"});
  says(world.run("submit --instances 4 -- true"), 2, {"--instances", "of which size"});
  says(world.run("submit --instances 4x -- true"), 2, {"--instances", "'4x'", "4x1g.5gb"});
  says(world.run("submit --instances 4x1g.5gb --profile 1g.5gb -- true"), 2,
       {"--instances", "names a profile"});
  says(world.run("submit --instances 4x1g.5gb --memory 4GiB -- true"), 2,
       {"--instances", "--memory says", "write --instances 4"});
  says(world.run("submit --instances 4x1g.5gb --model vision:resnet50 -- true"), 2,
       {"--instances", "--model says", "write --instances 4"});
  says(world.run("submit --instances 4x1g.5gb --movable -- true"), 2,
       {"--movable", "several processes"});
  says(world.run("submit --instances 4x1g.5gb --together apart -- true"), 2,
       {"--together", "spread"});
  EXPECT_EQ(world.submissions().size(), 3U);
}

TEST(Submit, LeavesOutWhatAJobOfSeveralWasGiven) {
  StubWorld world;
  const std::string submit = world.command("submit --env MASTER_PORT=9 -- true");
  EXPECT_EQ(shell("RANK=2 MASTER_ADDR=a " + submit).exit_code, 0);
  EXPECT_EQ(shell("CLEAVE_RANK=2 CLEAVE_GANG=x RANK=2 MASTER_ADDR=a " + submit).exit_code, 0);
  const auto has = [&](std::size_t job, const std::string& variable) {
    const Json environment = world.submissions().at(job)["environment"];
    return std::ranges::find(environment, Json(variable)) != environment.end();
  };
  EXPECT_TRUE(has(0, "RANK=2") && has(0, "MASTER_ADDR=a") && has(0, "MASTER_PORT=9"));
  EXPECT_FALSE(has(1, "RANK=2") || has(1, "MASTER_ADDR=a") || has(1, "CLEAVE_GANG=x"));
  EXPECT_TRUE(has(1, "MASTER_PORT=9"));
}

TEST(Submit, SizesAModelHereAndSendsNameAndSizeOnly) {
  StubWorld world;
  const std::string config = "examples/models/llama-3.1-8b/config.json";
  const Outcome sent = world.run("submit --model " + config + " --batch 4 -- python3 serve.py");
  ASSERT_EQ(sent.exit_code, 0) << sent.err;
  const Json forecast = document(shell("cleave forecast model " + config + " --batch 4 --json"));
  const Json job = world.submissions().at(0);
  EXPECT_EQ(job["model"]["memory_mib"], forecast["memory_mib"]);
  EXPECT_EQ(job["model"]["name"], forecast["shape"]["name"]);
  EXPECT_FALSE(job.contains("memory_mib"));
  EXPECT_EQ(world.run("submit --model vision:resnet50 --train -- true").exit_code, 0);
  EXPECT_EQ(world.submissions().at(1)["model"]["name"], "resnet50");
  says(world.run("submit --model no/such.json -- true"), 2, {"--model", "no/such.json"});
}

TEST(Submit, SendsTheKernelAsItIsWritten) {
  StubWorld world;
  const Outcome sent =
      world.run(R"(submit --memory 9GiB --kernel '{"grid": [63, 63], "threads": [256]}' -- true)");
  ASSERT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_EQ(world.submissions().at(0)["kernel"], (Json{{"grid", {63, 63}}, {"threads", {256}}}));
  says(world.run("submit --memory 9GiB --kernel 63x63 -- true"), 2, {"--kernel"});
  says(world.run(R"(submit --kernel '{"grid": [63], "threads": [64]}' -- true)"), 2,
       {"--kernel: a kernel says how much compute is asked for beside a size",
        "give memory_mib or model too"});
  says(world.run(R"(submit --memory 9GiB --kernel '{"grid": [], "threads": [64]}' -- true)"), 2,
       {"--kernel: these are not the sizes of one to three dimensions"});
  EXPECT_EQ(world.submissions().size(), 1U);
}

TEST(Submit, RefusesBadOptionsBeforeAnythingIsSent) {
  StubWorld world;
  says(world.run("submit"), 2, {"no command is given", "after --"});
  says(world.run("submit sleep 5"), 2, {"'sleep' was given without -- before it"});
  says(world.run("submit --"), 2, {"no command"});
  says(world.run("submit --memory lots -- true"), 2, {"--memory", "not a size"});
  says(world.run("submit --memory 1GiB --profile 1g.5gb -- true"), 2, {"--profile"});
  says(world.run("submit --compute-slices 2 -- true"), 2, {"--memory"});
  says(world.run("submit --checkpoint-signal USR3 -- true"), 2, {"did you mean 'USR1'?"});
  for (const char* signal : {"9", "KILL", "SIGSTOP"})
    says(world.run(fmt::format("submit --checkpoint-signal {} -- true", signal)), 2,
         {"--checkpoint-signal", "no program can catch KILL or STOP; USR1"});
  says(world.run("submit --checkpoint-signal 77 -- true"), 2,
       {"--checkpoint-signal: expected a signal number from 1 to 64, found 77; name it"});
  says(world.run("submit --retry -1 -- true"), 2, {"from 0 to"});
  says(world.run("submit --compute-slices 65 --memory 9GiB -- true"), 2, {"from 1 to 64"});
  says(world.run("submit --name 12 -- true"), 2, {"--name", "is a number"});
  says(world.run("submit --expected 0 -- true"), 2, {"--expected", "above 0 s"});
  says(world.run("submit --memory 0 -- true"), 2, {"--memory: expected from 1 MiB to", "found 0;"});
  says(world.run("submit --deadline nan -- true"), 2, {"--deadline"});
  says(world.run("submit --cwd no/such -- true"), 2, {"--cwd", "is not a directory"});
  says(world.run("submit --follow --json -- true"), 2, {"--json"});
  says(world.run("submit --follow --wait -- true"), 2, {"--wait"});
  EXPECT_TRUE(world.submissions().empty());
  world.answers(
      "POST /v1/jobs",
      {409,
       R"({"error": {"kind": "infeasible", "place": "profile", "message": "no GPU has 9g.90gb", )"
       R"("remedy": "see cleave gpu"}})",
       {},
       false,
       {},
       {}});
  says(world.run("submit --profile 9g.90gb -- true"), 1,
       {"profile: no GPU has 9g.90gb; see cleave gpu"});
  says(world.run("submit --wait --profile 9g.90gb -- true"), 125, {"no GPU has"});
  const Outcome json = world.run("submit --json --profile 9g.90gb -- true");
  EXPECT_EQ(document(json)["error"]["kind"], "infeasible");
}

TEST(Submit, NamesTheOptionThatTheDaemonRefuses) {
  StubWorld world;
  for (const auto& [key, option] :
       {std::pair{"memory_mib", "--memory: "}, std::pair{"model.memory_mib", "--model: "},
        std::pair{"environment[3]", "--env: "}, std::pair{"new", "submission: new: "}}) {
    world.answers("POST /v1/jobs", {400,
                                    R"({"error": {"kind": "bad-input", "place": "submission: )" +
                                        std::string(key) + R"(", "message": "it is not so"}})",
                                    {},
                                    false,
                                    {},
                                    {}});
    const std::string said = std::string("cleave: ") + option + "it is not so";
    says(world.run("submit -- true"), 2, {said.c_str()});
  }
}

TEST(Submit, WaitsAndEndsAsTheJobDoes) {
  StubWorld world;
  world.put(ended_after(1, 0));
  EXPECT_EQ(world.run("submit --wait -- true").exit_code, 0);
  world.put(ended_after(1, 42));
  says(world.run("submit --wait -- true"), 42, {"job 12 failed with exit code 42"});
  const Outcome json = world.run("submit --wait --json -- true");
  EXPECT_EQ(json.exit_code, 42);
  EXPECT_EQ(document(json)["exit_code"], 42);
  EXPECT_EQ(document(world.run("submit --json -- true"))["id"], 12);
}

TEST(Waiting, SaysTheFirstCodeThatIsNotZero) {
  StubWorld world;
  world.put(job_of(1, "finished", 0));
  world.put(job_of(2, "failed", 3));
  world.put(job_of(3, "failed", 4));
  world.put(job_of(4, "cancelled", 0));
  ApiJob lost = job_of(5, "failed");
  lost.reason = "its GPU is \x1b[31mgone";
  world.put(lost);
  EXPECT_EQ(world.run("wait 1").exit_code, 0);
  EXPECT_EQ(world.run("wait 1 2 3").exit_code, 3);
  EXPECT_EQ(world.run("wait 3 1 2").exit_code, 4);
  EXPECT_EQ(world.run("wait 4").exit_code, 1) << "a cancelled job did not do its work";
  const Outcome nothing = world.run("wait 5");
  EXPECT_EQ(nothing.exit_code, 125);
  EXPECT_EQ(nothing.out, "job 5 failed: its GPU is \\x1b[31mgone\n");
  // A job that does not exist is the user's mistake, for every command.
  for (const char* command : {"wait 6", "wait 1 6", "show 6", "cancel 6", "logs 6", "logs -f 6"})
    says(world.run(command), 2, {"there is no job 6"});
  for (const char* command : {"wait six", "show six", "logs six"})
    says(world.run(command), 2, {"no job is called 'six'; `cleave ps --all`"});
  says(world.run("cancel six"), 2, {"no unfinished job is called 'six'"});
  says(world.run("wait"), 2, {"JOB", "--all"});
  EXPECT_EQ(document(world.run("wait 1 2 --json"))["jobs"].size(), 2U);
}

TEST(Waiting, OutlastsADaemonThatIsRestarted) {
  StubWorld world;
  world.put(job_of(1, "running"));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    world.daemon().drop_connections();
    world.put(job_of(1, "finished", 0));
  });
  EXPECT_EQ(world.run("wait 1").exit_code, 0);
  later.join();
}

TEST(NoDaemon, IsReportedWithARemedy) {
  const Outcome nobody = shell("CLEAVE_SOCKET=/nowhere/s cleave ps");
  says(nobody, 1,
       {"no daemon answers at /nowhere/s", "cleaved --simulate 4xA100-40GB", "--socket"});
  EXPECT_EQ(document(shell("cleave ps --socket /nowhere/s --json"))["error"]["kind"], "infeasible");
  says(shell("cleave wait 1 --socket /nowhere/s --patience 0"), 125, {"no daemon answers"});
  says(shell("cleave submit --wait --socket /nowhere/s -- true"), 125, {"no daemon answers"});
  says(shell("cleave ps --socket ''"), 2, {"--socket"});
  for (const char* command : {"show 1", "logs 1", "cancel 1", "top --once", "events", "drain 0",
                              "undrain 0", "pause", "resume", "scheduler", "page"})
    says(shell(fmt::format("cleave {} --socket /nowhere/s", command)), 1, {"no daemon answers"});
}

ApiJob restless() {
  ApiJob job = job_of(7, "queued");
  job.name = "evil\x1b]0;owned\x07\u202ename\nrow";
  job.reason = "waits for \x1b[2J a place";
  job.asks_now = "2g.10gb";
  return job;
}

TEST(Ps, ShowsJobsWithNothingThatSteersTheTerminal) {
  StubWorld world;
  world.put(restless());
  ApiJob running = job_of(8, "running");
  running.name = "train";
  running.instance = ApiPlace{"GPU-x", 0, "MIG-x", "2g.10gb", 4};
  running.started_at = running.submitted_at;
  running.memory = MiB{4096};
  world.put(running);
  const Outcome table = world.run("ps");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.out.find('\x1b'), std::string::npos);
  EXPECT_NE(table.out.find("\\x1b]0;owned\\x07"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("waits for \\x1b[2J a place"), std::string::npos);
  EXPECT_NE(table.out.find("GPU 0 2g.10gb@4  4.0 GiB"), std::string::npos);
  EXPECT_EQ(std::ranges::count(table.out, '\n'), 3);
  const Json all = document(world.run("ps --json"));
  EXPECT_EQ(all["jobs"][0]["id"], 8);
  EXPECT_EQ(all["jobs"][1]["name"], restless().name) << "JSON carries it as it is";
  EXPECT_EQ(all["jobs"][0]["a_later_key"], "kept");
  Terminal narrow(world.command("ps"), 40);
  for (const std::string_view line : split(narrow.rest(), '\n'))
    EXPECT_LE(columns_of(trimmed(line)), 40U);
}

TEST(Ps, ListsWhatRunsFirstAndWhatHasEndedLast) {
  StubWorld world;
  for (const auto& [id, state] :
       {std::pair(1, "failed"), std::pair(2, "running"), std::pair(3, "queued")}) {
    ApiJob job = job_of(id, state, id == 1 ? std::optional(3) : std::nullopt);
    job.name = "a-name-that-is-longer-than-any-terminal-likes-to-see";
    if (job.is_over()) job.ran_on = "3g.20gb";
    world.put(job);
  }
  EXPECT_EQ(world.run("ps -a --columns job,state").out,
            "job  state\n  2  running\n  3  queued\n  1  failed\n");
  const std::string table = world.run("ps -a").out;
  EXPECT_NE(table.find("(3g.20gb)"), std::string::npos) << "where it ran: " << table;
  EXPECT_NE(table.find("-likes-to-see"), std::string::npos) << "pipes are not cut: " << table;
  EXPECT_EQ(table.find("memory"), std::string::npos) << "no job says what it holds: " << table;
  says(world.run("ps --columns job,wher"), 2,
       {"there is no column wher", "job, array, name, user"});
}

TEST(Ps, HasADashForAJobThatAsksForNothing) {
  StubWorld world;
  ApiJob job = job_of(7, "queued");
  job.asks_now = "nothing";
  world.put(job);
  const Outcome table = world.run("ps");
  EXPECT_NE(table.out.find(" - "), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("nothing"), std::string::npos) << table.out;
}

TEST(Ps, HasOneUnitOfMemoryForWhatJobsAskForAndHold) {
  StubWorld world;
  ApiJob small = job_of(7, "queued");
  small.asked = small.asks_now = "4096 MiB";
  small.memory = MiB{100};
  small.reason = "it waits until 9216 MiB are free";
  world.put(small);
  ApiJob large = job_of(8, "queued");
  large.asks_now = "4096 MiB, found to need 9985 MiB";
  large.memory = MiB{4096};
  world.put(large);
  const std::string table = world.run("ps").out;
  for (const char* part :
       {"4 GiB, found to need 9.8 GiB", "0.098 GiB ", "4.0 GiB", "it waits until 9 GiB are free"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  EXPECT_EQ(table.find("MiB"), std::string::npos) << table;
  EXPECT_EQ(document(world.run("ps --json"))["jobs"][1]["asks_now"], "4096 MiB") << "exact";
  const std::string shown = world.run("show 7").out;
  for (const char* part : {"asked for    4 GiB\n", "it waits until 9 GiB are free"})
    EXPECT_NE(shown.find(part), std::string::npos) << shown;
}

TEST(Submit, LinesOfAFileMayWaitForOneAnother) {
  StubWorld world;
  world.put(job_of(9, "queued"));
  world.answers("POST /v1/submissions", {201, R"({"jobs": [20, 21]})", {}, false, {}, {}});
  const auto file = [&](const std::string& text) {
    return "submit --at-once 2 --file " + world.scratch().write("jobs.jsonl", text);
  };
  const std::string first = R"({"id": "a", "command": "true"})";
  const Outcome taken =
      world.run(file(first + "\n" + R"({"command": "true", "after": ["ok:a", "any:9"]})"));
  EXPECT_EQ(taken.out, "2 jobs, 20 to 21\n") << taken.err;
  const Json sent = Json::parse(world.last_body());
  EXPECT_EQ(sent["at_once"], 2);
  EXPECT_EQ(sent["submissions"][1]["after"], Json::array({"any:9", "ok:#1"}));
  says(world.run(file(first + "\n" + R"({"command": "true", "after": ["ok:b"]})")), 2,
       {"jobs.jsonl:2: after", "'b'"});
  says(world.run(file(R"({"id": "a", "command": "true", "after": ["ok:b"]})"
                      "\n"
                      R"({"id": "b", "command": "true", "after": ["ok:a"]})")),
       2, {"jobs.jsonl:1: after: it waits for line 2, which waits for it again"});
  says(world.run("submit --at-once 2 -- true"), 2, {"--at-once"});
}

TEST(Ps, TellsTroublesBesideTheJobs) {
  StubWorld world;
  world.answers("GET /v1/status", {200,
                                   R"({"version": "0.1", "scheduler": "online", "pid": 1, "uid": 0,
                                       "troubles": ["the disk is \u001b[2Jfull"]})",
                                   {},
                                   false,
                                   {},
                                   {}});
  says(world.run("ps"), 0, {"cleave: trouble: the disk is \\x1b[2Jfull", "no unfinished jobs"});
}

TEST(Completion, OfBashKnowsTheUsersJobs) {
  StubWorld world;
  for (int id = 9; id <= 11; ++id) world.put(job_of(id, "queued"));
  const auto completed = [&](const std::string& words) {
    return shell("CLEAVE_SOCKET='" + world.daemon().path() +
                 "' bash --norc -c 'source <(cleave completion bash); COMP_WORDS=(" + words +
                 "); COMP_CWORD=2; _cleave; echo \"${COMPREPLY[@]}\"'")
        .out;
  };
  EXPECT_EQ(completed("cleave show 1"), "10 11\n");
  EXPECT_EQ(completed("cleave cancel 9"), "9\n");
  EXPECT_EQ(completed("cleave drain 1"), "\n");
}

TEST(Ps, AsksForAllPagesWithItsFilters) {
  StubWorld world;
  for (int id = 1; id <= 10; ++id) world.put(job_of(id, id % 2 == 0 ? "queued" : "finished", 0));
  EXPECT_EQ(document(world.run("ps --json"))["jobs"].size(), 5U);
  EXPECT_EQ(document(world.run("ps -a --json"))["jobs"].size(), 10U)
      << "the stub has three on a page";
  EXPECT_EQ(document(world.run("ps -a --limit 4 --json"))["jobs"].size(), 4U);
  EXPECT_EQ(document(world.run("ps --state finished --json"))["jobs"].size(), 5U);
  EXPECT_EQ(world.run("ps --user 'a b'").exit_code, 0);
  EXPECT_TRUE(world.daemon().was_asked("GET /v1/jobs?user=a%20b&limit=2000"));
  says(world.run("ps --state runing"), 2, {"--state"});
  StubWorld empty;
  says(empty.run("ps"), 0, {"no unfinished jobs"});
}

// Enough jobs for several pages.
TEST(Advise, AsksTheDaemonForAllThatItHasRun) {
  StubWorld world;
  for (std::int64_t id = 1; id <= 12; ++id) {
    ApiJob job = job_of(id, "finished", 0);
    job.name = "train";
    job.application = "resnet";
    job.asks_now = "1g.5gb";
    job.ran_on = "1g.5gb";
    job.submitted_at = *job.submitted_at + std::chrono::minutes(10 * id);
    job.started_at = *job.submitted_at + std::chrono::seconds(5);
    job.ended_at = *job.started_at + std::chrono::minutes(20);
    world.put(job);
  }
  const std::string advise = "advise --fleet 1xA100-40GB --draws 6 --json --history ";
  const Json asked = document(world.run(advise + "daemon"));
  EXPECT_TRUE(world.daemon().was_asked("GET /v1/jobs?all=1&limit=1000"));
  ASSERT_EQ(asked["unmeasured"].size(), 1U) << asked;
  EXPECT_EQ(asked["unmeasured"][0]["application"], "resnet");
  EXPECT_EQ(asked["unmeasured"][0]["jobs"], 12);
  // What ps prints says the same.
  const Outcome printed = shell(world.command("ps --all --json") + " | cleave " + advise + "-");
  EXPECT_EQ(document(printed), asked);
  says(shell("cleave " + advise + "daemon --socket /nowhere/s"), 1, {"no daemon answers"});
}

TEST(Waiting, TakesRangesNamesArraysAndAll) {
  StubWorld world;
  for (std::int64_t id = 1; id <= 5; ++id) {
    ApiJob job = job_of(id, id == 4 ? "failed" : "finished", id == 4 ? 7 : 0);
    job.name = "train";
    world.put(job);
  }
  EXPECT_EQ(world.run("wait 1-3").exit_code, 0);
  EXPECT_EQ(world.run("wait 2-9").exit_code, 7) << "also jobs that have ended";
  const Outcome each_once = world.run("wait 3-4 4 3");
  EXPECT_EQ(std::ranges::count(each_once.out, '\n'), 2) << each_once.out;
  says(world.run("wait 20-30"), 2, {"none of your jobs is in 20-30"});
  says(world.run("wait --all"), 0, {"you have no unfinished jobs"});
  says(world.run("wait --all 3"), 2, {"--all"});
  const Outcome named = world.run("wait train");
  EXPECT_EQ(named.out, "job 5 finished\n");
  says(named, 0, {"several jobs that have ended are called 'train'; this is the newest, job 5"});
}

TEST(Submit, TakesTimesAsPeopleWriteThem) {
  StubWorld world;
  const auto sent = [&](const std::string& options) {
    const Outcome outcome = shell(world.command("submit " + options + " -- true"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return world.submissions().back();
  };
  for (const auto& [text, seconds] :
       {std::pair("90", 90.0), std::pair("1h30m", 5400.0), std::pair("08:00:00", 28800.0),
        std::pair("1-12:00:00", 129600.0)})
    EXPECT_EQ(sent(fmt::format("--time-limit {}", text))["time_limit_s"], seconds) << text;
  const Json job = sent("--times 1g.5gb=10m,7g.40gb=92 --stop-grace 2m --deadline 2d");
  EXPECT_EQ(job["times"][0]["time_s"], 600.0);
  EXPECT_EQ(job["times"][1]["time_s"], 92.0);
  EXPECT_EQ(job["stop_grace_s"], 120.0);
  EXPECT_EQ(job["deadline_s"], 172800.0);
  says(shell(world.command("submit --time-limit 15:00 -- true")), 2,
       {"--time-limit: '15:00' is not a time; write 90 (seconds), 15m, 1h30m"});
}

TEST(JobsByName, AreFoundWhereJustOneLivesUnderIt) {
  StubWorld world;
  for (const std::int64_t id : {1, 2, 3}) {
    ApiJob job = job_of(id, "running");
    job.name = id == 1 ? "one" : "two";
    world.put(job);
  }
  EXPECT_EQ(document(world.run("show one --json"))["id"], 1);
  const Outcome newest = world.run("show two --json");
  EXPECT_EQ(document(newest)["id"], 3);
  says(newest, 0, {"several unfinished jobs are called 'two'; this is the newest, job 3"});
  says(world.run("cancel two"), 2, {"2 unfinished jobs are called 'two'"});
  says(shell(world.command("submit --after ok:two -- true")), 2,
       {"2 unfinished jobs are called 'two'", "give a number: 3, 2"});
  says(world.run("show three"), 2, {"no job is called 'three'"});
  says(world.run("show 0"), 2, {"begin at 1"});
  EXPECT_EQ(world.run("cancel one").out, "job 1 was cancelled\n");
  says(world.run("cancel one 2"), 2, {"no unfinished job is called 'one'"});
  EXPECT_TRUE(world.daemon().was_asked("POST /v1/cancellations"))
      << "the others are ended all the same";
  EXPECT_EQ(Json::parse(world.last_body())["jobs"], Json::array({2}));
  EXPECT_EQ(document(world.run("show one --json"))["id"], 1) << "also when it has ended";
}

TEST(Cancel, TakesRangesStatesAndNames) {
  StubWorld world;
  for (std::int64_t id = 1; id <= 8; ++id) {
    ApiJob job = job_of(id, id == 5 ? "finished" : id % 2 == 0 ? "queued" : "running");
    job.name = id < 4 ? fmt::format("train-{}", id) : "other";
    world.put(job);
  }
  const auto meant = [&](const std::string& words) {
    return world.run("cancel --dry-run " + words).out;
  };
  EXPECT_EQ(meant("2-6"), "would cancel 2 4 6 3\n") << "5 has ended, 3 runs";
  EXPECT_EQ(meant("7 6-8 1"), "would cancel 6 8 1 7\n") << "each once, and what waits first";
  EXPECT_EQ(meant("4 3-5 train-3"), "would cancel 4 3\n");
  EXPECT_EQ(meant("--state queued"), "would cancel 2 4 6 8\n");
  EXPECT_EQ(meant("--name 'train-*'"), "would cancel 2 1 3\n");
  EXPECT_EQ(meant("--name 'train-*' --state running"), "would cancel 1 3\n");
  EXPECT_EQ(meant("--all"), "would cancel 2 4 6 8 1 3 7\n");
  EXPECT_FALSE(world.daemon().was_asked("POST /v1/cancellations")) << "they were only named";
  says(world.run("cancel 20-30"), 2, {"none of your unfinished jobs is in 20-30"});
  says(world.run("cancel --name 'no*'"), 2, {"none of your unfinished jobs is like that"});
  says(world.run("cancel --dry-run nosuch"), 2, {"no unfinished job is called 'nosuch'"});
  says(world.run("cancel --dry-run other"), 2, {"4 unfinished jobs are called 'other'"});
  EXPECT_EQ(document(world.run("cancel --dry-run --json 2-3"))["would_cancel"], Json({2, 3}));
  EXPECT_EQ(meant("5"), "job 5 finished\n") << "it has ended";
  says(world.run("cancel --dry-run 9999"), 2, {"there is no job 9999"});
  const Outcome some = world.run("cancel --dry-run 9999 2");
  EXPECT_EQ(some.out, "would cancel 2\n");
  says(some, 2, {"there is no job 9999"});
  says(world.run("cancel"), 2, {"no job is named", "--all"});
  says(world.run("cancel --all 3"), 2, {"--all"});
  says(world.run("cancel 9-3"), 2, {"called '9-3'", "not a range like 12-40"});
  EXPECT_EQ(world.run("cancel 2-3").exit_code, 0);
  EXPECT_EQ(Json::parse(world.last_body())["jobs"], Json::array({2, 3}));
}

TEST(Show, TellsEveryInstanceAndWhyItWasLeft) {
  StubWorld world;
  ApiJob job = job_of(7, "running");
  job.name = "train";
  job.attempts = 2;
  job.command = {"python3", "it's.py", "\x1b[31m", ""};
  job.history = {
      {1, ApiPlace{"GPU-x", 1, "MIG-a", "1g.5gb", 3}, job.submitted_at, job.submitted_at,
       job.submitted_at, "early-restart", "would have run out at iteration 40", 143, MiB{4000}},
      {2, ApiPlace{"GPU-x", 1, "MIG-b", "2g.10gb", 0}, job.submitted_at, {}, {}, "", "", {}, {}}};
  world.put(job);
  const Outcome told = world.run("show 7");
  for (const char* part :
       {"job 7 (train)", "python3 'it'\\''s.py' '\\x1b[31m' ''", "GPU 1 1g.5gb@3",
        "early-restart: would have run out at iteration 40, exit code 143", "(runs)", "3.9 GiB"})
    EXPECT_NE(told.out.find(part), std::string::npos) << part << " in\n" << told.out;
  EXPECT_EQ(document(world.run("show 7 --json"))["history"].size(), 2U);
}

TEST(Show, HasThePredictionBesideWhatWasSeen) {
  StubWorld world;
  ApiJob job = job_of(7, "finished", 0);
  ApiAttempt attempt;
  attempt.attempt = 1;
  attempt.end = "ended-itself";
  attempt.predicted = std::chrono::seconds(90);
  attempt.predicted_by = "measured";
  attempt.lasted = std::chrono::seconds(100);
  job.history = {attempt};
  world.put(job);
  const auto shows = [&](const char* command, const std::string& line) {
    const Outcome told = world.run(command);
    EXPECT_NE(told.out.find(line), std::string::npos) << told.out << told.err;
  };
  shows(
      "show 7",
      "predicted    1 min 30 s, as measured of the application; took 1 min 40 s, predicted 10.0 % "
      "too short\n");
  job.id = 8;
  job.history[0].lasted.reset();
  job.history[0].predicted_by = "by-magic";
  job.state = "running";
  world.put(job);
  shows("show 8", "predicted    1 min 30 s, by-magic\n");
}

TEST(Show, WarnsOfMemoryThatNoGpuHas) {
  StubWorld world;
  ApiJob job = job_of(7, "running");
  job.history.resize(1);
  job.history[0].attempt = 1;
  world.put(job);
  EXPECT_EQ(world.run("show 7").out.find("warning"), std::string::npos);
  job.id = 8;
  job.history[0].too_large = MiB{51'200};
  world.put(job);
  const Outcome told = world.run("show 8");
  EXPECT_NE(told.out.find("warning      forecast to need 50.0 GiB, more than any GPU here has\n"),
            std::string::npos)
      << told.out << told.err;
}

TEST(ProfilesLearnt, ArePrintedAsLinesOfARepository) {
  StubWorld world;
  world.answers("GET /v1/profiles",
                {200,
                 R"({"profiles":[{"application":"a\u001b","x-uid":7},{"application":"b"}]})",
                 {},
                 false,
                 {},
                 {}});
  EXPECT_EQ(world.run("profiles learnt").out,
            "{\"application\":\"a\\u001b\",\"x-uid\":7}\n{\"application\":\"b\"}\n");
  EXPECT_EQ(document(world.run("profiles learnt --json"))["profiles"].size(), 2U);
}

TEST(Logs, AreUnchangedAndNameRemovedOutput) {
  StubWorld world;
  world.put(ended_after(2, 0));
  const std::string raw("line 1\nline 2 \x1b[2J \xff\nlast line\n");
  world.put_log(12, "stdout", 2, {raw, 0, true});
  world.put_log(12, "stderr", 2, {"errors\n", 0, true});
  world.put_log(12, "stdout", 1, {"of the first attempt\n", 7, true});
  EXPECT_EQ(world.run("logs 12").out, raw);
  EXPECT_EQ(world.run("logs -f 12").out, raw);
  EXPECT_EQ(world.run("logs 12 --stderr").out, "errors\n");
  const Outcome both = world.run("logs 12 --both");
  EXPECT_EQ(both.out, raw);
  EXPECT_EQ(both.err, "errors\n");
  const Outcome gap = world.run("logs -f 12 --attempt 1");
  EXPECT_EQ(gap.out, "first attempt\n") << "and not the second";
  says(gap, 0, {"7 bytes of stdout are gone"});
  EXPECT_EQ(world.run("logs 12 --tail 2").out, raw.substr(7));
  EXPECT_EQ(world.run("logs 12 --tail 0").out, "");
  EXPECT_EQ(world.run("logs 12 --tail 99").out, raw);
  EXPECT_EQ(world.run("logs -f 12 --tail 1").out, "last line\n");
  says(world.run("logs 13"), 2, {"there is no job 13"});
  says(world.run("logs -f 13"), 2, {"there is no job 13"});
}

TEST(Logs, OnATerminalKeepTheirColoursAndNothingElse) {
  StubWorld world;
  world.put(ended_after(1, 0));
  world.put_log(12, "stdout", 1,
                {"\x1b[32mgreen\x1b[0m \x1b]0;owned\x07 \xc2\x9b"
                 "2J\n",
                 0, true});
  Terminal safe(world.command("logs 12"));
  EXPECT_EQ(safe.rest(), "\x1b[32mgreen\x1b[0m \\x1b]0;owned\\x07 \\u{9b}2J\r\n");
  Terminal raw(world.command("logs 12 --raw"));
  EXPECT_NE(raw.rest().find("\x1b]0;owned\x07"), std::string::npos);
}

TEST(Logs, AreFollowedWhileTheyGrowAndThroughRestarts) {
  StubWorld world;
  ApiJob job = job_of(12, "queued");
  world.put(job);
  std::thread grows([&] {
    const auto soon = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
    soon();
    job.state = "running";
    job.attempts = 1;
    world.put_log(12, "stdout", 1, {"one ", 0, false});
    world.put(job);
    soon();
    world.daemon().drop_connections();
    world.put_log(12, "stdout", 1, {"one two ", 0, true});
    soon();
    job.attempts = 2;
    world.put_log(12, "stdout", 2, {"three", 0, false});
    world.put(job);
    soon();
    world.put_log(12, "stdout", 2, {"three four\n", 0, true});
    job.state = "finished";
    job.exit_code = 0;
    world.put(job);
  });
  const Outcome followed = world.run("logs -f 12");
  grows.join();
  EXPECT_EQ(followed.out, "one two three four\n");
  says(followed, 0, {"attempt 2 of job 12"});
}

TEST(Follow, StreamsBothOutputsAndEndsAsTheJobDoes) {
  StubWorld world;
  world.put(ended_after(2, 5));
  world.put_log(12, "stdout", 1, {"first\n", 0, true});
  world.put_log(12, "stdout", 2, {"second\n", 0, true});
  world.put_log(12, "stderr", 2, {"went wrong\n", 0, true});
  const Outcome followed = world.run("submit --follow -- true");
  EXPECT_EQ(followed.exit_code, 5);
  EXPECT_EQ(followed.out, "first\nsecond\n");
  says(followed, 5,
       {"job 12\n", "went wrong\n", "attempt 2 of job 12", "job 12 failed with exit code 5"});
}

TEST(Follow, WithoutATerminalAnInterruptLeavesTheJobAndSaysHowToEndIt) {
  StubWorld world;
  ApiJob job = job_of(12, "running");
  job.attempts = 1;
  world.put(job);
  world.put_log(12, "stdout", 1, {"working\n", 0, false});
  // timeout sends the signal; setsid takes the terminal away.
  const Outcome left =
      shell("CLEAVE_SOCKET='" + world.daemon().path() +
            "' setsid -w timeout --preserve-status -s INT 1 cleave submit --follow -- true");
  EXPECT_EQ(left.out, "working\n");
  says(left, 130, {"job 12 continues", "`cleave cancel 12` ends it"});
  EXPECT_FALSE(world.daemon().was_asked("POST /v1/jobs/12/cancel"));
}

ApiJob task_of(std::int64_t id, std::int64_t index, const std::string& state) {
  ApiJob job = job_of(id, state);
  job.name = "sweep";
  job.array = ArrayTask{.job = 12, .last = 17, .index = index, .tasks = 6, .at_once = 2};
  return job;
}

TEST(Arrays, AreCancelledByIndexAndWhole) {
  StubWorld world;
  world.put(job_of(3, "queued"));
  for (std::int64_t index = 1; index <= 6; ++index)
    world.put(task_of(11 + index, index,
                      index == 1   ? "finished"
                      : index == 2 ? "running"
                                   : "queued"));
  const auto meant = [&](const std::string& words) {
    return world.run("cancel --dry-run " + words).out;
  };
  EXPECT_EQ(meant("12_4"), "would cancel 15\n");
  EXPECT_EQ(meant("12_1-3,6"), "would cancel 14 17 13\n") << "1 has ended, and 2 runs";
  EXPECT_EQ(meant("12"), "would cancel 14 15 16 17 13\n");
  EXPECT_EQ(meant("13"), "would cancel 13\n") << "the number of a job is that job";
  EXPECT_EQ(meant("3 12_5"), "would cancel 3 16\n");
  says(world.run("cancel 12_9"), 2, {"12_9 names no unfinished job of an array"});
  says(world.run("cancel 3_1"), 2, {"3_1 names no unfinished job of an array"});
}

TEST(Arrays, WhatWaitsIsOneLine) {
  {
    StubWorld few;  // as many as it has on a page
    for (std::int64_t index = 1; index <= 3; ++index)
      few.put(task_of(11 + index, index, index == 1 ? "running" : "queued"));
    const std::string listed = few.run("ps").out;
    EXPECT_EQ(std::ranges::count(listed, '\n'), 3) << listed;
    EXPECT_NE(listed.find("13-14  12_2-3"), std::string::npos) << listed;
    EXPECT_NE(listed.find("2 wait"), std::string::npos) << listed;
    EXPECT_NE(listed.find("12_1 "), std::string::npos) << listed;
    EXPECT_EQ(std::ranges::count(few.run("ps --tasks").out, '\n'), 4);
  }
  StubWorld world;
  for (std::int64_t index = 1; index <= 6; ++index)
    world.put(task_of(11 + index, index, index == 1 ? "running" : "queued"));
  EXPECT_EQ(document(world.run("ps --json"))["jobs"].size(), 6U);
  const Outcome shown = world.run("show 13");
  EXPECT_NE(shown.out.find("12_2, one of 6, 2 at a time"), std::string::npos) << shown.out;
  says(world.run("logs 12"), 2, {"12 is an array of 6 jobs", "12_1"});
  says(world.run("logs sweep"), 2, {"12 is an array of 6 jobs", "12_1"});
  ApiJob patterned = task_of(14, 3, "queued");
  patterned.output = "logs/%A_%a.out";
  patterned.directory = "/home/ada";
  world.put(patterned);
  const Outcome of_one = world.run("show 14");
  EXPECT_NE(of_one.out.find("/home/ada/logs/12_3.out\n"), std::string::npos) << of_one.out;
}

TEST(Follow, AsksOnTheTerminalWhetherToCancel) {
  StubWorld world;
  ApiJob job = job_of(12, "running");
  job.attempts = 1;
  world.put(job);
  world.put_log(12, "stdout", 1, {"working\n", 0, false});
  {
    Terminal leaves(world.command("submit --follow -- true"));
    ASSERT_TRUE(leaves.shows("working")) << leaves.seen();
    leaves.type("\x03");
    ASSERT_TRUE(leaves.shows("Cancel job 12? [y/N]")) << leaves.seen();
    leaves.type("n\n");
    EXPECT_NE(leaves.rest().find("job 12 continues"), std::string::npos);
    EXPECT_EQ(leaves.exit_code, 130);
    EXPECT_FALSE(world.daemon().was_asked("POST /v1/jobs/12/cancel"));
  }
  Terminal cancels(world.command("submit --follow -- true"));
  ASSERT_TRUE(cancels.shows("working"));
  cancels.type("\x03");
  ASSERT_TRUE(cancels.shows("[y/N]"));
  world.put_log(12, "stdout", 1, {"working\nended\n", 0, true});
  cancels.type("y\n");
  EXPECT_NE(cancels.rest().find("job 12 was cancelled"), std::string::npos) << cancels.seen();
  EXPECT_NE(cancels.seen().find("ended"), std::string::npos) << "what it wrote at its end is shown";
  EXPECT_EQ(cancels.exit_code, 125) << "the stub's job has no exit code";
  EXPECT_TRUE(world.daemon().was_asked("POST /v1/jobs/12/cancel"));
}

TEST(Events, AreListedAndFollowedOverABrokenStream) {
  StubWorld world;
  world.answers(
      "GET /v1/events",
      {200,
       R"({"events": [{"id": 3, "at": "2026-05-04T10:11:12.000Z", "kind": "job-started", )"
       R"("job": 1, "gpu": null, "text": "job 1 \u001b[2J runs"}]})",
       {},
       false,
       {},
       {}});
  const Outcome past = shell("TZ=UTC " + world.command("events"));
  EXPECT_EQ(past.out, "     3  2026-05-04 10:11:12  job-started           job 1 \\x1b[2J runs\n")
      << past.err;
  EXPECT_EQ(document(world.run("events --json"))["id"], 3);
  EXPECT_EQ(world.run("events --after 3 --json").out, "");
  std::atomic<int> streams{0};
  StubReply stream;
  stream.stream = [&](const std::function<bool(std::string_view)>& send) {
    // Events that were shown already come again after the break, and are not shown twice.
    send(++streams == 1 ? "id: 4\ndata: {\"id\": 4, \"kind\": \"a\"}\n\n"
                        : "id: 4\ndata: {\"id\": 4, \"kind\": \"a\"}\n\nid: 5\ndata: {\"id\": 5, "
                          "\"kind\": \"b\"}\n\n");
  };
  world.answers("GET /v1/events", stream);
  const Outcome followed = shell("timeout 1 env " + world.command("events -f --json"));
  EXPECT_EQ(followed.out, "{\"id\":4,\"kind\":\"a\"}\n{\"id\":5,\"kind\":\"b\"}\n") << followed.err;
  EXPECT_TRUE(world.daemon().was_asked("GET /v1/events?after=4"));
}

TEST(Operating, SendsWhatWasAskedFor) {
  StubWorld world;
  ApiGpu gpu;
  gpu.index = 1;
  gpu.uuid = "GPU-x";
  gpu.drained = true;
  world.answers("POST /v1/gpus/1/drain", {200, to_json(gpu).dump(), {}, false, {}, {}});
  gpu.drained = false;
  world.answers("POST /v1/gpus/GPU%2Fx/undrain", {200, to_json(gpu).dump(), {}, false, {}, {}});
  EXPECT_NE(world.run("drain 1").out.find("GPU 1 takes no new jobs"), std::string::npos);
  EXPECT_EQ(world.run("undrain GPU/x").out, "GPU 1 takes jobs\n");
  says(world.run("drain 2"), 2, {"no such thing"});
  world.answers("POST /v1/pause", {200, R"({"paused": true})", {}, false, {}, {}});
  world.answers("POST /v1/resume",
                {403,
                 R"({"error": {"kind": "infeasible", "message": "operators only"}})",
                 {},
                 false,
                 {},
                 {}});
  EXPECT_NE(world.run("pause").out.find("no jobs are started"), std::string::npos);
  says(world.run("resume"), 1, {"operators only"});
  world.answers("GET /v1/scheduler", {200, R"({"scheduler": "online"})", {}, false, {}, {}});
  world.answers("PUT /v1/scheduler",
                {200, R"({"scheduler": "static:layout=a"})", {}, false, {}, {}});
  EXPECT_EQ(world.run("scheduler").out, "online\n");
  EXPECT_EQ(world.run("scheduler static:layout=a").out, "static:layout=a\n");
  EXPECT_EQ(world.last_body(), R"({"scheduler":"static:layout=a"})");
}

TEST(Top, ShowsTheLayoutAndTheJobs) {
  StubWorld world;
  world.answers(
      "GET /v1/status",
      {200,
       R"({"version": "0.1.0", "simulated": true, "scheduler": "online", "paused": true, )"
       R"("jobs": {"queued": 4, "running": 1}, "troubles": ["the disk is full"], )"
       R"("predictions": [{"by": null, "count": 12, "median_error": 0.031, "p90_error": 0.08}, )"
       R"({"by": "measured", "count": 12, "median_error": 0.031, "p90_error": 0.08}]})",
       {},
       false,
       {},
       {}});
  ApiGpu gpu;
  gpu.uuid = "GPU-x";
  gpu.model = "A100-40GB";
  gpu.managed = gpu.mig = true;
  gpu.power_w = 100;
  gpu.instances = {{{"GPU-x", 0, "MIG-a", "4g.20gb", 0}, "ours", {7}, {}, {}, {}},
                   {{"GPU-x", 0, "MIG-b", "2g.10gb", 4}, "ours", {}, {}, {}, {}},
                   {{"GPU-x", 0, "MIG-c", "1g.5gb", 6}, "foreign", {}, {}, {}, {}}};
  world.answers("GET /v1/gpus", {200, Json{{"gpus", {to_json(gpu)}}}.dump(), {}, false, {}, {}});
  world.put(restless());
  const Outcome once = world.run("top --once");
  for (const char* part : {"cleaved 0.1.0, simulated, scheduler online", "4 waiting", "PAUSED",
                           "[AAAAbb#.]", "the disk is full", "\\x1b]0;owned",
                           "predicted times of 12 finished jobs: median error 3.1 %, 90 % within "
                           "8.0 %"})
    EXPECT_NE(once.out.find(part), std::string::npos) << part << " in\n" << once.out << once.err;
  EXPECT_EQ(once.out.find('\x1b'), std::string::npos);
  const Json line = document(world.run("top --once --json"));
  EXPECT_EQ(line["gpus"].size(), 1U);
  EXPECT_EQ(line["jobs"][0]["id"], 7);
  const Outcome lines = shell("timeout -s INT 1 env " + world.command("top --json --every 0.2"));
  EXPECT_GE(std::ranges::count(lines.out, '\n'), 2) << lines.err;
  Terminal screen(world.command("top --every 0.1"), 60, 10);
  ASSERT_TRUE(screen.shows("[AAAAbb#.]")) << screen.seen();
  screen.type("\x03");
  EXPECT_TRUE(screen.rest().ends_with("\x1b[?25h\x1b[?1049l")) << "the terminal is as it was";
  EXPECT_EQ(screen.exit_code, 0);
}

/// What a terminal is given back with: cursor and first screen.
constexpr const char* given_back = "\x1b[?25h\x1b[?1049l";

/// A daemon without GPUs, which is enough for `cleave top`.
void answer_top(StubWorld& world) {
  world.answers("GET /v1/status",
                {200, R"({"version": "0.1.0", "jobs": {"queued": 1}})", {}, false, {}, {}});
  world.answers("GET /v1/gpus", {200, R"({"gpus": []})", {}, false, {}, {}});
}

TEST(Top, HasKeys) {
  StubWorld world;
  answer_top(world);
  world.put(restless());
  Terminal screen(world.command("top --every 60"), 80, 24);
  ASSERT_TRUE(screen.shows("? help")) << screen.seen();
  screen.type("?");
  EXPECT_TRUE(screen.shows("page up, page down")) << screen.seen();
  screen.type("x/zzz");
  EXPECT_TRUE(screen.shows("/zzz_")) << screen.seen();
  screen.type("\r");
  EXPECT_TRUE(screen.shows("with 'zzz'")) << screen.seen();
  screen.type("s");
  EXPECT_TRUE(screen.shows("by time")) << screen.seen();
  EXPECT_EQ(screen.seen().find("\r\n/zzz\r\n"), std::string::npos) << "keys are not echoed";
  screen.type("q");
  EXPECT_TRUE(screen.rest().ends_with(given_back));
  EXPECT_EQ(screen.exit_code, 0);
}

TEST(Top, GivesTheTerminalBackOnEachWayOut) {
  StubWorld world;
  answer_top(world);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    Terminal screen(world.command("top --every 60"), 80, 24);
    ASSERT_TRUE(screen.shows("? help")) << screen.seen();
    ::kill(screen.pid(), signal);
    EXPECT_TRUE(screen.rest().ends_with(given_back)) << signal;
    EXPECT_EQ(screen.exit_code, 0);
  }
}

TEST(Top, StopsAndGoesOn) {
  StubWorld world;
  answer_top(world);
  Terminal screen("sh -c 'set -m; env " + world.command("top --every 60") +
                      "; stty -a | grep -o \"[-]*icanon\\|[-]*echo \" | tr -d \"\\n\"; "
                      "echo was stopped; fg > /dev/null; echo is over; stty -a'",
                  80, 24);
  ASSERT_TRUE(screen.shows("? help")) << screen.seen();
  screen.type("\x1a");
  ASSERT_TRUE(screen.shows("icanonecho was stopped")) << screen.seen();
  EXPECT_NE(screen.seen().find(given_back), std::string::npos);
  const std::size_t stopped = screen.seen().find("was stopped");
  screen.type("?");
  EXPECT_TRUE(screen.shows("page up, page down")) << screen.seen();
  EXPECT_NE(screen.seen().find("\x1b[?1049h", stopped), std::string::npos) << "its own screen";
  screen.type("q");
  const std::string all = screen.rest();
  EXPECT_NE(all.find("is over"), std::string::npos);
  EXPECT_EQ(all.find("-icanon"), std::string::npos) << all;
}

}  // namespace
}  // namespace cleave
