#include "moving_jobs.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave::whole {

namespace {

std::string words_of(const DaemonStand& stand, Way way) {
  switch (way) {
    case Way::replica:
      return "--movable";
    case Way::signal:
      return "--progress checkpoint --checkpoint-signal WINCH --checkpoint-grace 0.1";
    case Way::command:
      return fmt::format(
          "--restartable --checkpoint-command 'kill -0 $CLEAVE_PID' "
          "--checkpoint-grace 20 --restore-command 'echo restored >> {}; exec "
          "sleep 600'",
          stand.path("run-$CLEAVE_JOB"));
    case Way::no_command:
      return "--progress checkpoint --checkpoint-command 'echo no; exit 3' "
             "--checkpoint-grace 20";
    case Way::fixed:
      break;
  }
  return "";
}

}  // namespace

std::int64_t submit_moving(const DaemonStand& stand, const std::string& profile, Way way) {
  return stand.submit(
      fmt::format("--profile {} {} -- sh -c 'echo $CLEAVE_ATTEMPT >> {}; exec sleep 600'", profile,
                  words_of(stand, way), stand.path("run-$CLEAVE_JOB")));
}

bool began_as_told(DaemonStand& stand, Way way, const Json& job) {
  const auto began = std::ranges::count_if(
      job["history"], [](const Json& each) { return each["began_at"].is_string(); });
  std::string ran;
  std::int64_t starts = 0;
  // A program has begun a moment before it writes.
  (void)stand.wait_until([&] {
    ran = text_of(stand.path(fmt::format("run-{}", job["id"].get<std::int64_t>())));
    starts = std::ranges::count(ran, '\n');
    return starts >= began;
  });
  EXPECT_EQ(starts, began) << ran << job.dump(1);
  const bool stays = way == Way::fixed || way == Way::no_command;
  if (stays) {
    EXPECT_EQ(starts, 1) << job.dump(1) << stand.events();
  }
  const bool restored = ran.find("restored\n") != std::string::npos;
  EXPECT_EQ(restored, way == Way::command && starts > 1) << ran;
  return restored;
}

}  // namespace cleave::whole
