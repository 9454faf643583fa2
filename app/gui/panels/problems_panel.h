#pragma once

#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"

#include <QAbstractTableModel>
#include <QTableView>

namespace bubblescope::gui {

/// Run::problems as a table: what was damaged, how often, where first, and what it means.
class ProblemsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Count, Message, Where, Kind, ColumnCount };

    explicit ProblemsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(SessionPtr session);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    SessionPtr session_;
};

/// What was damaged, lost or guessed while loading.
class ProblemsPanel : public QTableView {
    Q_OBJECT

public:
    explicit ProblemsPanel(ViewState& state, QWidget* parent = nullptr);
};

} // namespace bubblescope::gui
