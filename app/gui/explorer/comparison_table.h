#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/theme/theme.h"

#include <QTableWidget>

#include <vector>

namespace bubblescope::gui {

/// Name of the order, such as "zb-v/handcrafted" or "searched".
[[nodiscard]] QString nameOfOrder(const ScheduleSpec& spec);

/// Compares schedules: the displayed schedule in the first row, and the schedules kept for comparison below it. Each
/// row includes the inputs of its schedule, and is marked if they differ from those in the first row.
class ComparisonTable : public QTableWidget {
    Q_OBJECT

public:
    explicit ComparisonTable(ThemeManager& themes, QWidget* parent = nullptr);

    void setShown(const ExplorerResult& result);
    /// Keeps a copy of the first row for comparison.
    void keepShown();
    /// Replaces all rows except the first.
    void setOthers(const std::vector<ExplorerResult>& results);
    /// True if times, limits or transfers of the row differ from those in the first row.
    [[nodiscard]] bool differs(int row) const;

private:
    void write(int row, const ExplorerResult& result);
    void mark();

    ThemeManager& themes_;
    std::vector<LabInput> inputs_; ///< inputs of each row
};

} // namespace bubblescope::gui
