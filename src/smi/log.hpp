#pragma once
// `-q`: everything about the GPUs, as text or as XML. Both are written from one tree, whose tags
// and titles are those of NVIDIA's documentation of nvidia-smi.

#include <string>
#include <string_view>
#include <vector>

#include "smi/texts.hpp"

namespace cleave::smi {

/// A value, or a group of them.
struct LogItem {
  std::string tag, title;  // in XML and in text
  std::string value;       // of an item without children
  std::vector<LogItem> children;
  bool group = false;     // also if there are no children
  std::string attribute;  // in XML: id="..."
  const char* display{};  // the word of `-d` that chooses it; null: shown without `-d` only
};

/// The tree of one GPU.
LogItem gpu_log(const GpuReading& gpu);

/// Everything, as XML.
std::string xml_log(const NodeReading& node);
/// The same as text; `displays` has the words of `-d`, empty for everything.
std::string text_log(const NodeReading& node, const std::vector<std::string>& displays);
/// The words of `-d`.
std::vector<std::string> log_displays();

}  // namespace cleave::smi
