#include "cudatrace/core/kernel_names.hpp"

#include <cstdlib>
#include <cstring>

namespace cleave::cuda {

KernelNames::~KernelNames() {
  std::free(rows_);
  while (last_ != nullptr) {
    Copy* const before = last_->before;
    std::free(last_);
    last_ = before;
  }
}

KernelNames::Row* KernelNames::slot(Row* rows, std::size_t capacity, const void* kernel) {
  auto at =
      static_cast<std::size_t>(
          reinterpret_cast<std::uintptr_t>(kernel) * std::uintptr_t{0x9E3779B97F4A7C15U} >> 32U) &
      (capacity - 1);
  while (rows[at].kernel != nullptr && rows[at].kernel != kernel) at = (at + 1) & (capacity - 1);
  return &rows[at];
}

bool KernelNames::grow() {
  constexpr std::size_t first = 256;
  const std::size_t larger = capacity_ == 0 ? first : 2 * capacity_;
  auto* const fresh = static_cast<Row*>(std::calloc(larger, sizeof(Row)));
  if (fresh == nullptr) return false;
  for (std::size_t i = 0; i < capacity_; ++i)
    if (rows_[i].kernel != nullptr) *slot(fresh, larger, rows_[i].kernel) = rows_[i];
  std::free(rows_);
  rows_ = fresh;
  capacity_ = larger;
  return true;
}

void KernelNames::tell(const void* kernel, const char* name) {
  if (kernel == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (used_ * 2 >= capacity_ && !grow()) return;
  Row* const row = slot(rows_, capacity_, kernel);
  // Handles are reused for other kernels when a module is unloaded.
  if (row->kernel != nullptr && std::strcmp(row->name, name) == 0) return;
  const std::size_t length = std::strlen(name);
  auto* const copy = static_cast<Copy*>(std::malloc(sizeof(Copy) + length));
  if (copy == nullptr) return;
  copy->before = last_;
  std::memcpy(copy->text, name, length + 1);
  last_ = copy;
  if (row->kernel == nullptr) ++used_;
  *row = {kernel, copy->text};
}

const char* KernelNames::find(const void* kernel) {
  const std::lock_guard lock(mutex_);
  if (capacity_ == 0 || kernel == nullptr) return "";
  const Row* const row = slot(rows_, capacity_, kernel);
  return row->kernel == nullptr ? "" : row->name;
}

}  // namespace cleave::cuda
