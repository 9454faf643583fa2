#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/session.h"

#include <vector>

namespace bubblescope::gui {

/// Table model with one slice per row. kSortRole sorts numerically.
class SliceListModel : public ColumnModel {
    Q_OBJECT

public:
    enum { StartColumn, DurationColumn, WhereColumn };

    using ColumnModel::ColumnModel;

    void show(SessionPtr session, std::vector<SliceId> slices);
    [[nodiscard]] SliceId at(int row) const { return slices_[static_cast<std::size_t>(row)]; }

protected:
    [[nodiscard]] std::size_t rows() const override { return slices_.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    SessionPtr session_;
    std::vector<SliceId> slices_;
};

} // namespace bubblescope::gui
