// The co-runs against figures that were worked out by hand from the papers' numbers.

#include "study/reproduce/coruns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "physics/slice_law.hpp"

namespace cleave {
namespace {

/// All figures of some experiments, by the experiment's name and the figure's.
using Figures = std::map<std::pair<std::string, std::string>, CorunFigure>;

Figures figures_of(const Result<std::vector<CorunExperiment>>& experiments) {
  Figures figures;
  EXPECT_TRUE(experiments) << experiments.error().text();
  if (!experiments) return figures;
  for (const CorunExperiment& experiment : *experiments) {
    EXPECT_EQ(experiment.figures.empty(), !experiment.skipped.empty()) << experiment.name;
    for (const CorunFigure& figure : experiment.figures) {
      EXPECT_LE(figure.least, figure.predicted) << experiment.name << ", " << figure.name;
      EXPECT_GE(figure.most, figure.predicted) << experiment.name << ", " << figure.name;
      const std::string name =
          figure.table.empty() ? figure.name : figure.table + ", " + figure.name;
      figures[{experiment.name, name}] = figure;
    }
    for (const OpenInput& input : experiment.inputs) {
      EXPECT_TRUE(std::ranges::is_sorted(input.values)) << input.name;
      EXPECT_LT(input.usual, input.values.size()) << input.name;
      EXPECT_FALSE(input.why.empty()) << input.name;
    }
  }
  return figures;
}

TEST(Stated, SaysHowFarOffAValueIs) {
  const Stated exact{2, 2}, at_most{.most = 0.5}, between{0.95, 1};
  EXPECT_DOUBLE_EQ(exact.off(3), 0.5);
  EXPECT_DOUBLE_EQ(exact.off(1.5), -0.25);
  EXPECT_EQ(at_most.off(0.1), 0);
  EXPECT_DOUBLE_EQ(at_most.off(0.75), 0.5);
  EXPECT_EQ(between.off(0.97), 0);
  EXPECT_TRUE(exact.within(1, 2));
  EXPECT_FALSE(exact.within(2.1, 3));
  EXPECT_FALSE(exact.within(1, 1.9));
  EXPECT_TRUE(at_most.within(0.4, 3));
  EXPECT_FALSE(at_most.within(0.6, 3));
  EXPECT_TRUE(at_most.anything());
  EXPECT_FALSE(Stated{}.anything());
}

TEST(Coruns, EveryCombinationOfTheOpenInputsIsTried) {
  CorunExperiment experiment;
  experiment.inputs = {{"a", {1, 2, 3}, 1, "open"}, open_choice("b", {"x", "y"}, 0, "open")};
  experiment.figures.resize(1);
  int runs = 0;
  ASSERT_TRUE(
      predict(experiment, [&](std::span<const double> inputs) -> Result<std::vector<double>> {
        ++runs;
        return std::vector<double>{inputs[0] * (inputs[1] == 0 ? 1 : -10)};
      }));
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(experiment.figures[0].predicted, 2);
  EXPECT_EQ(experiment.figures[0].least, -30);
  EXPECT_EQ(experiment.figures[0].most, 3);
}

TEST(Coruns, NeedlemanWunschComesFromThePapersTimes) {
  const Figures figures = figures_of(needleman_wunsch());
  // Transfers of 0.16 leave the link room, so that nobody waits: 0.84 x 1.59 + 0.16.
  const CorunFigure& one = figures.at({"Needleman-Wunsch x 7", "time of a job, s"});
  EXPECT_NEAR(one.predicted, 0.523406 * (0.84 * 1.59 + 0.16), 1e-6);
  EXPECT_NEAR(one.least, 0.523406, 1e-6);
  // Seven transfers at once of 0.32, kernels 2.24 times as long, table 3's 0.76411 s.
  EXPECT_NEAR(one.most, 0.523406 * (0.68 * 2.24 + 7 * 0.32) + 0.76411, 1e-6);
  EXPECT_TRUE(one.measured.within(one.least, one.most));

  // Three waves after 56.9 + 6.52 x 7 + 4.22 x 7 ms for the instances.
  const double serial = 21 * 0.523406;
  const CorunFigure& gain = figures.at({"Needleman-Wunsch x 21", "throughput gain"});
  EXPECT_NEAR(gain.predicted, serial / (0.13208 + 3 * 1.171507), 1e-4);
  EXPECT_NEAR(gain.most, serial / (3 * 1.171507), 1e-4);
  EXPECT_NEAR(gain.least, serial / (1.12 + 3 * (1.171507 + 0.76411)), 1e-4);
  EXPECT_NEAR(gain.measured.off(gain.predicted), 3.0142 / 1.92 - 1, 1e-3) << "far off, and said so";
  const CorunFigure& makespan = figures.at({"Needleman-Wunsch x 21", "makespan, s"});
  EXPECT_NEAR(makespan.predicted, 0.13208 + 3 * 1.171507, 1e-4);
}

TEST(Coruns, TamingsApplicationsComeFromTheLaws) {
  const Figures figures = figures_of(taming_coruns());
  // 16 of 132 SMs and an eighth of the memory.
  const double h = std::pow(16.0 / 132, -0.575) * std::pow(1.0 / 8, -0.368);
  EXPECT_NEAR(figures.at({"hotspot", "throughput gain"}).predicted, 7 / h, 1e-6);
  // At the cap from the first to the last moment, both ways.
  EXPECT_NEAR(figures.at({"hotspot", "energy, of serial"}).predicted, h / 7, 1e-4);
  EXPECT_NEAR(figures.at({"LAMMPS", "energy, of serial"}).predicted, h / 7, 1e-4);
  // Occupancy of 25 % instead of 12 %.
  const CorunFigure& nekrs = figures.at({"NekRS", "throughput gain"});
  EXPECT_NEAR(nekrs.predicted, 25.0 / 12, 1e-4);
  EXPECT_FALSE(nekrs.measured.within(nekrs.least, nekrs.most)) << "occupancy does not say 2.4";
  EXPECT_NEAR(figures.at({"NekRS", "energy, of serial"}).predicted, 0.92499, 1e-4);
  // Nothing of FAISS is stated: from one job's time for seven, to no gain at all.
  EXPECT_NEAR(figures.at({"FAISS", "throughput gain"}).most, 7, 1e-6);
  EXPECT_NEAR(figures.at({"FAISS", "throughput gain"}).least, 7 / (132.0 / 16), 1e-3);
  // A power factor of 1 just reaches the cap; 1.15 with beta 0.7 falls below it by most.
  const CorunFigure& clock = figures.at({"Qiskit", "clock on whole GPU"});
  EXPECT_DOUBLE_EQ(clock.predicted, 1);
  EXPECT_NEAR(clock.least, std::pow(1 / 1.15, 1 / 0.7), 1e-6);
  EXPECT_EQ(figures.at({"Qiskit", "peak of 7 x 1g, W"}).most, 700);
  EXPECT_NEAR(figures.at({"LLM training", "peak of 7 x 1g, W"}).predicted, 698.68, 0.01);
}

TEST(Coruns, TamingsSchemesOfSharingComeFromTheLaws) {
  const Figures figures = figures_of(taming_coruns());
  const double instances = 7 / (std::pow(16.0 / 132, -0.575) * std::pow(1.0 / 8, -0.368));
  const auto gain = [&](const std::string& name, const std::string& scheme) {
    const CorunFigure& figure = figures.at({name, "throughput gain, " + scheme});
    EXPECT_FALSE(figure.measured.anything());
    return figure.predicted;
  };
  EXPECT_NEAR(gain("hotspot", "7 x 1g"), instances, 1e-6);
  // A seventh of the processors each; 13 % each; turns that cost a tenth more.
  EXPECT_NEAR(gain("hotspot", "7 x 1c.7g"), 1, 1e-6);
  EXPECT_NEAR(gain("hotspot", "MPS 7 x 13 %"), 7 * 0.13, 1e-6);
  EXPECT_NEAR(gain("hotspot", "time slicing"), 1 / 1.1, 1e-6);
  EXPECT_GT(gain("NekRS", "time slicing"), 1.5) << "others run in its fixed part";
  // Orderings: the text says above 1 of most applications, and not of Qiskit and NekRS.
  const CorunFigure& hotspot = figures.at({"hotspot", "1g over 1c.7g"});
  EXPECT_NEAR(hotspot.predicted, instances, 1e-6);
  EXPECT_EQ(hotspot.measured.least, 1);
  EXPECT_FALSE(hotspot.measured.most);
  EXPECT_EQ(figures.at({"Qiskit", "1g over MPS"}).measured.most, 1);
  EXPECT_NEAR(figures.at({"Qiskit", "1g over MPS"}).predicted, instances / 0.91, 1e-6);
  EXPECT_NEAR(figures.at({"llama3", "MPS over 1g"}).predicted,
              1 / figures.at({"llama3", "1g over MPS"}).predicted, 1e-9);
  // All draw the cap: energy goes with time, and compute instances are done first.
  EXPECT_NEAR(figures.at({"hotspot", "energy, of least other"}).predicted, 1 / instances, 1e-3);
  // Half of what a switch costs at most, where nothing overlaps.
  EXPECT_NEAR(figures.at({"LAMMPS", "gain of time slicing"}).least, 0.5, 1e-3);
}

TEST(Coruns, WithoutDataOnlyTheMeasuredOnesAreSkipped) {
  PhysicsData data;
  data.stream.missing = "no stream";
  data.resnet.missing = "no resnet";
  const auto experiments = measured_coruns(data);
  ASSERT_TRUE(experiments);
  ASSERT_EQ(experiments->size(), 3U);
  EXPECT_EQ((*experiments)[0].skipped, "no stream");
  EXPECT_EQ((*experiments)[1].skipped, "no stream");
  EXPECT_EQ((*experiments)[2].skipped, "no resnet");
}

TEST(Coruns, RowsThatHaveNoneSideBySideAreSaid) {
  const auto experiments = measured_coruns({});
  ASSERT_TRUE(experiments);
  EXPECT_EQ((*experiments)[0].skipped, "no row has GPU instances side by side");
  EXPECT_EQ((*experiments)[1].skipped, "no row has compute instances alone and side by side");
  EXPECT_EQ((*experiments)[2].skipped, "no row has instances side by side, or none is alone");
}

TEST(Coruns, InstancesKeepTheirTimeUntilLinkOrPowerIsShort) {
  PhysicsData data;
  data.stream.rows = {{"1g isolated", "copy", 0.012},   {"2g isolated", "copy", 0.006},
                      {"4g isolated", "copy", 0.003},   {"1g+2g+4g (1g)", "copy", 0.0126},
                      {"1g+2g+4g (4g)", "copy", 0.003}, {"1c isolated", "copy", 0.005},
                      {"1c+3c+3c (1c)", "copy", 0.02}};
  data.resnet.rows = {{"1g.5gb", "1g.5gb", 1, 0.016},
                      {"1g.5gb+1g.5gb", "1g.5gb", 2, 0.0164},
                      {"3g.20gb+3g.20gb", "3g.20gb", 2, 0.0158}};
  const Figures figures = figures_of(measured_coruns(data));
  ASSERT_EQ(figures.size(), 2U) << "compute instances are left out";
  const CorunFigure& stream = figures.at({"STREAM", "1g+2g+4g, of alone"});
  EXPECT_NEAR(*stream.measured.least, 1, 1e-12);
  EXPECT_NEAR(*stream.measured.most, 1.05, 1e-12);
  EXPECT_DOUBLE_EQ(stream.predicted, 1);
  // All seven slices with a power factor of 1.15 ask for 1.15 times what the cap leaves.
  EXPECT_NEAR(stream.most, std::pow(1.15, 1 / 0.7), 1e-6);
  const CorunFigure& resnet = figures.at({"ResNet-50", "2 at once, of alone"});
  EXPECT_NEAR(*resnet.measured.least, 0.9875, 1e-12);
  EXPECT_NEAR(*resnet.measured.most, 1.025, 1e-12);
  EXPECT_NEAR(resnet.predicted, 1, 1e-9);
  EXPECT_NEAR(resnet.most, 1.0016, 1e-9) << "together: both transfer at half the rate";
}

TEST(Coruns, ComputeInstancesShareTheBandwidthOfTheWhole) {
  PhysicsData data;
  data.stream.rows = {{"7g isolated", "copy", 0.002},
                      {"1c isolated", "copy", 0.006},
                      {"3c isolated", "copy", 0.0022},
                      {"1c+3c+3c (1c)", "copy", 0.006},
                      {"1c+3c+3c (3c)", "copy", 0.0044}};
  const Figures figures = figures_of(measured_coruns(data));
  ASSERT_EQ(figures.size(), 4U);
  const auto of = [&](const std::string& name) { return figures.at({"STREAM, 1c and 3c", name}); };
  EXPECT_NEAR(*of("1c alone, of whole GPU").measured.least, 3, 1e-12);
  EXPECT_NEAR(of("1c alone, of whole GPU").predicted, 1 / 0.4, 1e-9);
  EXPECT_NEAR(of("3c alone, of whole GPU").predicted, 1, 1e-9);
  // A third for each of the three, where 1c would reach 0.4.
  EXPECT_NEAR(of("1c+3c+3c (1c), of alone").predicted, 1.2, 1e-9);
  EXPECT_NEAR(of("1c+3c+3c (3c), of alone").predicted, 3, 1e-9);
  EXPECT_NEAR(*of("1c+3c+3c (3c), of alone").measured.least, 2, 1e-12);
  EXPECT_FALSE(of("1c+3c+3c (3c), of alone").measured.most) << "the jobs did not always overlap";
}

TEST(Coruns, ProcessesUnderMpsComeFromTwoProfilesOfOne) {
  // Rows as the laws have them, with the overlap of a job: 1g and 7g are known.
  const double floor = 0.010, bound = 0.004, h_1g = 6.7, h_3g = 2.1;
  const auto of_one = [&](double h) { return joined_time(floor, bound, h, job_overlap); };
  PhysicsData data;
  data.inference.rows = {
      {"a", 0, 8, 1, of_one(h_1g)},
      {"a", 2, 8, 1, of_one(h_3g)},
      {"a", 4, 8, 1, of_one(1)},
      // Two more processes: the floor grows by 1.8 % and the work by 96 % each.
      {"a", 2, 8, 3, joined_time(1.036 * floor, 2.92 * bound, h_3g, job_overlap)},
      {"a", 2, 8, 4, 0},    // did not fit
      {"a", 2, 16, 2, 1}};  // has not been measured alone
  const auto processes = process_coruns(data);
  ASSERT_TRUE(processes) << processes.error().text();
  ASSERT_EQ(processes->scores.size(), 4U);
  for (const Score& score : processes->scores) EXPECT_EQ(score.count(), 1U) << score.method;
  EXPECT_LT(processes->scores[0].worst, 1e-6);
  EXPECT_GT(processes->scores[1].worst, 0.01) << "another overlap was not used";
  const double three = data.inference.rows[3].seconds / of_one(h_3g);
  EXPECT_NEAR(processes->scores[2].worst, 1 - three / 3, 1e-9);
  EXPECT_NEAR(processes->scores[3].worst, three - 1, 1e-9);
  EXPECT_EQ(process_coruns({})->scores.size(), 0U);
  EXPECT_NE(process_coruns({})->skipped, "");
}

}  // namespace
}  // namespace cleave
