// Typical days of a daemon, through the programs that people use.

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A command that computes for this time on any instance.
std::string job_of(double seconds_long, const std::string& memory = "1GiB") {
  return fmt::format("cleave-job --memory {} --phases cpu={} --iterations 2 --quiet", memory,
                     seconds_long);
}

/// The ends of a job's attempts, in order: "early-restart,ended-itself".
std::string ends_of(const Json& job) {
  std::vector<std::string> ends;
  for (const Json& each : job["history"]) ends.push_back(each["end"].get<std::string>());
  return fmt::format("{}", fmt::join(ends, ","));
}

TEST(DaemonEndToEnd, AMixedBatchFinishes) {
  DaemonStand stand;
  const std::int64_t sized = stand.submit("--memory 9GiB -- " + job_of(0.3, "8GiB"));
  const std::int64_t by_profile =
      stand.submit("--profile 2g.10gb --name by-profile -- " + job_of(0.3));
  const std::int64_t unsized = stand.submit("-- " + job_of(0.3));
  const std::int64_t grows = stand.submit(
      "--name grows --restartable -- cleave-job --base 2GiB --per-iteration 200MiB --iterations 40 "
      "--phases cpu=2 --quiet");
  const std::int64_t starves = stand.submit("-- " + job_of(0.2, "9GiB"));
  const std::int64_t starves_again = stand.submit("--restartable -- " + job_of(0.2, "9GiB"));
  const std::int64_t fails = stand.submit("--retry 2 -- sh -c 'exit 7'");
  const std::int64_t fails_once =
      stand.submit("--retry 2 -- sh -c 'test \"$CLEAVE_ATTEMPT\" -gt 1 || exit 7'");
  const auto nowhere = stand.run("submit --profile 7g.80gb -- true");
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_TRUE(has(nowhere.err, "7g.80gb")) << nowhere.err;
  const auto mistyped = stand.run("submit -- no-such-program-anywhere");
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_TRUE(has(mistyped.err, "no-such-program-anywhere")) << mistyped.err;
  // A client of another kind may not look.
  const auto sent = stand.ask(
      "POST", "/v1/jobs",
      R"({"command":["no-such-program-anywhere"],"environment":["PATH=/bin"],"directory":"/"})");
  ASSERT_TRUE(sent) << sent.error().text();
  const auto absent = (*sent)["id"].get<std::int64_t>();
  for (const std::int64_t job : {sized, by_profile, unsized}) {
    const Json over = stand.over(job);
    EXPECT_EQ(over["state"], "finished") << over.dump(1);
    EXPECT_EQ(ends_of(over), "ended-itself");
  }
  const Json grown = stand.over(grows);
  EXPECT_EQ(grown["state"], "finished") << grown.dump(1);
  EXPECT_EQ(grown["early_restarts"], 1);
  EXPECT_EQ(ends_of(grown), "early-restart,ended-itself") << "before its memory ran out, not after";
  EXPECT_LT(grown["history"][0]["peak_mib"].get<int>(), 4864);
  const Json starved = stand.over(starves);
  EXPECT_EQ(starved["state"], "failed");
  EXPECT_TRUE(has(starved["reason"], "out of memory") && has(starved["reason"], "--restartable"))
      << starved["reason"];
  EXPECT_EQ(starved["attempts"], 1);
  const Json raised = stand.over(starves_again);
  EXPECT_EQ(raised["state"], "finished") << raised.dump(1);
  EXPECT_EQ(ends_of(raised), "out-of-memory,ended-itself") << "the message said how much it wanted";
  const Json failed = stand.over(fails);
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_EQ(failed["exit_code"], 7);
  EXPECT_EQ(failed["attempts"], 3);
  EXPECT_EQ(stand.over(fails_once)["state"], "finished");
  EXPECT_EQ(stand.over(fails_once)["attempts"], 2);
  EXPECT_EQ(stand.over(absent)["state"], "failed");
  // In words.
  const std::string shown = stand.run(fmt::format("show {}", grows)).out;
  for (const char* each :
       {"early-restart", "its memory would have run out", "may be restarted", "1g.5gb"})
    EXPECT_TRUE(has(shown, each)) << each << "\n" << shown;
  const Outcome all = stand.run("ps --all");
  EXPECT_TRUE(has(all.out, "by-profile") && has(all.out, "finished") && has(all.out, "failed"))
      << all.out;
  EXPECT_EQ(stand.run("wait " + std::to_string(sized)).exit_code, 0);
  EXPECT_EQ(stand.run("wait " + std::to_string(fails)).exit_code, 7);
}

