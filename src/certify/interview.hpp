#pragma once
// Asks a library everything about one GPU, in a process of its own: a call that crashes or hangs
// costs its answer and not the certification, and a program can ask two libraries one after the
// other.

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/result.hpp"
#include "certify/asking.hpp"
#include "device/nvml_door.hpp"

namespace cleave::certify {

/// A library, and the simulated node that it is to show; the driver's own has none.
struct Source {
  std::string file;
  std::optional<std::filesystem::path> node;
};

/// What a process of ours has found.
struct Found {
  Answers answers;
  std::string recording;
};

/// The process's side: what it may ask and where its recording goes.
struct Inside {
  Asking& asking;
  std::function<void(std::string_view line)> record;
  std::function<void(std::string_view what)> note;  // a line of the log, before a step
};

/// How a process is watched.
struct Watch {
  std::chrono::milliseconds most_silent = std::chrono::seconds(30);
  /// Whether the questions are independent of each other, so that after a crash the next process
  /// goes on where the last one ended. Otherwise it asks everything again but for what crashed.
  bool goes_on = false;
  std::function<bool()> enough = {};  // true: it is told to end, once
  int told_by = SIGTERM;              // the signal by which it is told
  /// Lines of the log: each question before it is asked, and its answer with the time it took.
  std::function<void(const std::string&)> log = {};
};

/// Runs `work` in a child of this process; where a call crashes or does not return, that is its
/// answer, and another child does the rest. `work` fails with what no answer can say: there is no
/// library. Calls outside of questions that crash are an error with the signal, and so is a process
/// that did not get to its end when it was told to end.
[[nodiscard]] Result<Found> in_a_process(const Source& source,
                                         const std::function<Result<void>(Inside&)>& work,
                                         const Watch& watch = {});

/// Everything that can be asked without changing anything. `first` is called with the open door
/// before the GPU is asked, as to make the instances that another GPU has. Of `watch`, `enough` and
/// `log` count.
[[nodiscard]] Result<Found> interview(const Source& source, GpuIndex gpu, const Watch& watch = {},
                                      const std::function<void(Door&)>& first = {});

}  // namespace cleave::certify
