#include "app/gui/explorer/comparison_table.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/list_field.h"
#include "app/gui/panels/widgets.h"
#include "core/base/bytes.h"

#include <QHeaderView>
#include <QLocale>

#include <algorithm>

namespace bubblescope::gui {

namespace {

QString timesText(const LabInput& input, TimeNs OpTimes::*time) {
    std::vector<TimeNs> times;
    for (const OpTimes& stage : input.stages)
        times.push_back(stage.*time);
    if (times.empty()) times.push_back(input.spec.times.*time);
    return listOfMilliseconds(times);
}

/// Everything that determines the step time, except the schedule.
QString inputsText(const LabInput& input) {
    QString text = tr("F %1; I %2; W %3; transfer %4 (ms)")
                       .arg(timesText(input, &OpTimes::forward), timesText(input, &OpTimes::input_grad),
                            timesText(input, &OpTimes::weight_grad), listOfMilliseconds({input.spec.comm}));
    const TransferModel& transfers = input.transfers;
    if (transfers.activation_bytes > 0 && transfers.bytes_per_second)
        text += tr("; %1 at %2/s")
                    .arg(fromUtf8(formatBytes(transfers.activation_bytes)),
                         fromUtf8(formatBytes(*transfers.bytes_per_second)));
    if (transfers.sends != SendMode::Asynchronous || transfers.streams != CommStreams::Unlimited)
        text += QStringLiteral("; %1, %2")
                    .arg(fromUtf8(sendModeName(transfers.sends)), fromUtf8(commStreamsName(transfers.streams)));
    QStringList limits;
    for (const int limit : input.activations)
        limits << QString::number(limit);
    if (limits.isEmpty()) return text;
    if (limits.count(limits.front()) == limits.size()) limits = {limits.front()};
    return text + tr("; at most %1 activations").arg(limits.join(QStringLiteral(", ")));
}

} // namespace

QString nameOfOrder(const ScheduleSpec& spec) {
    const QString name = spec.name == "search" ? tr("searched") : fromUtf8(spec.name);
    return spec.flavor.empty() ? name : name + QLatin1Char('/') + fromUtf8(spec.flavor);
}

ComparisonTable::ComparisonTable(ThemeManager& themes, QWidget* parent) : QTableWidget(0, 7, parent), themes_(themes) {
    setObjectName(QStringLiteral("explorerTable"));
    setAccessibleName(tr("Schedules compared"));
    setHorizontalHeaderLabels({tr("Schedule"), tr("Step"), tr("Bubble rate"), tr("Closed form of a rank's bubble"),
                               tr("Closed form value"), tr("Peak activations"), tr("Inputs")});
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*this);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setStretchLastSection(true);
    connect(&themes_, &ThemeManager::changed, this, &ComparisonTable::mark);
}

void ComparisonTable::write(int row, const ExplorerResult& result) {
    const StepAnalysis& analysis = result.session->analysis(0);
    const ScheduleSpec& spec = result.input.spec;
    TimeNs largest{0};
    for (const TimeNs bubble : result.form.bubble)
        largest = std::max(largest, bubble);
    const double peak = static_cast<double>(result.peak) / static_cast<double>(spec.sizes.forward);
    const QStringList texts{
        tr("%1, p = %2, m = %3, v = %4").arg(nameOfOrder(spec)).arg(spec.pp).arg(spec.microbatches).arg(spec.vpp),
        shortTime(analysis.wall),
        percent(analysis.rates.over_makespan),
        translatedText(result.form.bubble_expression),
        result.form.bubble.empty() ? QString() : shortTime(largest),
        QLocale().toString(peak),
        inputsText(result.input)};
    for (int column = 0; column < texts.size(); ++column)
        setItem(row, column, new QTableWidgetItem(texts[column]));
    inputs_[static_cast<std::size_t>(row)] = result.input;
}

bool ComparisonTable::differs(int row) const {
    return inputsText(inputs_[static_cast<std::size_t>(row)]) != inputsText(inputs_.front());
}

void ComparisonTable::mark() {
    for (int row = 0; row < rowCount(); ++row) {
        const bool other = differs(row);
        for (int column = 0; column < columnCount(); ++column) {
            QTableWidgetItem* const cell = item(row, column);
            cell->setForeground(other ? themes_.theme().text_dim : themes_.theme().text);
            cell->setToolTip(
                other
                    ? tr("The inputs of this run differ from those of the schedule shown, so times are not comparable")
                    : QString());
        }
    }
}

void ComparisonTable::setShown(const ExplorerResult& result) {
    if (rowCount() == 0) {
        insertRow(0);
        inputs_.emplace_back();
    }
    write(0, result);
    mark();
}

void ComparisonTable::keepShown() {
    if (rowCount() == 0) return;
    insertRow(1);
    inputs_.insert(inputs_.begin() + 1, inputs_.front());
    for (int column = 0; column < columnCount(); ++column)
        setItem(1, column, item(0, column)->clone());
}

void ComparisonTable::setOthers(const std::vector<ExplorerResult>& results) {
    const int kept = std::min(rowCount(), 1);
    setRowCount(kept + static_cast<int>(results.size()));
    inputs_.resize(static_cast<std::size_t>(rowCount()));
    for (std::size_t i = 0; i < results.size(); ++i)
        write(kept + static_cast<int>(i), results[i]);
    mark();
}

} // namespace bubblescope::gui
