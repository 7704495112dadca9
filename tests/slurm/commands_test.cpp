// `cleave slurm` from outside, with stand-ins for squeue, scontrol and sacct that print what
// Slurm 22.05 printed.

#include <gtest/gtest.h>

#include <filesystem>

#include "../cli/program.hpp"
#include "base/json.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

/// Tools on a path of their own; each update is a line of a file.
class SlurmCommands : public testing::Test {
 protected:
  SlurmCommands() {
    tool("scontrol",
         "if [ \"$1\" = update ]; then shift; echo \"$@\" >> $HERE/updates; exit 0; fi\n"
         "cat $HERE/nodes\n");
    // The mark ends the last word.
    tool("squeue",
         "for word; do last=$word; done\n"
         "mark=${last##*|}\n"
         "sed \"s/\\$/|$mark/\" $HERE/jobs\n");
    tool("sacct", "cat $HERE/accounts\n");
    write("nodes",
          "NodeName=n1 CPUAlloc=1 CPUTot=8 Gres=mig:7g.40gb:1,mig:3g.20gb:2 "
          "GresUsed=mig:7g.40gb:0,mig:3g.20gb:1 State=MIXED\n"
          "NodeName=cleave-template1 CPUTot=1 Gres=mig:7g.40gb:1000 State=IDLE+DRAIN\n");
    write("jobs",
          "4|4|N/A|PD|gres:mig:7g.40gb:1|1|1|900|1000|1764205647|N/"
          "A|10:00|Resources|||1|0|mig||(null)\n"
          "5|3|1|R|gres:mig:3g.20gb:1|1|1|99|0|1764205647|1764205648|10:00|None||n1|1|0|mig||(null)"
          "\n");
  }
  void write(const std::string& name, const std::string& text) {
    static_cast<void>(scratch.write(name, text));
  }
  void tool(const std::string& name, const std::string& body) {
    write(name, "#!/bin/sh\nHERE=" + scratch.path("") + "\n" + body);
    std::filesystem::permissions(scratch.path(name), std::filesystem::perms::owner_all);
  }
  Outcome run(const std::string& arguments) {
    return shell("PATH=" + scratch.path("") + ":$PATH cleave slurm " + arguments);
  }

  Scratch scratch;
};

TEST_F(SlurmCommands, ANodeWithoutItsDaemonIsToldOfNothing) {
  const Outcome done = run("controller --once --sockets '" + scratch.path("%n.sock") + "'");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "n1 mig:3g.20gb:1,mig:7g.40gb:0\n");
  EXPECT_EQ(shell("cat " + scratch.path("updates")).out,
            "NodeName=n1 Gres=mig:3g.20gb:1,mig:7g.40gb:0,mig:uncut:999\n"
            "NodeName=n1 Gres=mig:3g.20gb:1,mig:7g.40gb:0,mig:uncut:999\n");
}

TEST_F(SlurmCommands, ADryRunChangesNothing) {
  const Outcome done = run("controller --dry-run --mode cluster --json");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("updates")));
  const auto answer = parse_json(done.out, "answer");
  ASSERT_TRUE(answer) << done.out;
  EXPECT_EQ((*answer)["gated"].size(), 1U) << "a job that came without the gate";
}

TEST_F(SlurmCommands, ShowSaysWhatSlurmSaysAndWhatCleaveSays) {
  const Outcome done = run("show 4");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("job 4 waits, asks for mig:7g.40gb:1\n  Slurm says:  Resources\n"),
            std::string::npos)
      << done.out;
  EXPECT_EQ(run("show 3_1").exit_code, 0);
  EXPECT_EQ(run("show 77").exit_code, 2);
}