/// The lines of a job's processes, sorted: "[0] line".
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(trimmed(text), '\n')) lines.emplace_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST(DaemonEndToEnd, JobsOfSeveralInstancesOrGpus) {
  StandOptions options;
  options.config = "may_switch_mig = true\n";
  DaemonStand stand(options);
  const std::int64_t four = stand.submit(
      "--instances 4x1g.5gb --together gpu -- sh -c 'echo $CLEAVE_JOB $CLEAVE_RANK of "
      "$CLEAVE_PROCESSES, $RANK of $WORLD_SIZE at $MASTER_ADDR; echo $CUDA_VISIBLE_DEVICES; "
      "echo $CLEAVE_GANG >&2; sleep 0.3'");
  const Json over = stand.over(four);
  EXPECT_EQ(over["state"], "finished") << over.dump(1);
  ASSERT_EQ(over["processes"].size(), 4U);
  std::vector<std::string> expected, devices;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Json& process = over["processes"][rank];
    EXPECT_EQ(process["state"], "finished");
    EXPECT_EQ(process["exit_code"], 0);
    EXPECT_EQ(process["instance"]["gpu"], over["processes"][0]["instance"]["gpu"]);
    devices.push_back(process["instance"]["device"].get<std::string>());
    expected.push_back(
        fmt::format("[{}] {} {} of 4, {} of 4 at 127.0.0.1", rank, four, rank, rank));
    expected.push_back(fmt::format("[{}] {}", rank, devices.back()));
  }
  std::ranges::sort(expected);
  EXPECT_EQ(lines_of(stand.run(fmt::format("logs --rank all {}", four)).out), expected);
  EXPECT_EQ(stand.run(fmt::format("logs --stderr --rank 2 {}", four)).out,
            fmt::format("{}\n", fmt::join(devices, ",")));
  EXPECT_TRUE(has(stand.run(fmt::format("logs {}", four)).out, devices[0])) << "the first";
  EXPECT_EQ(stand.run(fmt::format("logs --rank 4 {}", four)).exit_code, 2);
  const Outcome followed = stand.run(fmt::format("logs -f --rank all {}", four));
  EXPECT_EQ(lines_of(followed.out), expected) << followed.err;

  const std::int64_t two = stand.submit(
      "--gpus 2 -- sh -c 'echo $CUDA_VISIBLE_DEVICES; echo $CLEAVE_PROCESSES $RANK; sleep 0.3'");
  EXPECT_EQ(two, four + 4);
  const Json gpus = stand.over(two);
  EXPECT_EQ(gpus["state"], "finished") << gpus.dump(1);
  EXPECT_EQ(stand.run(fmt::format("logs {}", two)).out,
            fmt::format("{},{}\n1\n", gpus["processes"][0]["instance"]["gpu"].get<std::string>(),
                        gpus["processes"][1]["instance"]["gpu"].get<std::string>()));

  const std::int64_t fails = stand.submit(
      "--instances 3x1g.5gb --name trio -- sh -c 'test $RANK = 1 && sleep 0.5 && exit 9; sleep "
      "60'");
  ASSERT_TRUE(stand.wait_for_state(fails, "running"));
  const std::string listed = stand.run("ps --processes").out;
  EXPECT_TRUE(has(listed, "+2") && has(listed, "process")) << listed;
  EXPECT_EQ(stand.run(fmt::format("wait {}", fails)).exit_code, 9);
  const std::string shown = stand.run(fmt::format("show {}", fails)).out;
  EXPECT_TRUE(has(shown, "3 x 1g.5gb") && has(shown, "exited with 9") && has(shown, "gang"))
      << shown;

  const std::int64_t long_one = stand.submit("--instances 2x1g.5gb -- sleep 60");
  ASSERT_TRUE(stand.wait_for_state(long_one, "running"));
  stand.kill();
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  ASSERT_TRUE(stand.wait_for_state(long_one, "running"));
  EXPECT_EQ(stand.job(long_one)["attempts"], 1) << "it went on";
  EXPECT_EQ(stand.run(fmt::format("cancel {}", long_one)).exit_code, 0);
  EXPECT_EQ(stand.over(long_one)["state"], "cancelled");
  EXPECT_TRUE(stand.wait_until([&] { return stand.processes_of_jobs().empty(); }));
  EXPECT_EQ(stand.run("submit --instances 15x1g.5gb -- true").exit_code, 1) << "there are 14";
}

