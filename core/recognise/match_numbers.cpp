#include "core/recognise/match_numbers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// The owner of matches: rank and replica.
using Owner = std::pair<std::int64_t, std::int64_t>;

enum class StepSource : std::uint8_t { Stated, Marks, Counted };

/// A match without its step, and without its micro-batch if that is not recorded.
struct Identity {
    int what = 0; ///< the kind of an op, or of a transfer
    std::int64_t chunk = 0;
    std::int64_t microbatch = 0;
    std::int64_t sequence = 0;
    std::uint64_t row = 0; ///< on a device, an op occurs once on every stream that it used

    friend auto operator<=>(const Identity&, const Identity&) = default;
};

class Numbering {
public:
    Numbering(const RecognitionRule& rule, const RuleMatches& matches, const std::vector<ProfilerMarks>& marks,
              std::span<const TraceFile> files, DiagnosticLog& log)
        : rule_(rule), names_(matches.names), matches_(matches.matches), marks_(marks), files_(files), log_(log) {}

    MatchNumbers number() {
        out_.step.resize(matches_.size());
        out_.microbatch.resize(matches_.size());
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            out_.microbatch[i] = matches_[i].microbatch;
            owners_[ownerOf(matches_[i])].push_back(i);
        }
        for (auto& [owner, list] : owners_)
            source_[owner] = sourceOf(list);
        const bool by_order = rule_.numbersMicrobatches();
        if (by_order &&
            std::ranges::all_of(source_, [](const auto& each) { return each.second == StepSource::Counted; }))
            divideByFlushes();
        else
            takeHints();
        if (by_order) numberMicrobatches();
        return std::move(out_);
    }

