// Threads that ask for the same state graph at once; the thread sanitizer watches these.

#include <gtest/gtest.h>

#include <thread>

#include "graph/state_graph.hpp"

namespace cleave {
namespace {

TEST(Threads, ShareOneGraph) {
  std::vector<std::shared_ptr<const StateGraph>> seen(8);
  {
    std::vector<std::jthread> threads;
    for (auto& graph : seen)
      threads.emplace_back([&graph] {
        const GpuModel& model = **find_gpu_model("A100-80GB");
        graph = StateGraph::of(model, ProfileChoice().on(model));
      });
  }
  for (const auto& graph : seen) EXPECT_EQ(graph, seen.front());
}

}  // namespace
}  // namespace cleave
