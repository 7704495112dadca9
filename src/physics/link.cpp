#include "physics/link.hpp"

#include "model/model_table.hpp"

namespace cleave {

namespace {

struct LinkRow {
  GpuModelId id;
  HostLink link;
};

constexpr bool was_inferred = true, was_measured = false;
constexpr HostLink pcie4{24, 24, "PCIe 4 x16, the usual practical rate", was_inferred, {}};
constexpr HostLink pcie5{
    48, 48, "PCIe 5 x16, twice the practical rate of PCIe 4", was_inferred, {}};
// By copy engines 333 GiB/s to the device with MIG off, 44.0 GiB/s for one GPU instance of any
// profile. Kernels that read host memory reach 207 GiB/s on 1g, 303 on 2g, 341 to 348 on larger
// ones.
constexpr HostLink grace_hopper{
    357.6, 47.2, "Taming GPU Underutilization, table IV", was_measured, {222.3, 325.3}};
constexpr HostLink as_grace_hopper{
    357.6, 47.2, "NVLink-C2C, as measured on the GH200 with 96 GB", was_inferred, {222.3, 325.3}};

// IV(a) prints "3g.24gb" for the profile that IV(b) and table II call 3g.48gb.
constexpr PublishedLinkRates published[] = {
    {"1g.12gb", {41.7, 39.6, 44.0, 357.5}, {282, 343, 207, 406}},
    {"2g.24gb", {79.2, 39.6, 44.0, 720.5}, {334, 338, 303, 812}},
    {"3g.48gb", {79.2, 39.6, 44.0, 1383.3}, {331, 336, 348, 1611}},
    {"4g.48gb", {79.1, 39.6, 44.0, 1438.9}, {330, 338, 347, 1635}},
    {"7g.96gb", {79.2, 39.6, 44.0, 2732.4}, {327, 336, 341, 3175}},
    {"none", {329.1, 276.3, 333.1, 2741.4}, {325, 336, 337, 3175}},
};

constexpr LinkRow link_rows[] = {
    {GpuModelId::a30_24gb, pcie4},
    {GpuModelId::a100_40gb, pcie4},
    {GpuModelId::a100_80gb, pcie4},
    {GpuModelId::h100_80gb_sxm5, pcie5},
    {GpuModelId::h100_80gb_pcie, pcie5},
    {GpuModelId::h100_94gb_nvl, pcie5},
    {GpuModelId::h100_96gb_gh200, grace_hopper},
    {GpuModelId::h20_96gb, pcie5},
    {GpuModelId::h200_141gb, pcie5},
    {GpuModelId::gh200_144gb, as_grace_hopper},
    {GpuModelId::b200_180gb, pcie5},
    {GpuModelId::gb200_186gb, as_grace_hopper},
    {GpuModelId::b300_269gb, pcie5},
    {GpuModelId::gb300_278gb, as_grace_hopper},
    {GpuModelId::rtx_pro_6000_bw_96gb, pcie5},
};
static_assert(has_every_model(link_rows));

}  // namespace

std::span<const PublishedLinkRates> published_link_rates() {
  return published;
}

const HostLink& host_link(const GpuModel& model) {
  const LinkRow* row = row_of(link_rows, model.id);
  return row != nullptr ? row->link : pcie4;
}

}  // namespace cleave
