#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace bubblescope::gui {

/// The look all tables share: room around cells, no grid, whole rows selected.
void styleTable(QTableView& table);

/// What a table shows, row by row under its headings: as CSV (RFC 4180) with a comma, for spreadsheets with a tab.
[[nodiscard]] QString tableText(const QAbstractItemModel& model, QChar separator);

/// Ctrl+C copies the selected rows, or all where none is selected; the context menu also saves the table as CSV.
void addTableExport(QTableView& table);

} // namespace bubblescope::gui
