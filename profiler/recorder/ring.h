#pragma once

#include "profiler/events/overwriting_ring.h"
#include "profiler/recorder/slice_record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope::profiler {

/// The slice records of a rank, pushed by the rank's thread and drained by the recorder's thread. See OverwritingRing.
class RecordRing {
public:
    /// `capacity` is rounded up to a power of two.
    explicit RecordRing(std::size_t capacity) : ring_(capacity) {}

    /// Producer only.
    void push(const SliceRecord& record) noexcept {
        ring_.push([&record](std::size_t w) { return record.word(w); });
    }

    /// Drainer only: appends all records to `out`, oldest first.
    void drain(std::vector<SliceRecord>& out) {
        out.reserve(out.size() + (waiting() < capacity() ? waiting() : capacity()));
        ring_.drain([&out](std::span<const std::uint64_t> slot, bool) {
            out.push_back(SliceRecord::fromWords(slot.first<SliceRecord::kWords>()));
        });
    }

    /// See OverwritingRing; any thread.
    [[nodiscard]] std::int64_t dropped() const { return ring_.dropped(); }
    [[nodiscard]] std::uint64_t waiting() const { return ring_.waiting(); }
    [[nodiscard]] std::size_t capacity() const { return ring_.capacity(); }

private:
    OverwritingRing<SliceRecord::kWords> ring_;
};

} // namespace bubblescope::profiler
