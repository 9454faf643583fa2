#pragma once

#include "profiler/capture/capture_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Tracks of one name for slices that may overlap: a slice that overlaps goes to the next lane.
class Lanes {
public:
    Lanes(std::string name, std::int32_t order) : name_(std::move(name)), order_(order) {}

    void add(CaptureFile& file, TimeNs start, TimeNs end, std::string_view category, std::string_view name,
             CaptureFile::Args args) {
        auto lane = std::ranges::find_if(lanes_, [&](const Lane& known) { return known.free_from <= start; });
        if (lane == lanes_.end()) {
            const std::size_t number = lanes_.size() + 1;
            const std::string title = number == 1 ? name_ : name_ + " (" + std::to_string(number) + ")";
            lanes_.push_back({file.addTrack(title, order_), start});
            lane = std::prev(lanes_.end());
        }
        end = std::max(start, end);
        lane->free_from = end;
        file.begin(lane->track, start, category, name, args);
        file.end(lane->track, end);
    }

private:
    struct Lane {
        CaptureFile::TrackNumber track;
        TimeNs free_from;
    };

    std::string name_;
    std::int32_t order_;
    std::vector<Lane> lanes_;
};

} // namespace bubblescope::profiler
