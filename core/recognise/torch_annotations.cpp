#include "core/recognise/torch_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace bubblescope {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kReceive = "gloo:recv";

std::vector<std::int64_t> ranksOfFiles(const Trace& trace, DiagnosticLog& log) {
    std::vector<std::int64_t> ranks;
    for (const TraceFile& file : trace.files()) {
        if (!file.rank && trace.files().size() > 1) {
            log.add("unknown-rank", file.path.string(),
                    "files do not say which rank wrote them; they are numbered in their order");
        }
        ranks.push_back(file.rank.value_or(static_cast<std::int32_t>(ranks.size())));
    }
    return ranks;
}

void addAnnotation(RankAnnotations& rank, const Annotation& annotation) {
    if (annotation.name == kReceive) {
        rank.receives.push_back(annotation);
    } else if (annotation.name.starts_with(kStepPrefix)) {
        const std::string_view number = annotation.name.substr(kStepPrefix.size());
        std::int64_t index = 0;
        std::from_chars(number.data(), number.data() + number.size(), index);
        rank.steps.push_back({index, annotation.start, annotation.end});
    } else {
        rank.scopes.push_back(annotation);
    }
}

} // namespace

std::vector<RankAnnotations> torchAnnotations(const Trace& trace, DiagnosticLog& log) {
    const StringId wanted = trace.strings().find("user_annotation");
    if (wanted == 0) return {};
    const std::vector<std::int64_t> ranks = ranksOfFiles(trace, log);
    std::map<std::int64_t, RankAnnotations> by_rank;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.sliceCategories()[slice] != wanted) continue;
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        const std::int64_t rank = ranks[file];
        RankAnnotations& out = by_rank[rank];
        out.rank = rank;
        out.file = file;
        addAnnotation(out, {trace.name(slice), trace.start(slice), trace.end(slice)});
    }
    std::vector<RankAnnotations> all;
    const auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
    for (auto& [rank, annotations] : by_rank) {
        std::stable_sort(annotations.scopes.begin(), annotations.scopes.end(), by_start);
        std::stable_sort(annotations.receives.begin(), annotations.receives.end(), by_start);
        std::stable_sort(annotations.steps.begin(), annotations.steps.end(), by_start);
        all.push_back(std::move(annotations));
    }
    return all;
}

std::optional<std::int64_t> StepFinder::stepOf(const Annotation& scope) {
    if (rank_.steps.empty()) return seen_[scope.name]++;
    const auto after = std::upper_bound(rank_.steps.begin(), rank_.steps.end(), scope.start,
                                        [](TimeNs time, const auto& step) { return time < step.start; });
    if (after == rank_.steps.begin() || scope.start >= std::prev(after)->end) {
        log_.add("outside-step", fmt::format("rank {}, '{}' at {} ns", rank_.rank, scope.name, scope.start.count()),
                 "ops outside of the profiler's steps are left out");
        return std::nullopt;
    }
    return std::prev(after)->index;
}

std::optional<Annotation> receivePostedIn(const RankAnnotations& rank, TimeNs from, TimeNs to) {
    auto receive = std::lower_bound(rank.receives.begin(), rank.receives.end(), from,
                                    [](const Annotation& known, TimeNs time) { return known.start < time; });
    std::optional<Annotation> last;
    for (; receive != rank.receives.end() && receive->start <= to; ++receive) {
        if (!last || receive->end > last->end) last = *receive;
    }
    return last;
}

void cutWait(FoundOp& op, TimeNs arrival, std::int64_t stage, std::vector<FoundComm>& comm) {
    if (arrival <= op.start || arrival > op.end) return;
    const Payload payload = op.kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
    comm.push_back({op.home, op.step, CommKind::Wait, payload, op.microbatch, stage, op.start, arrival});
    op.start = arrival;
}

std::optional<FoundOp> optimizerOp(const Annotation& scope) {
    if (!scope.name.starts_with("Optimizer.step#")) return std::nullopt;
    FoundOp op;
    op.kind = OpKind::Optimizer;
    op.start = scope.start;
    op.end = scope.end;
    return op;
}

} // namespace bubblescope
