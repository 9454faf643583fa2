#include "app/gui/panels/tables.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QFileDialog>
#include <QHeaderView>
#include <QMessageBox>
#include <QProxyStyle>
#include <QSaveFile>
#include <QStyleFactory>
#include <QTableView>

#include <vector>

namespace bubblescope::gui {

namespace {

constexpr int kCellMargin = 6;
constexpr int kRowExtra = 8; ///< over the font's height
/// Whose texts make a column's width. Of Qt's thousand, measured anew whenever a table is filled or moved, a live view
/// would do little else.
constexpr int kMeasuredRows = 32;

/// Fusion with wider margins beside the cells' and headers' texts.
class RoomyStyle : public QProxyStyle {
public:
    RoomyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
        if (metric == PM_FocusFrameHMargin || metric == PM_HeaderMargin) return kCellMargin;
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
};

} // namespace

void styleTable(QTableView& table) {
    auto* style = new RoomyStyle;
    style->setParent(&table);
    table.setStyle(style);
    table.horizontalHeader()->setStyle(style);
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setSelectionMode(QAbstractItemView::SingleSelection);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + kRowExtra);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
    addTableExport(table);
    // The style takes its header margin above and below the text, too.
    table.horizontalHeader()->setFixedHeight(table.fontMetrics().height() + 2 * kCellMargin);
}

namespace {

struct ExportText {
    Q_DECLARE_TR_FUNCTIONS(TableExport)
};

QString quoted(QString text, QChar separator) {
    if (separator == QLatin1Char('\t'))
        return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
    const bool needs = text.contains(separator) || text.contains(QLatin1Char('"')) || text.contains(QLatin1Char('\n'));
    return needs ? QLatin1Char('"') + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"') : text;
}

QString textOf(const QAbstractItemModel& model, const std::vector<int>& rows, QChar separator) {
    QString out;
    const auto line = [&](const auto& cell) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column)
            cells << quoted(cell(column), separator);
        out += cells.join(separator) + (separator == QLatin1Char('\t') ? QStringLiteral("\n") : QStringLiteral("\r\n"));
    };
    line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
    for (const int row : rows)
        line([&](int column) { return model.index(row, column).data().toString(); });
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
    if (rows.empty()) rows = allRows(*table.model());
    QApplication::clipboard()->setText(textOf(*table.model(), rows, QLatin1Char('\t')));
}

void save(QTableView& table, const QString& name) {
    QSaveFile file(name);
    const QByteArray text = tableText(*table.model(), QLatin1Char(',')).toUtf8();
    if (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit()) return;
    QMessageBox::warning(&table, ExportText::tr("Save as CSV"),
                         ExportText::tr("Cannot write %1: %2. Choose another place.").arg(name, file.errorString()));
}

void chooseFile(QTableView& table) {
    auto* dialog = new QFileDialog(&table, ExportText::tr("Save as CSV"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->setNameFilters({ExportText::tr("Tables (*.csv)")});
    QObject::connect(dialog, &QFileDialog::fileSelected, &table, [&table](const QString& name) { save(table, name); });
    dialog->open();
}

} // namespace

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
    QAction* copy = add("copyRows", ExportText::tr("&Copy selected rows"), [&table] { copySelected(table); });
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    add("copyTable", ExportText::tr("Copy the &whole table"),
        [&table] { QApplication::clipboard()->setText(tableText(*table.model(), QLatin1Char('\t'))); });
    add("saveTable", ExportText::tr("&Save as CSV…"), [&table] { chooseFile(table); });
}

} // namespace bubblescope::gui
