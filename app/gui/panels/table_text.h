#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace bubblescope::gui {

/// Formats a number with at most six decimals, without unit, separators or trailing zeros.
[[nodiscard]] QString plainNumber(double value);

/// Converts a table to text with headings: to CSV (RFC 4180) if the separator is a comma, or to tab-separated text for
/// spreadsheets. Numeric columns contain plain numbers in one unit, which is part of the heading: "Cost per step (ms)".
/// Times are exact if the model provides them in nanoseconds in Qt::UserRole.
[[nodiscard]] QString tableText(const QAbstractItemModel& model, QChar separator);

/// Adds Ctrl+C, which copies the selected rows (or all rows if none is selected), and a context menu that can also save
/// the table as CSV.
void addTableExport(QTableView& table);

} // namespace bubblescope::gui
