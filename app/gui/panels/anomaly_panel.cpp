#include "app/gui/panels/anomaly_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/anomalies/occurrence.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

/// Colours the severity.
class SeverityDelegate : public QStyledItemDelegate {
public:
    SeverityDelegate(ThemeManager& themes, QObject* parent) : QStyledItemDelegate(parent), themes_(themes) {}

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (index.column() != AnomalyModel::SeverityColumn) return;
        const auto severity = static_cast<Severity>(index.data(AnomalyModel::kSortRole).toInt());
        option->palette.setColor(QPalette::Text, severityColour(themes_.theme(), severity));
        option->font.setBold(severity != Severity::Notice);
    }

private:
    ThemeManager& themes_;
};

QString evidenceTable(const Anomaly& anomaly) {
    QString html = QStringLiteral("<table cellspacing='0'>");
    for (const auto& evidence : anomaly.evidence) {
        const EvidenceText text = evidenceText(evidence);
        html += QStringLiteral("<tr><td>%1&nbsp;&nbsp;&nbsp;</td><td align='right'>%2</td></tr>")
                    .arg(text.name.toHtmlEscaped(), text.value.toHtmlEscaped());
    }
    return html + QStringLiteral("</table>");
}

} // namespace

AnomalyPanel::AnomalyPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), model_(new AnomalyModel(this)),
      sorted_(new QSortFilterProxyModel(this)), table_(new QTableView(this)),
      fill_(new FillWhenVisible(*this, [this] { showSession(); })) {
    setObjectName(QStringLiteral("anomalyPanel"));
    named(table_, "anomalyTable", tr("Anomalies"));
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(AnomalyModel::kSortRole);
    table_->setModel(sorted_);
    table_->setItemDelegate(new SeverityDelegate(themes, table_));
    styleTable(*table_);
    table_->setSortingEnabled(true);
    QHeaderView& header = *table_->horizontalHeader();
    header.setSortIndicator(-1, Qt::AscendingOrder); // order of the report, which is by descending cost
    header.setSectionResizeMode(QHeaderView::ResizeToContents);
    header.setSectionResizeMode(AnomalyModel::Message, QHeaderView::Stretch);
    header.setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter); // if there is little space, the start is visible
    header.setTextElideMode(Qt::ElideRight);
    // A narrow table scrolls horizontally instead of cutting off the last heading.
    header.setMinimumSectionSize(header.sectionSizeHint(AnomalyModel::Message));

    auto* splitter = new QSplitter(Qt::Horizontal, this);
    addAll(*splitter, {table_, buildDetails()});
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setSizes({580, 340});
    splitter->setChildrenCollapsible(false);
    auto* row = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    row->addWidget(splitter);

    addActions();
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&themes_, &ThemeManager::changed, this, &AnomalyPanel::applyTheme);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &AnomalyPanel::showDetails);
    connect(table_, &QTableView::activated, this, &AnomalyPanel::go);
    connect(go_, &QPushButton::clicked, this, &AnomalyPanel::go);
    connect(ask_, &QPushButton::clicked, this, [this] {
        if (const Anomaly* anomaly = chosen()) emit whatIfRequested(changeFor(*state_.pipeline(), *anomaly));
    });
    applyTheme();
    showSession();
}

void AnomalyPanel::choose(std::size_t finding) {
    const QModelIndex row = model_->index(static_cast<int>(finding), 0);
    table().setCurrentIndex(sorted_->mapFromSource(row));
}

/// In the context menu of the table, actions for a finding come before actions for the table.
void AnomalyPanel::addActions() {
    QAction* const table_actions = table_->actions().value(0);
    const auto add = [&](const char* name, const QString& text, const auto& then) {
        auto* action = named(new QAction(text, table_), name);
        connect(action, &QAction::triggered, this, [this, then] {
            if (const Anomaly* anomaly = chosen()) then(*anomaly);
        });
        table_->insertAction(table_actions, action);
    };
    add("findingGo", tr("&Zoom to it"), [this](const Anomaly&) { go(); });
    add("findingAsk", tr("What &if it were removed"),
        [this](const Anomaly& anomaly) { emit whatIfRequested(changeFor(*state_.pipeline(), anomaly)); });
    add("findingText", tr("Copy as &text"),
        [](const Anomaly& anomaly) { QApplication::clipboard()->setText(copyAsText(anomaly)); });
    add("findingJson", tr("Copy as &JSON"),
        [](const Anomaly& anomaly) { QApplication::clipboard()->setText(copyAsJson(anomaly)); });
    add("findingCommand", tr("Copy as co&mmand"), [this](const Anomaly& anomaly) {
        QApplication::clipboard()->setText(copyAsCommand(*state_.pipeline(), anomaly));
    });
    auto* separator = new QAction(table_);
    separator->setSeparator(true);
    table_->insertAction(table_actions, separator);
}

