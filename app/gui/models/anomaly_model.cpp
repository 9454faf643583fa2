#include "app/gui/models/anomaly_model.h"

#include "app/gui/language/text.h"
#include "core/analysis/anomalies/occurrence.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <cmath>

namespace bubblescope::gui {

namespace {

int stepOf(const Session& session, const Anomaly& anomaly, int current) {
    const auto fits = [&](int place) {
        const StepTimeline& step = session.step(place);
        return (!anomaly.step || step.index == *anomaly.step) && (!anomaly.replica || step.replica == *anomaly.replica);
    };
    if (current >= 0 && fits(current)) return current;
    for (int place = 0; place < session.stepCount(); ++place) {
        if (fits(place)) return place;
    }
    return std::max(0, current);
}

/// Longest of the items for which `wanted` is true.
template <class List, class Wanted>
ItemRef longest(const List& list, ItemKind kind, int step, int rank, const Wanted& wanted) {
    ItemRef best;
    TimeNs most{-1};
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!wanted(list[i]) || list[i].end - list[i].start <= most) continue;
        most = list[i].end - list[i].start;
        best = {kind, step, rank, static_cast<std::int32_t>(i)};
    }
    return best;
}

ItemRef transferItem(const StepTimeline& step, int place, Rank from, Rank to) {
    const auto find = [&](Rank rank, Rank peer, CommKind kind) {
        if (rank.index() >= step.comm.size()) return ItemRef{};
        return longest(step.comm[rank.index()], ItemKind::Comm, place, rank.value,
                       [&](const CommSpan& span) { return span.kind == kind && span.peer == peer; });
    };
    const ItemRef send = find(from, to, CommKind::Send);
    return send ? send : find(to, from, CommKind::Receive);
}

ItemRef itemOf(const Session& session, const Anomaly& anomaly, int place) {
    const StepTimeline& step = session.step(place);
    if (!anomaly.rank || anomaly.rank->index() >= step.ranks.size()) return {};
    const int rank = anomaly.rank->value;
    const auto& ops = step.ranks[anomaly.rank->index()];
    if (anomaly.op) {
        return longest(ops, ItemKind::Op, place, rank, [&](const TimelineOp& op) {
            return op.op.kind == anomaly.op->kind && op.op.microbatch == anomaly.op->microbatch &&
                   op.op.chunk == anomaly.op->chunk && op.op.sequence == anomaly.op->sequence;
        });
    }
    if (anomaly.peer) return transferItem(step, place, *anomaly.rank, *anomaly.peer);
    if (anomaly.kind == AnomalyKind::BubbleAboveForm) {
        const auto& bubbles = session.analysis(place).bubbles[anomaly.rank->index()];
        return longest(bubbles, ItemKind::Bubble, place, rank, [](const Bubble&) { return true; });
    }
    return longest(ops, ItemKind::Op, place, rank, [&](const TimelineOp& op) {
        return op.op.kind != OpKind::Optimizer && (!anomaly.chunk || op.op.chunk == *anomaly.chunk);
    });
}

} // namespace

AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step) {
    AnomalyTarget target;
    target.step = stepOf(session, anomaly, current_step);
    if (anomaly.rank) target.rank = anomaly.rank->value;
    target.item = itemOf(session, anomaly, target.step);
    if (anomaly.when) target.range = TimeRange{anomaly.when->start, anomaly.when->end};
    if (anomaly.chunk && anomaly.rank && !anomaly.op) {
        for (const TimelineOp& op : session.step(target.step).ranks[anomaly.rank->index()]) {
            if (op.op.chunk == *anomaly.chunk && op.op.kind != OpKind::Optimizer)
                target.highlights.push_back({anomaly.rank->value, {op.start, op.end}});
        }
    }
    return target;
}

QString changeFor(const Session& session, const Anomaly& anomaly) {
    return fromUtf8(changeWithout(session.step(0), anomaly));
}

void goTo(ViewState& state, const Anomaly& anomaly) {
    if (!state.session()) return;
    const AnomalyTarget target = targetOf(*state.session(), anomaly, state.step());
    state.showStep(target.step);
    state.select(target.item);
    state.highlight(target.highlights);
    // A single op or transfer fills the view; an anomaly of the complete step is shown within the step.
    if (target.item && (anomaly.op || anomaly.peer)) {
        state.zoomTo(target.item);
    } else if (target.range) {
        state.zoomTo(*target.range);
    }
    if (target.rank) emit state.rankRequested(*target.rank);
}

QString severityText(Severity severity) {
    switch (severity) {
    case Severity::Serious: return tr("serious");
    case Severity::Warning: return tr("warning");
    case Severity::Notice: break;
    }
    return tr("notice");
}

QString anomalyKindText(AnomalyKind kind) {
    // Core's names of kinds have hyphens instead of spaces.
    QString name = fromUtf8(anomalyKindName(kind)).replace(QLatin1Char('-'), QLatin1Char(' '));
    return QCoreApplication::translate("AnomalyKind", qUtf8Printable(name));
}

QString anomalyPlace(const Anomaly& anomaly) {
    QStringList parts;
    if (anomaly.replica) parts << tr("replica %1").arg(*anomaly.replica);
    if (anomaly.rank && anomaly.peer) {
        parts << tr("rank %1 → %2").arg(anomaly.rank->value).arg(anomaly.peer->value);
    } else if (anomaly.rank) {
        parts << tr("rank %1").arg(anomaly.rank->value);
    }
    if (anomaly.op) {
        parts << fromUtf8(opName(*anomaly.op));
    } else if (anomaly.chunk) {
        parts << tr("chunk %1").arg(anomaly.chunk->value);
    }
    if (anomaly.step) parts << tr("step %1").arg(*anomaly.step);
    return parts.join(QStringLiteral(" · "));
}

EvidenceText evidenceText(const std::pair<std::string, double>& evidence) {
    QString name = fromUtf8(evidence.first);
    const double value = evidence.second;
    const bool time = name.endsWith(QLatin1String("_ns"));
    if (time) name.chop(3);
    name.replace(QLatin1Char('_'), QLatin1Char(' '));
    name = QCoreApplication::translate("Evidence", qUtf8Printable(name));
    if (time) return {name, shortTime(TimeNs{std::llround(value)})};
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return {name, whole ? QLocale().toString(static_cast<qlonglong>(value)) : QLocale().toString(value, 'g', 4)};
}

void AnomalyModel::show(SessionPtr session) {
    beginResetModel();
    session_ = std::move(session);
    endResetModel();
}

std::vector<ColumnModel::Column> AnomalyModel::columns() const {
    return {{tr("Severity")},
            {tr("Kind")},
            {tr("Where")},
            {tr("Cost per step"), true, tr("Step time that would be saved without this problem")},
            {tr("Finding")}};
}

QVariant AnomalyModel::cell(std::size_t row, int column, int role) const {
    const Anomaly& anomaly = session_->report.anomalies[row];
    if (role == kSortRole) {
        if (column == SeverityColumn) return static_cast<int>(anomaly.severity);
        if (column == Cost) return timeCell(anomaly.cost, role);
    } else if (role != Qt::DisplayRole && (role != Qt::ToolTipRole || column != Message)) {
        return {};
    }
    switch (column) {
    case SeverityColumn: return severityText(anomaly.severity);
    case KindColumn: return anomalyKindText(anomaly.kind);
    case Where: return anomalyPlace(anomaly);
    case Cost: return anomaly.cost > TimeNs{0} ? shortTime(anomaly.cost) : QString();
    default: return sentence(translated(anomaly.message));
    }
}

} // namespace bubblescope::gui