/// As slurmd does after a run that slurmctld has forgotten.
TEST_F(SlurmCommands, AJobWithoutItsPrologWaitsAgain) {
  tool("scontrol", "echo \"$@\" >> $HERE/asked\n");
  tool("squeue",
       "case \"$*\" in *BatchFlag*) echo 1; exit ;; esac\n"
       "for word; do last=$word; done\n"
       "sed \"s/\\$/|${last##*|}/\" $HERE/jobs\n");
  write(
      "jobs",
      "5|5|N/A|R|gres:mig:3g.20gb:1|1|1|99|0|1764205647|1764205648|10:00|None||n1|1|0|mig||(null)\n"
      "6|6|N/A|R|N/A|1|1|99|0|1764205647|1764205648|10:00|None||n1|1|0|mig||(null)\n");
  const auto begun = [&](const std::string& job) {
    return shell("PATH=" + scratch.path("") + ":$PATH SLURM_JOB_ID=" + job +
                 " SLURMD_NODENAME=n1 SLURM_JOB_UID=1 timeout 3 cleave slurm task-prolog --notes " +
                 scratch.path("notes"));
  };
  EXPECT_EQ(begun("5").exit_code, 124) << "it waits for its end";
  EXPECT_EQ(shell("cat " + scratch.path("asked")).out, "requeue 5\n");
  const Outcome needs_none = begun("6");
  EXPECT_EQ(needs_none.exit_code, 0) << needs_none.err;
  EXPECT_EQ(needs_none.out, "");
  shell("mkdir " + scratch.path("notes") + "; echo devices MIG-1 > " + scratch.path("notes/n1.5"));
  EXPECT_EQ(begun("5").out, "export CUDA_VISIBLE_DEVICES=MIG-1\n");
  EXPECT_EQ(shell("wc -l < " + scratch.path("asked")).out, "1\n");
  shell("echo begun 1764205648 >> " + scratch.path("notes/n1.5") + "; touch -d '1 minute ago' " +
        scratch.path("notes/n1.5"));
  EXPECT_EQ(begun("5").exit_code, 0) << "a slow one, of this run";
  shell("sed -i s/5648/5640/ " + scratch.path("notes/n1.5") + "; touch -d '1 minute ago' " +
        scratch.path("notes/n1.5"));
  EXPECT_EQ(begun("5").exit_code, 124) << "it is of a run before this one";
  EXPECT_EQ(shell("wc -l < " + scratch.path("asked")).out, "2\n");
  shell("echo refused no room > " + scratch.path("notes/n1.5"));
  EXPECT_EQ(begun("5").exit_code, 124);
  EXPECT_EQ(shell("wc -l < " + scratch.path("asked")).out, "3\n") << "put back once more";
}

TEST_F(SlurmCommands, ALoopNeedsALease) {
  const Outcome done = run("controller");
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_NE(done.err.find("a controller that goes on needs a lease"), std::string::npos);
}

TEST_F(SlurmCommands, SetupWritesAndChecks) {
  const std::string site = scratch.path("site");
  EXPECT_EQ(run("setup --write " + site + " --nodes 'n[1-2]' --gpus 4xA100-40GB").exit_code, 0);
  EXPECT_EQ(shell("sh -n " + site + "/prolog").exit_code, 0);
  shell("cd " + site +
        "; (echo SelectType=select/cons_tres; echo "
        "SchedulerParameters=nohold_on_prolog_fail; cat slurm.conf.add) > slurm.conf; cp "
        "gres.conf.add "
        "gres.conf");
  const std::string check =
      "setup --check --conf " + site + "/slurm.conf --nodes 'n[1-2]' --folder " + site;
  const Outcome fine = run(check);
  EXPECT_EQ(fine.exit_code, 0) << fine.out;
  shell("sed -i /GresTypes/d " + site + "/slurm.conf");
  const Outcome missing = run(check);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.out.find("missing  GresTypes"), std::string::npos) << missing.out;
}

TEST_F(SlurmCommands, ShadowComparesWithWhatWasSeen) {
  std::string accounts;
  for (int i = 0; i < 12; ++i) {
    const long begin = 1764205000 + i * 60, start = begin + (i >= 2 ? (i - 1) * 300 : 0);
    accounts += std::to_string(i + 1) + "|" + std::to_string(i + 1) + "|alice|COMPLETED|" +
                std::to_string(begin) + "|" + std::to_string(start) + "|" +
                std::to_string(start + 600) +
                "|cpu=1,gres/mig:" + (i % 3 == 0 ? "1g.5gb" : "3g.20gb") + "=1,gres/mig=1\n";
  }
  write("accounts", accounts);
  const Outcome done = run("shadow --fleet 1xA100-40GB --layout 3g.20gb@0,3g.20gb@4 --json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto answer = parse_json(done.out, "answer");
  ASSERT_TRUE(answer);
  const Json& day = (*answer)["days"][0];
  EXPECT_EQ(day["jobs"], 12);
  EXPECT_EQ(day["static_refused"], 4) << "1g.5gb is not in the layout";
  EXPECT_EQ(day["dynamic_refused"], 0);
  EXPECT_TRUE(day["error"].is_number());
}

}  // namespace
}  // namespace cleave
