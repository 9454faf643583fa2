#pragma once

#include "app/gui/models/time_range.h"

#include <QObject>

#include <cstdint>
#include <vector>

namespace bubblescope::gui {

/// The only owner of what part of the time axis is shown. Keeps within limits, remembers where it was.
/// Lives on the GUI thread.
class VisibleRange : public QObject {
    Q_OBJECT

public:
    /// Zooming in stops here: pixels finer than a tenth of a nanosecond show nothing new.
    static constexpr TimeNs kShortest{100};

    explicit VisibleRange(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const TimeRange& range() const { return range_; }
    [[nodiscard]] const TimeRange& limits() const { return limits_; }
    [[nodiscard]] bool canGoBack() const { return !history_.empty(); }
    /// When the last entry of the history was made, by the count that nextStamp() goes on with; 0 without one. Tells
    /// whoever keeps a history beside this one which change came last.
    [[nodiscard]] std::uint64_t lastStamp() const { return history_.empty() ? 0 : history_.back().stamp; }
    [[nodiscard]] std::uint64_t nextStamp() { return ++stamp_; }

    /// A new trace: shows all of it and forgets the past.
    void setLimits(const TimeRange& limits);
    /// Shows `range`, as far as the limits allow, without a trace in the history (the initial view).
    void reset(const TimeRange& range);
    /// A trace that grew: shows `range` of it. What is undone afterwards leads no farther than the new limits.
    void follow(const TimeRange& limits, const TimeRange& range);
    /// Jumps to `range`; back() returns.
    void show(const TimeRange& range);
    void showAll() { show(limits_); }
    /// Scales the range by `factor` (below 1 zooms in). The time at `fraction` of the range stays where it
    /// is unless a limit pushes it.
    void zoomAt(double fraction, double factor);
    /// Moves by a share of the range's length; positive goes to later times.
    void panBy(double share);
    /// Wheel and drag come in many small moves; all of them up to this call are one entry of the history.
    void endGesture() { in_gesture_ = false; }
    /// Previous zoom.
    void back();

signals:
    void changed();
    void historyChanged();

private:
    [[nodiscard]] TimeRange clamped(TimeRange range) const;
    void remember();
    void apply(const TimeRange& range);

    TimeRange limits_;
    TimeRange range_;
    struct Entry {
        TimeRange range;
        std::uint64_t stamp = 0;
    };
    std::vector<Entry> history_;
    std::uint64_t stamp_ = 0;
    bool in_gesture_ = false;
};

} // namespace bubblescope::gui
