#include "app/gui/models/visible_range.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr std::size_t kHistoryDepth = 200;

TimeNs share(TimeNs length, double fraction) {
    return TimeNs{std::llround(static_cast<double>(length.count()) * fraction)};
}

} // namespace

void VisibleRange::setLimits(const TimeRange& limits) {
    limits_ = limits;
    if (limits_.length() < kShortest) limits_.end = limits_.begin + kShortest;
    history_.clear();
    in_gesture_ = false;
    range_ = limits_;
    emit historyChanged();
    emit changed();
}

void VisibleRange::reset(const TimeRange& range) {
    history_.clear();
    in_gesture_ = false;
    emit historyChanged();
    apply(clamped(range));
}

void VisibleRange::follow(const TimeRange& limits, const TimeRange& range) {
    limits_ = limits;
    if (limits_.length() < kShortest) limits_.end = limits_.begin + kShortest;
    in_gesture_ = false;
    apply(clamped(range));
}

void VisibleRange::show(const TimeRange& range) {
    const TimeRange target = clamped(range);
    if (target == range_) return;
    in_gesture_ = false;
    remember();
    apply(target);
}

void VisibleRange::zoomAt(double fraction, double factor) {
    const TimeNs length = range_.length();
    const TimeNs new_length = std::clamp(share(length, factor), kShortest, limits_.length());
    const TimeNs anchor = range_.begin + share(length, fraction);
    const TimeNs begin = anchor - share(new_length, fraction);
    const TimeRange target = clamped({begin, begin + new_length});
    if (target == range_) return;
    if (!in_gesture_) remember();
    in_gesture_ = true;
    apply(target);
}

void VisibleRange::panBy(double fraction) {
    const TimeNs shift = share(range_.length(), fraction);
    const TimeRange target = clamped({range_.begin + shift, range_.end + shift});
    if (target == range_) return;
    if (!in_gesture_) remember();
    in_gesture_ = true;
    apply(target);
}

void VisibleRange::back() {
    if (history_.empty()) return;
    const TimeRange target = clamped(history_.back().range);
    history_.pop_back();
    in_gesture_ = false;
    apply(target);
    emit historyChanged();
}

TimeRange VisibleRange::clamped(TimeRange range) const {
    if (range.length() < kShortest) {
        const TimeNs middle = range.begin + range.length() / 2;
        range = {middle - kShortest / 2, middle - kShortest / 2 + kShortest};
    }
    if (range.length() >= limits_.length()) return limits_;
    if (range.begin < limits_.begin) return {limits_.begin, limits_.begin + range.length()};
    if (range.end > limits_.end) return {limits_.end - range.length(), limits_.end};
    return range;
}

void VisibleRange::remember() {
    if (history_.size() == kHistoryDepth) history_.erase(history_.begin());
    history_.push_back({range_, nextStamp()});
    emit historyChanged();
}

void VisibleRange::apply(const TimeRange& range) {
    if (range == range_) return;
    range_ = range;
    emit changed();
}

} // namespace bubblescope::gui
