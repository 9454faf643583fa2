#include "core/recognise/gpu_work.h"
#include "core/recognise/name_parts.h"
#include "core/recognise/torch_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace bubblescope {
namespace {

/// `PP:<stage><kind><micro-batch>`
struct Action {
    std::int64_t stage = 0;
    std::string_view kind;
    std::int64_t microbatch = 0;
};

constexpr std::string_view kActionPrefix = "PP:";

std::optional<Action> parseAction(std::string_view text) {
    Action action;
    const auto stage = takeNumber(text);
    if (!stage) return std::nullopt;
    action.stage = *stage;
    const std::size_t letters = text.find_first_of("0123456789");
    action.kind = text.substr(0, letters);
    text.remove_prefix(action.kind.size());
    action.microbatch = takeNumber(text).value_or(-1);
    return action;
}

/// An action that moves data; the others are ops, or housekeeping of sharded weights without micro-batch.
struct Transfer {
    std::string_view name;
    CommKind kind;
    Payload payload;
    int to_consumer; ///< from the stage in the action to the one that consumes the payload
};
constexpr std::array kTransfers{
    Transfer{"SEND_F", CommKind::Send, Payload::Activation, 1},
    Transfer{"RECV_F", CommKind::Receive, Payload::Activation, 0},
    Transfer{"SEND_B", CommKind::Send, Payload::Gradient, -1},
    Transfer{"RECV_B", CommKind::Receive, Payload::Gradient, 0},
};

/// On a GPU an op takes the time of the kernels that its scope launched, not the host's.
bool takeGpuTimes(FoundOp& op, const RankAnnotations& rank, const GpuWork& gpu) {
    const auto work = gpu.launchedIn(rank.file, 0, op.start, op.end);
    if (!work) return false;
    op.start = work->start;
    op.end = work->end;
    op.device_idle = work->idle;
    return true;
}

/// Turns the scopes of one rank into ops and transfers.
class ActionReader {
public:
    ActionReader(const RankAnnotations& rank, const GpuWork& gpu, FoundOps& found, DiagnosticLog& log)
        : rank_(rank), gpu_(gpu), found_(found), steps_(rank, log) {}

    void read() {
        for (const Annotation& scope : rank_.scopes) {
            if (scope.name.starts_with(kActionPrefix))
                readAction(scope);
            else if (auto optimizer = optimizerOp(scope))
                addOp(*optimizer, scope);
        }
    }

private:
    using TransferKey = std::tuple<std::int64_t, Payload, std::int64_t, std::int64_t>; // step, …, micro-batch, stage

    void readAction(const Annotation& scope) {
        const std::string_view text = scope.name.substr(kActionPrefix.size());
        if (text.starts_with('(')) return readPair(scope, text);
        const auto action = parseAction(text);
        if (!action || action->microbatch < 0) return;
        for (const Transfer& transfer : kTransfers) {
            if (transfer.name == action->kind) return addTransfer(scope, *action, transfer);
        }
        if (const auto op = opOf(*action, scope)) addOp(*op, scope);
    }

    /// `(<stage>F<micro-batch>;<stage>B<micro-batch>)OVERLAP_F_B`: two ops in one scope.
    void readPair(const Annotation& scope, std::string_view text) {
        const std::size_t middle = text.find(';');
        const std::size_t end = text.find(')');
        if (middle == std::string_view::npos || end == std::string_view::npos || end < middle) return;
        for (const std::string_view half : {text.substr(1, middle - 1), text.substr(middle + 1, end - middle - 1)}) {
            const auto action = parseAction(half);
            auto op = action ? opOf(*action, scope) : std::nullopt;
            if (!op) continue;
            op->overlapped = true;
            addOp(*op, scope);
        }
    }

    static std::optional<FoundOp> opOf(const Action& action, const Annotation& scope) {
        const auto kind = action.kind.size() == 1 ? opKindFromLetter(action.kind.front()) : std::nullopt;
        if (!kind || *kind == OpKind::Optimizer || action.microbatch < 0) return std::nullopt;
        FoundOp op;
        op.kind = *kind;
        op.microbatch = action.microbatch;
        op.part = action.stage;
        op.start = scope.start;
        op.end = scope.end;
        return op;
    }

    void addTransfer(const Annotation& scope, const Action& action, const Transfer& transfer) {
        const auto step = steps_.stepOf(scope);
        if (!step) return;
        FoundComm comm{rank_.rank,        *step,
                       transfer.kind,     transfer.payload,
                       action.microbatch, action.stage + transfer.to_consumer,
                       scope.start,       scope.end};
        if (transfer.kind == CommKind::Receive) {
            // The scope only posts the receive; gloo's own annotation lasts until the data are there.
            const auto posted = receivePostedIn(rank_, scope.start, scope.end);
            if (posted) {
                comm.end = std::max(comm.end, posted->end);
                arrivals_[{*step, transfer.payload, action.microbatch, action.stage}] = posted->end;
            }
        }
        found_.comm.push_back(comm);
    }

