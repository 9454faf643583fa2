#include "core/recognise/standstill.h"

#include "core/schedule/action_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

struct NamedAction {
    TimeNs start{0};
    TimeNs end{0};
    std::string name;
    ActionCell cell;
    bool open = false;
};

class StandingJob {
public:
    explicit StandingJob(const Trace& trace) {
        const std::vector<std::int64_t> ranks = ranksOfFiles(trace.files());
        for (const Track& track : trace.tracks()) {
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                auto cell = parseActionCell(trace.name(slice));
                if (!cell || (cell->ops.empty() && cell->actions.empty())) continue;
                actions_[static_cast<std::int32_t>(ranks[track.file])].push_back(
                    {trace.start(slice), trace.end(slice), std::string(trace.name(slice)), *std::move(cell),
                     trace.isOpen(slice)});
            }
        }
        for (auto& [rank, actions] : actions_) {
            std::ranges::stable_sort(actions, {}, &NamedAction::start);
            if (hangs(actions, trace.span())) hanging_.insert(rank);
            keepLastStep(rank, actions);
            for (const NamedAction& action : actions)
                rank_of_.try_emplace(stageOf(action).value, rank);
        }
    }

    Standstill find(TimeNs end) const {
        Standstill result;
        for (const auto& [rank, actions] : actions_) {
            Standstill::StandingRank& standing = result.ranks.emplace_back();
            standing.rank = Rank{rank};
            constexpr std::size_t kShown = 6;
            for (std::size_t i = actions.size() - std::min(kShown, actions.size()); i < actions.size(); ++i)
                standing.last.push_back(actions[i].name);
            const NamedAction* const standing_in = standingTransfer(rank);
            if (standing_in == nullptr) continue;
            standing.waits_in = standing_in->name;
            standing.waited = end - standing_in->start;
            if (!result.is_cycle) followFrom(rank, result);
        }
        return result;
    }

private:
    static bool isTransferOf(const NamedAction& action) {
        return !action.cell.actions.empty() && isTransfer(action.cell.actions.front().kind);
    }
    /// True if the rank's last action is a transfer that lasted until the job was stopped, much longer than the others.
    /// A rank whose peer is stopped first may leave its call with an error, so the call need not be open at the end.
    static bool hangs(const std::vector<NamedAction>& actions, TimeNs end) {
        constexpr TimeNs kLeast = std::chrono::seconds(1);
        const NamedAction& last = actions.back();
        const bool to_the_end = last.open || end - last.end < last.end - last.start;
        TimeNs longest{0};
        for (const NamedAction& action : std::span(actions).first(actions.size() - 1))
            longest = std::max(longest, isTransferOf(action) ? action.end - action.start : TimeNs{0});
        return isTransferOf(last) && to_the_end && last.end - last.start >= std::max(kLeast, 2 * longest);
    }
    static Stage stageOf(const NamedAction& action) {
        return action.cell.ops.empty() ? action.cell.actions.front().stage : action.cell.ops.front().stage;
    }

    /// An action happens once per step. A step begins with the first micro-batch in the rank's first stage.
    void keepLastStep(std::int32_t rank, std::vector<NamedAction>& actions) {
        std::set<std::string> seen;
        std::size_t first = actions.size();
        while (first > 0 && seen.insert(actions[first - 1].name).second)
            --first;
        actions.erase(actions.begin(), actions.begin() + static_cast<std::ptrdiff_t>(first));
        const auto lowest =
            std::ranges::min_element(actions, {}, [](const NamedAction& action) { return stageOf(action).value; });
        for (const std::string_view word : {"RECV_F", "F"}) {
            const auto begin =
                std::ranges::find(actions, fmt::format("{}{}0", stageOf(*lowest).value, word), &NamedAction::name);
            if (begin == actions.end()) continue;
            actions.erase(actions.begin(), begin);
            break;
        }
        for (const NamedAction& action : actions)
            done_[rank].insert(action.name);
    }

    [[nodiscard]] const NamedAction* standingTransfer(std::int32_t rank) const {
        const auto found = actions_.find(rank);
        if (found == actions_.end()) return nullptr;
        return hanging_.contains(rank) ? &found->second.back() : nullptr;
    }

    /// The other end of a transfer: its name, and its rank if any rank recorded actions of its stage.
    [[nodiscard]] std::pair<std::string, std::optional<std::int32_t>> otherEnd(const Action& end) const {
        const bool up = (payloadOf(end.kind) == Payload::Activation) == isSend(end.kind);
        const int stage = end.stage.value + (up ? 1 : -1);
        const ActionKind kind = end.kind == ActionKind::SendForward      ? ActionKind::ReceiveForward
                                : end.kind == ActionKind::ReceiveForward ? ActionKind::SendForward
                                : end.kind == ActionKind::SendBackward   ? ActionKind::ReceiveBackward
                                                                         : ActionKind::SendBackward;
        const auto rank = rank_of_.find(stage);
        return {fmt::format("{}{}{}", stage, actionWord(kind), end.microbatch.value),
                rank == rank_of_.end() ? std::nullopt : std::optional(rank->second)};
    }

    void followFrom(std::int32_t start, Standstill& result) const {
        std::vector<WaitStep> steps;
        std::map<std::int32_t, std::size_t> visited; // where a rank's steps begin
        std::int32_t rank = start;
        for (const NamedAction* open = standingTransfer(start); open != nullptr; open = standingTransfer(rank)) {
            if (const auto [seen, added] = visited.try_emplace(rank, steps.size()); !added) {
                result.waits.assign(steps.begin() + static_cast<std::ptrdiff_t>(seen->second), steps.end());
                result.is_cycle = true;
                return;
            }
            const auto [name, peer] = otherEnd(open->cell.actions.front());
            steps.push_back({Rank{rank}, 0, open->name, name, WaitStep::Why::OtherEnd, {}});
            if (!peer || done_.at(*peer).contains(name)) break;
            rank = *peer;
            if (const NamedAction* const next = standingTransfer(rank))
                steps.push_back({Rank{rank}, 0, name, next->name, WaitStep::Why::NotPosted, {}});
        }
        if (steps.size() > result.waits.size()) result.waits = std::move(steps);
    }

    std::map<std::int32_t, std::vector<NamedAction>> actions_; ///< of the last step, by rank
    std::set<std::int32_t> hanging_;                           ///< ranks
    std::map<std::int32_t, std::set<std::string>> done_;       ///< their names
    std::map<std::int32_t, std::int32_t> rank_of_;             ///< by stage
};

} // namespace

Standstill standstillOf(const Trace& trace) {
    return StandingJob(trace).find(trace.span());
}

} // namespace bubblescope
