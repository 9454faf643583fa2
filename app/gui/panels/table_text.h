#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace bubblescope::gui {

/// A number without unit, separators or trailing zeros, with at most six decimals.
[[nodiscard]] QString plainNumber(double value);

/// The content of a table as text with headings: CSV (RFC 4180) if the separator is a comma, or tab-separated text for
/// spreadsheets. Columns of numbers contain plain numbers in one unit, which the heading names: "Costs a step (ms)".
/// Times are exact if the model provides them as nanoseconds in Qt::UserRole.
[[nodiscard]] QString tableText(const QAbstractItemModel& model, QChar separator);

/// Ctrl+C copies the selected rows, or all rows if none is selected; the context menu also offers to save the table as
/// CSV.
void addTableExport(QTableView& table);

} // namespace bubblescope::gui
