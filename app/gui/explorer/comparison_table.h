#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/theme/theme.h"

#include <QTableWidget>

#include <vector>

namespace bubblescope::gui {

/// "zb-v/handcrafted", or "searched".
[[nodiscard]] QString nameOfOrder(const ScheduleSpec& spec);

/// The schedules of the lab side by side: what is shown first, then what was kept. Each row names its inputs; those
/// made with others than the first row's are marked.
class ComparisonTable : public QTableWidget {
    Q_OBJECT

public:
    explicit ComparisonTable(ThemeManager& themes, QWidget* parent = nullptr);

    void setShown(const ExplorerResult& result);
    /// Keeps the first row.
    void keepShown();
    /// In place of what was kept.
    void setOthers(const std::vector<ExplorerResult>& results);
    /// Whether the row's times, limits and transfers are not those of the first row.
    [[nodiscard]] bool differs(int row) const;

private:
    void write(int row, const ExplorerResult& result);
    void mark();

    ThemeManager& themes_;
    std::vector<LabInput> inputs_; ///< one per row
};

} // namespace bubblescope::gui
