#include "tests/unit/recognise/kineto_job.h"

#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace bubblescope::test {
namespace {

constexpr TimeNs kForward{2'000'000};
constexpr TimeNs kBackward{4'000'000};
constexpr TimeNs kTransfer{200'000};
constexpr TimeNs kOptimizer{3'000'000};
constexpr int kKernels = 3; ///< of an op
constexpr int kMainThread = 100;
constexpr int kBackwardThread = 101;

std::string micros(TimeNs time) {
    return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// Starts and ends of a step's ops, each as soon as its rank is free and its input has arrived.
StepTimeline runStep(const Schedule& schedule, int index, std::vector<TimeNs>& free, const KinetoJob& job,
                     std::mt19937& random) {
    const OpGraph graph(schedule);
    std::uniform_real_distribution<double> vary(1 - job.jitter, 1 + job.jitter);
    StepTimeline step;
    step.index = index;
    step.pp = schedule.pp;
    step.microbatches = schedule.microbatches;
    step.vpp = schedule.vpp;
    step.placement = schedule.placement;
    step.ranks.resize(schedule.ranks.size());
    step.comm.resize(schedule.ranks.size());
    std::vector<TimeNs> end(static_cast<std::size_t>(graph.size()));
    (void)visitInOrder(graph, [&](OpIndex op, OpIndex) {
        const std::size_t rank = graph.rank(op).index();
        TimeNs start = free[rank];
        const OpIndex producer = graph.producers(op).stage;
        if (producer >= 0) {
            const bool far = graph.receives(op);
            start = std::max(start, end[static_cast<std::size_t>(producer)] + (far ? kTransfer : TimeNs{0}));
        }
        const TimeNs nominal = graph.op(op).kind == OpKind::Forward ? kForward : kBackward;
        const TimeNs lasts{static_cast<std::int64_t>(static_cast<double>(nominal.count()) * vary(random))};
        free[rank] = end[static_cast<std::size_t>(op)] = start + lasts;
        step.ranks[rank].push_back({graph.op(op), start, start + lasts});
    });
    step.fitWindow();
    return step;
}

/// Writes down what one rank's profiler saw.
class Recorder {
public:
    Recorder(const KinetoJob& job, const Schedule& schedule, const OpGraph& graph, Rank rank)
        : job_(job), schedule_(schedule), graph_(graph), rank_(rank),
          skew_(rank.index() < job.skew.size() ? job.skew[rank.index()] : TimeNs{0}) {}

    void step(const StepTimeline& step, TimeNs host) {
        host_ = host;
        step_ = step.index;
        const auto& ops = step.ranks[rank_.index()];
        bool received = false; // together with the send before
        for (op_ = 0; op_ < ops.size(); ++op_) {
            const OpIndex op = graph_.firstOf(rank_) + static_cast<OpIndex>(op_);
            const TimeNs before = op_ == 0 ? ops[op_].start - kTransfer : ops[op_ - 1].end;
            if (graph_.receives(op) && !received) transfer({receive(op)}, before, ops[op_].start);
            compute(ops[op_]);
            received = false;
            if (!sends(op)) continue;
            const bool last = op_ + 1 == ops.size();
            std::vector<Call> calls{send(op)};
            if (job_.combined && !last && graph_.receives(op + 1)) {
                calls.push_back(receive(op + 1));
                received = true;
            }
            transfer(calls, ops[op_].end, last ? ops[op_].end + kTransfer : ops[op_ + 1].start);
        }
        optimizer(ops.back().end + kTransfer);
    }

    std::vector<KinetoEvent> take() { return std::move(events_); }

private:
    using What = KinetoEvent::What;
    struct Call {
        bool send = false;
        Rank peer;
    };

    [[nodiscard]] bool sends(OpIndex op) const {
        const OpIndex to = graph_.consumer(op);
        return to >= 0 && graph_.rank(to) != rank_;
    }
    [[nodiscard]] Call send(OpIndex op) const { return {true, graph_.rank(graph_.consumer(op))}; }
    [[nodiscard]] Call receive(OpIndex op) const { return {false, graph_.rank(graph_.producers(op).stage)}; }

    void add(What what, std::string json) { events_.push_back({std::move(json), what, step_, op_}); }

    void slice(What what, const char* category, const std::string& name, int thread, TimeNs start, TimeNs lasts,
               const std::string& args = "") {
        add(what, fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                              category, name, thread < 50 ? 0 : 4000 + rank_.value, thread, micros(start + skew_),
                              micros(lasts), args));
    }

    /// A launch takes the host 2 us.
    void launch(What what, const std::string& kernel, int thread, int stream, TimeNs start, TimeNs end) {
        const std::string args = fmt::format(R"("correlation":{})", ++correlation_);
        slice(what, "cuda_runtime", "cudaLaunchKernel", thread, host_, TimeNs{1000}, args);
        slice(what, "kernel", kernel, stream, start, end - start, args + fmt::format(R"(,"stream":{})", stream));
        host_ += TimeNs{2000};
    }

    void transfer(const std::vector<Call>& calls, TimeNs start, TimeNs end) {
        for (const Call& call : calls) {
            if (!job_.peers) break;
            slice(What::Transfer, "cpu_op", "record_param_comms", kMainThread, host_, TimeNs{500},
                  fmt::format(
                      R"("Collective name":"{}","{} Rank":{},"Process Group Name":"2","Process Group Ranks":"{}")",
                      call.send ? "send" : "recv", call.send ? "Dst" : "Src", call.peer.value + job_.first_rank,
                      groupText()));
            host_ += TimeNs{1000};
        }
        launch(What::Transfer, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", kMainThread, 20, start, end);
    }

    [[nodiscard]] std::string groupText() const {
        std::string text = "[";
        for (int r = 0; r < schedule_.pp; ++r)
            text += fmt::format("{}{}", r == 0 ? "" : ", ", r + job_.first_rank);
        return text + "]";
    }

    /// Operators whose name ends alike launch alike; a small one that fills a buffer comes before a forward.
    void compute(const TimelineOp& op) {
        const bool forward = op.op.kind == OpKind::Forward;
        const int thread = forward ? kMainThread : kBackwardThread;
        if (forward) launch(What::Other, "fill_kernel", kMainThread, 7, op.start, op.start + TimeNs{1000});
        const TimeNs begin = op.start + TimeNs{forward ? 1000 : 0};
        const TimeNs each{(op.end - begin).count() / kKernels};
        const auto key = static_cast<std::size_t>(op.op.microbatch.value * schedule_.vpp + op.op.chunk.value);
        for (int k = 0; k < kKernels; ++k) {
            const int layer = forward ? k : kKernels - 1 - k;
            const TimeNs host_begin = host_;
            const std::string name = forward ? "aten::linear" : "autograd::engine::evaluate_function: AddmmBackward0";
            host_ += TimeNs{1000};
            const TimeNs start = begin + k * each;
            launch(What::Compute, forward ? "gemm_forward" : "gemm_backward", thread, 7, start,
                   k + 1 == kKernels ? op.end : start + each);
            if (job_.tensor_parallel && k == 1) {
                launch(What::Other, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                       thread, 24, start, start + each / 2);
            }
            if (job_.operators) slice(What::Compute, "cpu_op", name, thread, host_begin, host_ - host_begin);
            if (job_.operators && job_.flows) {
                const auto id =
                    (static_cast<std::size_t>(step_) * 100'000 + key) * kKernels + static_cast<std::size_t>(layer);
                add(What::Compute,
                    fmt::format(R"({{"ph":"{}","cat":"fwdbwd","name":"fwdbwd","id":{},"pid":{},"tid":{},"ts":{}{}}})",
                                forward ? "s" : "f", id, 4000 + rank_.value, thread, micros(host_begin + skew_),
                                forward ? "" : R"(,"bp":"e")"));
            }
            host_ += TimeNs{1000};
        }
    }

    void optimizer(TimeNs start) {
        launch(What::Other, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
               kMainThread, 28, start, start + TimeNs{500'000});
        const TimeNs host_begin = host_;
        host_ += TimeNs{1000};
        launch(What::Other, "multi_tensor_apply_kernel", kMainThread, 7, start, start + kOptimizer);
        if (job_.operators)
            slice(What::Other, "cpu_op", "aten::_foreach_add_", kMainThread, host_begin, host_ - host_begin);
    }

    const KinetoJob& job_;
    const Schedule& schedule_;
    const OpGraph& graph_;
    Rank rank_;
    TimeNs skew_;
    TimeNs host_{0};
    int step_ = 0;
    std::size_t op_ = 0;
    int correlation_ = 0;
    std::vector<KinetoEvent> events_;
};

} // namespace

std::string KinetoTrace::file(std::size_t rank, const KinetoJob& job,
                              const std::function<bool(const KinetoEvent&)>& keep) const {
    std::string text = fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"backend":"nccl","rank":{}}},)"
                                   R"("traceEvents":[{{"ph":"M","name":"process_name","pid":0,"args":{{}}}})",
                                   job.first_rank + static_cast<int>(rank));
    for (const KinetoEvent& event : ranks[rank]) {
        if (!keep || keep(event)) text += ",\n" + event.json;
    }
    return text + "]}";
}

KinetoTrace traceJob(const Schedule& schedule, const KinetoJob& job) {
    KinetoTrace trace;
    std::mt19937 random(job.seed);
    const OpGraph graph(schedule);
    std::vector<Recorder> recorders;
    for (int r = 0; r < schedule.pp; ++r)
        recorders.emplace_back(job, schedule, graph, Rank{r});
    TimeNs begin = job.begin;
    for (int index = 0; index < job.steps; ++index) {
        std::vector<TimeNs> free(schedule.ranks.size(), begin);
        trace.truth.push_back(runStep(schedule, index, free, job, random));
        for (Recorder& recorder : recorders)
            recorder.step(trace.truth.back(), begin - TimeNs{500'000});
        begin = *std::max_element(free.begin(), free.end()) + kOptimizer + TimeNs{1'000'000};
    }
    for (Recorder& recorder : recorders)
        trace.ranks.push_back(recorder.take());
    return trace;
}

} // namespace bubblescope::test
