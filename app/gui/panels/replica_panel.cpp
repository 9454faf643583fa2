#include "app/gui/panels/replica_panel.h"

#include "app/gui/charts/heat_map.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

QString factor(double value) {
    return QString::number(value, 'f', 2).replace(QLatin1Char('-'), QChar(0x2212));
}

} // namespace

ReplicaPanel::ReplicaPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), headline_(new QLabel(this)), map_(new HeatMap(themes, this)),
      fill_(new FillWhenVisible(*this, [this] { start(); })) {
    setObjectName(QStringLiteral("replicaPanel"));
    headline_->setObjectName(QStringLiteral("replicaHeadline"));
    headline_->setWordWrap(true);
    headline_->setTextFormat(Qt::PlainText);
    headline_->setContentsMargins(12, 6, 12, 6);
    named(map_, "replicaMap", tr("Slowdown by rank and replica"));
    auto* area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setWidget(map_);
    QVBoxLayout* column = tightColumn(*this);
    column->addWidget(headline_);
    column->addWidget(area, 1);
    connect(&state_, &ViewState::sessionChanged, &job_, &BackgroundJob::cancel); // even while the panel is hidden
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
        [session = state_.pipeline()](JobControl& control) -> Result<Studied> {
            BUBBLESCOPE_ASSIGN(const RunModel model,
                               runModel(session->run, session->report.selection, session->report.clocks.bound()));
            return Studied{studyStragglers(model, control), model.step_time};
        },
        [this](const Result<Studied>& studied) {
            if (studied.ok()) {
                showStudy(studied.value());
            } else {
                headline_->setText(sentence(errorText(studied.error())));
            }
            emit this->studied();
        });
}

void ReplicaPanel::showStudy(const Studied& studied) {
    const Lanes& lanes = state_.pipeline()->lanes;
    showHeadline(studied, static_cast<int>(lanes.rankCount() * lanes.replicas().size()));
    showWorkers(studied.study);
}

/// Compares the step in the header with a step with equal op times, and names the workers that explain the
/// difference.
void ReplicaPanel::showHeadline(const Studied& studied, int workers) {
    const StragglerStudy& study = studied.study;
    QStringList text{tr("A step takes %1: %2 without late starts, and %3 if op times were also equal (S = %4).")
                         .arg(shortTime(studied.step), shortTime(study.fit.simulated), shortTime(study.ideal),
                              factor(study.slowdown))};
    const auto blame = [&](const QString& who, double share, const char* symbol) {
        const QString value = QStringLiteral("%1 = %2").arg(QLatin1String(symbol), factor(share));
        constexpr double kLeast = 0.005; // rounds to 0.00
        text << (share < kLeast ? tr("At average speed, %1 would recover none of the loss (%2).").arg(who, value)
                 : share < 1
                     ? tr("At average speed, %1 would recover %2 of the loss (%3).").arg(who, percent(share), value)
                     : tr("At average speed, %1 would recover all of the loss (%2).").arg(who, value));
    };
    if (study.slowdown < kAttributedSlowdown) {
        text << tr("This loss is too small to attribute.");
    } else {
        const auto slowest = static_cast<int>(study.slowest.size());
        if (study.m_w)
            blame(slowest == 1 ? tr("the slowest of %1 workers").arg(workers)
                               : tr("the slowest %2 of %1 workers").arg(workers).arg(slowest),
                  *study.m_w, "M_W");
        if (study.m_s) blame(tr("the last stage"), *study.m_s, "M_S");
    }
    headline_->setText(text.join(QLatin1Char(' ')));
}

void ReplicaPanel::showWorkers(const StragglerStudy& study) {
    const Lanes& lanes = state_.pipeline()->lanes;
    const auto ranks = static_cast<int>(lanes.rankCount());
    const auto replicas = static_cast<int>(lanes.replicas().size());
    // The scale starts at the ideal value. It extends at least to the threshold for stragglers, so that noise is not
    // highlighted.
    double most = kStragglingSlowdown;
    for (const std::vector<double>& replica : study.workers) {
        for (const double slowdown : replica)
            most = std::max(most, slowdown);
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
                cell.state = HeatMap::Cell::State::Slow;
                cell.value = std::clamp((slowdown - 1) / (most - 1), 0.0, 1.0);
                cell.text = factor(slowdown);
                cell.explanation = tr("Rank %1 of replica %2 makes an otherwise ideal job %3 × slower")
                                       .arg(rank)
                                       .arg(columns[replica], factor(slowdown));
            }
            cells.push_back(std::move(cell));
        }
    }
    map_->setColumnAxis(replicas > 1 ? tr("Replica") : QString());
    if (replicas == 1) columns.front() = tr("slowdown");
    map_->setScale(tr("%1 (ideal)").arg(factor(1)), tr("%1 × slower").arg(factor(most)));
    map_->setCells(std::move(rows), std::move(columns), std::move(cells));
}

/// Shows the row of a worker in the current step.
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
