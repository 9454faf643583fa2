// The work that checks in bubbles add to the ops of a run, counted by the emulated device.

#include "runtime/checks/layer_result.h"
#include "runtime/model/gpt_stage.h"
#include "tests/gpu/checked_device_run.h"
#include "tests/support/emulated_device.h"
#include "tests/unit/runtime/schedules.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// The work of a run outside of bubbles: on all streams but those of checks.
class WorkOfOps final : public DeviceObserver {
public:
    struct Sum {
        int count = 0;
        std::int64_t bytes = 0;
        friend bool operator==(const Sum&, const Sum&) = default;
        friend std::ostream& operator<<(std::ostream& to, const Sum& one) {
            return to << one.count << " with " << one.bytes << " bytes";
        }
    };

    [[nodiscard]] std::uint32_t called(Kind /*kind*/, bool graph) override {
        graphs += graph ? 1 : 0;
        return 0;
    }
    void ran(const Work& work) override {
        if (work.priority == Accelerator::Priority::Low) return;
        const bool of_digests = (work.kind == Kind::Copy && work.bytes == sizeof(std::uint64_t)) ||
                                (work.kind == Kind::Set && work.bytes == DigestPage::kBytes) ||
                                std::string_view(work.name) == "DigestKernel";
        Sum& sum = of_digests ? digests[work.name] : ops[work.name];
        ++sum.count;
        sum.bytes += work.bytes;
    }
    void idleAt(TimeNs /*now*/) override {}

    std::atomic<int> graphs = 0; ///< launched, if the device makes graphs of ops
    std::map<std::string, Sum> ops;
    std::map<std::string, Sum> digests; ///< of weights and messages
};

/// Launches that compute digests in a run: one per op that receives or computes what is digested, one for the weights
/// of each rank in each step and before the first, and one for each stage after the run.
int digestLaunches(const Schedule& schedule, int steps) {
    int ops = 0;
    for (const auto& rank : schedule.ranks) {
        for (const Op& op : rank)
            ops += op.kind != OpKind::BackwardWeight && op.kind != OpKind::Optimizer ? 1 : 0;
    }
    return ops * steps + schedule.pp * (steps + 1) + schedule.stages();
}

// Inputs are not copied, and the first execution's results are digested in the bubble: until then, both stay in the
// memory that the op uses anyway.
TEST(CheckedOps, HaveNoWorkForTheirRepetition) {
    constexpr int kSteps = 3;
    for (const char* const name : {"1f1b", "zb-h1"}) {
        SCOPED_TRACE(name);
        const Schedule schedule = scheduleOf(name, 4, 8);
        const auto workOf = [&](bool checks, std::size_t& replays) {
            DeviceRun made(schedule, Storage::Bf16);
            made.run.model.width = 128; // without gaps between parameters
            made.run.model.heads = 4;
            made.run.aadiff->digests = false;
            if (!checks) made.run.aadiff.reset();
            const auto work = std::make_shared<WorkOfOps>();
            dynamic_cast<EmulatedDevice&>(*made.device).observer = work;
            made.train(kSteps);
            EXPECT_TRUE(made.run.mismatches.empty());
            replays = made.checks(CheckKind::Replay).size();
            return work;
        };
        std::size_t replays = 0;
        std::size_t none = 0;
        const auto checked = workOf(true, replays);
        const auto plain = workOf(false, none);
        EXPECT_GT(replays, 4U * kSteps);
        EXPECT_EQ(none, 0U);
        // Paced ops are also held until their planned start.
        for (const auto& work : {checked, plain}) {
            work->ops.erase("stamp");
            work->ops.erase("hold");
        }
        EXPECT_EQ(checked->ops, plain->ops);
        const int messages = 2 * (schedule.pp - 1) * schedule.microbatches * kSteps;
        EXPECT_EQ(checked->digests["DigestKernel"].count, digestLaunches(schedule, kSteps));
        EXPECT_EQ(checked->digests["copy"].count, messages);
    }
}

