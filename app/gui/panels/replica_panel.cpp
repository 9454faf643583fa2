#include "app/gui/panels/replica_panel.h"

#include "app/gui/charts/heat_map.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

ReplicaPanel::ReplicaPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), headline_(new QLabel(this)), map_(new HeatMap(themes, this)),
      fill_(new FillWhenVisible(*this, [this] { start(); })) {
    setObjectName(QStringLiteral("replicaPanel"));
    headline_->setObjectName(QStringLiteral("replicaHeadline"));
    headline_->setWordWrap(true);
    headline_->setTextFormat(Qt::PlainText);
    headline_->setContentsMargins(12, 6, 12, 6);
    map_->setObjectName(QStringLiteral("replicaMap"));
    map_->setAccessibleName(tr("Slowdown by rank and replica"));
    auto* area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setWidget(map_);
    QVBoxLayout* column = tightColumn(*this);
    column->addWidget(headline_);
    column->addWidget(area, 1);
    connect(&state_, &ViewState::sessionChanged, &job_, &BackgroundJob::cancel); // also while the panel is hidden
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(map_, &HeatMap::clicked, this, &ReplicaPanel::goTo);
    fill_->markStale();
}

QString ReplicaPanel::headline() const {
    return headline_->text();
}

void ReplicaPanel::start() {
    job_.cancel();
    map_->setCells({}, {}, {});
    headline_->clear();
    if (!state_.pipeline()) return;
    headline_->setText(tr("Computing …"));
    job_.start(
        [session = state_.pipeline()](JobControl&) -> Result<StragglerStudy> {
            BUBBLESCOPE_ASSIGN(const RunModel model,
                               runModel(session->run, session->report.selection, session->report.clocks.bound()));
            return studyStragglers(model);
        },
        [this](const Result<StragglerStudy>& study) {
            if (study.ok()) {
                showStudy(study.value());
            } else {
                headline_->setText(sentence(errorText(study.error())));
            }
            emit studied();
        });
}

void ReplicaPanel::showStudy(const StragglerStudy& study) {
    const Lanes& lanes = state_.pipeline()->lanes;
    const auto ranks = static_cast<int>(lanes.rankCount());
    const auto replicas = static_cast<int>(lanes.replicas().size());
    const auto factor = [](double value) { return QString::number(value, 'f', 3); };
    QString text = tr("%1 × slower than with equal op times (S): a step would take %2 instead of %3.")
                       .arg(factor(study.slowdown), shortTime(study.ideal), shortTime(study.fit.simulated));
    const QChar space(QLatin1Char(' '));
    if (study.slowdown < kAttributedSlowdown) {
        text += space + tr("This loss is too small to attribute.");
    } else {
        const auto slowest = static_cast<int>(study.slowest.size());
        if (study.m_w) {
            const QString share = percent(*study.m_w);
            text +=
                space + (slowest == 1
                             ? tr("The slowest of %1 workers causes %2 of it (M_W).").arg(ranks * replicas).arg(share)
                             : tr("The slowest %3 of %1 workers cause %2 of it (M_W).")
                                   .arg(ranks * replicas)
                                   .arg(share)
                                   .arg(slowest));
        }
        if (study.m_s) text += space + tr("The last stage causes %1 of it (M_S).").arg(percent(*study.m_s));
        if (std::max(study.m_w.value_or(0), study.m_s.value_or(0)) > 1)
            text += space + tr("More than 100 %: the slow ones raise the mean, so the others are faster than it.");
    }
    headline_->setText(text);

    // Every worker may be slower than ideal: the colour compares them with one another.
    double least = study.slowdown;
    double most = 1;
    for (const std::vector<double>& replica : study.workers) {
        for (const double slowdown : replica) {
            least = std::min(least, slowdown);
            most = std::max(most, slowdown);
        }
    }
    QStringList rows;
    QStringList columns;
    std::vector<HeatMap::Cell> cells;
    for (int replica = 0; replica < replicas; ++replica)
        columns << QString::number(lanes.replicas()[static_cast<std::size_t>(replica)]);
    for (int rank = 0; rank < ranks; ++rank) {
        rows << tr("Rank %1").arg(rank);
        for (int replica = 0; replica < replicas; ++replica) {
            HeatMap::Cell cell;
            const auto at = static_cast<std::size_t>(replica);
            if (at < study.workers.size() && static_cast<std::size_t>(rank) < study.workers[at].size()) {
                const double slowdown = study.workers[at][static_cast<std::size_t>(rank)];
                const bool slowest = slowdown >= kStragglingSlowdown &&
                                     std::ranges::any_of(study.slowest, [&](const StragglerStudy::Worker& worker) {
                                         return worker.rank.value == rank && worker.replica == lanes.replicas()[at];
                                     });
                cell.state = slowest ? HeatMap::Cell::State::Bad : HeatMap::Cell::State::Value;
                // The slower, the darker.
                cell.value = most > least ? std::clamp((most - slowdown) / (most - least), 0.0, 1.0) : 1;
                cell.text = QString::number(slowdown, 'f', 2);
                cell.explanation = tr("Rank %1 of replica %2: makes an otherwise ideal job %3 × slower")
                                       .arg(rank)
                                       .arg(columns[replica], factor(slowdown));
            }
            cells.push_back(std::move(cell));
        }
    }
    map_->setCells(std::move(rows), std::move(columns), std::move(cells));
}

/// To the row of a worker, in the step that is shown.
void ReplicaPanel::goTo(int rank, int replica) {
    const SessionPtr& session = state_.pipeline();
    if (!session || replica < 0 || replica >= static_cast<int>(session->lanes.replicas().size())) return;
    const int number = session->step(state_.step()).index;
    const int wanted = session->lanes.replicas()[static_cast<std::size_t>(replica)];
    for (int place = 0; place < session->stepCount(); ++place) {
        const StepTimeline& step = session->step(place);
        if (step.index != number || step.replica != wanted) continue;
        state_.showStep(place);
        const auto& ops = step.ranks[static_cast<std::size_t>(rank)];
        if (!ops.empty()) state_.select({ItemKind::Op, place, rank, 0});
        emit state_.rankRequested(rank);
        return;
    }
}

} // namespace bubblescope::gui
