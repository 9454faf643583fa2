#pragma once

#include "app/gui/models/session.h"

#include <QAbstractTableModel>

#include <vector>

namespace bubblescope::gui {

/// Table model with one slice per row. kSortRole sorts numerically.
class SliceListModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { StartColumn, DurationColumn, WhereColumn, ColumnCount };
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    void show(SessionPtr session, std::vector<SliceId> slices);
    [[nodiscard]] SliceId at(int row) const { return slices_[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    SessionPtr session_;
    std::vector<SliceId> slices_;
};

} // namespace bubblescope::gui
