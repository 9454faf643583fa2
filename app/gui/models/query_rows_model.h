#pragma once

#include "core/report/data_table.h"

#include <QAbstractTableModel>

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::gui {

/// Qt model for the result rows of a query. Columns have their names from the query. Numbers are right-aligned, and
/// kSortRole sorts them numerically.
class QueryRowsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    void show(report::DataTable rows);
    /// Integer in the column of that name in a row; none if there is no such column or the value is not an integer.
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
