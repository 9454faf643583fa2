#pragma once

#include "core/report/document.h"

#include <QAbstractTableModel>

#include <cstddef>
#include <vector>

namespace bubblescope::gui {

/// A table of a report as Qt's views show it: the columns for people, in the app's language. A cell's text is its
/// tooltip too, for columns that are too narrow. Marked cells are bold.
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
    std::vector<std::size_t> shown_; ///< places of the columns that people see
};

} // namespace bubblescope::gui
