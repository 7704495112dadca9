#include "study/reproduce/growth_series.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.hpp"

namespace cleave {

namespace {

/// Draws for one job.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  double between(double least, double most) { return least + (most - least) * random_.uniform(); }
  /// Every factor as likely as another.
  double log_between(double least, double most) {
    return least * std::pow(most / least, random_.uniform());
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_.below(count)); }
  double normal() {
    const double u = 1 - random_.uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.141592653589793 * random_.uniform());
  }
  /// Student's t with three degrees of freedom: its third moment is infinite.
  double heavy() {
    const double z = normal(), a = normal(), b = normal(), c = normal();
    return z / std::sqrt((a * a + b * b + c * c) / 3);
  }

 private:
  Random random_;
};

/// Reports from what is held physically: requests are what reuse leaves of them, ever less
/// (MIGM, 3.2.3).
GrowthSeries reported(const std::vector<double>& held, Draws& draws) {
  const double reuse_at_start = draws.between(1, 1.3), reuse_grows = draws.between(0, 0.5);
  GrowthSeries series;
  const auto all = static_cast<std::int64_t>(held.size());
  for (std::int64_t i = 0; i < all; ++i) {
    const double physical = std::max(1.0, held[static_cast<std::size_t>(i)]);
    const double inverse =
        (reuse_at_start + reuse_grows * static_cast<double>(i) / static_cast<double>(all)) *
        (1 + 0.005 * draws.normal());
    series.reports.push_back({i + 1, all, MiB{std::llround(physical * inverse)},
                              MiB{std::max(1LL, std::llround(physical))}});
  }
  return series;
}

/// A base that rises to a peak along a curve from 0 to 1, with noise in shares of the peak.
GrowthSeries along(Draws& draws, const std::function<double(double)>& curve,
                   const std::function<double()>& noise) {
  const auto count = static_cast<std::size_t>(draws.log_between(60, 3000));
  const double peak = draws.log_between(3000, 60000), base = draws.between(0.1, 0.8);
  std::vector<double> held;
  for (std::size_t i = 1; i <= count; ++i) {
    const double share = curve(static_cast<double>(i) / static_cast<double>(count));
    held.push_back(peak * (base + (1 - base) * share + noise()));
  }
  return reported(held, draws);
}

GrowthSeries line(const ServingFacts&, std::uint64_t seed) {
  Draws draws(seed);
  const double spread = draws.log_between(0.0005, 0.01);
  return along(
      draws, [](double t) { return t; }, [&] { return spread * draws.normal(); });
}

GrowthSeries saturating(const ServingFacts&, std::uint64_t seed) {
  Draws draws(seed);
  const double spread = draws.log_between(0.0005, 0.01), time = draws.log_between(0.03, 0.4);
  const double end = -std::expm1(-1 / time);
  return along(
      draws, [&](double t) { return -std::expm1(-t / time) / end; },
      [&] { return spread * draws.normal(); });
}

GrowthSeries stepped(const ServingFacts&, std::uint64_t seed) {
  Draws draws(seed);
  const double spread = draws.log_between(0.001, 0.005);
  const auto steps = static_cast<std::size_t>(draws.log_between(12, 60));
  std::vector<double> at;
  for (std::size_t i = 0; i < steps; ++i)
    at.push_back((static_cast<double>(i) + draws.between(0.1, 0.9)) / static_cast<double>(steps));
  const auto curve = [&](double t) {
    return static_cast<double>(std::ranges::upper_bound(at, t) - at.begin()) /
           static_cast<double>(steps);
  };
  return along(draws, curve, [&] { return spread * draws.normal(); });
}

GrowthSeries heavy_tailed(const ServingFacts&, std::uint64_t seed) {
  Draws draws(seed);
  const double spread = draws.log_between(0.001, 0.005);
  return along(
      draws, [](double t) { return t; }, [&] { return spread * draws.heavy(); });
}

/// Memory that has its level from the start, give or take.
GrowthSeries level(const ServingFacts&, std::uint64_t seed) {
  Draws draws(seed);
  const double spread = draws.log_between(0.0005, 0.01);
  return along(
      draws, [](double) { return 1.0; }, [&] { return spread * draws.normal(); });
}

struct Serving {
  const ServingFacts::Model& model;
  const ServingFacts::Lengths& lengths;
  std::size_t next;  // request of the trace

  std::size_t take() {
    const std::size_t taken = next;
    next = (next + 1) % lengths.input.size();
    return taken;
  }
};

