#include "core/recognise/found_ops.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/torch_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

// PyTorch's Schedule1F1B and older versions annotate no op. What they leave is the order of things on the host: sends
// and receives (c10d::send, c10d::recv_) with the peer's rank, and operators between them, of which those of the
// backward run under autograd ("autograd::engine::evaluate_function: …"). Between two transfers a rank computes one
// forward or one backward, or a forward and then the backward of the same micro-batch on the last stage. The k-th
// forward of a step is micro-batch k, and so is the k-th backward: that holds for every schedule with one stage on a
// rank that these versions have.
namespace bubblescope {
namespace {

constexpr std::string_view kSend = "c10d::send";
constexpr std::string_view kReceive = "c10d::recv_";
constexpr std::string_view kAutograd = "autograd::engine::evaluate_function";

enum class What { Forward, Backward, Send, Receive };

/// Something a rank did, in order: operators of one kind in a row are one block.
struct Block {
    What what = What::Forward;
    TimeNs start{0};
    TimeNs end{0};
    TimeNs work{0};                   ///< sum of its operators' times
    std::optional<std::int64_t> peer; ///< of a transfer
};

/// The peer of c10d::send and recv_: their third input, as in ["", "", "2", "0"].
std::optional<std::int64_t> peerOf(const Trace& trace, SliceId slice) {
    const auto inputs = trace.textArg(trace.sliceArgs()[slice], "Concrete Inputs");
    if (!inputs) return std::nullopt;
    std::vector<std::string> items;
    for (std::size_t at = inputs->find('"'); at != std::string::npos; at = inputs->find('"', at + 1)) {
        const std::size_t end = inputs->find('"', at + 1);
        if (end == std::string::npos) break;
        items.push_back(inputs->substr(at + 1, end - at - 1));
        at = end;
    }
    if (items.size() < 3 || items[2].empty() || items[2].find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::stoll(items[2]);
}

/// The outermost operators of a file's threads that take part, in order of time.
std::vector<SliceId> operatorsOf(const Trace& trace, std::uint32_t file) {
    const StringId wanted = trace.strings().find("cpu_op");
    std::map<std::int64_t, std::vector<SliceId>> by_thread;
    for (const Track& track : trace.tracks()) {
        if (track.file != file) continue;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (trace.sliceCategories()[slice] == wanted) by_thread[track.tid].push_back(slice);
        }
    }
    std::vector<SliceId> outermost;
    for (auto& [thread, slices] : by_thread) {
        // Rows that were split off the thread are among them, so they need not be in order.
        std::stable_sort(slices.begin(), slices.end(), [&trace](SliceId a, SliceId b) {
            return std::pair(trace.start(a), trace.end(b)) < std::pair(trace.start(b), trace.end(a));
        });
        const bool takes_part = std::any_of(slices.begin(), slices.end(), [&trace](SliceId slice) {
            const std::string_view name = trace.name(slice);
            return name == kSend || name == kReceive || name.starts_with(kAutograd);
        });
        TimeNs end = TimeNs::min();
        for (const SliceId slice : slices) {
            if (!takes_part || trace.start(slice) < end) continue;
            outermost.push_back(slice);
            end = trace.end(slice);
        }
    }
    std::stable_sort(outermost.begin(), outermost.end(),
                     [&trace](SliceId a, SliceId b) { return trace.start(a) < trace.start(b); });
    return outermost;
}

std::vector<Block> blocksOf(const Trace& trace, std::span<const SliceId> operators) {
    std::vector<Block> blocks;
    for (const SliceId slice : operators) {
        const std::string_view name = trace.name(slice);
        Block block;
        if (name == kSend || name == kReceive) {
            block.what = name == kSend ? What::Send : What::Receive;
            block.peer = peerOf(trace, slice);
        } else {
            block.what = name.starts_with(kAutograd) ? What::Backward : What::Forward;
        }
        block.start = trace.start(slice);
        block.end = trace.end(slice);
        block.work = block.end - block.start;
        const bool computes = block.what == What::Forward || block.what == What::Backward;
        if (computes && !blocks.empty() && blocks.back().what == block.what) {
            blocks.back().end = std::max(blocks.back().end, block.end);
            blocks.back().work += block.work;
        } else {
            blocks.push_back(block);
        }
    }
    return blocks;
}

/// Between transfers there are also small operators that are no forward: buffers made, results put away. They take
/// next to no time beside a stage's forward.
bool isForward(const Block& block, TimeNs longest) {
    constexpr int kSmallest = 20; // 1/20 of the longest
    return block.what == What::Forward && block.work * kSmallest >= longest;
}

/// What lies in one step of one rank, as ops; nothing if forwards and backwards do not pair up.
class StepReader {
public:
    StepReader(const RankAnnotations& rank, std::uint32_t file, const GpuWork& gpu)
        : rank_(rank), file_(file), gpu_(gpu) {}

