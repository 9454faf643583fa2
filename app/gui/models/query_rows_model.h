#pragma once

#include "core/report/data_table.h"

#include <QAbstractTableModel>

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::gui {

/// The rows of a query for Qt's views. Columns have the names given by the query; numbers are right-aligned and sort as
/// numbers by kSortRole.
class QueryRowsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    void show(report::DataTable rows);
    /// The integer in a row's column with that name; none if there is no such column or integer.
    [[nodiscard]] std::optional<std::int64_t> number(int row, std::string_view column) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] const report::DataColumn& column(int index) const {
        return rows_.columns()[static_cast<std::size_t>(index)];
    }

    report::DataTable rows_{std::vector<report::DataColumn>()};
};

} // namespace bubblescope::gui
