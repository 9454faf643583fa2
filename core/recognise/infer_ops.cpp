#include "core/recognise/infer_ops.h"

#include "core/base/text.h"
#include "core/recognise/fit_schedule.h"
#include "core/recognise/raw_trace.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

using Marks = std::vector<Mark>;
using RanksBlocks = std::map<std::int64_t, RankBlocks>; ///< by global rank

/// A rank may have one file per recorded window.
void append(RankBlocks& blocks, RankBlocks&& more) {
    const std::size_t before = blocks.blocks.size();
    const std::size_t calls = blocks.calls.size();
    const auto communicators = static_cast<std::uint32_t>(blocks.communicators.size());
    for (ComputeBlock& block : more.blocks) {
        if (block.forward) *block.forward += before;
        block.calls_before += calls;
        blocks.blocks.push_back(block);
    }
    for (HostEvent& transfer : more.transfers) {
        if (transfer.communicator > 0) transfer.communicator += communicators;
        blocks.transfers.push_back(transfer);
    }
    std::ranges::move(more.communicators, std::back_inserter(blocks.communicators));
    blocks.calls.insert(blocks.calls.end(), more.calls.begin(), more.calls.end());
    blocks.on_device = blocks.on_device || more.on_device;
}

RanksBlocks blocksByRank(std::vector<RankBlocks> files) {
    std::erase_if(files, [](const RankBlocks& file) { return file.blocks.empty(); });
    std::stable_sort(files.begin(), files.end(), [](const RankBlocks& a, const RankBlocks& b) {
        return a.blocks.front().host_start < b.blocks.front().host_start;
    });
    RanksBlocks ranks;
    for (RankBlocks& blocks : files) {
        const std::int64_t rank = blocks.rank;
        const auto [place, is_new] = ranks.try_emplace(rank, RankBlocks{});
        place->second.rank = rank;
        append(place->second, std::move(blocks));
    }
    return ranks;
}

using Groups = std::vector<std::vector<std::int64_t>>; ///< pipelines as lists of global ranks, starting with the first
                                                       ///< stage

/// One pipeline per coordinate on the other axes. Ranks that differ only in their tensor or context coordinate run the
/// same ops at the same time, so the first one represents all.
Groups groupsByPlace(const RanksBlocks& ranks, const RankPlaces& places) {
    std::map<int, std::map<int, std::int64_t>> pipelines;
    for (const auto& [rank, unused] : ranks) {
        const MeshNumbers& place = places.ranks.at(rank);
        if (place.at(MeshAxis::Tensor) != 0 || place.at(MeshAxis::Context) != 0) continue;
        pipelines[place.at(MeshAxis::Data)][place.at(MeshAxis::Pipeline)] = rank;
    }
    Groups groups;
    for (const auto& [data, members] : pipelines) {
        auto& group = groups.emplace_back();
        for (const auto& [place, rank] : members)
            group.push_back(rank);
    }
    return groups;
}

/// Ranks that communicate with each other, in ascending order. If peers are unknown, all ranks are one group.
Groups groupsByPeer(const RanksBlocks& ranks) {
    std::map<std::int64_t, std::int64_t> head; // union-find
    for (const auto& [rank, unused] : ranks)
        head[rank] = rank;
    const auto find = [&head](std::int64_t rank) {
        while (head.at(rank) != rank)
            rank = head.at(rank);
        return rank;
    };
    bool named = false;
    for (const auto& [rank, blocks] : ranks) {
        for (const HostEvent& transfer : blocks.transfers) {
            if (!transfer.peer || !ranks.contains(*transfer.peer)) continue;
            named = true;
            const std::int64_t a = find(rank);
            const std::int64_t b = find(*transfer.peer);
            head[std::max(a, b)] = std::min(a, b);
        }
    }
    std::map<std::int64_t, std::vector<std::int64_t>> groups;
    for (const auto& [rank, unused] : ranks)
        groups[named ? find(rank) : 0].push_back(rank);
    Groups out;
    for (auto& [first, members] : groups)
        out.push_back(std::move(members));
    return out;
}

