#include "core/trace/load_preview.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kPublishEvery = 65536;
constexpr std::int64_t kPreviewLimit = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::uint32_t kNoRow = UINT32_MAX;

} // namespace

void LoadPreview::Part::Bins::makeRoom(std::int64_t begin, std::int64_t end) {
    if (high < low) { // the first
        first = low = high = begin >> shift;
    }
    // Shifting right rounds down, so bins of any width begin at multiples of it, even below zero.
    if ((begin >> shift) >= first && (end >> shift) < first + kCount) {
        low = std::min(low, begin >> shift);
        high = std::max(high, end >> shift);
        return;
    }
    const int old_shift = shift;
    const std::int64_t old_low = low;
    const std::int64_t old_high = high;
    const std::int64_t old_first = first;
    const bool to_the_left = (begin >> shift) < first;
    low = std::min(low, begin >> shift);
    high = std::max(high, end >> shift);
    for (; high - low >= kCount; ++shift)
        low >>= 1, high >>= 1;
    first = to_the_left ? high - kCount + 1 : low; // leaves room on the side where more will follow
    const std::array<std::int64_t, kCount> old = std::exchange(times, {});
    for (std::int64_t bin = old_low; bin <= old_high; ++bin)
        times[static_cast<std::size_t>((bin >> (shift - old_shift)) - first)] +=
            old[static_cast<std::size_t>(bin - old_first)];
}

void LoadPreview::Part::Bins::add(std::int64_t start, std::int64_t end, std::int64_t count) {
    slices += count;
    makeRoom(start, std::max(start, end - 1));
    std::int64_t at = std::max(start, covered);
    covered = std::max(covered, end);
    if (end > at) busy += end - at;
    while (at < end) {
        const std::int64_t bin = at >> shift;
        const std::int64_t next = std::min(end, (bin + 1) << shift);
        times[static_cast<std::size_t>(bin - first)] += next - at;
        at = next;
    }
}

void LoadPreview::Part::add(TrackId track, TimeNs start, TimeNs duration, std::int64_t slices) {
    slices_ += slices;
    if (track >= row_of_.size()) row_of_.resize(track + std::size_t{1}, kNoRow);
    std::uint32_t& row = row_of_[track];
    if (row == kNoRow && rows_.size() < kMaxRows) {
        row = static_cast<std::uint32_t>(rows_.size());
        rows_.emplace_back();
    }
    if (row != kNoRow) {
        const std::int64_t begin = std::clamp(start.count(), -kPreviewLimit, kPreviewLimit);
        rows_[row].add(begin, begin + std::clamp<std::int64_t>(duration.count(), 0, kPreviewLimit), slices);
    }
    if (++added_ >= publish_after_) publish();
}

void LoadPreview::Part::publish() {
    added_ = 0;
    publish_after_ = kPublishEvery;
    const std::scoped_lock lock(mutex_);
    shown_ = rows_;
    shown_offset_ = offset_;
    shown_slices_ = slices_;
    ++published_;
}

LoadPreview::Part& LoadPreview::addPart(std::string file, std::size_t order) {
    const std::scoped_lock lock(mutex_);
    parts_.push_back(std::make_unique<Part>(std::move(file), order));
    return *parts_.back();
}

std::uint64_t LoadPreview::version() const {
    const std::scoped_lock lock(mutex_);
    std::uint64_t sum = parts_.size();
    for (const auto& part : parts_) {
        const std::scoped_lock own(part->mutex_);
        sum += part->published_;
    }
    return sum;
}

LoadPreview::Picture LoadPreview::picture(std::size_t columns) const {
    struct Shown {
        std::vector<Part::Bins> rows;
        std::int64_t offset = 0;
        std::string file;
        std::size_t order = 0;
    };
    std::vector<Shown> parts;
    Picture out;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& part : parts_) {
            const std::scoped_lock own(part->mutex_);
            const std::int64_t offset = std::clamp(part->shown_offset_.count(), -kPreviewLimit, kPreviewLimit);
            parts.push_back({part->shown_, offset, part->file_, part->order_});
            out.slices += part->shown_slices_;
        }
    }
    std::sort(parts.begin(), parts.end(), [](const Shown& a, const Shown& b) { return a.order < b.order; });

    // These are doubles, because differences of times may overflow integers in damaged files.
    double begin = std::numeric_limits<double>::max();
    double end = std::numeric_limits<double>::lowest();
    const auto borderOf = [](const Shown& part, const Part::Bins& row, std::int64_t bin) {
        return static_cast<double>(bin << row.shift) + static_cast<double>(part.offset);
    };
    for (const Shown& part : parts) {
        for (const Part::Bins& row : part.rows) {
            begin = std::min(begin, borderOf(part, row, row.low));
            end = std::max(end, borderOf(part, row, row.high + 1));
        }
    }
    const double width = (end - begin) / static_cast<double>(columns);
    for (const Shown& part : parts) {
        for (const Part::Bins& row : part.rows) {
            Row& shown = out.rows.emplace_back();
            shown.file = out.files.size();
            shown.slices = row.slices;
            shown.busy = TimeNs{row.busy};
            shown.shares.assign(columns, 0.0F);
            for (std::int64_t bin = row.low; bin <= row.high; ++bin) {
                const std::int64_t time = row.times[static_cast<std::size_t>(bin - row.first)];
                if (time == 0) continue;
                // A bin's time is spread evenly over the columns that it touches.
                const double from = (borderOf(part, row, bin) - begin) / width;
                const double to = (borderOf(part, row, bin + 1) - begin) / width;
                const double density = static_cast<double>(time) / (to - from) / width;
                for (auto i = static_cast<std::size_t>(from); i < columns && static_cast<double>(i) < to; ++i) {
                    const double at = static_cast<double>(i);
                    const double part_of = std::min(to, at + 1) - std::max(from, at);
                    shown.shares[i] = std::min(1.0F, shown.shares[i] + static_cast<float>(part_of * density));
                }
            }
        }
        out.files.push_back(part.file);
    }
    if (!out.rows.empty()) {
        out.begin = TimeNs{static_cast<std::int64_t>(begin)};
        out.end = TimeNs{static_cast<std::int64_t>(end)};
    }
    return out;
}

} // namespace bubblescope