    [[nodiscard]] std::vector<FoundOp> read(std::span<const Block> blocks, std::int64_t step) const {
        // What follows the last backward scales gradients or updates weights: no forward lacks its backward.
        const auto last = std::find_if(blocks.rbegin(), blocks.rend(),
                                       [](const Block& block) { return block.what == What::Backward; });
        if (last != blocks.rend()) blocks = blocks.first(static_cast<std::size_t>(blocks.rend() - last));
        TimeNs longest{0};
        for (const Block& block : blocks)
            longest = std::max(longest, block.what == What::Forward ? block.work : TimeNs{0});
        std::vector<FoundOp> ops;
        std::int64_t forwards = 0;
        std::int64_t backwards = 0;
        for (const Block& block : blocks) {
            const bool backward = block.what == What::Backward;
            if (!backward && !isForward(block, longest)) continue;
            FoundOp op;
            op.home = rank_.rank;
            op.step = step;
            op.kind = backward ? OpKind::Backward : OpKind::Forward;
            op.microbatch = backward ? backwards++ : forwards++;
            const auto work = gpu_.launchedIn(file_, 0, block.start, block.end);
            op.start = work ? work->start : block.start;
            op.end = work ? work->end : block.end;
            op.device_idle = work ? work->idle : TimeNs{0};
            ops.push_back(op);
        }
        return forwards == backwards || backwards == 0 ? ops : std::vector<FoundOp>{};
    }

private:
    const RankAnnotations& rank_;
    std::uint32_t file_;
    const GpuWork& gpu_;
};

/// The profiler's steps; without them what lies between two optimizer steps; else the whole trace.
std::vector<RankAnnotations::Step> stepsOf(const RankAnnotations& rank) {
    if (!rank.steps.empty()) return rank.steps;
    std::vector<RankAnnotations::Step> steps;
    TimeNs from = TimeNs::min();
    for (const Annotation& scope : rank.scopes) {
        if (!optimizerOp(scope)) continue;
        steps.push_back({static_cast<std::int64_t>(steps.size()), from, scope.end});
        from = scope.end;
    }
    if (steps.empty()) steps.push_back({0, from, TimeNs::max()});
    return steps;
}

/// With one stage on a rank, a rank talks to the one before it and to the one behind it only.
bool isPipeline(const std::map<std::int64_t, std::set<std::int64_t>>& peers) {
    if (peers.size() < 2) return false;
    std::vector<std::int64_t> ranks;
    for (const auto& [rank, unused] : peers)
        ranks.push_back(rank);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        for (const std::int64_t peer : peers.at(ranks[i])) {
            const bool before = i > 0 && peer == ranks[i - 1];
            const bool behind = i + 1 < ranks.size() && peer == ranks[i + 1];
            if (!before && !behind) return false;
        }
        if (peers.at(ranks[i]).empty()) return false;
    }
    return true;
}

} // namespace

FoundOps inferTorchOps(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    if (trace.strings().find(kSend) == 0 || trace.strings().find(kReceive) == 0) return found;
    found.parts = Parts::OneAHome;
    const GpuWork gpu(trace);
    std::map<std::int64_t, std::set<std::int64_t>> peers;
    std::int64_t unpaired = 0;
    DiagnosticLog own_log;
    for (const RankAnnotations& rank : torchAnnotations(trace, own_log)) {
        const std::vector<SliceId> operators = operatorsOf(trace, rank.file);
        std::set<std::int64_t>& own_peers = peers[rank.rank];
        const StepReader reader(rank, rank.file, gpu);
        for (const RankAnnotations::Step& step : stepsOf(rank)) {
            const auto by_start = [&trace](SliceId slice, TimeNs time) { return trace.start(slice) < time; };
            const auto first = std::lower_bound(operators.begin(), operators.end(), step.start, by_start);
            const auto last = std::lower_bound(first, operators.end(), step.end, by_start);
            const std::vector<Block> blocks = blocksOf(trace, {first, last});
            for (const Block& block : blocks) {
                if (block.peer) own_peers.insert(*block.peer);
            }
            const std::vector<FoundOp> ops = reader.read(blocks, step.index);
            unpaired += ops.empty() && first != last ? 1 : 0;
            found.ops.insert(found.ops.end(), ops.begin(), ops.end());
        }
    }
    if (found.ops.empty() || !isPipeline(peers)) return {};
    const std::string where = trace.files().front().path.string();
    log.add("inferred", where,
            fmt::format("ops are not annotated: their micro-batches are told by the order of compute between sends and "
                        "receives ({} ops on {} ranks)",
                        found.ops.size(), peers.size()));
    if (unpaired > 0) {
        log.add("unpaired-ops", where, "steps of a rank in which forwards and backwards differ in number are left out",
                unpaired);
    }
    return found;
}

} // namespace bubblescope