/// A sentence about a rank that was not loaded: a peer, or one between evenly spaced ranks.
std::optional<std::string> absentRank(const RanksBlocks& ranks, const Groups& groups) {
    for (const auto& group : groups) {
        for (std::size_t i = 2; i < group.size(); ++i) {
            if (group[i] - group[i - 1] == group[1] - group[0]) continue;
            return fmt::format("ranks {} are not evenly spaced; a file may be missing", fmt::join(group, ", "));
        }
    }
    for (const auto& [rank, blocks] : ranks) {
        for (const HostEvent& transfer : blocks.transfers) {
            if (transfer.peer && !ranks.contains(*transfer.peer))
                return fmt::format("rank {} exchanges data with rank {}, which is not among the files", rank,
                                   *transfer.peer);
        }
    }
    return std::nullopt;
}

std::optional<bool> closesRing(const RanksBlocks& ranks, const std::vector<std::int64_t>& group) {
    if (group.size() < 3) return std::nullopt;
    std::optional<bool> closes;
    for (const HostEvent& transfer : ranks.at(group.front()).transfers) {
        if (transfer.peer) closes = closes.value_or(false) || *transfer.peer == group.back();
    }
    return closes;
}

/// The blocks of a step as ops; nothing for ranks whose number of blocks differs from the schedule's.
void addOps(const CutStep& step, const Schedule& schedule, FoundOps& found, std::int64_t& unpaired) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto assigned = assignBlocks(step.ranks[r], schedule.ranks[r]);
        unpaired += assigned.empty() ? 1 : 0;
        for (std::size_t i = 0; i < assigned.size(); ++i) {
            const ComputeBlock& block = step.ranks[r][assigned[i]];
            const Op& op = schedule.ranks[r][i];
            FoundOp out;
            out.owner = static_cast<std::int64_t>(r);
            out.replica = step.replica;
            out.step = step.index;
            out.kind = op.kind;
            out.microbatch = op.microbatch.value;
            out.chunk_or_stage = schedule.stageOf(Rank{r}, op.chunk).value;
            out.start = block.work.start;
            out.end = block.work.end;
            out.details.device_idle = block.device_idle;
            found.ops.push_back(out);
        }
    }
}

/// `observed.steps` has the steps of one pipeline after another.
void addTransfers(const ObservedPipeline& observed, const RanksBlocks& ranks, const Groups& groups,
                  const Schedule& schedule, FoundOps& found, std::int64_t& unmatched) {
    const std::span<const CutStep> steps(observed.steps);
    for (std::size_t begin = 0; begin < steps.size();) {
        const std::int64_t replica = steps[begin].replica;
        std::size_t end = begin;
        while (end < steps.size() && steps[end].replica == replica)
            ++end;
        const auto& group = groups[static_cast<std::size_t>(replica)];
        std::vector<const RankBlocks*> blocks;
        for (const std::int64_t rank : group)
            blocks.push_back(&ranks.at(rank));
        auto transfers =
            inferTransfers(steps.subspan(begin, end - begin), blocks, group, schedule, found.communicators, unmatched);
        std::move(transfers.begin(), transfers.end(), std::back_inserter(found.comm));
        begin = end;
    }
}

std::map<std::int64_t, Marks> marksByRank(std::span<const TraceFile> files, const std::vector<ProfilerMarks>& marks) {
    const std::vector<std::int64_t> rank_of_file = ranksOfFiles(files);
    std::map<std::int64_t, Marks> by_rank;
    for (std::size_t file = 0; file < files.size(); ++file) {
        Marks& of_rank = by_rank[rank_of_file[file]];
        of_rank.insert(of_rank.end(), marks[file].steps.begin(), marks[file].steps.end());
    }
    return by_rank;
}

std::vector<std::string> sentences(const ScheduleFit& fit, const ObservedPipeline& observed) {
    std::vector<std::string> out;
    out.push_back(fmt::format("forwards and backwards have this order in {} of the cases ({} steps, {} ranks)",
                              formatPercent(fit.order, 0), observed.steps.size(), observed.pp));
    out.push_back(fmt::format("no op starts before its input was produced: true for {} of the rank pairs",
                              formatPercent(fit.causality, 0)));
    const bool linked = std::any_of(observed.steps.begin(), observed.steps.end(), [](const CutStep& step) {
        return std::any_of(step.ranks.begin(), step.ranks.end(), [](const auto& blocks) {
            return std::any_of(blocks.begin(), blocks.end(),
                               [](const auto& block) { return block.forward.has_value(); });
        });
    });
    if (linked)
        out.push_back(
            fmt::format("autograd's flows connect each forward to its backward: {}", formatPercent(fit.links, 0)));
    if (observed.sends_marked)
        out.push_back(fmt::format("sends follow the ops that produce their data: {}", formatPercent(fit.calls, 0)));
    out.push_back(fmt::format("the first and last stage do not exchange data beyond the pipeline: {}",
                              formatPercent(fit.ends, 0)));
    return out;
}

