#pragma once

#include "app/gui/charts/axis.h"
#include "core/base/time.h"

#include <QRectF>
#include <QString>

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// A piece of a bar. `piece` is for the owner to tell what it is.
struct BarPart {
    int piece = 0;
    TimeNs time{0}; ///< may be negative
};

/// A bar of parts one behind the other: those above 0 to the right, those below 0 to the left.
struct Bar {
    QString name;
    std::vector<BarPart> parts;

    /// Sums of the parts below and above 0.
    [[nodiscard]] TimeNs below() const;
    [[nodiscard]] TimeNs above() const;
};

/// Where bars lie: rows of equal height, names to the left. Logical pixels from the chart's top left corner, not
/// scrolled. Pure geometry.
class BarLayout {
public:
    static constexpr int kAxisHeight = 20;

    BarLayout() = default;
    BarLayout(const std::vector<Bar>& bars, int width, int name_width, int row_height);

    struct Part {
        QRectF rect;
        int bar = 0;
        int part = 0;
        bool clipped = false; ///< ends at the chart's edge since the bar is an outlier
    };
    [[nodiscard]] int contentHeight() const { return kAxisHeight + static_cast<int>(bars_->size()) * row_height_; }
    [[nodiscard]] int rowTop(int bar) const { return kAxisHeight + bar * row_height_; }
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// Of the bars between two heights. Parts of no width are left out.
    [[nodiscard]] std::vector<Part> parts(int top, int bottom) const;
    /// The part at a point; `part` is −1 in a row beside its parts, `bar` −1 outside all rows.
    [[nodiscard]] Part at(double x, double y) const;
    [[nodiscard]] double x(double ns) const { return left_ + axis_.share(ns) * (width_ - left_); }
    [[nodiscard]] const Axis& axis() const { return axis_; }

private:
    void addBar(int bar, std::vector<Part>& out) const;

    const std::vector<Bar>* bars_ = nullptr;
    Axis axis_;
    double left_ = 0;
    double width_ = 0;
    int row_height_ = 1;
};

} // namespace bubblescope::gui