// The received tensor, the results of layers and the output are digested together at the end of an op, so that an op is
// still one graph.
TEST(CheckedOps, LaunchOneDigestEach) {
    constexpr int kSteps = 3;
    for (const auto& [name, vpp] : {std::pair{"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}}) {
        SCOPED_TRACE(name);
        const Schedule schedule = scheduleOf(name, 4, 8, vpp);
        std::size_t recorded = 0;
        const auto graphsOf = [&](const std::optional<bool> digests) {
            DeviceRun made(schedule, Storage::Bf16);
            if (digests) {
                made.run.aadiff->digests = *digests;
            } else {
                made.run.aadiff.reset();
            }
            auto& device = dynamic_cast<EmulatedDevice&>(*made.device);
            const auto work = std::make_shared<WorkOfOps>();
            device.graphs = true;
            device.observer = work;
            made.train(kSteps);
            EXPECT_TRUE(made.run.mismatches.empty());
            if (digests) {
                EXPECT_EQ(work->digests["DigestKernel"].count, digestLaunches(schedule, kSteps));
            }
            recorded = 0;
            for (const auto& rank : made.run.records) {
                for (const profiler::SliceRecord& record : rank)
                    recorded += record.category == profiler::SliceRecord::Category::Digest ? 1 : 0;
            }
            return work->graphs.load();
        };
        const int graphs = graphsOf(true);
        const int layers = 2 * schedule.stages() + 2;
        const int results = 2 * layers - 1; // the head has no output
        EXPECT_EQ(recorded, static_cast<std::size_t>(results * schedule.microbatches * kSteps));
        // A few ops wait for memory that a transfer still reads, and are two graphs.
        EXPECT_NEAR(graphs, graphsOf(std::nullopt), graphs / 10);
        EXPECT_NEAR(graphs, graphsOf(false), graphs / 10);
    }
}

/// Captures the parts of one layer in some ops, as a plan does that recurs in each step.
class RecurringCapture final : public LayerWatch {
public:
    [[nodiscard]] bool begin(const LayerCall& call) override { return captures_ = now && call.layer == kLayer; }
    [[nodiscard]] bool watches() const override { return captures_; }
    [[nodiscard]] bool changes() const override { return false; }
    [[nodiscard]] bool keepsWeightGradient(int layer) const override { return captures && layer == kLayer; }
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { results.push_back(values.keep(tensor)); }
    void end(std::unique_ptr<ReexecutableLayer> layer) override {
        if (layer) layers.push_back(std::move(layer));
    }

    bool captures = false; ///< in some ops of the step
    bool now = false;      ///< in the current op
    std::vector<ShownTensor> results;
    std::vector<std::unique_ptr<ReexecutableLayer>> layers;

private:
    static constexpr int kLayer = 2; ///< the second block
    bool captures_ = false;
};

// The graph of an op is launched again if its calls have the same addresses. Memory that a check keeps moves the memory
// of later ops, but in the same way in each step with the same checks.
TEST(CheckedOps, RecurAsGraphsInEachStepWithTheSameChecks) {
    ModelConfig config;
    config.width = 32;
    config.heads = 2;
    config.sequence = 8;
    config.layers_per_stage = 2;
    const auto device = std::make_shared<EmulatedDevice>(1U);
    const auto queue = makeQueue(device);
    queue->prepareChecks();
    RecurringCapture watch;
    StageTask task{1, 3, {}, 1, 4};
    for (int piece = 0; piece < 4; ++piece)
        task.pieces.push_back({Microbatch{piece}});
    task.watch = &watch;
    GptStage<Bf16> stage(queue, config, task);
    const auto tensor = [&] {
        Buffer values = queue->pool().take(std::int64_t{config.batch} * config.sequence * config.width * 2);
        device->zero(values.as<void>(), values.bytes(), queue->stream());
        return queue->give(std::move(values), std::int64_t{config.batch} * config.sequence, config.width,
                           Storage::Bf16);
    };
    const auto op = [&](std::uint64_t key, bool captured, const auto& compute) {
        Tensor input = tensor();
        watch.now = watch.captures && captured;
        queue->beginOp(key + (watch.now ? 10 : 0), std::nullopt, 0);
        compute(std::move(input));
        queue->endOp();
        watch.now = false;
    };
    const auto bubble = [&] {
        static_cast<void>(queue->runCheck(std::nullopt, [&] {
            queueDigests(watch.results);
            for (const auto& layer : watch.layers) {
                DigestProbe probe;
                layer->run(probe);
                queueDigests(probe.take());
            }
        }));
        watch.results.clear();
        watch.layers.clear();
    };
    const auto step = [&] {
        queue->beginStep();
        for (const Piece piece : task.pieces) {
            op(1, piece.sample.value == 2, [&](Tensor input) { (void)stage.forward(piece, std::move(input)); });
            if (piece.sample.value == 3) bubble();
        }
        for (const Piece piece : task.pieces) {
            op(2, piece.sample.value == 1, [&](Tensor grad) {
                (void)stage.backwardInput(piece, std::move(grad));
                stage.backwardWeight(piece);
            });
            if (piece.sample.value == 2) bubble();
        }
        stage.applyGradient(stage.takeGradient());
        static_cast<void>(queue->finishOps());
    };
    const auto newGraphs = [&](bool captures) {
        const std::int64_t before = device->capturedBatches();
        watch.captures = captures;
        step();
        return device->capturedBatches() - before;
    };
    EXPECT_GT(newGraphs(false), 0);
    EXPECT_GT(newGraphs(false), 0) << "the first step of the optimizer allocates its memory";
    EXPECT_EQ(newGraphs(false), 0);
    EXPECT_GT(newGraphs(true), 0);
    for (int again = 0; again < 3; ++again) {
        EXPECT_EQ(newGraphs(true), 0) << again;
        EXPECT_EQ(newGraphs(false), 0) << again;
    }
    queue->finish();
}

} // namespace
} // namespace bubblescope::runtime::test