std::string seenOrder(const ObservedPipeline& observed) {
    constexpr std::size_t kShown = 24;
    std::vector<std::string> ranks;
    for (const auto& blocks : observed.steps.front().ranks) {
        const std::string order = letters(blocks);
        ranks.push_back(order.size() > kShown ? order.substr(0, kShown) + "…" : order);
        if (ranks.size() == 4) break;
    }
    return fmt::format("{}", fmt::join(ranks, ", "));
}

} // namespace

Result<std::vector<RankBlocks>> extractComputeBlocks(RawTrace& raw) {
    const GpuWork& gpu = raw.gpu();
    std::vector<RankBlocks> files(raw.fileCount());
    for (std::uint32_t file = 0; file < files.size(); ++file) {
        if (raw.control().stopRequested()) break;
        const std::int64_t rank = raw.rankOf(file);
        const HostEvents events = hostEvents(raw.trace(), file, rank, gpu, raw.control());
        const bool transfers = std::any_of(events.events.begin(), events.events.end(), [](const HostEvent& event) {
            return event.kind == HostEventKind::Transfer;
        });
        if (!transfers) continue;
        RankBlocks blocks = computeBlocks(events, rank);
        for (ComputeBlock& block : blocks.blocks) {
            const auto work = gpu.launchedIn(file, 0, block.host_start, block.host_end, {});
            block.device_idle = work ? work->idle : TimeNs{0};
        }
        if (!blocks.blocks.empty()) files[file] = std::move(blocks);
    }
    return files;
}

