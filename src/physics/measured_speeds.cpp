#include "physics/measured_speeds.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cleave {

namespace {

struct MisoRow {
  std::string_view model;
  int batch;
  std::array<double, 5> speeds;  // 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb; 0: did not run
  double latency_s;              // median of one training batch on 7g.40gb
};

struct ParvaRow {
  std::string_view model;
  int batch;
  std::array<double, 5>
      per_second;  // samples on 1g.10gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb; 0: did not run
};

struct RodiniaRow {
  std::string_view kernel;
  std::array<double, 3> seconds;  // on 1g.6gb, 2g.12gb, 4g.24gb; 0: did not run
};

// clang-format off
constexpr MisoRow miso_rows[] = {
    {"bert", 2, {0, 0.3891, 0.6268, 0.688, 1}, 0.0472},
    {"bert", 4, {0, 0.325, 0.5556, 0.6148, 1}, 0.0704},
    {"bert", 6, {0, 0, 0.5473, 0.6006, 1}, 0.0967},
    {"bert", 8, {0, 0, 0.5174, 0.5739, 1}, 0.1207},
    {"cyclegan", 1, {0.24, 0.4605, 0.7174, 0.7806, 1}, 0.1434},
    {"cyclegan", 2, {0, 0.3294, 0.5223, 0.6274, 1}, 0.1861},
    {"cyclegan", 3, {0, 0.305, 0.4895, 0.5879, 1}, 0.2517},
    {"cyclegan", 4, {0, 0, 0.4926, 0.5883, 1}, 0.3362},
    {"deepspeech2", 2, {0.2738, 0.6483, 0.8508, 0.9482, 1}, 0.2817},
    {"deepspeech2", 4, {0.0917, 0.2733, 0.3999, 0.5519, 1}, 0.3135},
    {"deepspeech2", 8, {0.0768, 0.6602, 0.8376, 0.9361, 1}, 0.3105},
    {"deepspeech2", 16, {0, 0.623, 0.8052, 0.857, 1}, 0.3345},
    {"embedding", 64, {0.6122, 0.8108, 0.9375, 0.9375, 1}, 0.003},
    {"embedding", 128, {0.4444, 0.6809, 0.8889, 0.9143, 1}, 0.0032},
    {"embedding", 256, {0.3089, 0.5352, 0.7451, 0.8085, 1}, 0.0038},
    {"embedding", 512, {0.2407, 0.4298, 0.642, 0.7027, 1}, 0.0052},
    {"gnn", 64, {0.3656, 0.5879, 0.7748, 0.8478, 1}, 0.0117},
    {"gnn", 128, {0.2897, 0.4972, 0.6836, 0.7447, 1}, 0.0175},
    {"gnn", 256, {0.2385, 0.4298, 0.6198, 0.7177, 1}, 0.03},
    {"gnn", 512, {0, 0.3734, 0.58, 0.6537, 1}, 0.0587},
    {"mobilenet", 64, {0.8103, 0.9038, 0.9741, 0.9843, 1}, 0.0188},
    {"mobilenet", 128, {0.7038, 0.8487, 0.9619, 0.9806, 1}, 0.0202},
    {"mobilenet", 256, {0.5561, 0.7941, 0.9205, 0.9567, 1}, 0.0243},
    {"mobilenet", 512, {0.3957, 0.666, 0.881, 0.9396, 1}, 0.0311},
    {"resnet", 64, {0.5787, 0.8927, 1.0035, 0.9561, 1}, 0.0283},
    {"resnet", 128, {0.4568, 0.7749, 0.9338, 0.9642, 1}, 0.0296},
    {"resnet", 256, {0.3227, 0.5833, 0.8514, 0.9292, 1}, 0.0315},
    {"resnet", 512, {0.2236, 0.4192, 0.6524, 0.7469, 1}, 0.0366},
    {"transformer", 16, {0.18, 0.3421, 0.558, 0.6161, 1}, 0.0207},
    {"transformer", 32, {0.163, 0.3161, 0.5328, 0.5932, 1}, 0.0366},
    {"transformer", 64, {0, 0.3013, 0.5202, 0.5786, 1}, 0.0681},
    {"transformer", 128, {0, 0, 0.5107, 0.5702, 1}, 0.1311},
};

constexpr ParvaRow parva_rows[] = {
    {"bert", 1, {74.408, 69.288, 69.945, 72.215, 69.019}},
    {"bert", 2, {85.926, 110.072, 113.115, 109.203, 114.21}},
    {"bert", 4, {95.206, 141.635, 157.579, 177.238, 165.36}},
    {"bert", 8, {101.907, 147.54, 178.161, 205.061, 219.006}},
    {"bert", 16, {117.569, 180.648, 219.049, 209.566, 250.795}},
    {"bert", 32, {103.279, 159.753, 192.945, 217.248, 259.57}},
    {"bert", 64, {117.433, 174.763, 211.617, 235.045, 281.713}},
    {"bert", 128, {135.144, 201.545, 242.4, 270.597, 300.92}},
    {"bert", 256, {134.597, 204.484, 243.328, 265.049, 322.346}},
    {"densenet121", 1, {86.896, 81.782, 83.791, 82.315, 83.858}},
    {"densenet121", 2, {170.46, 170.051, 165.214, 165.543, 161.597}},
    {"densenet121", 4, {266.913, 325.528, 333.541, 325.886, 334.189}},
    {"densenet121", 8, {296.478, 549.529, 651.232, 652.666, 634.028}},
    {"densenet121", 16, {322.621, 612.551, 952.006, 1114.708, 1267.332}},
    {"densenet121", 32, {318, 605.805, 984.59, 1117.255, 1825.409}},
    {"densenet121", 64, {0, 634.717, 1039.09, 1197.987, 1900.479}},
    {"densenet121", 128, {0, 0, 1073.513, 1216.586, 2008.799}},
    {"densenet121", 256, {0, 0, 0, 0, 2034.008}},
    {"densenet169", 1, {58.535, 58.919, 58.365, 60.314, 57.999}},
    {"densenet169", 2, {115.757, 118.225, 116.757, 118.582, 117.386}},
    {"densenet169", 4, {192.735, 232.517, 232.79, 231.057, 235.789}},
    {"densenet169", 8, {233.853, 428.674, 468.405, 458.053, 461.337}},
    {"densenet169", 16, {256.489, 482.286, 738.324, 861.577, 909.862}},
    {"densenet169", 32, {0, 480.683, 771.682, 887.14, 1403.806}},
    {"densenet169", 64, {0, 0, 849.868, 985.774, 1582.699}},
    {"densenet169", 128, {0, 0, 1460.726, 1619.344, 1701.611}},
    {"densenet169", 256, {0, 0, 0, 0, 1712.253}},
    {"densenet201", 1, {48.568, 50.081, 50.274, 48.481, 49.006}},
    {"densenet201", 2, {97.911, 100.597, 99.438, 98.205, 100.026}},
    {"densenet201", 4, {155.605, 199.58, 198.613, 194.879, 193.471}},
    {"densenet201", 8, {186.284, 342.224, 396.489, 392.328, 388.928}},
    {"densenet201", 16, {204.219, 382.454, 595.886, 695.436, 765.492}},
    {"densenet201", 32, {0, 369.177, 599.519, 682.459, 1110.9}},
    {"densenet201", 64, {0, 0, 682.696, 784.687, 1251.519}},
    {"densenet201", 128, {0, 0, 0, 0, 1363.809}},
    {"inceptionv3", 1, {89.723, 107.57, 113.643, 111.045, 115.139}},
    {"inceptionv3", 2, {217.913, 227.861, 230.974, 229.995, 226.808}},
    {"inceptionv3", 4, {364.463, 445.629, 443.04, 435.824, 430.897}},
    {"inceptionv3", 8, {451.663, 818.456, 899.433, 785.833, 823.981}},
    {"inceptionv3", 16, {533.782, 969.149, 1385.764, 1465.362, 1707.028}},
    {"inceptionv3", 32, {559.988, 1068.953, 1586.425, 1907.006, 2703.952}},
    {"inceptionv3", 64, {583.922, 1111.39, 1700.662, 2036.558, 2973.848}},
    {"inceptionv3", 128, {0, 1149.147, 1784.454, 2109.273, 3187.667}},
    {"inceptionv3", 256, {0, 0, 1794.472, 2126.422, 3273.015}},
    {"mobilenetv2", 1, {219.484, 216.482, 219.703, 215.783, 215.396}},
    {"mobilenetv2", 2, {413.875, 421.708, 421.121, 423.617, 418.154}},
    {"mobilenetv2", 4, {677.387, 819.032, 823.687, 821.945, 821.277}},
    {"mobilenetv2", 8, {738.874, 1380.58, 1573.703, 1575.378, 1557.507}},
    {"mobilenetv2", 16, {724.014, 1416.481, 2284.37, 2605.014, 2975.804}},
    {"mobilenetv2", 32, {745.445, 1401.072, 2300.707, 2621.812, 4020.298}},
    {"mobilenetv2", 64, {0, 1409.056, 2272.32, 2554.644, 3896.459}},
    {"mobilenetv2", 128, {0, 1423.977, 2277.294, 2500.456, 3871.405}},
    {"mobilenetv2", 256, {0, 0, 2282.188, 2504.852, 3909.049}},
    {"resnet101", 1, {105.248, 108.395, 107.661, 110.958, 112.085}},
    {"resnet101", 2, {171.175, 221.057, 213.718, 216.694, 230.874}},
    {"resnet101", 4, {198.611, 359.521, 437.499, 440.728, 446.921}},
    {"resnet101", 8, {232.625, 449.705, 683.145, 834.492, 885.569}},
    {"resnet101", 16, {253.003, 484.845, 767.869, 929.546, 1468.274}},
    {"resnet101", 32, {266.749, 516.1, 832.965, 990.762, 1594.5}},
    {"resnet101", 64, {0, 531.328, 863.619, 1026.209, 1709.674}},
    {"resnet101", 128, {0, 0, 902.416, 1029.624, 1745.232}},
    {"resnet101", 256, {0, 0, 0, 0, 1774.461}},
    {"resnet152", 1, {76.475, 75.508, 75.733, 76.308, 70.094}},
    {"resnet152", 2, {123.468, 154.994, 155.548, 153.179, 145.914}},
    {"resnet152", 4, {143.465, 266.736, 307.256, 299.688, 292.975}},
    {"resnet152", 8, {168.202, 326.579, 496.496, 588.078, 593.916}},
    {"resnet152", 16, {183.615, 351.984, 556.994, 678.941, 1045.65}},
    {"resnet152", 32, {0, 374.151, 608.44, 717.206, 1153.04}},
    {"resnet152", 64, {0, 0, 629.166, 738.583, 1260.637}},
    {"resnet152", 128, {0, 0, 0, 0, 1288.069}},
    {"resnet50", 1, {196.762, 213.372, 213.47, 214.771, 195.826}},
    {"resnet50", 2, {274.088, 429.018, 423.43, 431.045, 425.561}},
    {"resnet50", 4, {317.323, 596.356, 833.36, 842.399, 821.169}},
    {"resnet50", 8, {358.277, 687.254, 1072.439, 1292.662, 1599.984}},
    {"resnet50", 16, {385.714, 738.306, 1188.228, 1405.838, 2211.111}},
    {"resnet50", 32, {412.097, 789.006, 1291.913, 1491.663, 2396.366}},
    {"resnet50", 64, {0, 817.568, 1328.518, 1523.488, 2482.569}},
    {"resnet50", 128, {0, 0, 1370.979, 1547.98, 2551.424}},
    {"resnet50", 256, {0, 0, 0, 0, 2582.226}},
    {"vgg16", 1, {123.337, 242.295, 372.826, 457.697, 662.6}},
    {"vgg16", 2, {172.249, 329.743, 509.739, 641.468, 946.822}},
    {"vgg16", 4, {213.254, 397.718, 628.337, 796.953, 1202.425}},
    {"vgg16", 8, {239.471, 459.002, 730.861, 893.92, 1456.545}},
    {"vgg16", 16, {252.778, 500.589, 771.832, 964.406, 1611.763}},
    {"vgg16", 32, {261.971, 516.431, 819.931, 991.383, 1677.453}},
    {"vgg16", 64, {0, 521.221, 828.051, 1008.306, 1685.194}},
    {"vgg16", 128, {0, 0, 832.017, 1004.005, 1670.319}},
    {"vgg16", 256, {0, 0, 0, 0, 1667.023}},
    {"vgg19", 1, {110.883, 209.648, 315.233, 392.762, 559.302}},
    {"vgg19", 2, {148.382, 274.178, 435.591, 556.212, 805.53}},
    {"vgg19", 4, {183.686, 353.92, 536.504, 692.532, 1025.766}},
    {"vgg19", 8, {204.227, 403.209, 626.489, 773.569, 1287.218}},
    {"vgg19", 16, {217.457, 430.966, 670.721, 832.759, 1389.69}},
    {"vgg19", 32, {224.591, 443.296, 701.466, 866.111, 1447.218}},
    {"vgg19", 64, {0, 446.903, 707.405, 870.281, 1460.63}},
    {"vgg19", 128, {0, 0, 711.188, 874.231, 1449.284}},
    {"vgg19", 256, {0, 0, 0, 0, 1447.365}},
};

constexpr RodiniaRow rodinia_rows[] = {
    {"particlefilter", {1.26246, 1.1136, 1.18849}},
    {"nw", {0.79506, 0.43174, 0.501269}},
    {"lu", {8.59878, 8.10589, 8.53057}},
    {"lavaMD", {0, 21.697, 17.3214}},
    {"huffman", {0.314573, 0.24474, 0.316071}},
    {"heartwall", {1.26794, 1.01038, 1.01767}},
    {"gaussian", {22.3109, 11.517, 6.38692}},
    {"pathfinder", {20.5527, 20.4842, 20.6617}},
};
// clang-format on

constexpr std::array<std::string_view, 5> profiles_40gb = {"1g.5gb", "2g.10gb", "3g.20gb",
                                                           "4g.20gb", "7g.40gb"};
constexpr std::array<std::string_view, 5> profiles_80gb = {"1g.10gb", "2g.20gb", "3g.40gb",
                                                           "4g.40gb", "7g.80gb"};
constexpr std::array<std::string_view, 3> profiles_a30 = {"1g.6gb", "2g.12gb", "4g.24gb"};

Duration seconds(double value) {
  return *duration_from_seconds(value);
}

/// Profiles with their speeds, without those on which it did not run.
template <std::size_t Count>
SpeedTable table_of(const std::array<std::string_view, Count>& profiles,
                    const std::array<double, Count>& speeds) {
  SpeedTable table;
  for (std::size_t i = 0; i < Count; ++i)
    if (speeds[i] > 0) table.emplace(profiles[i], speeds[i]);
  return table;
}

std::vector<MeasuredSpeed> miso() {
  std::vector<MeasuredSpeed> all;
  for (const MisoRow& row : miso_rows)
    all.push_back({MeasuredSet::miso, row.model, row.batch, "A100-40GB",
                   table_of(profiles_40gb, row.speeds), seconds(row.latency_s)});
  return all;
}

std::vector<MeasuredSpeed> parvagpu() {
  std::vector<MeasuredSpeed> all;
  for (const ParvaRow& row : parva_rows) {
    auto speeds = row.per_second;
    for (double& each : speeds) each /= row.per_second.back();
    // The source's own latencies are rounded to a millisecond; with one process they are batch /
    // throughput.
    all.push_back({MeasuredSet::parvagpu, row.model, row.batch, "A100-80GB",
                   table_of(profiles_80gb, speeds), seconds(row.batch / row.per_second.back())});
  }
  return all;
}

std::vector<MeasuredSpeed> rodinia() {
  std::vector<MeasuredSpeed> all;
  for (const RodiniaRow& row : rodinia_rows) {
    auto speeds = row.seconds;
    for (double& each : speeds) each = each > 0 ? row.seconds.back() / each : 0;
    all.push_back({MeasuredSet::rodinia, row.kernel, 0, "A30-24GB", table_of(profiles_a30, speeds),
                   seconds(row.seconds.back())});
  }
  return all;
}

}  // namespace

std::span<const MeasuredSpeed> measured_speeds(MeasuredSet set) {
  static const std::vector<MeasuredSpeed> sets[] = {miso(), parvagpu(), rodinia()};
  return sets[static_cast<std::size_t>(set)];
}

const MeasuredSpeed* find_measured(MeasuredSet set, std::string_view application, int batch) {
  const auto rows = measured_speeds(set);
  const auto row = std::ranges::find_if(rows, [&](const MeasuredSpeed& one) {
    return one.application == application && one.batch == batch;
  });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace cleave
