#pragma once

#include "app/gui/plain/plain_queries.h"

#include <QAbstractTableModel>

namespace bubblescope::gui {

/// The names of an area of a plain trace, one a row.
class AreaModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { NameColumn, CountColumn, TotalColumn, SelfColumn, MeanColumn, LongestColumn, ColumnCount };
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    void show(PlainTracePtr trace, AreaTable table);
    [[nodiscard]] const AreaTable& table() const { return table_; }
    [[nodiscard]] const AreaName& at(int row) const { return table_.names[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    PlainTracePtr trace_;
    AreaTable table_;
};

} // namespace bubblescope::gui
