#include "nn/text/word_table.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "autograd/error.hpp"

namespace pencil::nn::text {
namespace {

std::uint32_t hash_of(std::string_view word) {
  const std::uint64_t hash = std::hash<std::string_view>{}(word);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

std::string_view WordTable::word(std::int32_t place) const {
  const auto i = static_cast<std::size_t>(place);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

std::size_t WordTable::slot_of(std::string_view wanted, std::uint32_t hash) const {
  const std::size_t last = slots_.size() - 1;
  std::size_t i = hash & last;
  while (slots_[i].place != none && (slots_[i].hash != hash || word(slots_[i].place) != wanted))
    i = (i + 1) & last;
  return i;
}

std::int32_t WordTable::find(std::string_view word) const {
  return slots_.empty() ? none : slots_[slot_of(word, hash_of(word))].place;
}

std::int32_t WordTable::find_or_add(std::string_view word) {
  if (2 * ends_.size() >= slots_.size()) grow();
  const std::uint32_t hash = hash_of(word);
  Slot& slot = slots_[slot_of(word, hash)];
  if (slot.place == none) {
    if (size() == std::numeric_limits<std::int32_t>::max())
      fail("[words] more than {} distinct words", size());
    bytes_.append(word);
    ends_.push_back(bytes_.size());
    slot = {hash, size() - 1};
  }
  return slot.place;
}

void WordTable::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t last = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.place == none) continue;
    std::size_t i = slot.hash & last;
    while (slots_[i].place != none) i = (i + 1) & last;
    slots_[i] = slot;
  }
}

}  // namespace pencil::nn::text
