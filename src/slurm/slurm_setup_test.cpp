#include "slurm/slurm_setup.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

SlurmSetup two_nodes() {
  return {"n[1-2]", *find_gpu_model("A100-40GB"), 4, SlurmMode::node, "tmpl", "/opt/bin", "/etc/c"};
}

const SetupFile& file_called(const std::vector<SetupFile>& files, std::string_view name) {
  return *std::ranges::find(files, name, &SetupFile::name);
}

/// What is written, as a site would merge it.
std::string merged(const std::string& added) {
  return "SelectType=select/cons_tres\nSchedulerParameters=bf_continue,nohold_on_prolog_fail\n" +
         added;
}

TEST(SlurmSetup, WhatIsWrittenIsWhatIsChecked) {
  const SlurmSetup setup = two_nodes();
  const auto files = setup_files(setup);
  for (const SetupFinding& each : check_setup(merged(file_called(files, "slurm.conf.add").text),
                                              file_called(files, "gres.conf.add").text, setup))
    EXPECT_EQ(each.state, SetupFinding::State::fine) << each.key << ": " << each.remedy;
}

TEST(SlurmSetup, SaysWhatItFound) {
  const auto findings = check_setup(
      "grestypes = gpu  # ours\nSelectType=select/linear\nProlog=/site/prolog\n", "", two_nodes());
  const auto of = [&](std::string_view key) {
    return *std::ranges::find(findings, key, &SetupFinding::key);
  };
  EXPECT_EQ(of("GresTypes").state, SetupFinding::State::differs);
  EXPECT_TRUE(of("GresTypes").remedy.starts_with("GresTypes=gpu,mig: ")) << of("GresTypes").remedy;
  EXPECT_TRUE(of("SelectType").remedy.starts_with("SelectType=select/cons_tres: "));
  EXPECT_EQ(of("Prolog").remedy,
            "call /etc/c/prolog at the end of /site/prolog, or set Prolog=/etc/c/prolog");
  EXPECT_EQ(of("Epilog").state, SetupFinding::State::missing);
  EXPECT_EQ(of("template nodes").state, SetupFinding::State::missing);
}

TEST(SlurmSetup, NothingIsPromisedBeforeTheControllerLooks) {
  const auto files = setup_files(two_nodes());
  const std::string& text = file_called(files, "gres.conf.add").text;
  EXPECT_TRUE(text.contains("NodeName=n[1-2] Name=mig Type=3g.20gb Count=0 Flags=CountOnly\n"));
  EXPECT_TRUE(text.contains("NodeName=n[1-2] Name=mig Type=uncut Count=1000 Flags=CountOnly\n"));
  EXPECT_TRUE(file_called(files, "slurm.conf.add").text.contains("mig:7g.40gb:0,mig:uncut:1000\n"));
  EXPECT_FALSE(text.contains("+me"));
}

}  // namespace
}  // namespace cleave