Inference inferOps(std::span<const TraceFile> files, std::vector<RankBlocks> file_blocks,
                   const std::vector<ProfilerMarks>& file_marks, const LoadOptions& options,
                   const std::optional<RankPlaces>& places, DiagnosticLog& log) {
    Inference out;
    const RanksBlocks ranks = blocksByRank(std::move(file_blocks));
    if (ranks.empty()) return out;
    const Groups groups = places ? groupsByPlace(ranks, *places) : groupsByPeer(ranks);
    if (groups.empty()) return out;
    const std::map<std::int64_t, Marks> marks = marksByRank(files, file_marks);

    ObservedPipeline observed;
    std::string step_evidence;
    double regularity = 1;
    const auto absent = absentRank(ranks, groups);
    observed.pp = static_cast<int>(groups.front().size());
    for (std::size_t replica = 0; replica < groups.size(); ++replica) {
        const auto& group = groups[replica];
        if (group.size() != groups.front().size()) {
            out.why_not = fmt::format("ranks that exchange data form groups of different sizes ({} and {})",
                                      groups.front().size(), group.size());
            return out;
        }
        std::vector<RankBlocks> blocks;
        std::vector<Marks> group_marks;
        for (const std::int64_t rank : group) {
            blocks.push_back(ranks.at(rank));
            group_marks.push_back(marks.at(rank));
        }
        StepCuts cuts = cutSteps(blocks, group_marks);
        regularity = std::min(regularity, cuts.regularity);
        if (replica == 0) step_evidence = cuts.evidence;
        for (CutStep& step : cuts.steps) {
            step.replica = static_cast<std::int64_t>(replica);
            if (step.ranks.size() != group.size()) continue; // some rank does not have such a step
            observed.steps.push_back(std::move(step));
        }
    }
    observed.ring = closesRing(ranks, groups.front());
    observed.sends_marked =
        std::all_of(ranks.begin(), ranks.end(), [](const auto& entry) { return !entry.second.transfers.empty(); });
    if (observed.pp < 2) {
        out.why_not = absent ? *absent : "only one rank both computes and transfers";
        return out;
    }
    if (observed.steps.empty()) {
        out.why_not = "it contains no complete step";
        return out;
    }
    const bool given = options.schedule || options.family;
    const int pp = options.schedule ? options.schedule->pp : options.family ? options.family->pp : 0;
    if (pp > 0 && pp != observed.pp) {
        out.why_not = fmt::format("the specified schedule is for {} ranks, but the trace has {}", pp, observed.pp);
        return out;
    }

    auto fit = fitSchedule(observed, options);
    if (absent && !given) fit.reset(); // the ranks that are present may look like a smaller pipeline
    if (!fit) {
        const std::string order = seenOrder(observed);
        const std::string seen =
            absent ? fmt::format("forwards and backwards on {} ranks run in the order {}, and {}", observed.pp, order,
                                 *absent)
                   : fmt::format("forwards and backwards on {} ranks run in the order {}", observed.pp, order);
        out.why_not = given ? fmt::format("the specified schedule does not match at any size: {}", seen)
                            : fmt::format("no known schedule matches: {}", seen);
        return out;
    }
    out.found.parts = Parts::Stages;
    std::int64_t unpaired = 0;
    for (const CutStep& step : observed.steps)
        addOps(step, fit->schedule, out.found, unpaired);
    std::int64_t unmatched = 0;
    addTransfers(observed, ranks, groups, fit->schedule, out.found, unmatched);
    if (out.found.ops.empty()) {
        out.why_not =
            fmt::format("no rank ran as many ops in a step as the schedule has (observed: {})", seenOrder(observed));
        return out;
    }
    out.explanation.source = given ? "given" : "inferred";
    out.explanation.confidence = fit->confidence * regularity;
    out.explanation.evidence = sentences(*fit, observed);
    out.explanation.evidence.push_back(step_evidence);
    out.explanation.alternatives = std::move(fit->alternatives);
    const std::string where = files.front().path.string();
    log.add("inferred", where,
            say("ops are not annotated; inferred their micro-batches from the order of compute between sends and "
                "receives ({} ops on {} ranks)",
                out.found.ops.size(), ranks.size()));
    if (unpaired > 0) {
        log.add("unpaired-ops", where,
                say("skipped a rank's steps in which the number of forwards and backwards does not match the schedule"),
                unpaired);
    }
    if (unmatched > 0) {
        log.add("unmatched-transfers", where,
                say("skipped sends and receives of steps where their number does not match the schedule"), unmatched);
    }
    return out;
}

namespace {

/// A payload sent between ranks, as seen by one of its two ends.
struct Message {
    OpIndex op = kNoOp;       ///< the op that produces or consumes it
    OpIndex consumer = kNoOp; ///< the op that consumes it
    Rank peer;
};

/// The interval in which the calls of a step may be made on a rank.
struct Window {
    TimeNs from = TimeNs::min();
    TimeNs to = TimeNs::max();
};

class Inferrer {
public:
    Inferrer(std::span<const RankBlocks* const> ranks, std::span<const std::int64_t> group, const Schedule& schedule,
             StringPool& communicators, std::int64_t& unmatched)
        : ranks_(ranks), group_(group), schedule_(schedule), graph_(schedule), communicators_(communicators),
          unmatched_(unmatched) {}

    /// `before` and `after` are the neighbours of `step` in time, if there are any.
    void addStep(const CutStep* before, const CutStep& step, const CutStep* after) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto& blocks = step.ranks[r];
            const std::vector<std::size_t> assigned = assignBlocks(blocks, schedule_.ranks[r]);
            if (assigned.empty()) continue; // its ops are omitted as well
            Window sends{blocks.front().host_start, TimeNs::max()};
            if (after != nullptr && !after->ranks[r].empty()) sends.to = after->ranks[r].front().host_start;
            Window receives{TimeNs::min(), blocks.back().host_end};
            if (before != nullptr && !before->ranks[r].empty()) receives.from = before->ranks[r].back().host_end;
            match(step, Rank{r}, CommKind::Send, sends, assigned);
            match(step, Rank{r}, CommKind::Receive, receives, assigned);
        }
    }

    [[nodiscard]] std::vector<FoundComm> take() { return std::move(found_); }

