#include "smi/mig_tables.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave::smi {

namespace {

/// A table with a head of several lines, and rows of one line or more.
class Framed {
 public:
  explicit Framed(std::initializer_list<std::string_view> head)
      : width_(std::ranges::max(head, {}, &std::string_view::size).size()), text_(border()) {
    for (const std::string_view line : head) text_ += fmt::format("|{:<{}}|\n", line, width_);
    text_ += fmt::format("|{}|\n", std::string(width_, '='));
  }
  void add(std::initializer_list<std::string> lines) {
    for (const std::string& line : lines) text_ += fmt::format("|{:<{}}|\n", line, width_);
    text_ += border();
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] std::string border() const {
    return fmt::format("+{}+\n", std::string(width_, '-'));
  }
  std::size_t width_;
  std::string text_;
};

std::string span_text(Span span) {
  return fmt::format("{:>11}:{}", span.start, span.size);
}

}  // namespace

std::string table(const std::vector<GpuProfileRow>& rows) {
  Framed framed(
      {" GPU instance profiles:                                                       ",
       " GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  ",
       "                                Free/Total   GiB              CE    JPEG  OFA  "});
  for (const GpuProfileRow& row : rows)
    framed.add(
        {fmt::format("{:>4}  MIG {:<16}{:>4}  {:>5}/{:<5}{:>8.2f}{:>8}{:>7}{:>6}{:>6}", row.gpu,
                     row.name, row.id, row.free, row.most,
                     static_cast<double>(row.memory_mib) / 1024, row.peers ? "Yes" : "No", row.sms,
                     row.engines.decode, row.engines.encode),
         fmt::format("{:>66}{:>6}{:>6}", row.engines.copy, row.engines.jpeg, row.engines.flow)});
  return framed.text();
}

std::string lines(const std::vector<PlacementsRow>& rows) {
  std::string text;
  for (const PlacementsRow& row : rows) {
    std::vector<std::uint32_t> starts;
    for (const Span& each : row.placements) starts.push_back(each.start);
    text += fmt::format("GPU {:>2} Profile ID {:>2} {}: {{{}}}:{}\n", row.gpu, row.profile,
                        starts.size() == 1 ? "Placement " : "Placements", fmt::join(starts, ","),
                        row.placements.front().size);
  }
  return text;
}

std::string table(const std::vector<GpuInstanceRow>& rows) {
  Framed framed({" GPU instances:                                          ",
                 " GPU   Name               Profile  Instance   Placement  ",
                 "                            ID       ID       Start:Size "});
  for (const GpuInstanceRow& row : rows)
    framed.add({fmt::format("{:>4}  MIG {:<17}{:>4}{:>9}{}", row.gpu, row.profile, row.profile_id,
                            row.id, span_text(row.placement))});
  return framed.text();
}

std::string table(const std::vector<ComputeProfileRow>& rows) {
  Framed framed(
      {" Compute instance profiles:                                                           ",
       " GPU     GPU      Name               Profile  Instances   Exclusive      Shared       ",
       "       Instance                        ID     Free/Total     SM      DEC   ENC   OFA  ",
       "         ID                                                          CE    JPEG       "});
  for (const ComputeProfileRow& row : rows)
    framed.add(
        {fmt::format("{:>4}{:>7}       MIG {:<15}{:>4}{}{:>6}/{:<5}{:>8}{:>9}{:>6}{:>6}", row.gpu,
                     row.gpu_instance, row.name, row.id, row.whole ? '*' : ' ', row.free, row.most,
                     row.sms, row.engines.decode, row.engines.encode, row.engines.flow),
         fmt::format("{:>71}{:>6}", row.engines.copy, row.engines.jpeg)});
  return framed.text();
}

std::string table(const std::vector<ComputeInstanceRow>& rows) {
  Framed framed({" Compute instances:                                                 ",
                 " GPU     GPU       Name             Profile   Instance   Placement  ",
                 "       Instance                       ID        ID       Start:Size ",
                 "         ID                                                         "});
  for (const ComputeInstanceRow& row : rows)
    framed.add({fmt::format("{:>4}{:>7}       MIG {:<15}{:>4}{:>10}{}", row.gpu, row.gpu_instance,
                            row.profile, row.profile_id, row.id, span_text(row.placement))});
  return framed.text();
}

}  // namespace cleave::smi
