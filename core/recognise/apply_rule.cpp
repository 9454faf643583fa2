#include "core/recognise/match_numbers.h"
#include "core/recognise/rule_matches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// The ranges that the profiler mirrored on the device, over all streams: one per file, name and occurrence on the
/// host.
class MirroredRanges {
public:
    explicit MirroredRanges(const std::vector<RuleMatch>& matches) {
        std::map<std::pair<std::uint64_t, StringId>, std::size_t> seen;
        const RuleMatch* last = nullptr;
        for (const RuleMatch& match : matches) {
            if (!match.on_device || (last != nullptr && match.isPairWith(*last))) continue; // the other half of a pair
            last = &match;
            auto& spans = spans_[{match.file, match.name}];
            const std::size_t k = seen[{match.row(), match.name}]++;
            const GpuWork::Span span{match.start, match.end};
            if (k == spans.size()) spans.push_back(span);
            spans[k].start = std::min(spans[k].start, span.start);
            spans[k].end = std::max(spans[k].end, span.end);
        }
    }

    [[nodiscard]] std::optional<GpuWork::Span> find(std::uint32_t file, StringId name, std::size_t k) const {
        const auto spans = spans_.find({file, name});
        if (spans == spans_.end() || k >= spans->second.size()) return std::nullopt;
        return spans->second[k];
    }

private:
    std::map<std::pair<std::uint32_t, StringId>, std::vector<GpuWork::Span>> spans_;
};

class Applier {
public:
    Applier(const RecognitionRule& rule, const RuleMatches& matches, const std::vector<ProfilerMarks>& marks,
            std::span<const TraceFile> files, DiagnosticLog& log)
        : rule_(rule), names_(matches.names), matches_(matches.matches), owners_are_files_(matches.owners_are_files),
          marks_(marks), files_(files), mirrored_(matches.matches), log_(log),
          numbers_(numberMatches(rule, matches, marks, files, log)) {}

    FoundOps apply() {
        if (matches_.empty()) return {};
        found_.parts = rule_.namesStages()        ? Parts::Stages
                       : rule_.one_stage_per_rank ? Parts::OneStagePerOwner
                                                  : Parts::Chunks;
        found_.chunks_unknown = found_.parts == Parts::Chunks && rule_.numbersMicrobatches() && !rule_.namesChunks();
        const auto tells = [](const std::optional<NamePattern>& pattern) {
            return pattern && pattern->count(RuleField::RankId) > 0;
        };
        found_.owners_are_global = owners_are_files_ && !tells(rule_.thread) && !tells(rule_.process) &&
                                   rule_.args[static_cast<std::size_t>(RuleField::RankId)].empty();
        numberOwners();
        std::set<std::uint32_t> on_host;
        for (const RuleMatch& match : matches_) {
            const bool op = match.kind && *match.kind != OpKind::Optimizer;
            if (op && !match.on_device) on_host.insert(match.file);
        }
        for (const RuleMatch& match : matches_) {
            // If the host was recorded, mirrored ranges only add times, not ops.
            if (match.on_device && on_host.contains(match.file)) continue;
            if (match.transfer)
                addTransfer(match);
            else
                addOp(match);
        }
        finish();
        return std::move(found_);
    }

private:
    /// Identifies an op or transfer independently of the step.
    using Which = std::tuple<std::int64_t, std::int64_t, std::uint64_t, int, std::int64_t, std::int64_t, std::int64_t>;
    using Arrival = std::tuple<std::int64_t, std::int64_t, std::int64_t, Payload, std::int64_t, std::int64_t>;

    void numberOwners() {
        for (const RuleMatch& match : matches_) {
            if (match.kind) place_of_owner_.emplace(match.owner, 0);
            several_parts_ = several_parts_ || (match.kind && match.chunk_or_stage > 0);
            has_weight_ops_ = has_weight_ops_ || match.kind == OpKind::BackwardWeight;
        }
        std::int64_t next = 0;
        for (auto& [owner, place] : place_of_owner_)
            place = next++;
    }

    [[nodiscard]] std::size_t at(const RuleMatch& match) const {
        return static_cast<std::size_t>(&match - matches_.data());
    }

    void addTransfer(const RuleMatch& match) {
        const auto step = numbers_.step[at(match)];
        if (!step) return;
        const RecognitionRule::TransferSpelling& transfer = spelling(match);
        FoundComm comm;
        comm.owner = match.owner;
        comm.replica = match.replica;
        comm.step = *step;
        comm.kind = transfer.kind;
        comm.payload = transfer.payload;
        comm.microbatch = numbers_.microbatch[at(match)];
        comm.sequence = match.sequence;
        comm.start = match.device ? match.device->start : match.start;
        comm.end = match.device ? match.device->end : match.end;
        comm.communicator = communicatorNumber(found_.communicators, names_.text(match.communicator));
        // The slice contains its own stage, but `stage` is that of the consumer. They are equal for a receive; for a
        // send, the consumer is the next stage.
        const std::int64_t stage = rule_.namesStages() ? match.chunk_or_stage : placeOf(match.owner);
        const std::int64_t ahead = transfer.payload == Payload::Activation ? 1 : -1;
        comm.stage = transfer.kind == CommKind::Send ? stage + ahead : stage;
        if (transfer.kind == CommKind::Receive) {
            // The scope only posts the receive; gloo's own annotation lasts until the data has arrived.
            if (const auto posted = receivePostedIn(marks_[match.file], match.start, match.end)) {
                comm.end = std::max(comm.end, posted->end);
                arrivals_[arrivalOf(match, *step, transfer.payload)] = posted->end;
            }
        }
        found_.comm.push_back(comm);
    }