private:
    [[nodiscard]] static Owner ownerOf(const RuleMatch& match) { return {match.owner, match.replica}; }
    [[nodiscard]] bool isOp(std::size_t i) const { return !matches_[i].transfer; }
    [[nodiscard]] Identity identityOf(std::size_t i) const {
        const RuleMatch& match = matches_[i];
        int what = match.kind ? static_cast<int>(*match.kind) : 0;
        if (match.transfer) {
            const RecognitionRule::TransferSpelling& spelling = rule_.transfers[*match.transfer];
            what = 8 + 4 * static_cast<int>(spelling.kind) + static_cast<int>(spelling.payload);
        }
        return {what, match.chunk_or_stage, match.microbatch, match.sequence, match.on_device ? match.row() : 0};
    }

    [[nodiscard]] StepSource sourceOf(const std::vector<std::size_t>& list) const {
        std::int64_t inside = 0;
        std::int64_t outside = 0;
        for (const std::size_t i : list) {
            if (matches_[i].step) return StepSource::Stated;
            if (!matches_[i].on_device) ++(stepAt(marks_[matches_[i].file], matches_[i].start) ? inside : outside);
        }
        // Ranges that contain only a few of the ops are not steps, even if their names look like it.
        return inside > 0 && inside >= outside ? StepSource::Marks : StepSource::Counted;
    }

    // ---- Steps ----

    void takeHints() {
        std::map<StepSource, std::int64_t> sources;
        for (const auto& [owner, list] : owners_) {
            for (const std::size_t i : list)
                out_.step[i] = hintOf(i);
            if (source_[owner] == StepSource::Counted) countSteps(list);
            ++sources[source_[owner]];
        }
        std::set<Owner> doubtful;
        for (const auto& [owner, list] : owners_) {
            const bool unmarked = source_[owner] == StepSource::Counted && sources[StepSource::Marks] > 0;
            if (unmarked || (source_[owner] == StepSource::Marks && repeats(list))) doubtful.insert(owner);
        }
        if (doubtful.size() == owners_.size() || sources[StepSource::Marks] == 0) {
            for (const Owner& owner : doubtful)
                recount(owner, {});
        } else {
            findShifted(doubtful);
            const auto windows = windowsOf(doubtful);
            for (const Owner& owner : doubtful)
                recount(owner, windows);
        }
        for (const auto& [owner, list] : owners_) {
            if (!doubtful.contains(owner)) reportOutside(list);
        }
    }

    [[nodiscard]] std::optional<std::int64_t> hintOf(std::size_t i) const {
        const RuleMatch& match = matches_[i];
        if (match.step) return match.step;
        return match.on_device ? std::nullopt : stepAt(marks_[match.file], match.start);
    }

    /// Numbers steps by how often the same op ran before. Mirrored ranges on devices are counted even if there are
    /// marks.
    void countSteps(const std::vector<std::size_t>& list) {
        std::map<Identity, std::int64_t> seen;
        const RuleMatch* pair = nullptr;
        for (const std::size_t i : list) {
            const bool second_half = matches_[i].overlapped && pair != nullptr && matches_[i].isPairWith(*pair);
            pair = &matches_[i];
            if (matches_[i].step) continue;
            const std::int64_t count = seen[identityOf(i)]++;
            out_.step[i] = second_half && i > 0 ? out_.step[i - 1] : std::optional(count);
        }
    }

    /// True if an op ran twice in a step. Ops without numbers always do, so for them the marks must not repeat.
    [[nodiscard]] bool repeats(const std::vector<std::size_t>& list) const {
        if (rule_.numbersMicrobatches()) return repeatsMarks(list);
        std::vector<std::pair<std::int64_t, Identity>> all;
        for (const std::size_t i : list) {
            const bool counts = isOp(i) && !matches_[i].on_device && matches_[i].kind != OpKind::Optimizer;
            if (counts && out_.step[i]) all.emplace_back(*out_.step[i], identityOf(i));
        }
        std::ranges::sort(all);
        return std::ranges::adjacent_find(all) != all.end();
    }

    /// True if two marks around an owner's ops have the same number.
    [[nodiscard]] bool repeatsMarks(const std::vector<std::size_t>& list) const {
        std::map<std::int64_t, const Mark*> marks; // by number
        for (const std::size_t i : list) {
            if (matches_[i].on_device) continue;
            const Mark* const mark = markAt(marks_[matches_[i].file], matches_[i].start);
            if (mark != nullptr && marks.try_emplace(mark->index, mark).first->second->start != mark->start)
                return true;
        }
        return false;
    }

    using Windows = std::map<std::int64_t, std::pair<TimeNs, TimeNs>>; ///< by step

    void include(Windows& windows, const std::vector<std::size_t>& list) const {
        for (const std::size_t i : list) {
            if (!out_.step[i] || !isOp(i) || matches_[i].on_device) continue;
            const auto [known, is_new] =
                windows.try_emplace(*out_.step[i], std::pair(matches_[i].start, matches_[i].end));
            known->second.first = std::min(known->second.first, matches_[i].start);
            known->second.second = std::max(known->second.second, matches_[i].end);
        }
    }
    /// The steps of all owners except some.
    [[nodiscard]] Windows windowsOf(const std::set<Owner>& without) const {
        Windows windows;
        for (const auto& [owner, list] : owners_) {
            if (!without.contains(owner)) include(windows, list);
        }
        return windows;
    }
    [[nodiscard]] static TimeNs middle(const std::pair<TimeNs, TimeNs>& window) {
        return window.first + (window.second - window.first) / 2;
    }
    /// The number to add to an owner's step numbers so that they match the others' in time.
    [[nodiscard]] static std::int64_t shiftTo(const Windows& others, const Windows& own) {
        if (others.empty() || own.empty()) return 0;
        constexpr std::int64_t kEnough = 64; // steps in common
        std::int64_t best = 0;
        double least = -1;
        for (std::int64_t shift = others.begin()->first - own.rbegin()->first;
             shift <= others.rbegin()->first - own.begin()->first; ++shift) {
            double apart = 0;
            std::int64_t both = 0;
            for (const auto& [step, window] : own) {
                const auto other = others.find(step + shift);
                if (other == others.end()) continue;
                if (++both > kEnough) break;
                const auto distance = static_cast<double>((middle(other->second) - middle(window)).count());
                apart += distance < 0 ? -distance : distance;
            }
            if (both == 0) continue;
            apart /= static_cast<double>(both);
            if (least < 0 || apart < least) std::tie(least, best) = std::pair(apart, shift);
        }
        return best;
    }

    /// Finds owners whose steps are numbered differently from most: the same number of steps, with other numbers, at
    /// the times of the others' steps.
    void findShifted(std::set<Owner>& doubtful) const {
        std::map<Owner, Windows> windows;
        std::map<std::vector<std::int64_t>, std::int64_t> sets; // number of owners by their sets of step numbers
        const auto numbersOf = [](const Windows& of) {
            std::vector<std::int64_t> numbers;
            for (const auto& [step, window] : of)
                numbers.push_back(step);
            return numbers;
        };
        for (const auto& [owner, list] : owners_) {
            if (doubtful.contains(owner) || source_.at(owner) != StepSource::Marks) continue;
            include(windows[owner], list);
            ++sets[numbersOf(windows[owner])];
        }
        if (sets.size() < 2) return;
        const auto usual = std::ranges::max_element(sets, {}, [](const auto& each) { return each.second; })->first;
        Windows reference;
        for (const auto& [owner, of] : windows) {
            if (numbersOf(of) == usual) include(reference, owners_.at(owner));
        }
        for (const auto& [owner, of] : windows) {
            const std::vector<std::int64_t> own = numbersOf(of);
            if (own != usual && own.size() == usual.size() && shiftTo(reference, of) != 0) doubtful.insert(owner);
        }
    }

    /// Finds the steps of an owner by the recurrence of its ops, and numbers them like those of the others at the same
    /// times.
    void recount(const Owner& owner, const Windows& others) {
        const std::vector<std::size_t>& list = owners_.at(owner);
        if (!rule_.numbersMicrobatches())
            countSteps(list);
        else if (source_.at(owner) == StepSource::Counted)
            divideEvenly(list, static_cast<std::int64_t>(others.size()));
        else
            countMarks(list);
        Windows own;
        include(own, list);
        const std::int64_t shift = shiftTo(others, own);
        for (const std::size_t i : list) {
            if (out_.step[i] && !matches_[i].step) *out_.step[i] += shift;
        }
        log_.add("step-marks", files_[matches_[list.front()].file].path.string(),
                 say("step marks of rank {} are missing, repeated or different from other ranks'; matched its steps by "
                     "order and time",
                     owner.first));
    }

    /// Numbers the marks around an owner's ops in order, regardless of their recorded numbers.
    void countMarks(const std::vector<std::size_t>& list) {
        std::map<TimeNs, std::int64_t> place;
        for (const std::size_t i : list) {
            const Mark* const mark = markAt(marks_[matches_[i].file], matches_[i].start);
            if (mark != nullptr) place.try_emplace(mark->start, 0);
        }
        std::int64_t next = 0;
        for (auto& [start, number] : place)
            number = next++;
        for (const std::size_t i : list) {
            const Mark* const mark = markAt(marks_[matches_[i].file], matches_[i].start);
            if (out_.step[i] && mark != nullptr) out_.step[i] = place.at(mark->start);
        }
    }

    void reportOutside(const std::vector<std::size_t>& list) {
        for (const std::size_t i : list) {
            const RuleMatch& match = matches_[i];
            if (out_.step[i] || match.on_device) continue;
            log_.add("outside-step",
                     say("{}, '{}' at {} ns", files_[match.file].path.string(), names_.text(match.name),
                         match.start.count()),
                     say("skipped ops outside the profiler's steps"));
        }
        std::vector<std::size_t> mirrored;
        std::ranges::copy_if(list, std::back_inserter(mirrored),
                             [&](std::size_t i) { return matches_[i].on_device && !out_.step[i]; });
        countSteps(mirrored);
    }

    // ---- Ops without numbers ----

    [[nodiscard]] static bool isForward(const RuleMatch& match) { return match.kind == OpKind::Forward; }
    [[nodiscard]] static bool isBackward(const RuleMatch& match) {
        return match.kind && producesInputGradient(*match.kind);
    }

    /// The number of times that an owner's forwards and backwards were balanced.
    [[nodiscard]] std::int64_t flushesOf(const std::vector<std::size_t>& list) const {
        std::int64_t open = 0;
        std::int64_t flushes = 0;
        for (const std::size_t i : list) {
            if (isForward(matches_[i])) ++open;
            if (isBackward(matches_[i]) && --open == 0) ++flushes;
        }
        return flushes;
    }

    /// Without marks, steps are found from two facts: the first rank of the pipeline has no forwards in flight only
    /// between steps, and all ranks run the same number of ops per step.
    void divideByFlushes() {
        std::int64_t steps = 0;
        for (const auto& [owner, list] : owners_) {
            const std::int64_t flushes = flushesOf(list);
            if (flushes > 0) steps = steps == 0 ? flushes : std::min(steps, flushes);
        }
        for (const auto& [owner, list] : owners_)
            divideEvenly(list, steps);
    }

    /// Divides ops so that every step has the same number of each. Steps end with their optimizers.
    void divideEvenly(const std::vector<std::size_t>& list, std::int64_t steps) {
        std::map<Identity, std::int64_t> total;
        for (const std::size_t i : list)
            ++total[identityOf(i)];
        std::map<Identity, std::int64_t> seen;
        std::int64_t optimizers = 0;
        bool worked = true; // since the last optimizer
        for (const std::size_t i : list) {
            const Identity identity = identityOf(i);
            if (matches_[i].kind == OpKind::Optimizer) {
                optimizers += worked ? 1 : 0;
                worked = false;
                out_.step[i] = std::max<std::int64_t>(0, optimizers - 1);
                continue;
            }
            worked = worked || isOp(i);
            const std::int64_t in_step =
                steps > 0 ? std::max<std::int64_t>(1, total[identity] / steps) : total[identity];
            out_.step[i] = seen[identity]++ / in_step;
        }
    }

    void numberMicrobatches() {
        std::map<std::tuple<Owner, std::int64_t, Identity>, std::int64_t> seen;
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            if (matches_[i].microbatch != kUnknownMicrobatch || !out_.step[i]) continue;
            out_.microbatch[i] = seen[{ownerOf(matches_[i]), *out_.step[i], identityOf(i)}]++;
        }
    }

    const RecognitionRule& rule_;
    const StringPool& names_;
    const std::vector<RuleMatch>& matches_;
    const std::vector<ProfilerMarks>& marks_;
    std::span<const TraceFile> files_;
    DiagnosticLog& log_;
    std::map<Owner, std::vector<std::size_t>> owners_; ///< their matches, by start
    std::map<Owner, StepSource> source_;
    MatchNumbers out_;
};

} // namespace

MatchNumbers numberMatches(const RecognitionRule& rule, const RuleMatches& matches,
                           const std::vector<ProfilerMarks>& marks, std::span<const TraceFile> files,
                           DiagnosticLog& log) {
    return Numbering(rule, matches, marks, files, log).number();
}

} // namespace bubblescope