QWidget* AnomalyPanel::buildDetails() {
    details_ = new QScrollArea(this);
    details_->setFrameShape(QFrame::NoFrame);
    details_->setWidgetResizable(true);
    auto* content = new QWidget(details_);
    auto* column = spaced(new QVBoxLayout(content), {12, 8, 12, 8}, 6);
    const auto label = [&](const char* name) {
        auto* made = named(new QLabel(content), name);
        made->setWordWrap(true);
        made->setTextInteractionFlags(Qt::TextSelectableByMouse);
        return made;
    };
    title_ = label("anomalyTitle");
    QFont bold = font();
    bold.setBold(true);
    title_->setFont(bold);
    message_ = label("anomalyMessage");
    seen_ = label("anomalySeen");
    suggestion_ = label("anomalySuggestion");
    evidence_ = label("anomalyEvidence");
    evidence_->setTextFormat(Qt::RichText);
    go_ = named(new QPushButton(tr("Go to the finding on the timeline"), content), "anomalyGo");
    ask_ = named(new QPushButton(tr("What would the step time be without this problem?"), content), "anomalyAsk");
    for (QLabel* each : {title_, message_, seen_, suggestion_})
        column->addWidget(each);
    column->addWidget(go_, 0, Qt::AlignLeft);
    column->addWidget(ask_, 0, Qt::AlignLeft);
    column->addWidget(evidence_);
    column->addStretch(1);
    details_->setWidget(content);
    return details_;
}

QTableView& AnomalyPanel::table() {
    fill_->fillNow();
    return *table_;
}

void AnomalyPanel::showSession() {
    model_->show(state_.pipeline());
    if (model_->rowCount() > 0) table_->setCurrentIndex(sorted_->index(0, 0));
    showDetails();
}

const Anomaly* AnomalyPanel::chosen() const {
    const QModelIndex current = sorted_->mapToSource(table_->currentIndex());
    return current.isValid() ? &model_->at(current.row()) : nullptr;
}

void AnomalyPanel::showDetails() {
    const Anomaly* anomaly = chosen();
    go_->setVisible(anomaly != nullptr);
    ask_->setVisible(anomaly != nullptr && !changeFor(*state_.pipeline(), *anomaly).isEmpty());
    evidence_->setVisible(anomaly != nullptr);
    seen_->setVisible(anomaly != nullptr);
    suggestion_->setVisible(anomaly != nullptr);
    if (anomaly == nullptr) {
        title_->setText(tr("Nothing stands out"));
        message_->setText(state_.pipeline() ? tr("No anomaly was found in this run.") : QString());
        return;
    }
    const QString place = anomalyPlace(*anomaly);
    const QString kind = sentence(anomalyKindText(anomaly->kind));
    title_->setText(place.isEmpty() ? kind : tr("%1: %2").arg(kind, place));
    message_->setText(sentence(translated(anomaly->message)));
    const Sentence seen = occurrenceText(anomaly->seen);
    const Sentence sure = certaintyText(*anomaly);
    seen_->setText(sentence(translated(seen.empty() ? sure : say("{}; {}", seen, sure))));
    suggestion_->setText(translated(anomaly->suggestion));
    evidence_->setText(evidenceTable(*anomaly));
}

void AnomalyPanel::go() {
    if (const Anomaly* anomaly = chosen()) goTo(state_, *anomaly);
}

void AnomalyPanel::applyTheme() {
    QPalette base = themes_.theme().palette;
    base.setColor(QPalette::Window, base.color(QPalette::Base));
    details_->widget()->setPalette(base);
    QPalette dim = base;
    dim.setColor(QPalette::WindowText, themes_.theme().text_dim);
    evidence_->setPalette(dim);
}

} // namespace bubblescope::gui
