#pragma once

#include "app/gui/models/column_model.h"
#include "core/report/data_table.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope::gui {

/// Qt model for the result rows of a query. Column names come from the query. Numbers are right-aligned, and
/// kSortRole sorts them numerically.
class QueryRowsModel : public ColumnModel {
    Q_OBJECT

public:
    using ColumnModel::ColumnModel;

    void show(report::DataTable rows);
    /// Integer in a row's column with this name; none if the column is missing or its value is not an integer.
    [[nodiscard]] std::optional<std::int64_t> number(int row, std::string_view column) const;

protected:
    [[nodiscard]] std::size_t rows() const override { return rows_.rows(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    report::DataTable rows_{std::vector<report::DataColumn>()};
};

} // namespace bubblescope::gui
