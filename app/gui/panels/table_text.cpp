#include "app/gui/panels/table_text.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/file_dialogs.h"
#include "core/base/csv_cell.h"
#include "core/formats/source/replacing_file.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLocale>
#include <QMessageBox>
#include <QRegularExpression>
#include <QTableView>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

namespace bubblescope::gui {

namespace {

/// A unit. Units of one kind can be converted into each other, and a column of them is written in the first.
struct ShownUnit {
    const char* name;
    int kind;
    double factor; ///< in terms of the first unit of its kind
};
constexpr int kTime = 1;
constexpr std::array kUnits{ShownUnit{"", 0, 1},
                            ShownUnit{"ms", kTime, 1},
                            ShownUnit{"ns", kTime, 1e-6},
                            ShownUnit{"µs", kTime, 1e-3},
                            ShownUnit{"us", kTime, 1e-3},
                            ShownUnit{"s", kTime, 1e3},
                            ShownUnit{"%", 2, 1},
                            ShownUnit{"×", 3, 1},
                            ShownUnit{"MiB", 4, 1},
                            ShownUnit{"B", 4, 1.0 / 1048576},
                            ShownUnit{"KiB", 4, 1.0 / 1024},
                            ShownUnit{"GiB", 4, 1024},
                            ShownUnit{"TiB", 4, 1048576}};

struct Quantity {
    double value = 0;
    const ShownUnit* unit = nullptr;
};

/// Parses texts such as "+1,026.5 %", "−0.3 ms" or "12"; nothing for any other text.
std::optional<Quantity> quantityOf(QString text) {
    static const QRegularExpression shape(QStringLiteral("^([+-]?[\\d.,\\s]*\\d)\\s*(\\D*)$"),
                                          QRegularExpression::UseUnicodePropertiesOption);
    const QRegularExpressionMatch match = shape.match(text.replace(QChar(0x2212), QLatin1Char('-')));
    if (!match.hasMatch()) return std::nullopt;
    QString number = match.captured(1);
    if (number.startsWith(QLatin1Char('+'))) number.remove(0, 1);
    bool fits = false;
    Quantity out;
    out.value = QLocale().toDouble(number, &fits);
    if (!fits) return std::nullopt;
    for (const ShownUnit& unit : kUnits) {
        if (match.captured(2) == QString::fromUtf8(unit.name)) out.unit = &unit;
    }
    return out.unit == nullptr ? std::nullopt : std::optional(out);
}

/// True if the text represents a missing value.
bool isBlank(const QString& text) {
    return text.isEmpty() || text == QStringLiteral("–") || text == QStringLiteral("—");
}

/// The unit of a column whose values are all quantities of one kind; null for any other column.
const ShownUnit* unitOf(const QAbstractItemModel& model, int column) {
    const ShownUnit* unit = nullptr;
    for (int row = 0; row < model.rowCount(); ++row) {
        const QString text = model.index(row, column).data().toString();
        if (isBlank(text)) continue;
        const std::optional<Quantity> quantity = quantityOf(text);
        if (!quantity || (unit != nullptr && unit->kind != quantity->unit->kind)) return nullptr;
        if (unit == nullptr) unit = quantity->unit;
    }
    if (unit == nullptr) return nullptr;
    for (const ShownUnit& first : kUnits) {
        if (first.kind == unit->kind) return &first;
    }
    return unit;
}

QString cellText(const QModelIndex& cell, const ShownUnit* unit) {
    const QString text = cell.data().toString();
    if (unit == nullptr) return text;
    if (isBlank(text)) return {};
    const Quantity quantity = *quantityOf(text);
    const double shown = quantity.value * quantity.unit->factor;
    if (unit->kind != kTime) return plainNumber(shown);
    // Uses the exact value, because the text is rounded.
    const double exact = cell.data(Qt::UserRole).toDouble() / 1e6;
    return plainNumber(std::abs(exact - shown) <= 0.05 * std::abs(shown) ? exact : shown);
}

QString headingOf(const QAbstractItemModel& model, int column, const ShownUnit* unit) {
    const QString title = model.headerData(column, Qt::Horizontal).toString();
    const QString name = unit == nullptr ? QString() : QString::fromUtf8(unit->name);
    return name.isEmpty() || title.endsWith(name) ? title : QStringLiteral("%1 (%2)").arg(title, name);
}

/// A cell's text, or a number if its column has a unit.
struct Cell {
    QString text;
    bool is_number = false;
};

QString tabbedLine(const std::vector<Cell>& cells) {
    QStringList texts;
    for (const Cell& cell : cells)
        texts << QString(cell.text)
                     .replace(QLatin1Char('\t'), QLatin1Char(' '))
                     .replace(QLatin1Char('\n'), QLatin1Char(' '));
    return texts.join(QLatin1Char('\t')) + QLatin1Char('\n');
}

QString csvLine(const std::vector<Cell>& cells) {
    CsvLine line("\r\n");
    for (const Cell& cell : cells)
        cell.is_number ? line.value(cell.text.toStdString()) : line.text(cell.text.toStdString());
    const std::string_view text = line.end();
    return fromUtf8(text);
}

QString textOf(const QAbstractItemModel& model, const std::vector<int>& rows, QChar separator) {
    std::vector<const ShownUnit*> units;
    for (int column = 0; column < model.columnCount(); ++column)
        units.push_back(unitOf(model, column));
    QString out;
    const auto add = [&](const auto& cell) {
        std::vector<Cell> cells;
        for (int column = 0; column < model.columnCount(); ++column)
            cells.push_back(cell(column, units[static_cast<std::size_t>(column)]));
        out += separator == QLatin1Char('\t') ? tabbedLine(cells) : csvLine(cells);
    };
    add([&](int column, const ShownUnit* unit) { return Cell{headingOf(model, column, unit)}; });
    for (const int row : rows)
        add([&](int column, const ShownUnit* unit) {
            return Cell{cellText(model.index(row, column), unit), unit != nullptr};
        });
    return out;
}

std::vector<int> allRows(const QAbstractItemModel& model) {
    std::vector<int> rows;
    for (int row = 0; row < model.rowCount(); ++row)
        rows.push_back(row);
    return rows;
}

void copySelected(const QTableView& table) {
    std::vector<int> rows;
    for (const QModelIndex& index : table.selectionModel()->selectedRows())
        rows.push_back(index.row());
    std::ranges::sort(rows); // otherwise they are in the order of the clicks
    if (rows.empty()) rows = allRows(*table.model());
    QApplication::clipboard()->setText(textOf(*table.model(), rows, QLatin1Char('\t')));
}

void save(QTableView& table, const QString& name) {
    ReplacingFile file(name.toStdString());
    file.write(tableText(*table.model(), QLatin1Char(',')).toStdString());
    const Status written = file.commit();
    if (!written.ok()) QMessageBox::warning(&table, tr("Save as CSV"), sentence(errorText(written.error())));
}

} // namespace

QString plainNumber(double value) {
    QString text = QString::number(value, 'f', 6);
    while (text.endsWith(QLatin1Char('0')))
        text.chop(1);
    if (text.endsWith(QLatin1Char('.'))) text.chop(1);
    return text == QStringLiteral("-0") ? QStringLiteral("0") : text;
}

QString tableText(const QAbstractItemModel& model, QChar separator) {
    return textOf(model, allRows(model), separator);
}

void addTableExport(QTableView& table) {
    table.setContextMenuPolicy(Qt::ActionsContextMenu);
    const auto add = [&table](const char* name, const QString& text, const auto& then) {
        auto* action = new QAction(text, &table);
        action->setObjectName(QString::fromLatin1(name));
        QObject::connect(action, &QAction::triggered, &table, then);
        table.addAction(action);
        return action;
    };
    QAction* copy = add("copyRows", tr("&Copy selected rows"), [&table] { copySelected(table); });
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    add("copyTable", tr("Copy the &whole table"),
        [&table] { QApplication::clipboard()->setText(tableText(*table.model(), QLatin1Char('\t'))); });
    add("saveTable", tr("&Save as CSV…"), [&table] {
        const NewFile file{tr("Save as CSV"), QStringLiteral("table.csv"), QStringLiteral("csv"), tr("Tables (*.csv)")};
        askWhereToSave(table, file, [&table](const QString& name) { save(table, name); });
    });
}

} // namespace bubblescope::gui
