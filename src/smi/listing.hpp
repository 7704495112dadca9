#pragma once
// What people look at: the GPUs and MIG devices with their UUIDs (`-L`), and the table without
// options.

#include <string>

#include "smi/reading.hpp"

namespace cleave::smi {

std::string device_list(const NodeReading& node);
std::string summary(const NodeReading& node);

}  // namespace cleave::smi
