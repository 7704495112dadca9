#include "study/reproduce/carma_memory.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace cleave {
namespace {

constexpr std::string_view few =
    "model,batch_size,epochs,max_memory_mib\nresnet50,32,1,3934.0\nBERT_base_on_wiki,,,19828."
    "0\nvgg,64,1,"
    "11760\n";

TEST(CarmaMemory, TasksAreReadAndSized) {
  const auto report = carma_memory(few, "tasks.csv", CarmaReading::names);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->tasks.size(), 3U);
  EXPECT_EQ(report->forecasts(), 2U);
  EXPECT_EQ(report->tasks[0].network, "resnet50:224");
  EXPECT_EQ(report->tasks[0].right->name, "1g.5gb");
  EXPECT_EQ(report->sizes_above(report->tasks[0]), 0);
  EXPECT_EQ(report->tasks[1].lacking, "batch size and number of tokens");
  EXPECT_EQ(report->tasks[2].right->name, "3g.20gb");
}

TEST(CarmaMemory, BrokenTablesAreRefused) {
  EXPECT_EQ(carma_memory("model,batch_size\nvgg,1\n", "t.csv", CarmaReading::names).error().message,
            "the column 'max_memory_mib' is missing");
  EXPECT_FALSE(
      carma_memory("model,batch_size,max_memory_mib\nvgg,1,\n", "t.csv", CarmaReading::names));
  EXPECT_FALSE(
      carma_memory("model,batch_size,max_memory_mib\nvgg,-1,5\n", "t.csv", CarmaReading::names));
}

TEST(CarmaMemory, AtLeastFourOfFiveLandOnTheRightInstanceOrTheNext) {
  const std::string file = source_dir() + "/../shared/data/carma-dl-tasks/training_tasks.csv";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the tasks of CARMA are not beside this source tree";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  for (const CarmaReading reading : {CarmaReading::names, CarmaReading::scripts}) {
    const auto report = carma_memory(text.str(), file, reading);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->tasks.size(), 41U);
    EXPECT_EQ(report->forecasts(), 33U);
    EXPECT_GE(report->landed(), 27U);
    for (const CarmaTask& task : report->tasks)
      if (task.lacking.empty())
        std::cout << task.model << " " << task.network << " batch " << task.batch << ": measured "
                  << task.measured_mib << ", forecast " << task.forecast.value << ", "
                  << std::round(1000 * task.error()) / 10 << " %, sizes above "
                  << report->sizes_above(task) << "\n";
      else
        std::cout << task.model << ": lacking " << task.lacking << "\n";
    std::cout << report->landed() << " of " << report->forecasts() << " land\n";
  }
}

}  // namespace
}  // namespace cleave