private:
    /// The messages in the order in which the rank ran the ops.
    [[nodiscard]] std::vector<Message> messages(Rank rank, CommKind kind,
                                                const std::vector<std::size_t>& assigned) const {
        std::vector<std::pair<std::size_t, Message>> by_block;
        for (OpIndex op = graph_.firstOf(rank); op < graph_.endOf(rank); ++op) {
            const std::size_t block = assigned[static_cast<std::size_t>(op - graph_.firstOf(rank))];
            if (kind == CommKind::Receive) {
                if (graph_.receives(op)) by_block.push_back({block, {op, op, graph_.rank(graph_.producers(op).stage)}});
                continue;
            }
            const OpIndex to = graph_.consumer(op);
            if (to >= 0 && graph_.rank(to) != rank) by_block.push_back({block, {op, to, graph_.rank(to)}});
        }
        std::ranges::sort(by_block, {}, &std::pair<std::size_t, Message>::first);
        std::vector<Message> out;
        for (const auto& [block, message] : by_block)
            out.push_back(message);
        return out;
    }

    void match(const CutStep& step, Rank rank, CommKind kind, const Window& window,
               const std::vector<std::size_t>& assigned) {
        // By peer if calls name theirs; otherwise all in one order.
        std::map<std::optional<std::int64_t>, std::vector<const HostEvent*>> calls;
        bool named = true;
        for (const HostEvent& call : ranks_[rank.index()]->transfers) {
            if (call.direction != kind || call.at < window.from || call.at >= window.to) continue;
            calls[call.peer].push_back(&call);
            named = named && call.peer;
        }
        if (!named && calls.size() > 1) {
            std::vector<const HostEvent*> all;
            for (auto& [peer, of_peer] : calls)
                all.insert(all.end(), of_peer.begin(), of_peer.end());
            std::ranges::stable_sort(all, {}, &HostEvent::at);
            calls.clear();
            calls[std::nullopt] = std::move(all);
        }
        std::map<std::optional<std::int64_t>, std::vector<Message>> wanted;
        for (const Message& message : messages(rank, kind, assigned))
            wanted[named ? std::optional(group_[message.peer.index()]) : std::nullopt].push_back(message);
        for (const auto& [peer, of_peer] : calls) {
            const auto& needed = wanted[peer];
            if (needed.size() != of_peer.size()) {
                unmatched_ += static_cast<std::int64_t>(of_peer.size());
                continue;
            }
            for (std::size_t i = 0; i < needed.size(); ++i)
                add(step, rank, kind, needed[i], *of_peer[i]);
        }
    }

    void add(const CutStep& step, Rank rank, CommKind kind, const Message& message, const HostEvent& call) {
        const Op& consumer = graph_.op(message.consumer);
        FoundComm comm;
        comm.owner = rank.value;
        comm.replica = step.replica;
        comm.step = step.index;
        comm.kind = kind;
        comm.payload = payloadOf(consumer.kind);
        comm.microbatch = consumer.microbatch.value;
        comm.stage = graph_.stage(message.consumer).value;
        comm.start = call.work.start;
        comm.end = call.work.end;
        if (call.communicator > 0)
            comm.communicator =
                communicatorNumber(communicators_, ranks_[rank.index()]->communicators[call.communicator - 1]);
        found_.push_back(comm);
    }

    std::span<const RankBlocks* const> ranks_;
    std::span<const std::int64_t> group_;
    const Schedule& schedule_;
    OpGraph graph_;
    StringPool& communicators_;
    std::int64_t& unmatched_;
    std::vector<FoundComm> found_;
};

} // namespace

std::vector<FoundComm> inferTransfers(std::span<const CutStep> steps, std::span<const RankBlocks* const> ranks,
                                      std::span<const std::int64_t> group, const Schedule& schedule,
                                      StringPool& communicators, std::int64_t& unmatched) {
    Inferrer inferrer(ranks, group, schedule, communicators, unmatched);
    for (std::size_t i = 0; i < steps.size(); ++i)
        inferrer.addStep(i > 0 ? &steps[i - 1] : nullptr, steps[i], i + 1 < steps.size() ? &steps[i + 1] : nullptr);
    return inferrer.take();
}

} // namespace bubblescope