TEST(DaemonEndToEnd, ServicesAndLeases) {
  DaemonStand stand;
  const std::int64_t service = stand.submit(
      "--service --replicas 2 --profile 1g.5gb --name web -- sh -c 'echo replica $CLEAVE_REPLICA; "
      "test $CLEAVE_REPLICA = 1 && exit 3; sleep 60'");
  ASSERT_TRUE(stand.wait_until([&] { return stand.job(service)["restarts"] == 2; }));
  const Json known = stand.job(service);
  EXPECT_EQ(known["state"], "running") << known.dump(1);
  EXPECT_EQ(known["processes"][0]["restarts"], 0) << "the other runs on";
  const std::string listed = stand.run("ps --processes").out;
  EXPECT_TRUE(has(listed, "service, ") && has(listed, " of 2 up") && has(listed, "restarts"))
      << listed;
  const std::string shown = stand.run(fmt::format("show {}", service)).out;
  EXPECT_TRUE(has(shown, "2 wanted; ") && has(shown, "exited with 3")) << shown;
  EXPECT_TRUE(has(stand.run(fmt::format("logs --rank 1 {}", service)).out, "replica 1"));
  stand.kill();
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  ASSERT_TRUE(stand.wait_for_state(service, "running"));
  EXPECT_EQ(stand.job(service)["attempts"], 1) << "it went on";
  EXPECT_EQ(stand.run("cancel web").exit_code, 0);
  EXPECT_EQ(stand.over(service)["state"], "cancelled");
  EXPECT_TRUE(stand.wait_until([&] { return stand.processes_of_jobs().empty(); }));

  const std::int64_t lease =
      stand.submit("--lease --starts-within 30s --idle-after 15m --profile 3g.20gb -- sleep 60");
  ASSERT_TRUE(stand.wait_for_state(lease, "running"));
  const std::string told = stand.run(fmt::format("show {}", lease)).out;
  EXPECT_TRUE(has(told, "within 30 s") &&
              has(told, "after 15 min 00 s without GPU work: give-back"))
      << told;
  EXPECT_EQ(stand.run(fmt::format("cancel {}", lease)).exit_code, 0);

  const std::pair<const char*, const char*> wrong[] = {
      {"--replicas 2", "--service"},
      {"--service --replicas 0", "--replicas"},
      {"--service --lease", "--lease"},
      {"--service --deadline 5", "--deadline"},
      {"--lease --idle-after soon", "--idle-after"},
      {"--lease --then shrink --idle-memory 4GiB --progress checkpoint", "--then"},
      {"--lease --idle-after 15m --idle-memory 4GiB", "--idle-memory"},
      {"--lease --idle-after 15m --then shrink --idle-memory 4GiB", "--progress"}};
  for (const auto& [options, place] : wrong) {
    const Outcome refused = stand.run(fmt::format("submit {} -- true", options));
    EXPECT_EQ(refused.exit_code, 2) << options << refused.err;
    EXPECT_TRUE(has(refused.err, place)) << options << refused.err;
  }
}

TEST(DaemonEndToEnd, ALeaseIsGivenBackWhenTheDriverCountsNoWork) {
  StandOptions options;
  options.gpus = "1xH100-80GB-SXM5";
  options.config = "look_every_s = 0.25\n";
  DaemonStand stand(options);
  const std::int64_t works = stand.submit(
      "--lease --idle-after 1s --profile 1g.10gb -- cleave-job --memory 2GiB --phases cpu=4 "
      "--iterations 4 --busy 0.75 --quiet");
  const std::int64_t idle = stand.submit("--lease --idle-after 1s --profile 1g.10gb -- sleep 60");
  const Json given_back = stand.over(idle);
  EXPECT_EQ(given_back["state"], "finished") << given_back.dump(1);
  EXPECT_TRUE(has(given_back["reason"].get<std::string>(), "it did no GPU work for"));
  EXPECT_EQ(given_back["history"][0]["end"], "idle");
  EXPECT_TRUE(has(stand.run("events").out, "lease-idle"));
  EXPECT_EQ(stand.over(works)["history"][0]["end"], "ended-itself") << "it worked to its end";
}

