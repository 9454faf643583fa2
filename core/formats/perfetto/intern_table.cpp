#include "core/formats/perfetto/intern_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bubblescope::perfetto {
namespace {

constexpr std::size_t kFewestSlots = 64;
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15; // 2^64 by the golden ratio: spreads the bits of what it multiplies

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    return hash ^ hash >> 32U;
}

template <class Word>
std::uint64_t wordAt(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

} // namespace

std::uint64_t InternTable::hashOf(std::string_view text) {
    const std::size_t size = text.size();
    const char* const begin = text.data();
    const char* const end = begin + size;
    std::uint64_t hash = size;
    if (size >= sizeof(std::uint64_t)) { // the last word overlaps the one before, which saves a loop over bytes
        for (const char* at = begin; at + sizeof(std::uint64_t) < end; at += sizeof(std::uint64_t))
            hash = mixed(hash, wordAt<std::uint64_t>(at));
        return mixed(hash, wordAt<std::uint64_t>(end - sizeof(std::uint64_t)));
    }
    if (size >= sizeof(std::uint32_t))
        return mixed(hash, wordAt<std::uint32_t>(begin) << 32U | wordAt<std::uint32_t>(end - sizeof(std::uint32_t)));
    for (const char letter : text)
        hash = hash << 8U | static_cast<unsigned char>(letter);
    return mixed(hash, 0);
}

void InternTable::grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max(kFewestSlots, 2 * slots_.size())));
    for (const Slot& slot : old) {
        if (slot.number == 0) continue;
        std::size_t at = slot.hash & (slots_.size() - 1);
        while (slots_[at].number != 0)
            at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

} // namespace bubblescope::perfetto
