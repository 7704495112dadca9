#include "study/bench/bench_graph.hpp"

#include <algorithm>
#include <chrono>

#include "base/time.hpp"
#include "graph/state_graph.hpp"

namespace cleave {

std::vector<GraphBench> bench_graph(int repeats) {
  std::vector<GraphBench> all;
  for (const GpuModel& model : gpu_models()) {
    for (const char* set : {"all", "plain"}) {
      const ProfileMask profiles = ProfileChoice::parse(set)->on(model);
      std::vector<double> seconds;
      GraphBench bench{std::string(model.key), set, 0, 0, 0, 0, repeats};
      for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const StateGraph graph(Geometry(model, profiles));
        seconds.push_back(in_seconds(std::chrono::steady_clock::now() - begin));
        bench.states = graph.size();
        bench.maximal_states = graph.maximal_states();
      }
      std::ranges::sort(seconds);
      bench.seconds_median = seconds[seconds.size() / 2];
      bench.seconds_min = seconds.front();
      all.push_back(std::move(bench));
    }
  }
  return all;
}

}  // namespace cleave