Serving draw_serving(const ServingFacts& facts, Draws& draws) {
  const auto& model = facts.models[draws.below(facts.models.size())];
  const auto& lengths = facts.traces[draws.below(facts.traces.size())];
  return {model, lengths, draws.below(lengths.input.size())};
}

/// Conversations side by side that go on: each iteration adds a request and its answer to every
/// context.
GrowthSeries conversations(const ServingFacts& facts, std::uint64_t seed) {
  Draws draws(seed);
  Serving serving = draw_serving(facts, draws);
  const auto side_by_side = static_cast<std::size_t>(draws.log_between(4, 32));
  const auto turns = static_cast<std::size_t>(draws.log_between(60, 600));
  const double spread = draws.log_between(0.001, 0.005);
  double tokens = 0;
  std::vector<double> held;
  for (std::size_t i = 0; i < turns; ++i) {
    for (std::size_t s = 0; s < side_by_side; ++s) {
      const std::size_t request = serving.take();
      tokens += serving.lengths.input[request] + serving.lengths.output[request];
    }
    const double size = serving.model.weights_mib + serving.model.kv_mib_per_token * tokens;
    held.push_back(size * (1 + spread * draws.normal()));
  }
  return reported(held, draws);
}

/// A batch of prompts that is answered token by token; answers that are finished keep their place.
GrowthSeries batch(const ServingFacts& facts, std::uint64_t seed) {
  Draws draws(seed);
  Serving serving = draw_serving(facts, draws);
  const auto size = static_cast<std::size_t>(draws.log_between(8, 128));
  const double spread = draws.log_between(0.0005, 0.003);
  double prompts = 0;
  std::vector<double> answers;
  for (std::size_t s = 0; s < size; ++s) {
    const std::size_t request = serving.take();
    prompts += serving.lengths.input[request];
    answers.push_back(serving.lengths.output[request]);
  }
  const double longest = std::max(60.0, std::ranges::max(answers));
  std::vector<double> held;
  for (double step = 1; step <= longest; ++step) {
    double tokens = prompts;
    for (const double answer : answers) tokens += std::min(step, answer);
    held.push_back((serving.model.weights_mib + serving.model.kv_mib_per_token * tokens) *
                   (1 + spread * draws.normal()));
  }
  return reported(held, draws);
}

/// A server with a number of places, all taken: a finished request gives its place to the next.
/// An iteration is sixteen tokens.
GrowthSeries server(const ServingFacts& facts, std::uint64_t seed) {
  Draws draws(seed);
  Serving serving = draw_serving(facts, draws);
  const auto places = static_cast<std::size_t>(draws.log_between(16, 128));
  const auto iterations = static_cast<std::size_t>(draws.log_between(300, 3000));
  struct Live {
    double prompt, answer, done;
  };
  std::vector<Live> live;
  std::vector<double> held;
  // Requests are waiting from the start; the first come in anywhere between their beginning and
  // their end.
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t request = serving.take();
    const double answer = serving.lengths.output[request];
    live.push_back({serving.lengths.input[request], answer, draws.between(0, answer)});
  }
  for (std::size_t i = 0; i < iterations; ++i) {
    double tokens = 0;
    for (Live& each : live) {
      each.done += 16;
      tokens += each.prompt + std::min(each.done, each.answer);
      if (each.done < each.answer) continue;
      const std::size_t request = serving.take();
      each = {serving.lengths.input[request], serving.lengths.output[request], 0};
    }
    held.push_back(serving.model.weights_mib + serving.model.kv_mib_per_token * tokens);
  }
  return reported(held, draws);
}

}  // namespace

MiB GrowthSeries::peak() const {
  MiB most{0};
  for (const MemoryReport& report : reports) most = std::max(most, report.held());
  return most;
}

std::vector<GrowthShape> growth_shapes() {
  return {
      {"conversations", "4 to 32 conversations that go on, 60 to 600 turns", true, conversations},
      {"batch", "8 to 128 prompts answered together, token by token", true, batch},
      {"server", "16 to 128 places, each given on to the next request", true, server},
      {"linear", "a line, normal noise", false, line},
      {"saturating", "a curve that comes to rest, normal noise", false, saturating},
      {"stepped", "12 to 60 steps at uneven distances", false, stepped},
      {"heavy-tailed", "a line, noise with three degrees of freedom", false, heavy_tailed},
      {"level", "no growth, normal noise", false, level},
  };
}

}  // namespace cleave
