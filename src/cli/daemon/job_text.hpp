#pragma once
// Jobs and GPUs of the daemon as people read them. All text of users goes through visible().

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "api/documents.hpp"
#include "base/time.hpp"

namespace cleave::cli {

/// "GPU 0 2g.10gb@4", "GPU 1" where a job has it whole
[[nodiscard]] std::string text(const ApiPlace& place);
/// Where the job is: "GPU 0 1g.5gb@0 +3" where it has three more places.
[[nodiscard]] std::string where_text(const ApiJob& job);
/// The user's time zone: "2026-05-04 12:11:12"
[[nodiscard]] std::string local_time(Instant instant);
/// "1.5 GiB", "512 MiB"
[[nodiscard]] std::string memory_text(MiB memory);
/// The same in a column, where all have one unit: "1.5 GiB", "0.5 GiB", "0.010 GiB"
[[nodiscard]] std::string memory_cell(MiB memory);

/// "exit code 3", empty where there is none, it is 0, or the reason says the number already.
[[nodiscard]] std::string exit_code_text(std::optional<int> exit_code, const std::string& reason);

/// How long it has waited, has run or ran, at `now`.
[[nodiscard]] std::string time_text(const ApiJob& job, Instant now);

/// Every line cut to the width; 0: as it is.
[[nodiscard]] std::string fitted(const std::string& table, std::size_t width);
/// A line for each process of a job of several, and a header.
[[nodiscard]] std::string processes_table(const ApiJob& job, std::size_t width);
/// "claim slurm:12 (job 12 of ann)"; without a key it is somebody else's.
[[nodiscard]] std::string claim_text(const std::string& key, const std::string& holder);
/// "drained, reserved for ann until 18:00, MIG off"; empty: nothing is to be said.
[[nodiscard]] std::string gpu_state_text(const ApiGpu& gpu, Instant now);
/// GPUs with the picture of their layout: "[AAAA#...]", letters as in `cleave gpus`.
[[nodiscard]] std::string gpus_table(std::span<const ApiGpu> gpus, std::size_t width);
/// Of one GPU; the layout's own notation where its model is not known.
[[nodiscard]] std::string picture(const ApiGpu& gpu);

}  // namespace cleave::cli