TEST(DaemonEndToEnd, CodesOutputsAndNames) {
  DaemonStand stand;
  EXPECT_EQ(stand.run("submit --wait -- true").exit_code, 0);
  EXPECT_EQ(stand.run("submit --wait -- sh -c 'exit 5'").exit_code, 5);
  EXPECT_EQ(stand.run("submit --wait -- sh -c 'kill -9 $$'").exit_code, 137);
  const Outcome followed = stand.run("submit --follow -- sh -c 'echo out; echo err >&2; exit 3'");
  EXPECT_EQ(followed.exit_code, 3);
  EXPECT_TRUE(has(followed.out, "out\n")) << followed.out;
  EXPECT_TRUE(has(followed.err, "err\n")) << followed.err;
  const std::int64_t job = stand.submit(
      "--cwd /usr --env COLOUR=blue -- sh -c 'pwd; echo $COLOUR; echo $CUDA_VISIBLE_DEVICES'");
  const Json over = stand.over(job);
  const Outcome logs = stand.run(fmt::format("logs -f {}", job));
  EXPECT_EQ(logs.out, fmt::format("/usr\nblue\n{}\n",
                                  over["history"][0]["instance"]["device"].get<std::string>()));
  // Output is followed as it comes, also over a restart of the daemon.
  const std::int64_t slow =
      stand.submit("--name slow -- sh -c 'for i in 1 2 3 4 5 6; do echo line $i; sleep 0.4; done'");
  Outcome heard;
  std::thread follower([&] { heard = stand.run("logs -f slow"); });
  stand.wait_for_state(slow, "running");
  // Long enough for the follower to have found the daemon, on a busy machine and with sanitizers
  // too.
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_EQ(stand.stop(), 0);
  std::this_thread::sleep_for(milliseconds(200));
  stand.start();
  follower.join();
  EXPECT_EQ(heard.out, "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n") << heard.err;
}

TEST(DaemonEndToEnd, CancelPriorityPauseAndDrain) {
  StandOptions options;
  options.gpus = "1xA100-40GB";
  DaemonStand stand(options);
  const std::int64_t deaf = stand.submit(
      "--stop-grace 86400 --profile 7g.40gb -- sh -c 'trap \"\" TERM; while true; do sleep 0.05; "
      "done'");
  ASSERT_TRUE(stand.wait_for_state(deaf, "running"));
  const std::int64_t low = stand.submit("--profile 7g.40gb -- " + job_of(0.1));
  const std::int64_t dropped = stand.submit("--profile 7g.40gb -- " + job_of(0.1));
  const std::int64_t high = stand.submit("--profile 7g.40gb --priority 5 -- " + job_of(0.1));
  EXPECT_TRUE(has(stand.reason_of(low), "no GPU has room for it now; 1 job waits before it"))
      << stand.reason_of(low);
  EXPECT_EQ(stand.run(fmt::format("cancel {}", dropped)).exit_code, 0);
  EXPECT_EQ(stand.over(dropped)["attempts"], 0);
  const Outcome cancelled = stand.run(fmt::format("cancel {}", deaf));
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  ASSERT_TRUE(stand.wait_for_state(deaf, "stopping"));
  EXPECT_EQ(stand.run(fmt::format("cancel --now {}", deaf)).exit_code, 0);
  const Json killed = stand.over(deaf);
  EXPECT_EQ(killed["state"], "cancelled");
  EXPECT_EQ(killed["exit_code"], 137) << "it did not hear TERM";
  EXPECT_LT(stand.over(high)["started_at"].get<std::string>(),
            stand.over(low)["started_at"].get<std::string>());

  EXPECT_EQ(stand.run("pause").exit_code, 0);
  const std::int64_t paused = stand.submit("-- true");
  EXPECT_TRUE(has(stand.reason_of(paused), "paused")) << stand.reason_of(paused);
  EXPECT_EQ(stand.stop(), 0);
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_EQ(stand.state_of(paused), "queued") << "a restart does not end a pause";
  EXPECT_EQ(stand.run("resume").exit_code, 0);
  EXPECT_EQ(stand.over(paused)["state"], "finished");

  EXPECT_EQ(stand.run("drain 0").exit_code, 0);
  const std::int64_t drained = stand.submit("-- true");
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.reason_of(drained), "GPU 0 is drained"); }))
      << stand.reason_of(drained);
  EXPECT_EQ(stand.run("undrain 0").exit_code, 0);
  EXPECT_EQ(stand.over(drained)["state"], "finished");
}

