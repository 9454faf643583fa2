#pragma once

#include "core/report/document.h"

#include <QAbstractTableModel>

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// Qt model for a table of a report: its human-readable columns, in the app's language. The tooltip of a cell repeats
/// its text in case the column is too narrow. Marked cells are bold.
class ReportTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    explicit ReportTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(report::Table table);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    report::Table table_{{}, {}};
    std::vector<std::size_t> shown_; ///< indices of the visible columns
};

} // namespace bubblescope::gui
