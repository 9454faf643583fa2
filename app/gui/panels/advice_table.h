#pragma once

#include "core/optimize/advice/advise.h"

#include <QTableWidget>

namespace bubblescope::gui {

/// Suggested changes, sorted by the resulting step time, each with its gain and its drawbacks.
class AdviceTable : public QTableWidget {
    Q_OBJECT

public:
    explicit AdviceTable(QWidget* parent = nullptr);

    /// The numbers come first, so that they stay in view in a narrow panel.
    enum Column { StepColumn, GainColumn, ChangeColumn, CatchColumn, ColumnCount };

    /// `chunks` is the run's number of chunks per rank. The recommended change is bold.
    void show(const Advice& advice, int chunks);
    void clear();
    /// The change of a row in the syntax of `whatif --if`.
    [[nodiscard]] QString changeAt(int row) const;

signals:
    void chosen(const QString& change);
};

} // namespace bubblescope::gui
