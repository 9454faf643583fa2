#include "app/gui/panels/rows_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/models/rows.h"
#include "app/gui/panels/widgets.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include <algorithm>
#include <string>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Axes that a filter can use, with their ranges: "pp 0-3, dp 0-1".
QString axesText(const MeshNumbers& spread) {
    QStringList out;
    for (std::size_t axis = 0; axis < spread.of.size(); ++axis) {
        const std::string_view name = kMeshAxisNames[axis];
        if (spread.of[axis] < 2) continue;
        out << QStringLiteral("%1 0-%2")
                   .arg(QLatin1String(name.data(), static_cast<qsizetype>(name.size())))
                   .arg(spread.of[axis] - 1);
    }
    return out.join(QStringLiteral(", "));
}

/// Entries of the list of replicas; a replica is its index plus kOneReplica.
enum ReplicaEntry : int { AllReplicas, FoldedReplicas, SlowestReplica, MedianReplica, kOneReplica };

/// Coordinate of a replica on the data axis, by which rows are filtered.
int dataPlace(const Session& session, int replica) {
    const std::vector<RowFacts> facts = rowFacts(session, -1);
    const int line = session.lanes.lineOfReplica(replica, 0);
    return line < 0 ? replica : facts[static_cast<std::size_t>(line)].place.at(MeshAxis::Data);
}

/// The replicas of a step, the slowest first.
std::vector<int> bySlowness(const Session& session, int place) {
    std::vector<std::pair<TimeNs, int>> all;
    for (const StepTimeline& step : session.run.steps) {
        if (step.index == session.step(place).index) all.emplace_back(step.wall(), step.replica);
    }
    std::ranges::sort(all, std::ranges::greater{});
    std::vector<int> out;
    for (const auto& [time, replica] : all)
        out.push_back(replica);
    return out;
}

} // namespace

RowsBar::RowsBar(ViewState& state, QWidget* parent)
    : QWidget(parent), state_(state), replicas_(new QComboBox(this)), line_(new QLineEdit(this)),
      result_(new ElidedLabel(this)) {
    setObjectName(QStringLiteral("rowsBar"));
    named(line_, "rowsLine", tr("Ranks to show"));
    line_->setPlaceholderText(tr("0-7, 12 or pp=0 dp=1"));
    line_->setClearButtonEnabled(true);
    line_->setFixedWidth(220);
    line_->installEventFilter(this);
    result_->setObjectName(QStringLiteral("rowsResult"));
    result_->setTextFormat(Qt::PlainText);
    result_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* label = new QLabel(tr("Show ranks"), this);
    label->setBuddy(line_);
    auto* all = named(new QPushButton(tr("Show all"), this), "rowsAll");
    all->setAutoDefault(false);
    named(replicas_, "rowsReplicas", tr("Replicas to show"));
    replicas_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    auto* row = spaced(new QHBoxLayout(this), {12, 2, 12, 2}, 8);
    addAll(*row, {replicas_, label, line_, all});
    row->addSpacing(8);
    row->addWidget(result_, 1);
    connect(line_, &QLineEdit::textChanged, this, &RowsBar::showResult);
    connect(all, &QPushButton::clicked, this, [this] { apply({}); });
    connect(&state_, &ViewState::rowsChanged, this, &RowsBar::showRows);
    connect(&state_, &ViewState::sessionChanged, this, &RowsBar::listReplicas);
    connect(&state_, &ViewState::sessionChanged, this, &RowsBar::showRows);
    connect(replicas_, &QComboBox::activated, this, &RowsBar::chooseReplicas);
    listReplicas();
    showRows();
}

void RowsBar::open() {
    if (!state_.session()) return;
    show();
    line_->selectAll();
    line_->setFocus();
    showResult();
}

void RowsBar::showRows() {
    const QString filter = QString::fromStdString(state_.rows().filter);
    line_->setText(filter);
    const bool replicated = state_.session() != nullptr && state_.session()->lanes.replicas().size() > 1;
    setVisible(state_.session() != nullptr && (replicated || !filter.isEmpty()));
    if (replicated && filter.isEmpty())
        replicas_->setCurrentIndex(
            state_.rows().group == MeshAxis::Data && !state_.rows().folded.empty() ? FoldedReplicas : AllReplicas);
    if (!isHidden()) showResult();
}

void RowsBar::listReplicas() {
    replicas_->clear();
    const bool several = state_.session() != nullptr && state_.session()->lanes.replicas().size() > 1;
    replicas_->setVisible(several);
    if (!several) return;
    const std::vector<int>& all = state_.session()->lanes.replicas();
    replicas_->addItem(tr("All %1 replicas").arg(all.size()));
    replicas_->addItem(tr("Folded replicas"));
    replicas_->addItem(tr("Slowest replica"));
    replicas_->addItem(tr("Median replica"));
    for (const int replica : all)
        replicas_->addItem(tr("Replica %1").arg(replica));
}

/// Shows only some replicas, with a filter of rows or with folded groups.
void RowsBar::chooseReplicas(int entry) {
    if (!state_.session() || state_.step() < 0) return;
    const Session& session = *state_.session();
    const std::vector<int>& all = session.lanes.replicas();
    RowChoice rows = state_.rows();
    rows.filter.clear();
    rows.folded.clear();
    if (rows.group == MeshAxis::Data) rows.group.reset();
    if (entry == FoldedReplicas) {
        rows.group = MeshAxis::Data;
        for (const int replica : all)
            rows.folded.push_back(dataPlace(session, replica));
    } else if (entry != AllReplicas) {
        const std::vector<int> slow = bySlowness(session, state_.step());
        const int replica = entry == SlowestReplica  ? slow.front()
                            : entry == MedianReplica ? slow[slow.size() / 2]
                                                     : all[static_cast<std::size_t>(entry - kOneReplica)];
        rows.filter = "dp=" + std::to_string(dataPlace(session, replica));
    }
    state_.setRows(std::move(rows));
}

/// Previews the effect of the text.
void RowsBar::showResult() {
    if (!state_.session()) return;
    const Result<RowFilter> filter = parseRowFilter(line_->text().toStdString());
    if (!filter.ok()) return result_->setText(sentence(errorText(filter.error())));
    const std::vector<RowFacts> facts = rowFacts(*state_.session(), -1);
    const auto shown = std::ranges::count_if(
        facts, [&](const RowFacts& fact) { return filter.value().accepts(fact.rank, fact.place); });
    const QString axes = axesText(rowSpread(facts));
    const QString count = tr("%1 of %2 rows").arg(shown).arg(facts.size());
    result_->setText(axes.isEmpty() ? count : tr("%1 (mesh: %2)").arg(count, axes));
}

void RowsBar::apply(const QString& filter) {
    RowChoice rows = state_.rows();
    rows.filter = filter.simplified().toStdString();
    state_.setRows(std::move(rows));
    leave();
}

void RowsBar::leave() {
    showRows();
    emit closed();
}

bool RowsBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == line_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape) {
            leave();
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            // An invalid filter stays editable, with the error next to it.
            if (parseRowFilter(line_->text().toStdString()).ok()) apply(line_->text());
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace bubblescope::gui
