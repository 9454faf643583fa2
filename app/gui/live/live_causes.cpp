#include "app/gui/live/live_causes.h"

#include "app/gui/live/live_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Identifies the cause of a finding by the change that would remove it: one cause for all kinds of slow ranks.
std::string identityOfCause(const Anomaly& anomaly) {
    const auto number = [](const auto& id) { return id ? id->value : -1; };
    const std::string place = fmt::format("{}/{}", anomaly.replica.value_or(-1), number(anomaly.rank));
    switch (anomaly.kind) {
    case AnomalyKind::Straggler:
    case AnomalyKind::HiddenStraggler:
    case AnomalyKind::SlowStage:
    case AnomalyKind::LastStageImbalance:
    case AnomalyKind::SlowOp:
    case AnomalyKind::LaunchBound:
    case AnomalyKind::HostStarved:
    case AnomalyKind::LongSteps:
    case AnomalyKind::TimeBetweenSteps:
        if (anomaly.rank) return "rank/" + place;
        break;
    case AnomalyKind::SlowLink:
    case AnomalyKind::DegradingLink: return fmt::format("link/{}/{}", place, number(anomaly.peer));
    case AnomalyKind::AadiffMismatch:
        return fmt::format("device/{}/{}", anomaly.replica.value_or(0), number(anomaly.rank));
    default: break;
    }
    return identityOf(anomaly);
}

std::string identityOfCause(const LiveAlert& alert) {
    switch (alert.kind) {
    case LiveAlert::Kind::Anomaly: return identityOfCause(*alert.anomaly);
    case LiveAlert::Kind::Mismatch: return fmt::format("device/{}/{}", alert.rank.replica, alert.rank.rank.value);
    case LiveAlert::Kind::RankLate:
    case LiveAlert::Kind::RankGone: return fmt::format("process/{}/{}", alert.rank.replica, alert.rank.rank.value);
    case LiveAlert::Kind::SenderLost: break;
    }
    return "sender/" + alert.sender.name;
}

/// True for findings without a location, because these describe effects on complete steps.
bool isConsequence(const LiveAlert& alert) {
    if (!alert.anomaly || alert.anomaly->rank) return false;
    const AnomalyKind kind = alert.anomaly->kind;
    return kind == AnomalyKind::StepTimeChange || kind == AnomalyKind::BubbleAboveForm;
}

double evidenceOf(const Anomaly& anomaly, std::string_view name) {
    const auto found = std::ranges::find(anomaly.evidence, name, &std::pair<std::string, double>::first);
    return found == anomaly.evidence.end() ? 0 : found->second;
}

TimeNs costOf(const LiveCause& cause) {
    TimeNs most{0};
    for (const LiveAlert* const alert : cause.alerts)
        most = std::max(most, alert->anomaly ? alert->anomaly->cost : TimeNs{0});
    return most;
}

/// A change of the step time is explained by a cause that starts or ends there and costs at least half of the
/// difference. Other consequences are explained by a cause that starts before and does not end before them.
bool explains(const LiveCause& cause, const LiveAlert& alert) {
    constexpr int kNear = 3; // in steps; the position of a change is uncertain
    const int began = beganAt(alert);
    const TimeNs cost = costOf(cause);
    if (cost <= TimeNs{0}) return false;
    if (alert.anomaly->kind != AnomalyKind::StepTimeChange) {
        const bool lasts = !cause.last || (alert.resolved_at && began <= *cause.last);
        return lasts && cause.first <= began + kNear;
    }
    const auto isNear = [began](int step) { return std::abs(began - step) <= kNear; };
    const bool changes = (cause.last && isNear(*cause.last)) ||
                         std::ranges::any_of(cause.alerts, [&](const LiveAlert* one) { return isNear(beganAt(*one)); });
    const double difference =
        std::abs(evidenceOf(*alert.anomaly, "after_ns") - evidenceOf(*alert.anomaly, "before_ns"));
    return changes && 2 * static_cast<double>(cost.count()) >= difference;
}

void add(LiveCause& cause, const LiveAlert& alert) {
    const int began = beganAt(alert);
    if (cause.alerts.empty()) {
        cause.first = began;
        cause.last = alert.resolved_at;
    }
    cause.first = std::min(cause.first, began);
    cause.last = cause.last && alert.resolved_at ? std::optional(std::max(*cause.last, *alert.resolved_at))
                                                 : std::optional<int>();
    cause.alerts.push_back(&alert);
}

LiveCause& causeWith(std::vector<LiveCause>& causes, std::string identity) {
    const auto known = std::ranges::find(causes, identity, &LiveCause::identity);
    if (known != causes.end()) return *known;
    causes.push_back({std::move(identity), {}, 0, std::nullopt});
    return causes.back();
}

} // namespace

std::vector<LiveCause> causesOf(const LiveSnapshot& snapshot) {
    std::vector<LiveCause> causes;
    for (const LiveAlert& alert : snapshot.alerts) {
        if (!isConsequence(alert)) add(causeWith(causes, identityOfCause(alert)), alert);
    }
    for (const LiveAlert& alert : snapshot.alerts) {
        if (!isConsequence(alert)) continue;
        LiveCause* best = nullptr;
        for (LiveCause& cause : causes) {
            if (explains(cause, alert) && (best == nullptr || costOf(cause) > costOf(*best))) best = &cause;
        }
        if (best != nullptr)
            best->alerts.push_back(&alert); // without changing the time range of the cause
        else
            add(causeWith(causes, identityOfCause(alert)), alert);
    }
    for (LiveCause& cause : causes) {
        std::ranges::stable_sort(cause.alerts, std::greater(), [](const LiveAlert* alert) {
            const TimeNs cost = alert->anomaly ? alert->anomaly->cost : TimeNs{0};
            return std::tuple(!isConsequence(*alert), isOpen(*alert), severityOf(*alert), cost,
                              alert->anomaly.has_value(), alert->number);
        });
        if (!cause.last) cause.first = beganAt(cause.main()); // because earlier alerts may have ended
    }
    const auto begin = [](const LiveCause& cause) {
        return (*std::ranges::min_element(cause.alerts, {}, &LiveAlert::number))->number;
    };
    std::ranges::sort(causes, std::greater(), begin);
    return causes;
}

const LiveAlert* worstOpen(const LiveSnapshot& snapshot) {
    const LiveAlert* worst = nullptr;
    for (const LiveCause& cause : causesOf(snapshot)) {
        const LiveAlert& alert = cause.main();
        if (isOpen(alert) && (worst == nullptr || severityOf(alert) > severityOf(*worst))) worst = &alert;
    }
    return worst;
}

bool isNews(const LiveAlert& alert, const LiveSnapshot& snapshot) {
    for (const LiveCause& cause : causesOf(snapshot)) {
        if (std::ranges::find(cause.alerts, alert.number, &LiveAlert::number) == cause.alerts.end()) continue;
        return cause.main().number == alert.number;
    }
    return true;
}

} // namespace bubblescope::gui