TEST(DaemonEndToEnd, EverySchedulerRunsJobsAndTakesOverFromAnyOther) {
  StandOptions options;
  options.config = "may_switch_mig = true\n";
  DaemonStand stand(options);
  const Outcome listed = testing_program::shell("cleave schedulers --json");
  const auto document = parse_json(listed.out, "schedulers");
  ASSERT_TRUE(document);
  std::vector<std::string> names;
  for (const auto& row : document->is_array() ? *document : (*document)["schedulers"])
    names.push_back(row["name"].get<std::string>());
  ASSERT_GE(names.size(), 8U);
  std::vector<std::int64_t> all;
  for (const std::string& each : names) {
    const std::string spec = each == "miso" ? "'miso:measure=0.2'" : each;
    const Outcome chosen = stand.run("scheduler " + spec);
    EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
    std::vector<std::int64_t> jobs;
    for (const char* size : {"--memory 4000", "--profile 2g.10gb", ""})
      jobs.push_back(
          stand.submit(fmt::format("--restartable --expected 0.2 {} -- {}", size, job_of(0.2))));
    // Every other scheduler takes over while these run.
    if (all.size() % 2 == 0) stand.all_over(jobs);
    all.insert(all.end(), jobs.begin(), jobs.end());
  }
  for (const std::int64_t job : all)
    EXPECT_EQ(stand.over(job)["state"], "finished") << stand.job(job).dump(1);
  // A job that may not be restarted blocks schedulers that stop jobs.
  const std::int64_t once = stand.submit("-- " + job_of(3));
  const Outcome refused = stand.run("scheduler miso");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, fmt::format("job {}", once))) << refused.err;
}

TEST(DaemonEndToEnd, JobsGoOnWhileTheDaemonIsAway) {
  DaemonStand stand;
  const std::int64_t runs = stand.submit("-- " + job_of(sanitized ? 8 : 1.2));
  const std::int64_t ends = stand.submit("-- " + job_of(0.4));
  const std::int64_t fails = stand.submit("--retry 1 -- sh -c 'sleep 0.3; exit 4'");
  ASSERT_TRUE(stand.wait_for_state(runs, "running"));
  ASSERT_TRUE(stand.wait_for_state(fails, "running"));
  EXPECT_EQ(stand.stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(stand.socket()));
  std::this_thread::sleep_for(milliseconds(700));
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_EQ(stand.state_of(runs), "running");
  for (const std::int64_t job : {runs, ends}) {
    EXPECT_EQ(stand.over(job)["state"], "finished");
    EXPECT_EQ(stand.over(job)["attempts"], 1);
  }
  EXPECT_EQ(stand.over(fails)["attempts"], 2);
  EXPECT_TRUE(has(stand.events(), "job-ended-meanwhile")) << stand.events();
  EXPECT_TRUE(has(stand.events(), "job-adopted")) << stand.events();
}

TEST(DaemonEndToEnd, AfterARebootRestartableJobsRunAgain) {
  StandOptions options;
  options.gpus = "1xA100-40GB";
  DaemonStand stand(options);
  const std::int64_t once = stand.submit("--profile 3g.20gb -- " + job_of(30));
  const std::int64_t again = stand.submit("--profile 3g.20gb --restartable -- " + job_of(0.7));
  ASSERT_TRUE(stand.wait_for_state(once, "running"));
  ASSERT_TRUE(stand.wait_for_state(again, "running"));
  const std::int64_t waits = stand.submit("--profile 7g.40gb -- " + job_of(0.1));
  // The power fails: no process, no instance. The node is the same, but its instances have no GPU
  // any more.
  stand.kill();
  stand.end_processes_of_jobs();
  stand.destroy_all_instances();
  ASSERT_TRUE(stand.instances().empty());
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  const Json lost = stand.over(once);
  EXPECT_EQ(lost["state"], "failed");
  EXPECT_TRUE(has(lost["reason"], "--restartable")) << lost["reason"];
  EXPECT_EQ(ends_of(lost), "lost");
  EXPECT_EQ(stand.over(again)["state"], "finished");
  EXPECT_EQ(ends_of(stand.over(again)), "lost,ended-itself");
  EXPECT_EQ(stand.over(waits)["state"], "finished");
}

TEST(DaemonEndToEnd, ANodeThatIsAnotherAfterItWasAway) {
  StandOptions options;
  options.gpus = "1xA100-40GB";
  DaemonStand stand(options);
  const std::int64_t waits = stand.submit("--profile 7g.40gb -- " + job_of(0.2));
  EXPECT_EQ(stand.over(waits)["state"], "finished");
  EXPECT_EQ(stand.run("pause").exit_code, 0);
  const std::int64_t queued = stand.submit("--profile 7g.40gb -- " + job_of(0.2));
  stand.kill();
  ASSERT_TRUE(destroy_sim_node(stand.node()));
  std::filesystem::remove_all(stand.node());
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready()) << stand.log();
  EXPECT_EQ(stand.run("resume").exit_code, 0);
  EXPECT_EQ(stand.over(queued)["state"], "finished") << stand.job(queued).dump(1);
}

