#pragma once

#include "core/recognise/found_ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Lowers peak memory while steps are assembled.
namespace bubblescope {

/// Step number and replica.
using StepKey = std::pair<std::int64_t, std::int64_t>;

/// Counts each rank's ops in each step, so that lists can be allocated with the right size. Uses 16 bytes per rank and
/// step, plus some temporary memory. Not thread-safe.
class OpCounts {
public:
    void add(StepKey step, std::int64_t owner) {
        const Entry one{owner, step};
        if (!counts_.empty() && counts_.back().isOf(one)) {
            ++counts_.back().count;
            return;
        }
        if (counts_.size() >= room_) sumUp();
        counts_.push_back(one);
    }
    /// Call once, after the last add().
    void finish();
    /// Reserves capacity if the list is still empty. Call it after finish().
    template <class T>
    void reserve(StepKey step, std::int64_t owner, std::vector<T>& list) {
        if (list.capacity() == 0) list.reserve(take(step, owner));
    }
    /// Memory use in bytes, including spare capacity.
    [[nodiscard]] std::size_t bytes() const { return counts_.capacity() * sizeof(Entry); }

private:
    struct Entry {
        FoundNumber owner;
        FoundNumber step;
        FoundNumber replica;
        std::uint32_t count = 1;

        Entry(std::int64_t of, StepKey at) : owner(of), step(at.first), replica(at.second) {}
        [[nodiscard]] std::array<std::int64_t, 3> key() const { return {owner, step, replica}; }
        [[nodiscard]] bool isOf(const Entry& other) const {
            return owner == other.owner && step == other.step && replica == other.replica;
        }
    };
    void sumUp();
    [[nodiscard]] std::size_t take(StepKey step, std::int64_t owner);

    std::vector<Entry> counts_;
    std::size_t room_ = 0;
    std::size_t known_ = 0; ///< index of the entry that is probably needed next
};

/// Returns freed memory to the operating system. Memory allocated in one thread and freed in another would otherwise
/// remain allocated, in addition to the data built from it.
class UsedMemory {
public:
    void add(std::size_t freed) { bytes_ += freed; }
    void giveBack();

private:
    std::size_t bytes_ = 0;
};

} // namespace bubblescope
