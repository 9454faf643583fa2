#pragma once

#include "app/gui/models/column_model.h"
#include "core/report/document.h"

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Qt model for a table of a report: its human-readable columns, in the app's language. The tooltip of a cell repeats
/// its text in case the column is too narrow. Marked cells are bold.
class ReportTableModel : public ColumnModel {
    Q_OBJECT

public:
    using ColumnModel::ColumnModel;

    void show(report::Table table);

protected:
    [[nodiscard]] std::size_t rows() const override { return table_.rows.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    report::Table table_{{}, {}};
    std::vector<std::size_t> shown_; ///< indices of the visible columns
};

} // namespace bubblescope::gui
