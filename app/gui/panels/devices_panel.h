#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

#include <cstddef>

class QLabel;

namespace bubblescope::gui {

class BarChart;
class FillWhenVisible;

/// Chart for traces without a pipeline: a stacked bar per device with compute, communication, copies, and idle time by
/// cause. A trace of the host alone has a bar per host thread. A click on a bar shows the device or thread on the
/// timeline.
class DevicesPanel : public QWidget {
    Q_OBJECT

public:
    /// `state` and `themes` must outlive the panel.
    DevicesPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] BarChart& chart();
    /// Shows the devices of a rank of the job.
    void goToRank(std::int64_t rank);

private:
    /// A device or a thread.
    struct Row {
        std::int64_t rank = 0;
        TimeRange range;
        QString title;
    };
    void fill();
    void addLegend();
    void go(std::size_t row);
    [[nodiscard]] QString toolTipOf(int bar, int part) const;

    ViewState& state_;
    ThemeManager& themes_;
    BarChart* chart_;
    QLabel* legend_;
    std::vector<Row> rows_;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
