#include "core/recognise/op_counts.h"

#include "core/base/free_memory.h"

#include <algorithm>
#include <iterator>

namespace bubblescope {

void OpCounts::finish() {
    sumUp();
    counts_.shrink_to_fit();
}

void OpCounts::sumUp() {
    constexpr std::size_t kLittle = 4096;
    const auto before = [](const Entry& a, const Entry& b) { return a.key() < b.key(); };
    if (!std::is_sorted(counts_.begin(), counts_.end(), before)) std::sort(counts_.begin(), counts_.end(), before);
    std::size_t kept = 0;
    for (const Entry& entry : counts_) {
        if (kept > 0 && counts_[kept - 1].isOf(entry))
            counts_[kept - 1].count += entry.count;
        else
            counts_[kept++] = entry;
    }
    counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(kept), counts_.end());
    room_ = std::max(kLittle, 2 * kept); // each is summed at most a few times
}

/// The number of a rank's ops; 0 if it has none.
std::size_t OpCounts::take(StepKey step, std::int64_t owner) {
    const Entry wanted{owner, step};
    if (known_ >= counts_.size() || !counts_[known_].isOf(wanted)) {
        const auto found = std::ranges::lower_bound(counts_, wanted.key(), {}, &Entry::key);
        if (found == counts_.end() || !found->isOf(wanted)) return 0;
        known_ = static_cast<std::size_t>(found - counts_.begin());
    }
    return counts_[known_++].count;
}

void UsedMemory::giveBack() {
    constexpr std::size_t kMuch = 32U << 20U;
    if (bytes_ < kMuch) return;
    bytes_ = 0;
    returnFreeMemory();
}

} // namespace bubblescope
