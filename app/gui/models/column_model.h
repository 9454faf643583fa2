#pragma once

#include "core/base/time.h"

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace bubblescope::gui {

/// Base of read-only table models with fixed columns. GUI thread only.
class ColumnModel : public QAbstractTableModel {
public:
    /// Role for sort keys, such as nanoseconds.
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const final;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const final;

protected:
    struct Column {
        QString title;
        bool number = false; ///< true if the column is right-aligned
        QString tip = {};
    };

    /// Columns in the current language. After a change of their number or alignment, call forgetColumns().
    [[nodiscard]] virtual std::vector<Column> columns() const = 0;
    [[nodiscard]] virtual std::size_t rows() const = 0;
    /// Value of a cell for any role except the alignment.
    [[nodiscard]] virtual QVariant cell(std::size_t row, int column, int role) const = 0;

    /// Returns nanoseconds for kSortRole, and text for other roles.
    [[nodiscard]] static QVariant timeCell(TimeNs time, int role);
    /// Notifies views that the rows have changed but that their number has not.
    void touchRows(int first = 0);
    void forgetColumns() { alignments_.clear(); }

private:
    [[nodiscard]] const std::vector<int>& alignments() const;

    /// Alignment of each column, cached on the first request: sorting needs the number of columns for each comparison,
    /// and painting needs the alignment of each cell, but each call of columns() translates all titles.
    mutable std::vector<int> alignments_;
};

} // namespace bubblescope::gui
