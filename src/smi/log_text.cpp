// The tree of a log as XML and as text.

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "smi/log.hpp"

namespace cleave::smi {

namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  return text;
}

void write_xml(const LogItem& item, std::size_t depth, std::string& out) {
  const std::string indent(depth, '\t');
  const std::string opened = item.attribute.empty()
                                 ? item.tag
                                 : fmt::format("{} id=\"{}\"", item.tag, escaped(item.attribute));
  if (!item.group) {
    out += fmt::format("{}<{}>{}</{}>\n", indent, opened, escaped(item.value), item.tag);
    return;
  }
  out += fmt::format("{}<{}>\n", indent, opened);
  for (const LogItem& child : item.children) write_xml(child, depth + 1, out);
  out += fmt::format("{}</{}>\n", indent, item.tag);
}

constexpr std::size_t value_column = 54;

void write_text(const LogItem& item, std::size_t depth, std::string& out) {
  const std::string title = std::string(4 * depth, ' ') + item.title;
  if (item.group && !item.children.empty()) {
    out += title + "\n";
    for (const LogItem& child : item.children) write_text(child, depth + 1, out);
    return;
  }
  out +=
      fmt::format("{:{}}: {}\n", title, value_column, item.group ? "None" : shown(item.value, 400));
}

std::string dated(const NodeReading& node, std::size_t attached) {
  std::string text;
  for (const auto& [title, value] :
       {std::pair("Timestamp", node.timestamp), std::pair("Driver Version", node.driver_version),
        std::pair("CUDA Version", version_text(node.cuda_version)),
        std::pair("Attached GPUs", fmt::format("{}", attached))})
    text += fmt::format("{:{}}: {}\n", title, value_column, value);
  return text;
}

}  // namespace

std::string xml_log(const NodeReading& node) {
  const auto leaf = [](const char* tag, std::string value) {
    return LogItem{tag, {}, std::move(value), {}, false, {}, nullptr};
  };
  LogItem all{"nvidia_smi_log",
              {},
              {},
              {leaf("timestamp", node.timestamp), leaf("driver_version", node.driver_version),
               leaf("cuda_version", version_text(node.cuda_version)),
               leaf("attached_gpus", fmt::format("{}", node.attached))},
              true,
              {},
              nullptr};
  for (const GpuReading& gpu : node.gpus) all.children.push_back(gpu_log(gpu));
  std::string out = "<?xml version=\"1.0\" ?>\n";
  write_xml(all, 0, out);
  return out;
}

std::string text_log(const NodeReading& node, const std::vector<std::string>& displays) {
  std::string out = "\n==============NVSMI LOG==============\n\n" + dated(node, node.attached);
  for (const GpuReading& gpu : node.gpus) {
    LogItem log = gpu_log(gpu);
    if (!displays.empty())
      std::erase_if(log.children, [&](const LogItem& item) {
        return item.display == nullptr ||
               std::ranges::find(displays, item.display) == displays.end();
      });
    out += "\n";
    write_text(log, 0, out);
  }
  return out;
}

std::vector<std::string> log_displays() {
  std::set<std::string> words;
  for (const LogItem& item : gpu_log({}).children)
    if (item.display != nullptr) words.insert(item.display);
  return {words.begin(), words.end()};
}

}  // namespace cleave::smi
