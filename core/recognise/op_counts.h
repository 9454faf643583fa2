#pragma once

#include "core/recognise/found_ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// What keeps the memory low that steps take while they are made of what was found.
namespace bubblescope {

/// Step, then replica.
using StepKey = std::pair<std::int64_t, std::int64_t>;

/// How many ops each rank of a step has, so that its lists are as large as they need to be. 16 bytes for each rank of a
/// step, some more on the way. One thread at a time.
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
    /// Makes room for what is to come, where nothing has yet. After finish().
    template <class T>
    void reserve(StepKey step, std::int64_t owner, std::vector<T>& list) {
        if (list.capacity() == 0) list.reserve(take(step, owner));
    }
    /// That it takes, with what there is room for.
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
    std::size_t known_ = 0; ///< place of the entry that is mostly asked for next
};

/// Hands memory back to the system that was freed by and by. What one thread allocated and another frees would stay,
/// beside what is made of it.
class UsedMemory {
public:
    void add(std::size_t freed) { bytes_ += freed; }
    void giveBack();

private:
    std::size_t bytes_ = 0;
};

} // namespace bubblescope