TEST(DaemonEndToEnd, ADiskThatIsFullIsSaidAndPasses) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts a small disk";
  const TemporaryFolder small(quick_folder());
  if (::mount("cleave-test", small.path().c_str(), "tmpfs", MS_NOSUID, "size=12m,mode=0700") != 0)
    GTEST_SKIP() << "a small tmpfs cannot be mounted here";
  {
    StandOptions options;
    options.state = small.path().string() + "/state";
    // It is the store that refuses, not what is seen of the disk before.
    options.config = "forget_below_percent = 0\nrefuse_below_percent = 0\n";
    DaemonStand stand(options);
    const std::int64_t runs = stand.submit("-- " + job_of(0.5));
    ASSERT_TRUE(stand.wait_for_state(runs, "running"));
    const std::string filler = small.path().string() + "/filler";
    {
      std::ofstream out(filler, std::ios::binary);
      const std::string block(4096, 'x');
      while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    // Answers are refused, or the reserve lasts; in no case is an accepted job lost.
    std::vector<std::int64_t> accepted;
    bool refused = false;
    for (int i = 0; i < 400 && !refused; ++i) {
      const Json body{{"command", {"sh", "-c", "true"}},
                      {"environment", {std::string(20'000, 'E') + "=1"}},
                      {"directory", "/"}};
      const auto answer = stand.ask("POST", "/v1/jobs", body.dump());
      if (answer)
        accepted.push_back((*answer)["id"].get<std::int64_t>());
      else
        refused = true;
    }
    EXPECT_TRUE(refused) << "the disk was not full";
    EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "degraded"; }));
    // What else a full disk keeps from its place may be said beside it.
    EXPECT_TRUE(has(stand.get("/healthz")["troubles"].dump(), "the store cannot be written"))
        << stand.get("/healthz").dump(1);
    std::this_thread::sleep_for(milliseconds(600));
    EXPECT_TRUE(stand.runs());
    std::filesystem::remove(filler);
    EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }))
        << stand.get("/healthz").dump(1);
    EXPECT_EQ(stand.over(runs)["state"], "finished");
    for (const std::int64_t job : accepted) EXPECT_NE(stand.over(job)["state"], "") << job;
    EXPECT_EQ(stand.over(stand.submit("-- true"))["state"], "finished");
    EXPECT_TRUE(has(stand.events(), "store-recovered"));
    EXPECT_EQ(stand.stop(), 0);
    stand.end_processes_of_jobs();
  }
  EXPECT_EQ(::umount2(small.path().c_str(), MNT_DETACH), 0);
}

TEST(DaemonEndToEnd, WithoutInodesJobsWaitAndNoneFails) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts a small disk";
  const TemporaryFolder small(quick_folder());
  if (::mount("cleave-test", small.path().c_str(), "tmpfs", MS_NOSUID,
              "size=200m,nr_inodes=400,mode=0700") != 0)
    GTEST_SKIP() << "a small tmpfs cannot be mounted here";
  {
    StandOptions options;
    options.state = small.path().string() + "/state";
    options.config = "forget_below_percent = 0\nrefuse_below_percent = 0\n";
    DaemonStand stand(options);
    EXPECT_EQ(stand.over(stand.submit("-- true"))["state"], "finished");
    const std::filesystem::path fillers = small.path() / "fillers";
    std::filesystem::create_directory(fillers);
    for (int i = 0; std::ofstream(fillers / fmt::format("{}", i)); ++i) {
    }
    std::vector<std::int64_t> jobs;
    for (int i = 0; i < 20; ++i) jobs.push_back(stand.submit("-- true"));
    EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "degraded"; }));
    // For as long as three tries in a row took, after which jobs had failed.
    std::this_thread::sleep_for(seconds(9));
    const std::string troubles = stand.get("/healthz")["troubles"].dump();
    EXPECT_TRUE(has(troubles, "no inodes left")) << troubles;
    EXPECT_TRUE(has(troubles, "df -i")) << troubles;
    for (const std::int64_t job : jobs)
      EXPECT_TRUE(stand.state_of(job) == "queued" || stand.state_of(job) == "starting")
          << stand.job(job).dump(1);
    std::filesystem::remove_all(fillers);
    stand.all_over(jobs);
    for (const std::int64_t job : jobs) EXPECT_EQ(stand.state_of(job), "finished");
    EXPECT_EQ(stand.get("/healthz")["status"], "ok") << stand.get("/healthz").dump(1);
    EXPECT_EQ(stand.stop(), 0);
    stand.end_processes_of_jobs();
  }
  EXPECT_EQ(::umount2(small.path().c_str(), MNT_DETACH), 0);
}

