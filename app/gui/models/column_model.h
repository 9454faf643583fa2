#pragma once

#include "core/base/time.h"

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace bubblescope::gui {

/// Base of read-only table models with fixed columns. GUI thread only.
class ColumnModel : public QAbstractTableModel {
public:
    /// Values for sorting, such as nanoseconds.
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const final;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const final;

protected:
    struct Column {
        QString title;
        bool number = false; ///< aligned to the right
        QString tip = {};
    };

    /// In the current language. Their number changes only with forgetColumns().
    [[nodiscard]] virtual std::vector<Column> columns() const = 0;
    [[nodiscard]] virtual std::size_t rows() const = 0;
    /// The value for any role but the alignment.
    [[nodiscard]] virtual QVariant cell(std::size_t row, int column, int role) const = 0;

    /// Nanoseconds for sorting, and a text otherwise.
    [[nodiscard]] static QVariant timeCell(TimeNs time, int role);
    /// Tells views that rows have changed, but not their number.
    void touchRows(int first = 0);
    void forgetColumns() { column_count_ = 0; }

private:
    mutable int column_count_ = 0; ///< as of the first request, because sorting asks for it at each comparison
};

} // namespace bubblescope::gui
