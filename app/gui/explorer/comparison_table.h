#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/theme/theme.h"

#include <QTableWidget>

#include <vector>

namespace bubblescope::gui {

/// "zb-v/handcrafted", or "searched".
[[nodiscard]] QString nameOfOrder(const ScheduleSpec& spec);

/// The schedules of the lab side by side: first the one that is shown, then those that were kept. Each row names its
/// inputs; rows with inputs that differ from the first row's are marked.
class ComparisonTable : public QTableWidget {
    Q_OBJECT

public:
    explicit ComparisonTable(ThemeManager& themes, QWidget* parent = nullptr);

    void setShown(const ExplorerResult& result);
    /// Keeps the first row.
    void keepShown();
    /// Replaces the kept rows.
    void setOthers(const std::vector<ExplorerResult>& results);
    /// True if the row's times, limits or transfers differ from those of the first row.
    [[nodiscard]] bool differs(int row) const;

private:
    void write(int row, const ExplorerResult& result);
    void mark();

    ThemeManager& themes_;
    std::vector<LabInput> inputs_; ///< one per row
};

} // namespace bubblescope::gui
