#pragma once

#include "core/analysis/anomalies/thresholds.h"

#include <QTableWidget>

namespace bubblescope::gui {

/// Editable table of the thresholds of findings, with units and descriptions. Values that differ from the default are
/// bold; clearing a value restores the default.
class ThresholdsTable : public QTableWidget {
    Q_OBJECT

public:
    explicit ThresholdsTable(const Thresholds& thresholds, QWidget* parent = nullptr);

    enum Column { NameColumn, ValueColumn, UnitColumn, MeaningColumn, ColumnCount };

    [[nodiscard]] const Thresholds& thresholds() const { return thresholds_; }

signals:
    void edited();

private:
    void showValue(int row);
    void take(int row);

    Thresholds thresholds_;
};

} // namespace bubblescope::gui
