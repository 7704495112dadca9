#include "manual/help_text.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(HelpText, WrapsDescriptionsBelowWhereTheyBegin) {
  const std::string help =
      "Options:\n"
      "  --fleet TEXT      A fleet file, or empty GPUs: 4xA100-40GB, or some on nodes\n"
      "  --json            One document\n";
  EXPECT_EQ(fitted_help(help, 50),
            "Options:\n"
            "  --fleet TEXT      A fleet file, or empty GPUs:\n"
            "                    4xA100-40GB, or some on nodes\n"
            "  --json            One document\n");
  EXPECT_EQ(fitted_help(help, 0), help);
}

TEST(HelpText, WrapsWhatHasNoDescription) {
  EXPECT_EQ(fitted_help("Partitions GPUs, places work on them, and simulates all of it.", 40),
            "Partitions GPUs, places work on them,\n  and simulates all of it.");
  // Where the names are long, the description stands on the next line.
  EXPECT_EQ(fitted_help("                    with a description of its own that is long", 46),
            "                    with a description of its\n"
            "                    own that is long");
}

TEST(HelpText, CommandsStandInGroups) {
  CommandLine program("Does things.", "program");
  program.add_subcommand("submit", "Submits");
  group_commands(program, "Jobs");
  program.add_subcommand("plan", "Plans")->add_subcommand("deploy", "Deploys");
  group_commands(program, "Plans");
  const char* words[] = {"program", "--help"};
  testing::internal::CaptureStdout();
  EXPECT_TRUE(program.parse(2, words));
  std::fflush(stdout);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("\nJobs:\n  submit"), std::string::npos) << help;
  EXPECT_NE(help.find("\nPlans:\n  plan"), std::string::npos) << help;
  EXPECT_EQ(help.find("Commands:"), std::string::npos) << help;
}

}  // namespace
}  // namespace cleave