    [[nodiscard]] const RecognitionRule::TransferSpelling& spelling(const RuleMatch& match) const {
        return rule_.transfers[*match.transfer];
    }

    [[nodiscard]] Arrival arrivalOf(const RuleMatch& match, std::int64_t step, Payload payload) const {
        return {match.owner, match.replica, step, payload, numbers_.microbatch[at(match)], match.chunk_or_stage};
    }
    [[nodiscard]] std::int64_t placeOf(std::int64_t owner) const {
        if (found_.parts == Parts::Chunks) return owner;
        const auto place = place_of_owner_.find(owner);
        return place == place_of_owner_.end() ? -1 : place->second;
    }

    void addOp(const RuleMatch& match) {
        const bool second_half = match.overlapped && pair_ != nullptr && match.isPairWith(*pair_);
        const auto step = second_half ? pair_step_ : numbers_.step[at(match)];
        pair_ = &match;
        pair_step_ = step;
        std::size_t& count = occurrences_[{match.file, match.name}];
        if (!second_half) ++count;
        if (!step) return;
        FoundOp op;
        op.owner = match.owner;
        op.replica = match.replica;
        op.step = *step;
        op.kind = *match.kind;
        if (rule_.backward_splits && has_weight_ops_ && op.kind == OpKind::Backward) op.kind = OpKind::BackwardInput;
        op.microbatch = numbers_.microbatch[at(match)];
        op.chunk_or_stage = match.chunk_or_stage;
        op.sequence = match.sequence;
        op.overlapped = match.overlapped;
        op.start = match.start;
        op.end = match.end;
        if (match.on_device) return addOnDevice(op);
        if (!takeDeviceTimes(op, match, count - 1)) cutWait(op, match);
        found_.ops.push_back(op);
    }

    bool takeDeviceTimes(FoundOp& op, const RuleMatch& match, std::size_t occurrence) const {
        if (match.device) {
            op.start = match.device->start;
            op.end = match.device->end;
            op.details.device_idle = match.device->idle;
            return true;
        }
        const auto span = mirrored_.find(match.file, match.name, occurrence);
        if (!span) return false;
        op.start = span->start;
        op.end = span->end;
        return true;
    }

    /// Adds an op that lasts from the first to the last of its ranges on the streams of a device.
    void addOnDevice(const FoundOp& op) {
        const Which which{op.owner,      op.replica,        0,          static_cast<int>(op.kind),
                          op.microbatch, op.chunk_or_stage, op.sequence};
        const auto [known, is_new] = on_device_.try_emplace({op.step, which}, found_.ops.last().size());
        if (is_new) return found_.ops.push_back(op);
        BareFoundOp& same = found_.ops.last()[known->second];
        same.start = std::min(same.start, op.start);
        same.end = std::max(same.end, op.end);
    }

    /// On a CPU with gloo, an op's range includes the wait for its input. This wait is removed from the op and recorded
    /// separately.
    void cutWait(FoundOp& op, const RuleMatch& match) {
        const bool forward = op.kind == OpKind::Forward;
        const ProfilerMarks& marks = marks_[match.file];
        if (marks.receives.empty() || (!forward && !producesInputGradient(op.kind))) return;
        const Payload payload = payloadOf(op.kind);
        const std::int64_t stage = rule_.namesStages() ? std::int64_t{op.chunk_or_stage} : placeOf(op.owner);
        std::optional<TimeNs> arrival;
        if (const auto known = arrivals_.find(arrivalOf(match, op.step, payload)); known != arrivals_.end()) {
            arrival = known->second;
        } else if (const auto posted = receivePostedIn(marks, op.start, op.end);
                   posted && posted->end <= op.end && rule_.transfers.empty()) {
            arrival = posted->end;
            found_.comm.push_back({op.owner, op.step, CommKind::Receive, payload, 0, op.microbatch, stage,
                                   posted->start, posted->end, op.sequence, op.replica});
        }
        if (!arrival || *arrival <= op.start || *arrival > op.end) return;
        found_.comm.push_back({op.owner, op.step, CommKind::Wait, payload, 0, op.microbatch, stage, op.start, *arrival,
                               op.sequence, op.replica});
        op.start = *arrival;
    }

    void finish() {
        // With one chunk per rank, transfers are in the order of the micro-batches.
        const bool several_chunks = found_.parts == Parts::Chunks && several_parts_;
        if (!several_chunks || found_.comm.empty()) return;
        log_.add("unassigned-transfer", files_.front().path.string(), say("skipped transfers without a chunk"),
                 static_cast<std::int64_t>(found_.comm.size()));
        found_.comm.clear();
    }

    const RecognitionRule& rule_;
    const StringPool& names_;
    const std::vector<RuleMatch>& matches_;
    bool owners_are_files_;
    const std::vector<ProfilerMarks>& marks_;
    std::span<const TraceFile> files_;
    MirroredRanges mirrored_;
    DiagnosticLog& log_;
    MatchNumbers numbers_;
    FoundOps found_;
    std::map<std::int64_t, std::int64_t> place_of_owner_;
    bool several_parts_ = false;
    bool has_weight_ops_ = false;
    std::map<std::pair<std::int64_t, Which>, std::size_t> on_device_;
    std::map<std::pair<std::uint32_t, StringId>, std::size_t> occurrences_;
    std::map<Arrival, TimeNs> arrivals_;
    const RuleMatch* pair_ = nullptr; ///< the previous range, if it was the first half of a pair
    std::optional<std::int64_t> pair_step_;
};

} // namespace

FoundOps applyRule(const RecognitionRule& rule, const RuleMatches& matches, const std::vector<ProfilerMarks>& marks,
                   std::span<const TraceFile> files, DiagnosticLog& log) {
    return Applier(rule, matches, marks, files, log).apply();
}

} // namespace bubblescope
