// The memory of a stage on the CPU equals the memory model's prediction, for every order of the registry. How much a
// rank
// allocates for it is measured with real processes, see the case "memory" in tests/mpi/run_program.cpp.

#include "runtime/model/stage_memory.h"

#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "tests/unit/runtime/engine_run.h"
#include "tests/unit/runtime/schedules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// The memory of all stages of each rank together, and its maximum. A rank is known by its thread.
class Ledger {
public:
    void add(std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        Account& account = accounts_[std::this_thread::get_id()];
        account.now += bytes;
        account.most = std::max(account.most, account.now);
    }
    [[nodiscard]] std::vector<std::int64_t> peaks() const {
        std::vector<std::int64_t> peaks;
        for (const auto& [thread, account] : accounts_)
            peaks.push_back(account.most);
        std::ranges::sort(peaks);
        return peaks;
    }

private:
    struct Account {
        std::int64_t now = 0;
        std::int64_t most = 0;
    };
    std::mutex mutex_;
    std::map<std::thread::id, Account> accounts_;
};

class WatchedStage final : public StageModel {
public:
    WatchedStage(const ModelConfig& model, StageTask task, Ledger& ledger)
        : stage_(makeCpuStage(model, std::move(task))), ledger_(ledger) {}

    [[nodiscard]] Tensor forward(Piece piece, Tensor input) override {
        return noted(stage_->forward(piece, std::move(input)));
    }
    [[nodiscard]] Tensor backwardInput(Piece piece, Tensor output_grad) override {
        return noted(stage_->backwardInput(piece, std::move(output_grad)));
    }
    void backwardWeight(Piece piece) override {
        stage_->backwardWeight(piece);
        [[maybe_unused]] const Tensor nothing = noted({});
    }
    [[nodiscard]] Tensor takeGradient() override { return stage_->takeGradient(); }
    void applyGradient(const Tensor& sum) override { stage_->applyGradient(sum); }
    [[nodiscard]] double takeLoss() override { return stage_->takeLoss(); }
    [[nodiscard]] int sumsIn(OpKind kind) const override { return stage_->sumsIn(kind); }
    [[nodiscard]] MemoryUse memory() const override { return stage_->memory(); }
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override { return stage_->digest(hash); }

private:
    Tensor noted(Tensor passed) {
        const std::int64_t kept = stage_->memory().activations;
        ledger_.add(kept - std::exchange(kept_, kept));
        return passed;
    }

    std::unique_ptr<StageModel> stage_;
    Ledger& ledger_;
    std::int64_t kept_ = 0;
};

ModelConfig fourHeadModel() {
    ModelConfig model;
    model.width = 8;
    model.heads = 4;
    model.sequence = 6;
    model.batch = 2;
    return model;
}

/// For each rank, ascending: its maximum, and the model's prediction.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> peaksOf(const Schedule& schedule, int tensor_ranks) {
    test::EngineRun run(schedule, test::someTimes(TimeNs{0}));
    run.model = fourHeadModel();
    run.tensor_ranks = tensor_ranks;
    run.steps = 1;
    Ledger ledger;
    run.make_stage = [&](const StageTask& task) { return std::make_unique<WatchedStage>(run.model, task, ledger); };
    const Result<EngineResult> result = run.run();
    EXPECT_TRUE(result.ok()) << result.error().text();

    MemoryModel model = memoryModelOf(run.model, schedule, tensor_ranks);
    for (StageMemory& stage : model.stages)
        stage.forward_workspace = stage.backward_workspace = 0;
    std::vector<std::int64_t> predicted;
    for (const RankMemory& rank : memoryUse(schedule, model))
        predicted.insert(predicted.end(), static_cast<std::size_t>(tensor_ranks), rank.peak_activations);
    std::ranges::sort(predicted);
    return {ledger.peaks(), predicted};
}

bool hasPairs(const Schedule& schedule) {
    return std::ranges::any_of(schedule.ranks.front(), &Op::overlapped);
}

TEST(StageMemory, IsWhatEveryOrderOfTheRegistryKeeps) {
    int exact = 0;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family)) {
            for (const auto& [pp, vpp] : {std::pair{2, 1}, {2, 2}, {4, 1}, {4, 2}}) {
                auto made = makeSchedule({std::string(family.name), std::string(flavor), pp, 8, vpp});
                if (!made.ok() || !validate(made.value()).empty() || made.value().vpp != vpp) continue;
                const Schedule& schedule = made.value();
                SCOPED_TRACE(fmt::format("{}/{} p={} v={}", family.name, flavor, pp, vpp));
                const auto [kept, predicted] = peaksOf(schedule, 1);
                ASSERT_EQ(kept.size(), predicted.size());
                // From I to W a layer of this size keeps a little more than from F to I. Where both run in one op the
                // model has that in the op's workspace. For pairs it has both halves at once.
                const MemoryModel model = memoryModelOf(fourHeadModel(), schedule);
                std::int64_t between = 0;
                for (const StageMemory& stage : model.stages)
                    between = std::max(between, -stage.activations.input_grad);
                for (std::size_t r = 0; r < kept.size(); ++r) {
                    if (!hasPairs(schedule)) {
                        EXPECT_GE(kept[r], predicted[r]) << "rank " << r;
                    }
                    EXPECT_LE(kept[r], predicted[r] + between) << "rank " << r;
                    exact += kept[r] == predicted[r] ? 1 : 0;
                }
            }
        }
    }
    EXPECT_GT(exact, 20);
}

TEST(StageMemory, DividesWhatIsDivided) {
    for (const int tensor_ranks : {2, 4}) {
        const auto [kept, predicted] = peaksOf(test::scheduleOf("zb-h1", 3, 6), tensor_ranks);
        EXPECT_EQ(kept, predicted) << tensor_ranks;
    }
    const ModelConfig model = fourHeadModel();
    const Schedule schedule = test::scheduleOf("1f1b", 3, 6);
    const StageMemory whole = memoryModelOf(model, schedule).stages[1];
    const StageMemory half = memoryModelOf(model, schedule, 2).stages[1];
    EXPECT_EQ(whole.weights, (12 * 64 + 13 * 8) * 4);
    EXPECT_EQ(half.weights, (6 * 64 + 7 * 4 + 6 * 8) * 4);
    EXPECT_EQ(half.optimizer, 2 * half.weights);
}

} // namespace
} // namespace bubblescope::runtime
