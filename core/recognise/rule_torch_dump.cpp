#include "core/recognise/found_ops.h"
#include "core/recognise/name_parts.h"

#include <map>
#include <tuple>

// What PyTorch's _dump_chrometrace() writes of a schedule: one slice an action, named by it, as long as every other, on
// a thread numbered by rank. Its categories are no help: halves of backwards and pairs are "communication" to it.
namespace bubblescope {
namespace {

/// `<stage><kind><micro-batch>`; nothing for what moves data or weights.
std::optional<FoundOp> parseOp(std::string_view text) {
    FoundOp op;
    const auto stage = takeNumber(text);
    const auto kind = stage && !text.empty() ? opKindFromLetter(text.front()) : std::nullopt;
    if (!kind || *kind == OpKind::Optimizer) return std::nullopt;
    text.remove_prefix(1);
    const auto microbatch = takeNumber(text);
    if (!microbatch || !text.empty()) return std::nullopt;
    op.part = *stage;
    op.kind = *kind;
    op.microbatch = *microbatch;
    return op;
}

/// One op, or the two of `(<op>;<op>)OVERLAP_F_B`.
std::vector<FoundOp> parseAction(std::string_view text) {
    std::vector<FoundOp> ops;
    const std::size_t middle = text.find(';');
    const std::size_t end = text.find(')');
    if (!text.starts_with('(')) {
        if (const auto op = parseOp(text)) ops.push_back(*op);
    } else if (middle != std::string_view::npos && end != std::string_view::npos && middle < end) {
        for (const std::string_view half : {text.substr(1, middle - 1), text.substr(middle + 1, end - middle - 1)}) {
            const auto op = parseOp(half);
            if (!op) return {};
            ops.push_back(*op);
            ops.back().overlapped = true;
        }
    }
    return ops;
}

} // namespace

FoundOps findTorchDump(const Trace& trace, DiagnosticLog&) {
    FoundOps found;
    found.parts = Parts::Stages;
    const StringId computation = trace.strings().find("computation");
    const StringId communication = trace.strings().find("communication");
    if (computation == 0) return found;
    std::map<std::tuple<std::int64_t, OpKind, std::int64_t>, std::int64_t> seen; // how often, which tells the step
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const StringId category = trace.sliceCategories()[slice];
            if (category != computation && category != communication) continue;
            for (FoundOp& op : parseAction(trace.name(slice))) {
                op.home = track.pid;
                op.step = seen[{op.part, op.kind, op.microbatch}]++;
                op.start = trace.start(slice);
                op.end = trace.end(slice);
                found.ops.push_back(op);
            }
        }
    }
    return found;
}

} // namespace bubblescope