TEST(DaemonEndToEnd, AGpuThatIsLostAndReturns) {
  StandOptions options;
  options.config = "look_every_s = 0.2\n";
  DaemonStand stand(options);
  const std::int64_t once = stand.submit("--profile 7g.40gb -- " + job_of(30));
  ASSERT_TRUE(stand.wait_for_state(once, "running"));
  const std::int64_t again = stand.submit("--profile 7g.40gb --restartable -- " + job_of(1));
  ASSERT_TRUE(stand.wait_for_state(again, "running"));
  const int its_gpu = stand.job(once)["instance"]["gpu_index"].get<int>();
  EXPECT_EQ(testing_program::shell(
                fmt::format("cleave sim-node fault {} --gpu {} lost", stand.node(), its_gpu))
                .exit_code,
            0);
  const Json lost = stand.over(once);
  EXPECT_EQ(lost["state"], "failed");
  EXPECT_TRUE(has(lost["reason"], "lost")) << lost["reason"];
  EXPECT_EQ(stand.get("/healthz")["status"], "degraded");
  EXPECT_EQ(stand.over(again)["state"], "finished") << "the other GPU is as it was";
  const int other = 1 - its_gpu;
  const std::int64_t moves = stand.submit("--profile 7g.40gb --restartable -- " + job_of(2.5));
  ASSERT_TRUE(stand.wait_for_state(moves, "running"));
  EXPECT_EQ(stand.job(moves)["instance"]["gpu_index"], other);
  stand.fault(other, "lost");
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.reason_of(moves), "is lost"); }))
      << stand.reason_of(moves);
  stand.fault(its_gpu, "none");
  EXPECT_EQ(stand.over(moves)["state"], "finished") << stand.job(moves).dump(1);
  EXPECT_EQ(ends_of(stand.over(moves)), "lost,ended-itself");
  stand.fault(other, "none");
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }));
  EXPECT_TRUE(has(stand.events(), "gpu-returned"));
}

TEST(DaemonEndToEnd, ADriverThatDoesNotAnswerIsSaidAndHeardAgain) {
  StandOptions options;
  options.gpus = "1xA100-40GB";
  options.instant = false;
  options.config = "gpu_patience_s = 0.3\nlook_every_s = 0.2\n";
  DaemonStand stand(options);
  // Each needs an instance of its own kind, and so a command of its own, of half a second and more.
  stand.fault(0, "slow-create");
  std::vector<std::int64_t> jobs;
  for (const char* profile : {"7g.40gb", "4g.20gb", "7g.40gb", "4g.20gb", "7g.40gb", "4g.20gb"})
    jobs.push_back(stand.submit(fmt::format("--profile {} -- {}", profile, job_of(0.1))));
  std::string health;
  EXPECT_TRUE(stand.wait_until(
      [&] {
        const Json said = stand.get("/healthz");
        health = said.dump();
        return said["status"] == "degraded" && has(health, "does not answer");
      },
      seconds(10)))
      << health;
  EXPECT_TRUE(has(stand.events(), "the driver does not answer")) << stand.events();
  EXPECT_EQ(stand.run("ps").exit_code, 0);
  stand.fault(0, "none");
  for (const std::int64_t job : jobs)
    EXPECT_EQ(stand.over(job)["state"], "finished") << stand.job(job).dump(1);
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }));
  EXPECT_TRUE(has(stand.events(), "gpu-answers"));
}

TEST(DaemonEndToEnd, InstancesOfOthersStay) {
  StandOptions options;
  options.gpus = "1xA100-40GB";
  options.config = "keep_idle_s = 0.1\nlook_every_s = 0.2\n";
  DaemonStand stand(options);
  const std::vector<std::string> foreign = {stand.foreign("3g.20gb", 0)};
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.get("/v1/instances").dump(), "foreign"); }));
  const std::int64_t whole = stand.submit("--profile 7g.40gb -- true");
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(stand.submit("--profile 2g.10gb -- " + job_of(0.1)));
  stand.all_over(jobs);
  EXPECT_EQ(stand.state_of(whole), "queued");
  EXPECT_TRUE(has(stand.reason_of(whole), "not ours")) << stand.reason_of(whole);
  EXPECT_TRUE(stand.wait_until([&] { return stand.instances() == foreign; }))
      << "idle ones of ours go";
  // Its maker destroys it. While a daemon looks at it that is refused: it is in use by another
  // client.
  EXPECT_EQ(stand.stop(), 0);
  stand.destroy_all_instances();
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_EQ(stand.over(whole)["state"], "finished");
}

