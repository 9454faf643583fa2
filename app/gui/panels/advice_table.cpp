#include "app/gui/panels/advice_table.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QHeaderView>
#include <QStringList>

namespace bubblescope::gui {

namespace {

constexpr int kChangeRole = Qt::UserRole + 1;

QString optionText(const Suggestion& suggestion) {
    QStringList texts;
    for (const std::string& text : suggestion.texts)
        texts << fromUtf8(text);
    return texts.join(QLatin1Char(' '));
}

QString changeText(const Suggestion& suggestion) {
    const PipelineChange& change = suggestion.change;
    QStringList parts;
    if (suggestion.searched) {
        parts << tr("a searched order");
    } else if (!change.schedule.empty()) {
        parts << tr("schedule %1").arg(fromUtf8(change.schedule + (change.flavor.empty() ? "" : "/" + change.flavor)));
    }
    if (change.vpp) parts << tr("%Ln chunk(s) per rank", nullptr, *change.vpp);
    if (change.microbatches) parts << tr("%1 micro-batches").arg(*change.microbatches);
    if (change.split > 1) parts << tr("micro-batches split into %1").arg(change.split);
    if (!change.layers.empty()) {
        QStringList layers;
        for (const int count : change.layers)
            layers << QString::number(count);
        parts << tr("layers per stage %1").arg(layers.join(QLatin1Char(',')));
    } else if (suggestion.effort == Effort::Balance) {
        parts << tr("equal work on all stages");
    } else if (suggestion.effort == Effort::Transfers) {
        parts << tr("sends and receives without blocking");
    }
    // Any suggestion can at least be shown as an option.
    return parts.isEmpty() ? optionText(suggestion) : sentence(parts.join(tr(", ")));
}

/// Drawbacks of a change, and the affected ranks.
QString catchText(const Suggestion& suggestion, const HeldMemory& present, int chunks) {
    QStringList parts;
    if (suggestion.memory.copies > 1) parts << tr("holds two copies of the model");
    if (suggestion.memory.activations > present.activations)
        parts << tr("%1 × the activations").arg(ratioText(suggestion.memory.activations / present.activations));
    if (suggestion.change.vpp.value_or(chunks) > chunks) parts << tr("more transfers");
    if (suggestion.change.split > 1) parts << tr("smaller, less efficient kernels");
    if (suggestion.frameworks.empty()) {
        parts << tr("not supported by any framework");
    } else {
        QStringList names;
        for (const std::string& name : suggestion.frameworks)
            names << fromUtf8(name);
        parts << tr("in %1").arg(names.join(tr(", ")));
    }
    return parts.join(tr("; "));
}

} // namespace

AdviceTable::AdviceTable(QWidget* parent) : QTableWidget(0, ColumnCount, parent) {
    setObjectName(QStringLiteral("whatIfAdvices"));
    setAccessibleName(tr("What would help most"));
    setHorizontalHeaderLabels({tr("Step"), tr("Gain"), tr("Change"), tr("Drawback")});
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*this);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setStretchLastSection(true);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    setToolTip(tr("Double-click or Enter replays the run with a change"));
    connect(this, &QTableWidget::cellActivated, this, [this](int row) { emit chosen(changeAt(row)); });
}

void AdviceTable::show(const Advice& advice, int chunks) {
    clear();
    for (const Suggestion& suggestion : advice.suggestions) {
        const int row = rowCount();
        insertRow(row);
        const Prediction& prediction = suggestion.prediction;
        const bool recommended = &suggestion == &advice.suggestions[advice.recommended];
        const QString options = optionText(suggestion);
        const QStringList texts{shortTime(prediction.predicted()),
                                tr("%1 ± %2").arg(percentDelta(prediction.relativeChange()),
                                                  percent(fractionOf(prediction.bar.time, prediction.step))),
                                changeText(suggestion), catchText(suggestion, advice.present, chunks)};
        for (int column = 0; column < ColumnCount; ++column) {
            auto* item = new QTableWidgetItem(texts[column]);
            item->setToolTip(recommended ? tr("%1\nRecommended: %2").arg(options, translated(advice.why)) : options);
            if (column == StepColumn || column == GainColumn) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            QFont face = font();
            face.setBold(recommended);
            item->setFont(face);
            setItem(row, column, item);
        }
        item(row, ChangeColumn)->setData(kChangeRole, options);
        if (recommended) setCurrentCell(row, StepColumn);
    }
}

void AdviceTable::clear() {
    setRowCount(0);
}

QString AdviceTable::changeAt(int row) const {
    return item(row, ChangeColumn)->data(kChangeRole).toString();
}

} // namespace bubblescope::gui