    void addOp(FoundOp op, const Annotation& scope) {
        const auto step = op.overlapped && op.kind != OpKind::Forward ? pair_step_ : steps_.stepOf(scope);
        if (op.overlapped && op.kind == OpKind::Forward) pair_step_ = step;
        if (!step) return;
        op.home = rank_.rank;
        op.step = *step;
        if (takeGpuTimes(op, rank_, gpu_)) return found_.ops.push_back(op);
        const bool forward = op.kind == OpKind::Forward;
        if (forward || producesInputGradient(op.kind)) {
            const Payload payload = forward ? Payload::Activation : Payload::Gradient;
            const auto arrival = arrivals_.find({op.step, payload, op.microbatch, op.part});
            if (arrival != arrivals_.end()) cutWait(op, arrival->second, op.part, found_.comm);
        }
        found_.ops.push_back(op);
    }

    const RankAnnotations& rank_;
    const GpuWork& gpu_;
    FoundOps& found_;
    StepFinder steps_;
    std::optional<std::int64_t> pair_step_; ///< of the forward of the pair at hand: one scope is asked for once
    std::map<TransferKey, TimeNs> arrivals_;
};

/// `Forward <i>` or `Backward <i>`, and nothing behind it.
std::optional<FoundOp> gpipeOp(const Annotation& scope) {
    FoundOp op;
    std::string_view text = scope.name;
    if (text.starts_with("Forward "))
        op.kind = OpKind::Forward;
    else if (text.starts_with("Backward "))
        op.kind = OpKind::Backward;
    else
        return std::nullopt;
    text.remove_prefix(text.find(' ') + 1);
    const auto microbatch = takeNumber(text);
    if (!microbatch || !text.empty()) return std::nullopt;
    op.microbatch = *microbatch;
    op.start = scope.start;
    op.end = scope.end;
    return op;
}

/// Without a pipeline op an optimizer's step says nothing about a pipeline.
FoundOps onlyWithPipelineOps(FoundOps found) {
    const bool any =
        std::any_of(found.ops.begin(), found.ops.end(), [](const FoundOp& op) { return op.kind != OpKind::Optimizer; });
    return any ? std::move(found) : FoundOps{};
}

void append(DiagnosticLog& log, DiagnosticLog& more) {
    for (Diagnostic& entry : more.take())
        log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
}

} // namespace

FoundOps findTorchActions(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    found.parts = Parts::Stages;
    DiagnosticLog own_log; // of no interest if the trace holds no actions
    const std::vector<RankAnnotations> ranks = torchAnnotations(trace, own_log);
    const auto is_action = [](const Annotation& scope) { return scope.name.starts_with(kActionPrefix); };
    if (std::none_of(ranks.begin(), ranks.end(), [&](const RankAnnotations& rank) {
            return std::any_of(rank.scopes.begin(), rank.scopes.end(), is_action);
        }))
        return {};
    const GpuWork gpu(trace);
    for (const RankAnnotations& rank : ranks)
        ActionReader(rank, gpu, found, own_log).read();
    found = onlyWithPipelineOps(std::move(found));
    if (found.ops.empty()) return found;
    append(log, own_log);
    return found;
}

FoundOps findTorchGPipe(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    found.parts = Parts::OneAHome;
    DiagnosticLog own_log;
    std::optional<GpuWork> gpu; // made for the first op: most traces are not GPipe's
    std::int64_t stage = 0;
    for (const RankAnnotations& rank : torchAnnotations(trace, own_log)) {
        StepFinder steps(rank, own_log);
        for (const Annotation& scope : rank.scopes) {
            auto op = gpipeOp(scope);
            const bool pipeline = op.has_value();
            if (pipeline && !gpu) gpu.emplace(trace);
            if (!op) op = optimizerOp(scope);
            const auto step = op ? steps.stepOf(scope) : std::nullopt;
            if (!step) continue;
            op->home = rank.rank;
            op->step = *step;
            if (pipeline && takeGpuTimes(*op, rank, *gpu)) {
                found.ops.push_back(*op);
                continue;
            }
            const auto posted = pipeline ? receivePostedIn(rank, scope.start, scope.end) : std::nullopt;
            if (posted && posted->end <= scope.end) {
                const Payload payload = op->kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
                found.comm.push_back(
                    {rank.rank, *step, CommKind::Receive, payload, op->microbatch, stage, posted->start, posted->end});
                cutWait(*op, posted->end, stage, found.comm);
            }
            found.ops.push_back(*op);
        }
        ++stage;
    }
    found = onlyWithPipelineOps(std::move(found));
    if (found.ops.empty()) return found;
    append(log, own_log);
    return found;
}

} // namespace bubblescope
