#include "daemon/metrics/metrics_page.hpp"

#include "daemon/metrics/metric_table.hpp"

namespace cleave {

MetricsPage::MetricsPage(Doors doors) : doors_(std::move(doors)) {
  const auto named = [this](auto builder, std::string_view name) -> auto& {
    return builder.Name(std::string(name))
        .Help(std::string(metric_row(name).help))
        .Register(registry_);
  };
  auto& asked = named(prometheus::BuildCounter(), "cleave_metrics_requests_total");
  asked_[0] = &asked.Add({{"from", "socket"}});
  asked_[1] = &asked.Add({{"from", "listener"}});
  took_ = &named(prometheus::BuildHistogram(), "cleave_metrics_page_duration_seconds")
               .Add({}, prometheus::Histogram::BucketBoundaries(std::begin(computing_bounds_s),
                                                                std::end(computing_bounds_s)));
}

std::shared_ptr<const std::string> MetricsPage::text(Way way) {
  asked_[static_cast<std::size_t>(way)]->Increment();
  const Duration begun = doors_.clock();
  if (text_ && begun < fresh_until_) return text_;
  auto families = metric_families(doors_.node(), doors_.daemon());
  for (auto& each : registry_.Collect()) families.push_back(std::move(each));
  text_ = std::make_shared<const std::string>(metrics_text(families));
  const Duration now = doors_.clock(), took = now - begun;
  took_->Observe(in_seconds(took));
  fresh_until_ = now + std::max(fresh_for, took * fresh_times);
  return text_;
}

}  // namespace cleave
