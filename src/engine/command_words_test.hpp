#pragma once
// For tests: what an engine answers, as text that can be compared: "create 0 1g.5gb@6, start 1 on 0
// 1g.5gb@6".

#include <string>
#include <variant>
#include <vector>

#include "base/format.hpp"
#include "model/event.hpp"
#include "model/layout_text.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// The commands of an engine on one fleet, in words.
class CommandWords {
 public:
  explicit CommandWords(const Fleet& fleet) : fleet_(fleet) {}

  [[nodiscard]] std::string text(const std::vector<Command>& commands) const {
    std::vector<std::string> words;
    for (const Command& command : commands)
      words.push_back(std::visit([&](const auto& what) { return word(what); }, command));
    return fmt::format("{}", fmt::join(words, ", "));
  }

 private:
  [[nodiscard]] std::string at(GpuId gpu, PlacementId placement) const {
    return fmt::format("{} {}", index(gpu),
                       layout_text(fleet_.geometry(fleet_[gpu]), PlacementSet::of(placement)));
  }
  [[nodiscard]] std::string word(const DestroyInstance& what) const {
    return "destroy " + at(what.gpu, what.placement);
  }
  [[nodiscard]] std::string word(const CreateInstance& what) const {
    return "create " + at(what.gpu, what.placement);
  }
  [[nodiscard]] std::string word(const StartJob& what) const {
    return fmt::format("start {} on {}", index(what.job), at(what.gpu, what.placement));
  }
  [[nodiscard]] std::string word(const StartOnWholeGpu& what) const {
    return fmt::format("start {} on whole {}", index(what.job), index(what.gpu));
  }
  [[nodiscard]] std::string word(const StartShared& what) const {
    return fmt::format("share {} on {}", index(what.job), at(what.gpu, what.placement));
  }
  [[nodiscard]] std::string word(const StopJob& what) const {
    return fmt::format("stop {}", index(what.job));
  }
  [[nodiscard]] std::string word(const CheckpointJob& what) const {
    return fmt::format("checkpoint {}", index(what.job));
  }
  [[nodiscard]] std::string word(const MigrateJob& what) const {
    return fmt::format("migrate {} to {}", index(what.job), at(what.gpu, what.placement));
  }
  [[nodiscard]] std::string word(const RejectJob& what) const {
    return fmt::format("reject {}", index(what.job));
  }
  [[nodiscard]] std::string word(const FailJob& what) const {
    return fmt::format("fail {}", index(what.job));
  }
  [[nodiscard]] std::string word(const WarnOfMemory& what) const {
    return fmt::format("warn of {} MiB for {}", what.peak.value, index(what.job));
  }
  [[nodiscard]] std::string word(const WakeAt& what) const {
    return fmt::format("wake at {} s", in_seconds(what.time.time_since_epoch()));
  }

  const Fleet& fleet_;
};

}  // namespace cleave
