#include "app/gui/panels/thresholds_table.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QCoreApplication>
#include <QHeaderView>
#include <QSignalBlocker>

#include <string>

namespace bubblescope::gui {

namespace {

QString translatedWords(std::string_view text) {
    return QCoreApplication::translate("Core", std::string(text).c_str());
}

} // namespace

ThresholdsTable::ThresholdsTable(const Thresholds& thresholds, QWidget* parent)
    : QTableWidget(static_cast<int>(thresholdTable().size()), ColumnCount, parent), thresholds_(thresholds) {
    setObjectName(QStringLiteral("thresholdsTable"));
    setAccessibleName(tr("Thresholds"));
    setHorizontalHeaderLabels({tr("Threshold"), tr("Value"), tr("Unit"), tr("Meaning")});
    styleTable(*this);
    setEditTriggers(QAbstractItemView::AllEditTriggers);
    for (int row = 0; row < rowCount(); ++row) {
        const ThresholdInfo& info = thresholdTable()[static_cast<std::size_t>(row)];
        const auto add = [&](Column column, const QString& text) {
            auto* item = new QTableWidgetItem(text);
            item->setFlags(column == ValueColumn ? item->flags() | Qt::ItemIsEditable
                                                 : item->flags() & ~Qt::ItemIsEditable);
            item->setToolTip(text);
            if (column == ValueColumn) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            setItem(row, column, item);
        };
        add(NameColumn, QString::fromStdString(std::string(info.name)));
        add(ValueColumn, {});
        add(UnitColumn, info.unit == "us" ? QStringLiteral("µs") : translatedWords(info.unit));
        add(MeaningColumn, sentence(translatedWords(info.meaning)));
        showValue(row);
    }
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setStretchLastSection(true);
    connect(this, &QTableWidget::cellChanged, this, [this](int row, int column) {
        if (column == ValueColumn) take(row);
    });
}

void ThresholdsTable::showValue(int row) {
    const QSignalBlocker quiet(this);
    const ThresholdInfo& info = thresholdTable()[static_cast<std::size_t>(row)];
    const double value = thresholds_.*info.value;
    const double usual = Thresholds{}.*info.value;
    QTableWidgetItem& cell = *item(row, ValueColumn);
    cell.setText(QString::number(value));
    cell.setToolTip(tr("From %1 to %2; default %3").arg(info.least).arg(info.most).arg(usual));
    QFont face = font();
    face.setBold(value != usual);
    cell.setFont(face);
}

/// Ignores a value that is not a number or is out of range.
void ThresholdsTable::take(int row) {
    const ThresholdInfo& info = thresholdTable()[static_cast<std::size_t>(row)];
    const QString text = item(row, ValueColumn)->text().trimmed();
    bool is_number = false;
    const double value = text.isEmpty() ? Thresholds{}.*info.value : text.toDouble(&is_number);
    const double before = thresholds_.*info.value;
    if (text.isEmpty() || is_number) (void)setThreshold(thresholds_, info.name, value);
    showValue(row);
    if (thresholds_.*info.value != before) emit edited();
}

} // namespace bubblescope::gui
