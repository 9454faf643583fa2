#pragma once

#include "core/optimize/advice/advise.h"

#include <QTableWidget>

namespace bubblescope::gui {

/// Table of suggested changes with their gains and drawbacks, sorted by the resulting step time.
class AdviceTable : public QTableWidget {
    Q_OBJECT

public:
    explicit AdviceTable(QWidget* parent = nullptr);

    /// Numeric columns come first so that they remain visible in a narrow panel.
    enum Column { StepColumn, GainColumn, ChangeColumn, CatchColumn, ColumnCount };

    /// `chunks` is the number of chunks per rank in the run. The recommended change is bold.
    void show(const Advice& advice, int chunks);
    void clear();
    /// Change in a row, in the syntax of `whatif --if`.
    [[nodiscard]] QString changeAt(int row) const;

signals:
    void chosen(const QString& change);
};

} // namespace bubblescope::gui
