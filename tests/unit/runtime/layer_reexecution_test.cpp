// Layers run again: by the same code on the same inputs they produce the same bits and change nothing else.

#include "runtime/model/layer_watch.h"

#include "core/base/hash.h"
#include "core/families/registry.h"
#include "runtime/checks/layer_result.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

namespace bubblescope::runtime {
namespace {

/// Takes down what is shown.
class Taker final : public LayerProbe {
public:
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { result.push_back(values.show(tensor, false)); }
    LayerResult result;
};

struct Seen {
    std::mutex mutex;
    int layers = 0;
    int different = 0;
    std::set<std::pair<LayerPart, int>> parts;
};

/// Runs every layer again twice: at once, and detached when the step is nearly over.
class TwiceWatch final : public LayerWatch {
public:
    explicit TwiceWatch(Seen& seen) : seen_(seen) {}
    bool begin(const LayerCall& call) override {
        call_ = call;
        first_.result.clear();
        return true;
    }
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { first_.touch(tensor, values); }
    void end(std::unique_ptr<ReexecutableLayer> kept) override {
        const std::lock_guard lock(seen_.mutex);
        ++seen_.layers;
        seen_.parts.insert({call_.part, call_.layer});
        EXPECT_GT(kept->bytes() + (call_.layer == 0 ? 1 : 0), 0);
        for (int i = 0; i < 2; ++i) {
            Taker again;
            kept->run(again);
            EXPECT_EQ(again.result.size(), first_.result.size());
            seen_.different += firstDifference(first_.result, again.result) ? 1 : 0;
            kept->detach();
        }
        runAsPacked(*kept);
    }

private:
    /// As another process would, from bytes alone.
    void runAsPacked(const ReexecutableLayer& kept) {
        WireWriter packed;
        ASSERT_TRUE(kept.pack(packed));
        const std::string bytes = packed.take();
        WireReader reader(bytes);
        const auto unpacked = unpackLayer(reader);
        ASSERT_TRUE(unpacked.ok()) << unpacked.error().text();
        EXPECT_TRUE(reader.done());
        Taker again;
        unpacked.value()->run(again);
        EXPECT_EQ(again.result.size(), first_.result.size());
        seen_.different += firstDifference(first_.result, again.result) ? 1 : 0;
    }

    Seen& seen_;
    LayerCall call_;
    Taker first_;
};

/// Digest of the weights after two steps, with and without a watch that runs everything again.
std::uint64_t train(const Schedule& schedule, int tensor_ranks, Seen* seen) {
    test::EngineRun run(schedule, test::someTimes(TimeNs{0}));
    run.model.heads = 2;
    run.model.layers_per_stage = 2;
    run.tensor_ranks = tensor_ranks;
    std::mutex mutex;
    std::vector<std::unique_ptr<TwiceWatch>> watches;
    run.make_stage = [&](StageTask task) {
        if (seen != nullptr) {
            const std::lock_guard lock(mutex);
            task.watch = watches.emplace_back(std::make_unique<TwiceWatch>(*seen)).get();
        }
        return makeCpuStage(run.model, task);
    };
    const auto result = run.run();
    EXPECT_TRUE(result.ok()) << result.error().text();
    std::uint64_t hash = kFnvOffset;
    for (const auto& lane : result.value().stages) {
        for (const auto& stage : lane)
            hash = stage->digest(hash);
    }
    return hash;
}

TEST(ReexecutableLayer, ComesToTheSameBitsAndChangesNothing) {
    for (const auto& [name, vpp, tensor_ranks] :
         {std::tuple{"1f1b", 1, 1}, std::tuple{"zb-v", 2, 1}, std::tuple{"seq1f1b", 1, 1}, std::tuple{"1f1b", 1, 2}}) {
        const Schedule schedule = test::scheduleOf(name, 2, 4, vpp);
        Seen seen;
        EXPECT_EQ(train(schedule, tensor_ranks, &seen), train(schedule, tensor_ranks, nullptr)) << name;
        EXPECT_EQ(seen.different, 0) << name << ", tensor ranks " << tensor_ranks;
        const int layers = 2 * schedule.stages() + 2;
        EXPECT_EQ(seen.parts.size(), static_cast<std::size_t>(3 * layers)) << name;
        EXPECT_GE(seen.layers, 2 * 4 * 3 * layers) << name;
    }
}

} // namespace
} // namespace bubblescope::runtime
