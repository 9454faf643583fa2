#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace bubblescope::gui {

/// Without a unit, separators or zeros at the end, with at most six decimals.
[[nodiscard]] QString plainNumber(double value);

/// The content of a table as text, with headings: CSV (RFC 4180) with a comma as separator, or with tabs for
/// spreadsheets. Columns of numbers are plain numbers, with one unit, which the heading names: "Costs a step (ms)".
/// Times are exact where the model has them as nanoseconds under Qt::UserRole.
[[nodiscard]] QString tableText(const QAbstractItemModel& model, QChar separator);

/// Ctrl+C copies the selected rows, or all if none is selected; the context menu also saves the table as CSV.
void addTableExport(QTableView& table);

} // namespace bubblescope::gui
