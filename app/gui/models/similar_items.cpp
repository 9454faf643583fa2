#include "app/gui/models/similar_items.h"

#include "app/gui/language/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

/// The durations of similar items, and the position of this item among them.
void addDurations(ItemDescription& out, std::vector<TimeNs> likes, TimeNs own, const QString& what) {
    constexpr std::size_t kFewest = 3;
    constexpr std::size_t kBars = 16;
    if (likes.size() < kFewest) return;
    std::ranges::sort(likes);
    const auto at = [&](double part) {
        return likes[static_cast<std::size_t>(part * static_cast<double>(likes.size() - 1))];
    };
    const TimeNs median = at(0.5);
    if (median <= TimeNs{0}) return;
    out.facts.push_back({tr("Compared with similar ops"),
                         tr("%1 × the median of %2").arg(ratioText(fractionOf(own, median)), shortTime(median)), what});
    out.facts.push_back({tr("p1 to p99"),
                         tr("%1 to %2, %Ln in total", nullptr, static_cast<int>(likes.size()))
                             .arg(shortTime(at(0.01)), shortTime(at(0.99))),
                         what, true});
    // Histogram on one line, with ▼ before the bar of this item.
    const TimeNs low = likes.front();
    const TimeNs span = likes.back() - low;
    if (span <= TimeNs{0}) return;
    std::array<std::size_t, kBars> bars{};
    const auto barOf = [&](TimeNs time) {
        const double part = fractionOf(time - low, span);
        return std::min(kBars - 1, static_cast<std::size_t>(std::max(0.0, part) * static_cast<double>(kBars)));
    };
    for (const TimeNs time : likes)
        ++bars[barOf(time)];
    const std::size_t most = *std::ranges::max_element(bars);
    QString text;
    for (std::size_t i = 0; i < kBars; ++i) {
        constexpr char16_t kLowest = 0x2581; // one eighth
        if (i == barOf(own)) text += QChar(0x25BC);
        text += bars[i] == 0 ? QChar(0x00B7) : QChar(static_cast<char16_t>(kLowest + (bars[i] * 7) / most));
    }
    out.facts.push_back({tr("Histogram"), text,
                         tr("From %1 to %2; ▼ marks this one.").arg(shortTime(low), shortTime(likes.back())), true});
}

/// Durations of the items on the item's row in all steps that are `alike`. `of(step)` are the items of a step's ranks.
template <class Of, class Alike>
std::vector<TimeNs> durationsOnRow(const Session& session, const ItemRef& item, Of of, Alike alike) {
    const int line = session.lanes.lineOf(item);
    const auto rank = static_cast<std::size_t>(item.rank);
    std::vector<TimeNs> durations;
    for (int place = 0; place < session.stepCount(); ++place) {
        const auto& ranks = of(place);
        if (session.lanes.lineOf(place, item.rank) != line || rank >= ranks.size()) continue;
        for (const auto& other : ranks[rank]) {
            if (alike(other)) durations.push_back(other.duration());
        }
    }
    return durations;
}

} // namespace

void addSimilarOps(ItemDescription& out, const Session& session, const ItemRef& item) {
    const TimelineOp& own = session.op(item);
    auto likes = durationsOnRow(
        session, item, [&](int place) -> const auto& { return session.step(place).ranks; },
        [&op = own.op](const TimelineOp& other) {
            return other.op.kind == op.kind && other.op.chunk == op.chunk && other.op.overlapped == op.overlapped;
        });
    addDurations(out, std::move(likes), own.duration(),
                 tr("Ops of the same kind and chunk on this rank, in all steps."));
}

void addSimilarBubbles(ItemDescription& out, const Session& session, const ItemRef& item) {
    const Bubble& bubble = session.bubble(item);
    auto likes = durationsOnRow(
        session, item, [&](int place) -> const auto& { return session.analysis(place).bubbles; },
        [&](const Bubble& other) { return other.position == bubble.position; });
    addDurations(out, std::move(likes), bubble.duration(),
                 tr("Bubbles at the same position of this rank, in all steps."));
}

} // namespace bubblescope::gui
