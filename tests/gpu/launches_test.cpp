// How many launches an op takes, on the emulated device: the host's work for each of them is what keeps a GPU waiting.

#include "runtime/model/gpt_stage.h"
#include "tests/gpu/test_device.h"
#include "tests/support/emulated_device.h"

#include <memory>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

class CountedLaunches final : public DeviceObserver {
public:
    [[nodiscard]] std::uint32_t called(Kind /*kind*/, bool /*graph*/) override { return ++count_; }
    void ran(const Work& /*work*/) override {}
    void idleAt(TimeNs /*now*/) override {}
    [[nodiscard]] std::uint32_t since(std::uint32_t before) const { return count_ - before; }
    [[nodiscard]] std::uint32_t count() const { return count_; }

private:
    std::uint32_t count_ = 0;
};

struct OpLaunches {
    std::uint32_t forward = 0;
    std::uint32_t input = 0;
    std::uint32_t weights = 0;

    friend bool operator==(const OpLaunches&, const OpLaunches&) = default;
    friend std::ostream& operator<<(std::ostream& to, const OpLaunches& one) {
        return to << "F " << one.forward << ", I " << one.input << ", W " << one.weights;
    }
};

/// For a stage in the middle of a pipeline with one block, in a step that is not the first.
OpLaunches launchesOf(int batch, int heads, bool fused) {
    ModelConfig config;
    config.width = 16 * heads;
    config.heads = heads;
    config.sequence = 8;
    config.batch = batch;
    const auto device = std::make_shared<EmulatedDevice>(1U);
    device->fuses_attention = fused;
    const auto counted = std::make_shared<CountedLaunches>();
    const auto queue = makeQueue(device);
    StageTask task{1, 3, {{Microbatch{0}}, {Microbatch{1}}}, 1, 2};
    GptStage<Bf16> stage(queue, config, task);
    const std::int64_t tokens = std::int64_t{config.batch} * config.sequence;
    const auto tensor = [&] {
        Buffer values = queue->pool().take(tokens * config.width * 2);
        device->zero(values.as<void>(), values.bytes(), queue->stream());
        return queue->give(std::move(values), tokens, config.width, Storage::Bf16);
    };
    OpLaunches launches;
    for (const Piece piece : task.pieces) { // the second adds to the sum of the gradients
        Tensor input = tensor();
        Tensor grad = tensor();
        device->observer = counted;
        const std::uint32_t begin = counted->count();
        (void)stage.forward(piece, std::move(input));
        launches.forward = counted->since(begin);
        (void)stage.backwardInput(piece, std::move(grad));
        launches.input = counted->since(begin) - launches.forward;
        stage.backwardWeight(piece);
        launches.weights = counted->since(begin) - launches.forward - launches.input;
        device->observer.reset();
    }
    (void)stage.takeGradient();
    queue->finish();
    return launches;
}

TEST(Launches, DoNotDependOnHeadsAndSequencesWhereAttentionIsFused) {
    const OpLaunches one = launchesOf(1, 1, true);
    EXPECT_EQ(launchesOf(8, 4, true), one);
    EXPECT_EQ(one, (OpLaunches{8, 9, 13}));
}

TEST(Launches, GrowWithTheSequencesElsewhere) {
    const OpLaunches one = launchesOf(1, 4, false);
    const OpLaunches eight = launchesOf(8, 4, false);
    EXPECT_EQ(eight.forward, one.forward + 7 * 3);
    EXPECT_EQ(eight.input, one.input + 7 * 7);
    EXPECT_EQ(eight.weights, one.weights);
}

} // namespace
} // namespace bubblescope::runtime::test
