#include "model/gpu_model.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/model_table.hpp"

namespace cleave {

namespace {

// How the starts and their order of preference are known.
constexpr bool captured = false;
constexpr bool inferred = true;

constexpr bool double_memory = true;

// Rows from large to small, each of two lines:
//   name, NVML's profile number, id, compute, memory, usable, SMs, engines, most instances,
//   starts, starts are, order is, attribute (none unless given), double memory (not unless given)
// The order of starts of GPUs with eight memory slices is that of *Optimal Workload Placement on
// Multi-Instance GPUs*, table 1; where no source gives an order it is ascending.
// clang-format off

constexpr Profile a30_24gb[] = {
    {"4g.24gb",    3, 0,  {4}, {4}, MiB{24000}, Sms{56}, Engines{4, 4, 0, 1, 1}, 1,
     {0}, captured, captured},
    {"2g.12gb",    1, 5,  {2}, {2}, MiB{11968}, Sms{28}, Engines{2, 2, 0, 0, 0}, 2,
     {0, 2}, captured, inferred},
    {"2g.12gb+me", 8, 6,  {2}, {2}, MiB{11968}, Sms{28}, Engines{2, 2, 0, 1, 1}, 1,
     {0, 2}, inferred, inferred, Attribute::media},
    {"1g.6gb",     0, 14, {1}, {1}, MiB{5952},  Sms{14}, Engines{1, 1, 0, 0, 0}, 4,
     {0, 1, 2, 3}, captured, inferred},
    {"1g.6gb+me",  7, 21, {1}, {1}, MiB{5952},  Sms{14}, Engines{1, 1, 0, 1, 1}, 1,
     {0, 1, 2, 3}, captured, inferred, Attribute::media},
};

constexpr Profile a100_40gb[] = {
    {"7g.40gb",   4, 0,  {7}, {8}, MiB{40320}, Sms{98}, Engines{7, 5, 0, 1, 1}, 1,
     {0}, captured, captured},
    {"4g.20gb",   3, 5,  {4}, {4}, MiB{20096}, Sms{56}, Engines{4, 2, 0, 0, 0}, 1,
     {0}, captured, captured},
    {"3g.20gb",   2, 9,  {3}, {4}, MiB{20096}, Sms{42}, Engines{3, 2, 0, 0, 0}, 2,
     {4, 0}, captured, captured},
    {"2g.10gb",   1, 14, {2}, {2}, MiB{9984},  Sms{28}, Engines{2, 1, 0, 0, 0}, 3,
     {4, 0, 2}, captured, captured},
    {"1g.10gb",   9, 15, {1}, {2}, MiB{9984},  Sms{14}, Engines{1, 1, 0, 0, 0}, 4,
     {6, 4, 0, 2}, captured, captured, Attribute::none, double_memory},
    {"1g.5gb",    0, 19, {1}, {1}, MiB{4864},  Sms{14}, Engines{1, 0, 0, 0, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured},
    {"1g.5gb+me", 7, 20, {1}, {1}, MiB{4864},  Sms{14}, Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured, Attribute::media},
};

constexpr Profile a100_80gb[] = {
    {"7g.80gb",    4, 0,  {7}, {8}, MiB{80896}, Sms{98}, Engines{7, 5, 0, 1, 1}, 1,
     {0}, captured, captured},
    {"4g.40gb",    3, 5,  {4}, {4}, MiB{40192}, Sms{56}, Engines{4, 2, 0, 0, 0}, 1,
     {0}, captured, captured},
    {"3g.40gb",    2, 9,  {3}, {4}, MiB{40192}, Sms{42}, Engines{3, 2, 0, 0, 0}, 2,
     {4, 0}, captured, captured},
    {"2g.20gb",    1, 14, {2}, {2}, MiB{19968}, Sms{28}, Engines{2, 1, 0, 0, 0}, 3,
     {4, 0, 2}, captured, captured},
    {"1g.20gb",    9, 15, {1}, {2}, MiB{19968}, Sms{14}, Engines{1, 1, 0, 0, 0}, 4,
     {6, 4, 0, 2}, captured, captured, Attribute::none, double_memory},
    {"1g.10gb",    0, 19, {1}, {1}, MiB{9728},  Sms{14}, Engines{1, 0, 0, 0, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured},
    {"1g.10gb+me", 7, 20, {1}, {1}, MiB{9728},  Sms{14}, Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured, Attribute::media},
};

constexpr Profile h100_80gb_sxm5[] = {
    {"7g.80gb",    4, 0,  {7}, {8}, MiB{81152}, Sms{132}, Engines{8, 7, 0, 7, 1}, 1,
     {0}, captured, captured},
    {"4g.40gb",    3, 5,  {4}, {4}, MiB{40448}, Sms{64},  Engines{4, 4, 0, 4, 0}, 1,
     {0}, captured, captured},
    {"3g.40gb",    2, 9,  {3}, {4}, MiB{40448}, Sms{60},  Engines{3, 3, 0, 3, 0}, 2,
     {4, 0}, captured, inferred},
    {"2g.20gb",    1, 14, {2}, {2}, MiB{20096}, Sms{32},  Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, captured, inferred},
    {"1g.20gb",    9, 15, {1}, {2}, MiB{20096}, Sms{26},  Engines{1, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, captured, inferred, Attribute::none, double_memory},
    {"1g.10gb",    0, 19, {1}, {1}, MiB{9984},  Sms{16},  Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured},
    {"1g.10gb+me", 7, 20, {1}, {1}, MiB{9984},  Sms{16},  Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, captured, inferred, Attribute::media},
};

constexpr Profile h100_80gb_pcie[] = {
    {"7g.80gb",    4, 0,  {7}, {8}, {}, {}, Engines{8, 7, 0, 7, 1}, 1,
     {0}, inferred, inferred},
    {"4g.40gb",    3, 5,  {4}, {4}, {}, {}, Engines{4, 4, 0, 4, 0}, 1,
     {0}, inferred, inferred},
    {"3g.40gb",    2, 9,  {3}, {4}, {}, {}, Engines{3, 3, 0, 3, 0}, 2,
     {4, 0}, inferred, inferred},
    {"2g.20gb",    1, 14, {2}, {2}, {}, {}, Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.20gb",    9, 15, {1}, {2}, {}, {}, Engines{1, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.10gb",    0, 19, {1}, {1}, {}, {}, Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.10gb+me", 7, 20, {1}, {1}, {}, {}, Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile h100_94gb_nvl[] = {
    {"7g.94gb",    4, 0,  {7}, {8}, MiB{95360}, Sms{132}, Engines{8, 7, 0, 7, 1}, 1,
     {0}, captured, captured},
    {"4g.47gb",    3, 5,  {4}, {4}, MiB{47488}, Sms{64},  Engines{4, 4, 0, 4, 0}, 1,
     {0}, captured, captured},
    {"3g.47gb",    2, 9,  {3}, {4}, MiB{47488}, Sms{60},  Engines{3, 3, 0, 3, 0}, 2,
     {4, 0}, captured, inferred},
    {"2g.24gb",    1, 14, {2}, {2}, MiB{22144}, Sms{32},  Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, captured, inferred},
    {"1g.24gb",    9, 15, {1}, {2}, MiB{22144}, Sms{26},  Engines{1, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, captured, inferred, Attribute::none, double_memory},
    {"1g.12gb",    0, 19, {1}, {1}, MiB{11008}, Sms{16},  Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, captured, captured},
    {"1g.12gb+me", 7, 20, {1}, {1}, MiB{11008}, Sms{16},  Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, captured, inferred, Attribute::media},
};

constexpr Profile h100_96gb_gh200[] = {
    {"7g.96gb",    4, 0,  {7}, {8}, MiB{95232}, Sms{132}, Engines{8, 7, 0, 7, 1}, 1,
     {0}, inferred, inferred},
    {"4g.48gb",    3, 5,  {4}, {4}, MiB{47616}, Sms{64},  Engines{4, 4, 0, 4, 0}, 1,
     {0}, inferred, inferred},
    {"3g.48gb",    2, 9,  {3}, {4}, MiB{47616}, Sms{60},  Engines{3, 3, 0, 3, 0}, 2,
     {4, 0}, inferred, inferred},
    {"2g.24gb",    1, 14, {2}, {2}, MiB{23552}, Sms{32},  Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, inferred, inferred},
    // Two copy engines by the Taming paper, table II, of this very board; the user guide says one.
    {"1g.24gb",    9, 15, {1}, {2}, MiB{23552}, Sms{26},  Engines{2, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.12gb",    0, 19, {1}, {1}, MiB{11264}, Sms{16},  Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.12gb+me", 7, 20, {1}, {1}, {},         Sms{16},  Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile h20_96gb[] = {
    {"3g.48gb", 2, 9,  {3}, {4}, {}, {}, {}, 2,
     {4, 0}, inferred, inferred},
    {"2g.24gb", 1, 14, {2}, {2}, {}, {}, {}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.12gb", 0, 19, {1}, {1}, {}, {}, {}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
};

constexpr Profile h200_141gb[] = {
    {"7g.141gb",   4, 0,  {7}, {8}, MiB{143104}, Sms{132}, Engines{8, 7, 0, 7, 1}, 1,
     {0}, inferred, inferred},
    {"4g.71gb",    3, 5,  {4}, {4}, MiB{71168},  Sms{64},  Engines{4, 4, 0, 4, 0}, 1,
     {0}, inferred, inferred},
    {"3g.71gb",    2, 9,  {3}, {4}, MiB{71168},  Sms{60},  Engines{3, 3, 0, 3, 0}, 2,
     {4, 0}, inferred, inferred},
    {"2g.35gb",    1, 14, {2}, {2}, MiB{33024},  Sms{32},  Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.35gb",    9, 15, {1}, {2}, MiB{33024},  Sms{26},  Engines{1, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.18gb",    0, 19, {1}, {1}, MiB{16384},  Sms{16},  Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.18gb+me", 7, 20, {1}, {1}, MiB{16384},  Sms{16},  Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile gh200_144gb[] = {
    {"7g.144gb",   4, 0,  {7}, {8}, {},         {},      {},                     1,
     {0}, inferred, inferred},
    {"4g.72gb",    3, 5,  {4}, {4}, {},         {},      {},                     1,
     {0}, inferred, inferred},
    {"3g.72gb",    2, 9,  {3}, {4}, {},         {},      {},                     2,
     {4, 0}, inferred, inferred},
    {"2g.36gb",    1, 14, {2}, {2}, MiB{36096}, Sms{32}, Engines{2, 2, 0, 2, 0}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.36gb",    9, 15, {1}, {2}, MiB{36096}, Sms{26}, Engines{1, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.18gb",    0, 19, {1}, {1}, MiB{17920}, Sms{16}, Engines{1, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.18gb+me", 7, 20, {1}, {1}, MiB{17920}, Sms{16}, Engines{1, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile b200_180gb[] = {
    {"7g.180gb",   4, 0,  {7}, {8}, MiB{182784}, Sms{148}, Engines{16, 7, 0, 7, 1}, 1,
     {0}, captured, captured},
    {"4g.90gb",    3, 5,  {4}, {4}, MiB{91136},  Sms{72},  Engines{8, 4, 0, 4, 0},  1,
     {0}, captured, captured},
    {"3g.90gb",    2, 9,  {3}, {4}, MiB{91136},  Sms{70},  Engines{6, 3, 0, 3, 0},  2,
     {4, 0}, captured, inferred},
    {"2g.45gb",    1, 14, {2}, {2}, MiB{45312},  Sms{36},  Engines{4, 2, 0, 2, 0},  3,
     {4, 0, 2}, captured, inferred},
    {"1g.45gb",    9, 15, {1}, {2}, MiB{45312},  Sms{30},  Engines{2, 1, 0, 1, 0},  4,
     {6, 4, 0, 2}, captured, inferred, Attribute::none, double_memory},
    {"1g.23gb",    0, 19, {1}, {1}, MiB{20992},  Sms{18},  Engines{2, 1, 0, 1, 0},  7,
     {6, 4, 5, 0, 1, 2, 3}, captured, inferred},
    {"1g.23gb+me", 7, 20, {1}, {1}, MiB{20992},  Sms{18},  Engines{2, 1, 0, 1, 1},  1,
     {6, 4, 5, 0, 1, 2, 3}, captured, inferred, Attribute::media},
};

constexpr Profile gb200_186gb[] = {
    {"7g.186gb",   4, 0,  {7}, {8}, {},         {},      {},                     1,
     {0}, inferred, inferred},
    {"4g.93gb",    3, 5,  {4}, {4}, {},         {},      {},                     1,
     {0}, inferred, inferred},
    {"3g.93gb",    2, 9,  {3}, {4}, {},         {},      {},                     2,
     {4, 0}, inferred, inferred},
    {"2g.47gb",    1, 14, {2}, {2}, MiB{46592}, Sms{38}, Engines{4, 2, 0, 2, 0}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.47gb",    9, 15, {1}, {2}, MiB{46592}, Sms{32}, Engines{2, 1, 0, 1, 0}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.23gb",    0, 19, {1}, {1}, MiB{22528}, Sms{18}, Engines{2, 1, 0, 1, 0}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.23gb+me", 7, 20, {1}, {1}, MiB{22528}, Sms{18}, Engines{2, 1, 0, 1, 1}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile b300_269gb[] = {
    {"7g.269gb",   4, {}, {7}, {8}, {}, {}, {}, 1,
     {0}, inferred, inferred},
    {"4g.135gb",   3, {}, {4}, {4}, {}, {}, {}, 1,
     {0}, inferred, inferred},
    {"3g.135gb",   2, {}, {3}, {4}, {}, {}, {}, 2,
     {4, 0}, inferred, inferred},
    {"2g.67gb",    1, {}, {2}, {2}, {}, {}, {}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.67gb",    9, {}, {1}, {2}, {}, {}, {}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.34gb",    0, {}, {1}, {1}, {}, {}, {}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.34gb+me", 7, {}, {1}, {1}, {}, {}, {}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile gb300_278gb[] = {
    {"7g.278gb",   4, {}, {7}, {8}, {}, {}, {}, 1,
     {0}, inferred, inferred},
    {"4g.139gb",   3, {}, {4}, {4}, {}, {}, {}, 1,
     {0}, inferred, inferred},
    {"3g.139gb",   2, {}, {3}, {4}, {}, {}, {}, 2,
     {4, 0}, inferred, inferred},
    {"2g.70gb",    1, {}, {2}, {2}, {}, {}, {}, 3,
     {4, 0, 2}, inferred, inferred},
    {"1g.70gb",    9, {}, {1}, {2}, {}, {}, {}, 4,
     {6, 4, 0, 2}, inferred, inferred, Attribute::none, double_memory},
    {"1g.35gb",    0, {}, {1}, {1}, {}, {}, {}, 7,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred},
    {"1g.35gb+me", 7, {}, {1}, {1}, {}, {}, {}, 1,
     {6, 4, 5, 0, 1, 2, 3}, inferred, inferred, Attribute::media},
};

constexpr Profile rtx_pro_6000_bw_96gb[] = {
    {"4g.96gb",        3,  0,  {4}, {12}, MiB{97408}, Sms{188}, Engines{4, 4, 4, 4, 1}, 1,
     {0}, captured, captured},
    {"4g.96gb+gfx",    12, 32, {4}, {12}, MiB{97408}, Sms{188}, Engines{4, 4, 4, 4, 1}, 1,
     {0}, captured, captured, Attribute::graphics},
    {"2g.48gb",        1,  5,  {2}, {6},  MiB{48512}, Sms{94},  Engines{2, 2, 2, 2, 0}, 2,
     {0, 6}, captured, captured},
    {"2g.48gb+gfx",    11, 35, {2}, {6},  MiB{48512}, Sms{94},  Engines{2, 2, 2, 2, 0}, 2,
     {0, 6}, captured, inferred, Attribute::graphics},
    {"2g.48gb+me.all", 16, 64, {2}, {6},  MiB{48512}, Sms{94},  Engines{2, 4, 4, 4, 1}, 1,
     {0, 6}, captured, inferred, Attribute::all_media},
    {"2g.48gb-me",     14, 66, {2}, {6},  MiB{48512}, Sms{94},  Engines{2, 0, 0, 0, 0}, 2,
     {0, 6}, captured, inferred, Attribute::no_media},
    {"1g.24gb",        0,  14, {1}, {3},  MiB{24192}, Sms{46},  Engines{1, 1, 1, 1, 0}, 4,
     {0, 3, 6, 9}, captured, captured},
    {"1g.24gb+me",     7,  21, {1}, {3},  MiB{24192}, Sms{46},  Engines{1, 1, 1, 1, 1}, 1,
     {0, 3, 6, 9}, captured, inferred, Attribute::media},
    {"1g.24gb+gfx",    10, 47, {1}, {3},  MiB{24192}, Sms{46},  Engines{1, 1, 1, 1, 0}, 4,
     {0, 3, 6, 9}, captured, inferred, Attribute::graphics},
    {"1g.24gb+me.all", 15, 65, {1}, {3},  MiB{24192}, Sms{46},  Engines{1, 4, 4, 4, 1}, 1,
     {0, 3, 6, 9}, captured, inferred, Attribute::all_media},
    {"1g.24gb-me",     13, 67, {1}, {3},  MiB{24192}, Sms{46},  Engines{1, 0, 0, 0, 0}, 4,
     {0, 3, 6, 9}, captured, inferred, Attribute::no_media},
};

// clang-format on

constexpr std::string_view a30_24gb_names[] = {"NVIDIA A30"};
constexpr std::string_view a100_40gb_names[] = {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB",
                                                "NVIDIA A800-SXM4-40GB", "NVIDIA A800 40GB Active"};
constexpr std::string_view a100_80gb_names[] = {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe",
                                                "NVIDIA A800-SXM4-80GB", "NVIDIA A800 80GB PCIe"};
constexpr std::string_view h100_80gb_sxm5_names[] = {"NVIDIA H100 80GB HBM3"};
constexpr std::string_view h100_80gb_pcie_names[] = {"NVIDIA H100 PCIe"};
constexpr std::string_view h100_94gb_nvl_names[] = {"NVIDIA H100 NVL", "NVIDIA H800 NVL"};
constexpr std::string_view h100_96gb_gh200_names[] = {"NVIDIA GH200 480GB"};
constexpr std::string_view h20_96gb_names[] = {"NVIDIA H20"};
constexpr std::string_view h200_141gb_names[] = {"NVIDIA H200", "NVIDIA H200 NVL"};
constexpr std::string_view gh200_144gb_names[] = {"NVIDIA GH200 144G HBM3e"};
constexpr std::string_view b200_180gb_names[] = {"NVIDIA B200"};
constexpr std::string_view gb200_186gb_names[] = {"NVIDIA GB200"};
constexpr std::string_view b300_269gb_names[] = {"NVIDIA B300 SXM6 AC"};
constexpr std::string_view gb300_278gb_names[] = {"NVIDIA GB300"};
constexpr std::string_view rtx_pro_6000_bw_96gb_names[] = {
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"};

// clang-format off
// Compute capabilities: NVIDIA's table of CUDA GPUs.
constexpr GpuModel models[] = {
    // id, key, driver names,
    // title, architecture,
    // capability, memory, compute, memory slices, SMs, SMs in MIG, placements are, profiles
    {GpuModelId::a30_24gb, "A30-24GB", a30_24gb_names,
     "A30 24GB", Architecture::ampere,
     ComputeCapability{8, 0}, MiB{24576}, {4}, {4}, Sms{56}, Sms{56}, captured, a30_24gb},
    {GpuModelId::a100_40gb, "A100-40GB", a100_40gb_names,
     "A100-SXM4-40GB / A100-PCIE-40GB (A800 40GB alike)", Architecture::ampere,
     ComputeCapability{8, 0}, MiB{40960}, {7}, {8}, Sms{108}, Sms{98}, captured, a100_40gb},
    {GpuModelId::a100_80gb, "A100-80GB", a100_80gb_names,
     "A100-SXM4-80GB / A100-PCIE-80GB (A800 80GB alike)", Architecture::ampere,
     ComputeCapability{8, 0}, MiB{81920}, {7}, {8}, Sms{108}, Sms{98}, captured, a100_80gb},
    {GpuModelId::h100_80gb_sxm5, "H100-80GB-SXM5", h100_80gb_sxm5_names,
     "H100 80GB HBM3 (SXM5)", Architecture::hopper,
     ComputeCapability{9, 0}, MiB{81559}, {7}, {8}, Sms{132}, Sms{132}, captured, h100_80gb_sxm5},
    {GpuModelId::h100_80gb_pcie, "H100-80GB-PCIe", h100_80gb_pcie_names,
     "H100 PCIe 80GB", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, Sms{114}, {}, inferred, h100_80gb_pcie},
    {GpuModelId::h100_94gb_nvl, "H100-94GB-NVL", h100_94gb_nvl_names,
     "H100 NVL 94GB (H800 NVL alike)", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, Sms{132}, Sms{132}, captured, h100_94gb_nvl},
    {GpuModelId::h100_96gb_gh200, "H100-96GB-GH200", h100_96gb_gh200_names,
     "H100 96GB on GH200", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, Sms{132}, Sms{132}, inferred, h100_96gb_gh200},
    {GpuModelId::h20_96gb, "H20-96GB", h20_96gb_names,
     "H20 96GB", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, {}, {}, inferred, h20_96gb},
    {GpuModelId::h200_141gb, "H200-141GB", h200_141gb_names,
     "H200 141GB (SXM5, NVL)", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, Sms{132}, Sms{132}, inferred, h200_141gb},
    {GpuModelId::gh200_144gb, "GH200-144GB", gh200_144gb_names,
     "GH200 144GB HBM3e", Architecture::hopper,
     ComputeCapability{9, 0}, {}, {7}, {8}, {}, {}, inferred, gh200_144gb},
    {GpuModelId::b200_180gb, "B200-180GB", b200_180gb_names,
     "B200 180GB", Architecture::blackwell,
     ComputeCapability{10, 0}, {}, {7}, {8}, Sms{148}, Sms{148}, captured, b200_180gb},
    {GpuModelId::gb200_186gb, "GB200-186GB", gb200_186gb_names,
     "GB200 186GB", Architecture::blackwell,
     ComputeCapability{10, 0}, {}, {7}, {8}, {}, {}, inferred, gb200_186gb},
    {GpuModelId::b300_269gb, "B300-269GB", b300_269gb_names,
     "B300 (Blackwell Ultra)", Architecture::blackwell,
     ComputeCapability{10, 3}, {}, {7}, {8}, Sms{158}, {}, inferred, b300_269gb},
    {GpuModelId::gb300_278gb, "GB300-278GB", gb300_278gb_names,
     "GB300", Architecture::blackwell,
     ComputeCapability{10, 3}, {}, {7}, {8}, {}, {}, inferred, gb300_278gb},
    {GpuModelId::rtx_pro_6000_bw_96gb, "RTX-PRO-6000-BW-96GB", rtx_pro_6000_bw_96gb_names,
     "RTX PRO 6000 Blackwell 96GB (Server, Workstation, Max-Q)", Architecture::blackwell,
     ComputeCapability{12, 0}, MiB{97887}, {4}, {12}, Sms{188}, Sms{188}, captured,
     rtx_pro_6000_bw_96gb},
};
// clang-format on

/// What an architecture is called, by people and by NVML's header.
struct ArchitectureRow {
  Architecture architecture;
  std::string_view name;
  std::uint32_t nvml_number;  // of nvmlDeviceGetArchitecture
};
constexpr ArchitectureRow architectures[] = {
    {Architecture::ampere, "Ampere", 7}, {Architecture::ada, "Ada", 8},
    {Architecture::hopper, "Hopper", 9}, {Architecture::blackwell, "Blackwell", 10},
    {Architecture::rubin, "Rubin", 13},  {Architecture::other, "unknown", 0},
};

constexpr const ArchitectureRow& row_of(Architecture architecture) {
  return *std::ranges::find(architectures, architecture, &ArchitectureRow::architecture);
}

/// MIG-capable GPUs for which nobody has published where instances may start.
constexpr std::string_view without_placements[] = {"RTX-PRO-5000-BW-48GB", "RTX-PRO-4500-BW-32GB",
                                                   "Thor-iGPU"};

/// Whether a model's profiles agree with it: sizes and starts in range, from large to small.
constexpr bool consistent(const GpuModel& model) {
  const Profile* before = nullptr;
  for (const Profile& profile : model.profiles) {
    if (profile.compute > model.compute || profile.memory > model.memory_slices) return false;
    if (profile.starts.size() == 0 || profile.max_instances < 1) return false;
    for (int start = 0; start < Starts::most; ++start)
      if (profile.starts.contains(start) &&
          start + profile.memory.value > model.memory_slices.value)
        return false;
    if (before != nullptr && profile.memory > before->memory) return false;
    before = &profile;
  }
  return model.memory_slices.value <= Starts::most;
}
static_assert(std::ranges::all_of(models, consistent));
static_assert(has_every_model(models));

}  // namespace

std::string_view name(Architecture architecture) {
  return row_of(architecture).name;
}

std::uint32_t nvml_number(Architecture architecture) {
  return row_of(architecture).nvml_number;
}

Architecture architecture_of(std::uint32_t nvml_number) {
  const auto* row = std::ranges::find(architectures, nvml_number, &ArchitectureRow::nvml_number);
  return row == std::end(architectures) ? Architecture::other : row->architecture;
}

std::vector<int> Starts::ascending() const {
  std::vector<int> sorted = preferred();
  std::ranges::sort(sorted);
  return sorted;
}

int Profile::name_gb() const {
  const std::size_t dot = name.find('.');
  const std::size_t unit = name.find("gb");
  return static_cast<int>(parse_integer(name.substr(dot + 1, unit - dot - 1)).value_or(0));
}

const Profile* GpuModel::find(std::string_view profile_name) const {
  const auto found = std::ranges::find(profiles, profile_name, &Profile::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::span<const GpuModel> gpu_models() {
  return models;
}

namespace {

/// What an unknown name may stand for: all models that it begins ("H200"), else the one that it
/// misspells, else those of the same series ("A100-SXM4").
std::string models_meant(std::string_view name) {
  const std::vector<std::string> keys = names_of(models, &GpuModel::key);
  std::vector<std::string> begun, of_series;
  std::string word = lowercase(name);
  if (word.starts_with("nvidia ")) word.erase(0, std::string_view("nvidia ").size());
  const std::string series = word.substr(0, word.find_first_of("- "));
  for (const GpuModel& model : models) {
    const std::string key = lowercase(model.key);
    if (!word.empty() && key.starts_with(word)) begun.push_back(fmt::format("'{}'", model.key));
    if (key.starts_with(series + "-")) of_series.push_back(fmt::format("'{}'", model.key));
  }
  if (!begun.empty()) return fmt::format("did you mean {}?", any_of(begun));
  if (!nearest(name, keys) && !of_series.empty())
    return fmt::format("did you mean {}?", any_of(of_series));
  return suggestion(name, keys);
}

}  // namespace

Result<const GpuModel*> find_gpu_model(std::string_view name) {
  const std::string wanted = lowercase(name);
  const auto same = [&](std::string_view other) { return lowercase(other) == wanted; };
  for (const GpuModel& model : models) {
    const bool by_driver_name = std::ranges::any_of(model.driver_names, same);
    if (same(model.key) || same(model.title) || same(fmt::format("NVIDIA {}", model.title)) ||
        by_driver_name)
      return &model;
  }
  if (std::ranges::any_of(without_placements, same))
    return fail(ErrorKind::bad_input, "",
                fmt::format("where instances of the {} may start is not known", shown(name)),
                "no capture of `nvidia-smi mig -lgipp` from one has been published");
  return fail(ErrorKind::bad_input, "", fmt::format("unknown GPU model '{}'", shown(name)),
              models_meant(name));
}

}  // namespace cleave
