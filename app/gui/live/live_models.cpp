#include "app/gui/live/live_models.h"

#include "app/gui/language/text.h"
#include "app/gui/models/anomaly_model.h"

#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <span>
#include <utility>

namespace bubblescope::gui {

namespace {

using live::LiveRank;
using live::RankState;

QString number(std::int64_t count) {
    return QLocale().toString(static_cast<qlonglong>(count));
}

} // namespace

LiveState liveState(const LiveSnapshot* snapshot, bool active) {
    const bool ended = snapshot != nullptr && snapshot->ended;
    if (!active && !ended) return LiveState::Stopped;
    if (snapshot == nullptr || !snapshot->info) return LiveState::Waiting;
    if (!ended) return LiveState::Recording;
    const auto gone = [](const LiveRank& rank) { return rank.state == RankState::Gone; };
    return std::ranges::any_of(snapshot->ranks, gone) ? LiveState::Failed : LiveState::Ended;
}

QString liveStateText(LiveState state) {
    switch (state) {
    case LiveState::Waiting: return tr("Waiting");
    case LiveState::Recording: return tr("Recording");
    case LiveState::Ended: return tr("Run ended");
    case LiveState::Failed: return tr("Run was interrupted");
    case LiveState::Stopped: break;
    }
    return tr("Not watched");
}

QString rankStateText(RankState state) {
    switch (state) {
    case RankState::Awaited: return tr("awaited");
    case RankState::Running: return tr("running");
    case RankState::Late: return tr("late");
    case RankState::Gone: return tr("gone");
    case RankState::Ended: break;
    }
    return tr("ended");
}

QString liveRankText(const LiveRank& rank, const LiveSnapshot& snapshot) {
    if (snapshot.info && snapshot.info->dp > 1) return tr("replica %1, rank %2").arg(rank.replica).arg(rank.rank.value);
    return tr("rank %1").arg(rank.rank.value);
}

QString ranksText(const LiveSnapshot& snapshot) {
    QStringList parts;
    for (const RankState state :
         {RankState::Awaited, RankState::Running, RankState::Late, RankState::Gone, RankState::Ended}) {
        const auto count = std::ranges::count(snapshot.ranks, state, &LiveRank::state);
        if (count > 0) parts << tr("%1 %2").arg(count).arg(rankStateText(state));
    }
    return parts.join(tr(", "));
}

std::int64_t lostRecords(const live::LiveCounts& counts) {
    return counts.dropped + counts.undelivered + counts.damaged + counts.late + counts.bad;
}

QString recordsText(const LiveSnapshot& snapshot) {
    const std::int64_t lost = lostRecords(snapshot.counts);
    const QString records = number(snapshot.counts.slices);
    return lost == 0 ? tr("%1 records, none lost").arg(records) : tr("%1 records, %2 lost").arg(records, number(lost));
}

QString recordsDetails(const LiveSnapshot& snapshot) {
    const live::LiveCounts& counts = snapshot.counts;
    QStringList lines{tr("Steps: %1, incomplete records: %2").arg(number(counts.steps), number(counts.incomplete))};
    const auto addLine = [&lines](std::int64_t count, const QString& what) {
        if (count > 0) lines << QStringLiteral("%1: %2").arg(what, number(count));
    };
    addLine(counts.dropped, tr("Dropped by the ranks"));
    addLine(counts.undelivered, tr("Sent but not received"));
    addLine(counts.damaged, tr("Corrupt"));
    addLine(counts.torn, tr("Corrupt parts of files"));
    addLine(counts.late, tr("Late: arrived after their step ended"));
    addLine(counts.duplicates, tr("Duplicates, ignored"));
    addLine(counts.bad, tr("Invalid values"));
    if (snapshot.latency.p99 > TimeNs{0})
        lines << tr("Ops arrive %1 after their end (median); 99 % arrive within %2")
                     .arg(shortTime(snapshot.latency.median), shortTime(snapshot.latency.p99));
    if (snapshot.checks.planned() > 0)
        lines << tr("Checks in bubbles: %1 of %2 done, %3 mismatched")
                     .arg(number(snapshot.checks.equal + snapshot.checks.mismatch), number(snapshot.checks.planned()),
                          number(snapshot.checks.mismatch));
    if (!snapshot.address.empty())
        lines << tr("Listening on %1; senders connected: %2").arg(fromUtf8(snapshot.address)).arg(snapshot.senders);
    for (const std::string& problem : snapshot.problems)
        lines << fromUtf8(problem);
    return lines.join(QLatin1Char('\n'));
}

Severity severityOf(const LiveAlert& alert) {
    if (alert.kind == LiveAlert::Kind::Anomaly) return alert.anomaly->severity;
    const bool may_pass = alert.kind == LiveAlert::Kind::RankLate || alert.kind == LiveAlert::Kind::SenderLost;
    return may_pass ? Severity::Warning : Severity::Serious;
}

int beganAt(const LiveAlert& alert) {
    if (!alert.anomaly) return alert.step;
    if (alert.anomaly->step) return *alert.anomaly->step;
    return alert.anomaly->seen.steps > 0 ? alert.anomaly->seen.first : alert.step;
}

QString shortAlertText(const LiveAlert& alert, const LiveSnapshot& snapshot) {
    switch (alert.kind) {
    case LiveAlert::Kind::Mismatch: return tr("check mismatch");
    case LiveAlert::Kind::SenderLost: return tr("sender %1 disconnected").arg(fromUtf8(alert.sender.name));
    case LiveAlert::Kind::RankLate:
    case LiveAlert::Kind::RankGone:
        return tr("%1 is %2").arg(liveRankText(alert.rank, snapshot), rankStateText(alert.rank.state));
    case LiveAlert::Kind::Anomaly: break;
    }
    const QString kind = anomalyKindText(alert.anomaly->kind);
    if (!alert.anomaly->rank) return kind;
    return tr("%1, rank %2").arg(kind).arg(alert.anomaly->rank->value);
}

namespace {

QString senderText(const live::StreamReceiver::SenderNews& sender) {
    const QString reason = sender.reason.empty() ? tr("it closed the connection") : translatedText(sender.reason);
    const QString left = tr("%Ln of the sender's streams did not end", nullptr, static_cast<int>(sender.streams));
    return tr("Sender %1 (%2) disconnected: %3; %4").arg(fromUtf8(sender.name), fromUtf8(sender.address), reason, left);
}

} // namespace

QString alertText(const LiveAlert& alert, const LiveSnapshot& snapshot) {
    switch (alert.kind) {
    case LiveAlert::Kind::Anomaly: return sentence(translated(alert.anomaly->message));
    case LiveAlert::Kind::Mismatch: return sentence(fromUtf8(alert.text));
    case LiveAlert::Kind::SenderLost: return senderText(alert.sender);
    case LiveAlert::Kind::RankLate: break;
    case LiveAlert::Kind::RankGone: break;
    }
    QString text = sentence(liveRankText(alert.rank, snapshot));
    const QString state = rankStateText(alert.rank.state);
    text = alert.rank.step < 0 ? tr("%1 is %2").arg(text, state)
                               : tr("%1 has been %2 since step %3").arg(text, state).arg(alert.rank.step);
    return alert.rank.reason.empty() ? text : QStringLiteral("%1: %2").arg(text, fromUtf8(alert.rank.reason));
}

void LiveCauseModel::show(LiveSnapshotPtr snapshot) {
    std::vector<LiveCause> now = snapshot ? causesOf(*snapshot) : std::vector<LiveCause>();
    const auto isAmong = [](const LiveCause& cause, const std::vector<LiveCause>& causes) {
        return std::ranges::find(causes, cause.identity, &LiveCause::identity) != causes.end();
    };
    for (int row = rowCount() - 1; row >= 0; --row) {
        if (isAmong(at(row), now)) continue;
        beginRemoveRows({}, row, row);
        causes_.erase(causes_.begin() + row);
        endRemoveRows();
    }
    const auto added = static_cast<int>(now.size() - causes_.size());
    const bool continues = std::ranges::equal(causes_, std::span(now).subspan(static_cast<std::size_t>(added)), {},
                                              &LiveCause::identity, &LiveCause::identity);
    const LiveSnapshotPtr before = std::exchange(snapshot_, std::move(snapshot));
    if (!continues) {
        beginResetModel();
        causes_ = std::move(now);
        endResetModel();
        return;
    }
    if (added > 0) {
        beginInsertRows({}, 0, added - 1);
        causes_ = std::move(now);
        endInsertRows();
    } else {
        causes_ = std::move(now);
    }
    touchRows(added);
}

QString LiveCauseModel::stepsText(const LiveCause& cause) const {
    if (!cause.last) return tr("since %1").arg(cause.first);
    const QString first = QString::number(cause.first);
    return cause.first == *cause.last ? first : QStringLiteral("%1–%2").arg(first).arg(*cause.last);
}

/// All alerts of a cause, with remedies.
QString LiveCauseModel::allText(const LiveCause& cause) const {
    constexpr std::size_t kMostShown = 10;
    QStringList lines;
    for (const LiveAlert* const alert : std::span(cause.alerts).first(std::min(kMostShown, cause.alerts.size())))
        lines << tr("Step %1: %2").arg(alert->step).arg(alertText(*alert, *snapshot_));
    if (cause.main().anomaly) lines << translated(cause.main().anomaly->suggestion);
    return lines.join(QLatin1Char('\n'));
}

/// Text of the cause, with the kinds of its other alerts.
QString LiveCauseModel::text(const LiveCause& cause) const {
    QString text = alertText(cause.main(), *snapshot_);
    if (cause.last) text = tr("%1 (resolved since step %2)").arg(text).arg(*cause.last);
    const QString name = shortAlertText(cause.main(), *snapshot_);
    QStringList others;
    for (const LiveAlert* const alert : cause.alerts) {
        const QString other = shortAlertText(*alert, *snapshot_);
        if (other != name && !others.contains(other)) others << other;
    }
    return others.isEmpty() ? text : text + QLatin1Char('\n') + tr("Also reported: %1").arg(others.join(tr("; ")));
}

std::vector<ColumnModel::Column> LiveCauseModel::columns() const {
    return {{tr("Step"), true}, {tr("Alerts"), true}, {tr("Severity")}, {tr("Problem")}};
}

QVariant LiveCauseModel::cell(std::size_t row, int column, int role) const {
    const LiveCause& cause = causes_[row];
    if (role == kSeverityRole) return cause.last ? QVariant() : QVariant(static_cast<int>(severityOf(cause.main())));
    if (role == Qt::ToolTipRole && column == TextColumn) return allText(cause);
    if (role != Qt::DisplayRole) return {};
    switch (column) {
    case StepsColumn: return stepsText(cause);
    case CountColumn: return static_cast<int>(cause.alerts.size());
    case SeverityColumn: return cause.last ? tr("resolved") : severityText(severityOf(cause.main()));
    default: return text(cause);
    }
}

void LiveRankModel::show(LiveSnapshotPtr snapshot) {
    const std::size_t before = snapshot_ ? snapshot_->ranks.size() : 0;
    const std::size_t after = snapshot ? snapshot->ranks.size() : 0;
    if (before != after) {
        beginResetModel();
        snapshot_ = std::move(snapshot);
        endResetModel();
        return;
    }
    snapshot_ = std::move(snapshot);
    touchRows();
}

std::vector<ColumnModel::Column> LiveRankModel::columns() const {
    return {{tr("Rank")}, {tr("State")}, {tr("Step"), true}, {tr("Records"), true}, {tr("Lost"), true}, {tr("Where")}};
}

QVariant LiveRankModel::cell(std::size_t row, int column, int role) const {
    const live::LiveRank& rank = snapshot_->ranks[row];
    if (role == kStateRole) return static_cast<int>(rank.state);
    if (role == Qt::ToolTipRole) return fromUtf8(rank.reason);
    if (role != Qt::DisplayRole) return {};
    switch (column) {
    case RankColumn: return liveRankText(rank, *snapshot_);
    case StateColumn: return rankStateText(rank.state);
    case StepColumn: return rank.step < 0 ? QVariant() : QVariant(rank.step);
    case RecordsColumn: return QLocale().toString(static_cast<qlonglong>(rank.records));
    case LostColumn: return QLocale().toString(static_cast<qlonglong>(rank.dropped + rank.undelivered));
    default: break;
    }
    return rank.host.empty() ? QString() : tr("%1, process %2").arg(fromUtf8(rank.host)).arg(rank.pid);
}

} // namespace bubblescope::gui
