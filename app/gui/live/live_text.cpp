#include "app/gui/live/live_text.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"
#include "app/gui/models/anomaly_model.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <array>

namespace bubblescope::gui {

namespace {

using live::LiveRank;
using live::RankState;

struct LiveWords {
    Q_DECLARE_TR_FUNCTIONS(Live)
};

QString number(std::int64_t count) {
    return QLocale().toString(static_cast<qlonglong>(count));
}

} // namespace

LiveState liveState(const LiveSnapshot* picture, bool active) {
    const bool ended = picture != nullptr && picture->ended;
    if (!active && !ended) return LiveState::Stopped;
    if (picture == nullptr || !picture->info) return LiveState::Waiting;
    if (!ended) return LiveState::Recording;
    const auto gone = [](const LiveRank& rank) { return rank.state == RankState::Gone; };
    return std::ranges::any_of(picture->ranks, gone) ? LiveState::Failed : LiveState::Ended;
}

QString liveStateText(LiveState state) {
    switch (state) {
    case LiveState::Waiting: return LiveWords::tr("Waiting");
    case LiveState::Recording: return LiveWords::tr("Recording");
    case LiveState::Ended: return LiveWords::tr("Run ended");
    case LiveState::Failed: return LiveWords::tr("Run broke off");
    case LiveState::Stopped: break;
    }
    return LiveWords::tr("Not watched");
}

QString rankStateText(RankState state) {
    switch (state) {
    case RankState::Awaited: return LiveWords::tr("awaited");
    case RankState::Running: return LiveWords::tr("running");
    case RankState::Late: return LiveWords::tr("late");
    case RankState::Gone: return LiveWords::tr("gone");
    case RankState::Ended: break;
    }
    return LiveWords::tr("ended");
}

QString liveRankText(const LiveRank& rank, const LiveSnapshot& picture) {
    if (picture.info && picture.info->dp > 1)
        return LiveWords::tr("replica %1, rank %2").arg(rank.replica).arg(rank.rank.value);
    return LiveWords::tr("rank %1").arg(rank.rank.value);
}

QString ranksText(const LiveSnapshot& picture) {
    QStringList parts;
    for (const RankState state :
         {RankState::Awaited, RankState::Running, RankState::Late, RankState::Gone, RankState::Ended}) {
        const auto count = std::ranges::count(picture.ranks, state, &LiveRank::state);
        if (count > 0) parts << LiveWords::tr("%1 %2").arg(count).arg(rankStateText(state));
    }
    return parts.join(LiveWords::tr(", "));
}

std::int64_t lostRecords(const live::LiveCounts& counts) {
    return counts.dropped + counts.unheard + counts.damaged + counts.late + counts.bad;
}

QString recordsText(const LiveSnapshot& picture) {
    const std::int64_t lost = lostRecords(picture.counts);
    const QString records = number(picture.counts.slices);
    return lost == 0 ? LiveWords::tr("%1 records, none lost").arg(records)
                     : LiveWords::tr("%1 records, %2 lost").arg(records, number(lost));
}

QString recordsDetails(const LiveSnapshot& picture) {
    const live::LiveCounts& counts = picture.counts;
    QStringList lines{LiveWords::tr("Steps: %1, of which %2 without all records")
                          .arg(number(counts.steps), number(counts.incomplete))};
    const auto tell = [&lines](std::int64_t count, const QString& what) {
        if (count > 0) lines << QStringLiteral("%1: %2").arg(what, number(count));
    };
    tell(counts.dropped, LiveWords::tr("Lost by the ranks themselves"));
    tell(counts.unheard, LiveWords::tr("Written and never heard"));
    tell(counts.damaged, LiveWords::tr("Damaged"));
    tell(counts.torn, LiveWords::tr("Places where a file was torn"));
    tell(counts.late, LiveWords::tr("Too late for their step"));
    tell(counts.duplicates, LiveWords::tr("Came twice, used once"));
    tell(counts.bad, LiveWords::tr("With numbers that cannot be"));
    if (picture.heard.most > TimeNs{0})
        lines << LiveWords::tr("An op is heard %1 after its end, 99 % of them within %2")
                     .arg(shortTime(picture.heard.half), shortTime(picture.heard.most));
    if (picture.checks.planned() > 0)
        lines << LiveWords::tr("Checks in bubbles: %1 of %2 done, %3 do not agree")
                     .arg(number(picture.checks.equal + picture.checks.mismatch), number(picture.checks.planned()),
                          number(picture.checks.mismatch));
    if (!picture.address.empty())
        lines << LiveWords::tr("Listening at %1; senders connected: %2")
                     .arg(fromUtf8(picture.address))
                     .arg(picture.senders);
    for (const std::string& problem : picture.problems)
        lines << fromUtf8(problem);
    return lines.join(QLatin1Char('\n'));
}

Severity severityOf(const LiveAlert& alert) {
    if (alert.kind == LiveAlert::Kind::Anomaly) return alert.anomaly->severity;
    return alert.kind == LiveAlert::Kind::RankLate ? Severity::Warning : Severity::Serious;
}

int beganAt(const LiveAlert& alert) {
    return alert.anomaly && alert.anomaly->step ? *alert.anomaly->step : alert.step;
}

QString shortAlertText(const LiveAlert& alert, const LiveSnapshot& picture) {
    switch (alert.kind) {
    case LiveAlert::Kind::Mismatch: return LiveWords::tr("check does not agree");
    case LiveAlert::Kind::RankLate:
    case LiveAlert::Kind::RankGone:
        return LiveWords::tr("%1 is %2").arg(liveRankText(alert.rank, picture), rankStateText(alert.rank.state));
    case LiveAlert::Kind::Anomaly: break;
    }
    const QString kind = anomalyKindText(alert.anomaly->kind);
    if (!alert.anomaly->rank) return kind;
    return LiveWords::tr("%1, rank %2").arg(kind).arg(alert.anomaly->rank->value);
}

QString alertText(const LiveAlert& alert, const LiveSnapshot& picture) {
    switch (alert.kind) {
    case LiveAlert::Kind::Anomaly: return sentence(translated(alert.anomaly->message));
    case LiveAlert::Kind::Mismatch: return sentence(fromUtf8(alert.text));
    case LiveAlert::Kind::RankLate: break;
    case LiveAlert::Kind::RankGone: break;
    }
    QString text = sentence(liveRankText(alert.rank, picture));
    const QString state = rankStateText(alert.rank.state);
    text = alert.rank.step < 0 ? LiveWords::tr("%1 is %2").arg(text, state)
                               : LiveWords::tr("%1 is %2 since step %3").arg(text, state).arg(alert.rank.step);
    return alert.rank.why.empty() ? text : QStringLiteral("%1: %2").arg(text, fromUtf8(alert.rank.why));
}

} // namespace bubblescope::gui