TEST(DaemonEndToEnd, ReloadLimitsAndASecondDaemon) {
  StandOptions options;
  options.config = "most_waiting = 3\n";
  DaemonStand stand(options);
  stand.run("pause");
  for (int i = 0; i < 3; ++i) stand.submit("-- true");
  const Outcome refused = stand.run("submit -- true");
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  stand.reload("most_waiting = wrong\n");
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.log(), "the configuration is unchanged"); }));
  EXPECT_NE(stand.run("submit -- true").exit_code, 0);
  stand.reload("most_waiting = 5\nkeep_idle_s = 0\n");
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.log(), "most_waiting: 3 -> 5"); }))
      << stand.log();
  EXPECT_EQ(stand.run("submit -- true").exit_code, 0);
  const std::string large(5'000'000, 'x');
  const auto too_large = stand.ask("POST", "/v1/jobs", large);
  EXPECT_FALSE(too_large);
  EXPECT_EQ(stand.run("resume").exit_code, 0);
  EXPECT_TRUE(stand.wait_until([&] {
    return stand.get("/v1/jobs")["jobs"].empty() && stand.instances().empty();
  })) << "keep_idle_s came with the reload";
  // Another daemon over the same state.
  const Outcome second = testing_program::shell(
      fmt::format("cleaved --simulate 2xA100-40GB --instant --state '{}' --socket '{}'",
                  stand.state(), stand.path("other")));
  EXPECT_EQ(second.exit_code, 1) << second.err;
  const Outcome same_socket = testing_program::shell(
      fmt::format("cleaved --simulate 2xA100-40GB --instant --state '{}' --socket '{}'",
                  stand.path("elsewhere"), stand.socket()));
  EXPECT_EQ(same_socket.exit_code, 1) << same_socket.err;
  EXPECT_EQ(stand.run("ps").exit_code, 0) << "the first one is as it was";
}

/// The same batch through the daemon, with processes, and through the simulator: on the same GPUs
/// with the same reconfiguration times.
TEST(DaemonEndToEnd, TheDaemonsMakespanIsTheSimulatorsButForLittle) {
  StandOptions options;
  options.instant = false;
  DaemonStand stand(options);
  const int count = sanitized ? 10 : 24;
  std::string workload;
  std::vector<std::string> bodies;
  const std::vector<std::string> profiles = {"1g.5gb", "2g.10gb", "1g.5gb", "3g.20gb",
                                             "1g.5gb", "2g.10gb", "7g.40gb"};
  for (int i = 0; i < count; ++i) {
    const std::string& profile = profiles[static_cast<std::size_t>(i) % profiles.size()];
    const double time = 1.5 + 0.1 * (i * 7 % 20);
    workload +=
        Json{{"id", fmt::format("job-{}", i)},
             {"arrival_s", 0.0},
             {"profile", profile},
             {"phases",
              {{"cpu_s", time}, {"transfer_s", 0.0}, {"compute_s", 0.0}, {"bandwidth_s", 0.0}}}}
            .dump() +
        "\n";
    bodies.push_back(Json{
        {"command",
         {"cleave-job", "--memory", "1GiB", "--phases", fmt::format("cpu={}", time), "--quiet"}},
        {"environment", {"PATH=" + binary_dir() + "/bin:/usr/bin:/bin"}},
        {"directory", "/"},
        {"profile", profile},
        {"movable",
         false}}.dump());
  }
  const testing_program::Scratch scratch;
  const std::string file = scratch.write("batch.jsonl", workload);
  const Outcome simulated = testing_program::shell(fmt::format(
      "cleave simulate --fleet 2xA100-40GB --workload '{}' --scheduler online:migration=off --json",
      file));
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const auto summary = parse_json(simulated.out, "simulate");
  ASSERT_TRUE(summary);
  ASSERT_EQ(stand.run("scheduler online:migration=off").exit_code, 0);
  stand.run("pause");
  std::vector<std::int64_t> jobs;
  for (const std::string& body : bodies) {
    const auto answer = stand.ask("POST", "/v1/jobs", body);
    ASSERT_TRUE(answer) << answer.error().text();
    jobs.push_back((*answer)["id"].get<std::int64_t>());
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(stand.ask("POST", "/v1/resume", "{}"));
  for (const std::int64_t job : jobs) EXPECT_EQ(stand.over(job)["state"], "finished");
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double expected = (*summary)["makespan_s"].get<double>();
  fmt::print("{} jobs on 2 GPUs: {:.2f} s through the daemon, {:.2f} s simulated: {:+.1f} %\n",
             count, took, expected, 100 * (took / expected - 1));
  EXPECT_LT(took, expected * (sanitized ? 2 : 1.2)) << "on a machine of its own it is below 1.1";
}

}  // namespace
}  // namespace cleave::whole
