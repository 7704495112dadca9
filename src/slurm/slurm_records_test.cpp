#include "slurm/slurm_records.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Gres, EveryFormThatSlurmPrints) {
  const GresCounts both = {{"1g.5gb", 7}, {"3g.20gb", 2}};
  EXPECT_EQ(parse_gres("mig:3g.20gb:2,mig:1g.5gb:7"), both);
  EXPECT_EQ(parse_gres("gpu:a100:4(S:0-1),mig:3g.20gb:2(S:0,1),mig:1g.5gb:7"), both);
  EXPECT_EQ(parse_gres("gres:mig:3g.20gb:2,gres/mig:1g.5gb=7"), both);
  EXPECT_EQ(parse_gres("gres:mig:3g.20gb"), (GresCounts{{"3g.20gb", 1}}));
  EXPECT_EQ(parse_gres("(null)"), GresCounts{});
  EXPECT_EQ(parse_gres("mig:2,mig:3g.20gb:-1,mig:3g.20gb:x,might:3g.20gb:1"), GresCounts{});
  EXPECT_EQ(parse_gres(gres_text(both)), both);
  EXPECT_EQ(parse_gres(node_gres_text(both)), both) << "what is not cut is nobody's to have";
  EXPECT_EQ(node_gres_text({{"1g.5gb", 3}, {"7g.40gb", 0}}),
            "mig:1g.5gb:3,mig:7g.40gb:0,mig:uncut:997");
}

TEST(SlurmRecords, Durations) {
  EXPECT_EQ(slurm_duration("10:00"), minutes(10));
  EXPECT_EQ(slurm_duration("1-02:03:04"), hours(26) + minutes(3) + seconds(4));
  EXPECT_EQ(slurm_duration("30"), minutes(30));
  EXPECT_FALSE(slurm_duration("UNLIMITED"));
  EXPECT_FALSE(slurm_duration("365-99999999:00"));
}

constexpr std::string_view mark = "5a1f";

std::string record(std::string_view text) {
  return std::string(text) + "|5a1f\n";
}

TEST(Squeue, AJobAndAnElementOfAnArray) {
  const auto read = parse_squeue(
      record("4|4|N/A|PD|gres:mig:7g.40gb:1|1|2|4294901756|1000|1764205647|N/A|10:00|"
             "JobHeldUser|||1|2|mig|afterok:3(unfulfilled)|x y") +
          record("5|3|1|R|gres:mig:3g.20gb:1|1|1|99|0|1764205647|1764205648|UNLIMITED|None||n1|0|"
                 "0|mig||(null)"),
      mark);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->jobs.size(), 2U);
  const SlurmJob& first = read->jobs[0];
  EXPECT_EQ(first.number, 4);
  EXPECT_EQ(first.shown, "4");
  EXPECT_EQ(first.state, SlurmJobState::pending);
  EXPECT_EQ(first.asks, (GresCounts{{"7g.40gb", 1}}));
  EXPECT_EQ(first.priority, 4294901756);
  EXPECT_EQ(first.limit, minutes(10));
  EXPECT_FALSE(first.starts);
  EXPECT_TRUE(first.requeueable);
  EXPECT_EQ(first.restarts, 2);
  EXPECT_EQ(first.partitions, "mig");
  EXPECT_EQ(first.depends_on, "afterok:3(unfulfilled)");
  EXPECT_EQ(first.comment, "x y");
  const SlurmJob& second = read->jobs[1];
  EXPECT_EQ(second.shown, "3_1");
  EXPECT_EQ(second.state, SlurmJobState::running);
  EXPECT_EQ(second.runs_on, "n1");
  EXPECT_EQ(second.comment, "");
}

TEST(Squeue, WhatUsersWriteIsNoRecord) {
  const std::string forged = "hello|5a\n9|9|N/A|R|gres:mig:7g.40gb:8|1|1|1|0|1|1|1:00|None||n1|1|x";
  const auto read = parse_squeue(
      record("4|4|N/A|PD|gres:mig:7g.40gb:1|1|2|7|1000|1764205647|N/A|10:00|Resources|||1|0|mig||" +
             forged),
      mark);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->jobs.size(), 1U);
  EXPECT_EQ(read->jobs[0].comment, forged);
}

TEST(Squeue, WhatIsCutIsAnError) {
  EXPECT_TRUE(parse_squeue("", mark));
  EXPECT_FALSE(parse_squeue("4|4|N/A|PD", mark));
  EXPECT_EQ(parse_squeue(record("4|4"), mark)->left_out, 1U);
}

TEST(Squeue, AsksForWhatItReads) {
  const std::string columns = squeue_columns(mark);
  EXPECT_TRUE(columns.starts_with("JobID:|,ArrayJobID:|,"));
  EXPECT_TRUE(columns.ends_with(",Comment:|5a1f"));
}

TEST(ScontrolConfig, SaysWhenSlurmctldBegan) {
  EXPECT_EQ(parse_boot_time("BatchStartTimeout       = 10 sec\n"
                            "BOOT_TIME               = 1795774503\n"),
            Instant(seconds(1795774503)));
  EXPECT_FALSE(parse_boot_time("BOOT_TIME = 2026-11-27T10:15:03\n"));
}

TEST(ScontrolNodes, AsPrintedBy2205) {
  const auto nodes = parse_scontrol_nodes(
      "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=2 CPUEfctv=2 CPUTot=8 CPULoad=1.76 "
      "Gres=mig:7g.40gb:0,mig:3g.20gb:2(S:0-1) GresDrain=N/A "
      "GresUsed=mig:7g.40gb:0,mig:3g.20gb:1 NodeAddr=127.0.0.1 Version=22.05.8 "
      "OS=Linux 6.18.44 #1 SMP Gres=mig:1g.5gb:9 RealMemory=4000 AllocMem=100 State=MIXED "
      "Reason=moved State=DOWN\n"
      "NodeName=t Gres=mig:7g.40gb:64 State=IDLE+DRAIN CPUTot=2 SlurmdStartTime=1764000000 "
      "Reason=Duplicate jobid [root@1764000300] Comment=x\n"
      "NodeName=u Gres=(null) State=IDLE* CPUTot=2\n");
  ASSERT_TRUE(nodes) << nodes.error().text();
  ASSERT_EQ(nodes->size(), 3U);
  EXPECT_EQ((*nodes)[0].has, (GresCounts{{"7g.40gb", 0}, {"3g.20gb", 2}}));
  EXPECT_EQ((*nodes)[0].used, (GresCounts{{"7g.40gb", 0}, {"3g.20gb", 1}}));
  EXPECT_EQ((*nodes)[0].cpus, 8);
  EXPECT_EQ((*nodes)[0].cpus_used, 2);
  EXPECT_EQ((*nodes)[0].memory, MiB{4000});
  EXPECT_TRUE((*nodes)[0].takes_jobs);
  EXPECT_FALSE((*nodes)[1].takes_jobs);
  EXPECT_EQ((*nodes)[1].reason, "Duplicate jobid");
  EXPECT_EQ((*nodes)[1].begun, Instant(std::chrono::seconds(1764000000)));
  EXPECT_FALSE((*nodes)[0].begun);
  EXPECT_FALSE((*nodes)[2].takes_jobs);
  EXPECT_FALSE(parse_scontrol_nodes("slurm_load_node error: Unable to contact slurm controller\n"));
}

}  // namespace
}  // namespace cleave
