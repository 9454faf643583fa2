#pragma once

#include "profiler/events/overwriting_ring.h"
#include "profiler/recorder/slice_record.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope::profiler {

/// The slice records of a rank, between the rank's thread, which pushes, and the recorder's thread, which drains. See
/// OverwritingRing.
class RecordRing {
public:
    /// `capacity` is rounded up to a power of two.
    explicit RecordRing(std::size_t capacity) : ring_(capacity) {}

    /// Producer only.
    void push(const SliceRecord& record) noexcept {
        const auto words = std::bit_cast<Words>(record);
        ring_.push([&words](std::size_t w) { return words[w]; });
    }

    /// Drainer only: appends all records to `out`, oldest first.
    void drain(std::vector<SliceRecord>& out) {
        out.reserve(out.size() + (waiting() < capacity() ? waiting() : capacity()));
        ring_.drain([&out](std::span<const std::uint64_t> slot, bool) {
            Words words;
            for (std::size_t w = 0; w < kWords; ++w)
                words[w] = slot[w];
            out.push_back(std::bit_cast<SliceRecord>(words));
        });
    }

    /// See OverwritingRing; any thread.
    [[nodiscard]] std::int64_t dropped() const { return ring_.dropped(); }
    [[nodiscard]] std::uint64_t waiting() const { return ring_.waiting(); }
    [[nodiscard]] std::size_t capacity() const { return ring_.capacity(); }

private:
    static constexpr std::size_t kWords = sizeof(SliceRecord) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, kWords>;
    static_assert(sizeof(Words) == sizeof(SliceRecord));

    OverwritingRing<kWords> ring_;
};

} // namespace bubblescope::profiler
