#pragma once

#include "profiler/recorder/ring.h"
#include "runtime/backend/rank_device.h"
#include "runtime/checks/check_setup.h"
#include "runtime/checks/slot_clock.h"
#include "runtime/engine/device_ops.h"
#include "runtime/engine/wiring.h"
#include "runtime/faults/rank_faults.h"
#include "runtime/model/stage_model.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// One rank's checks: looks on while its stages compute, runs again in its bubbles what the plan says, and tells what
/// it found. Where a run does not check itself it only lets faults strike inside layers. Used by the rank's thread.
///
/// The same on the host and on a device. There what is looked at is only queued, so what was found is known when the
/// device is through with the step's ops (settle()), but for what runs in slots, which is waited for.
class RankChecker final : public LayerWatch {
public:
    struct Place {
        Rank world;
        const RunMesh& run;
        MeshPlace mesh;
    };

    /// `setup` may be null: no checks. References must outlive it.
    RankChecker(CheckSetup* setup, const RankFaults& faults, const Schedule& schedule, const CostModel& times,
                const Place& place, profiler::RecordRing* ring, const std::atomic<bool>& ended);
    ~RankChecker() override;

    /// Whether the step at hand is checked.
    [[nodiscard]] bool checks() const { return setup_ != nullptr && step_ % setup_->options.every == 0; }

    /// The rank computes there, and so do its checks; before watch().
    void useDevice(RankDevice& device);
    /// The rank's stages, before the first step. They must outlive it.
    void watch(std::vector<std::pair<Stage, StageModel*>> stages);

    void beginStep(int step, TimeNs begin);
    /// Where only the rank's device can tell.
    void stepBegan(TimeNs begin) { begin_ = begin; }
    /// When the op at `index` of the rank's list may begin, at the earliest, where the plan holds ops back.
    [[nodiscard]] std::optional<TimeNs> heldUntil(std::size_t index) const;
    /// The same since the step began.
    [[nodiscard]] std::optional<TimeNs> heldSinceStep(std::size_t index) const;
    /// Ops with equal numbers do the same for checks.
    [[nodiscard]] std::uint64_t variantOf(std::span<const Op> ops) const;
    [[nodiscard]] TimeNs stepBegin() const { return begin_; }
    [[nodiscard]] bool hasSlot(std::size_t index) const;
    /// Fills the slot before the op at `index`, if there is one; `index` is the list's size behind the last op.
    void fill(std::size_t index, SlotClock& clock);
    /// When what the op at `index` waited for was there, checks aside.
    void ended(std::size_t index, TimeNs ready);

    /// An op begins on the rank at `now`; layers follow.
    void beginOp(const Op& op, Stage stage, TimeNs now);
    /// Says of what the op that ran last hands on what it was when it had been computed. To be called before it is
    /// handed over.
    void sign(Message& message) const;
    /// What came for an op from another rank; `sent` is the arrival that it came with.
    void received(const Op& op, Stage stage, Tensor& tensor, const Arrival& sent);

    /// Of the gradients that a copy of the stage is sent.
    void sign(Stage stage, Message& gradients) const;
    void receivedGradients(Stage stage, Arrival& gradients);
    /// The optimizer has written all weights.
    void weightsWritten();

    /// On a device, when it is through with some ops of the step and all ranks have met: takes down what they came to.
    void settle(std::span<const DoneOp> done, SlotClock& clock);

    /// Behind the optimizer, when all ranks have met: settles verdicts.
    void endStep();
    /// Behind the last step, when all ranks have met: settles what is left.
    void finish();
    /// The run ends early: verdicts that wait for other ranks stay open, and are told as such.
    void abandon();

    // LayerWatch
    [[nodiscard]] bool begin(const LayerCall& call) override;
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override;
    void end(std::unique_ptr<LayerReplay> kept) override;

private:
    static constexpr Op kOptimizer{OpKind::Optimizer, Microbatch{0}, Chunk{0}};
    static constexpr TimeNs kSmallCheck{200'000}; ///< what a known answer, or a layer's weights, takes at most
    /// An op without what says how it runs.
    using OpKey = std::tuple<OpKind, Microbatch, Chunk, std::int32_t>;
    static OpKey keyOf(const Op& op) { return {op.kind, op.microbatch, op.chunk, op.sequence}; }
    using LayerKey = std::pair<OpKey, int>;

    /// A part of a layer that is kept to be run again, and what it came to.
    struct Kept {
        LayerRun run;
        Stage stage;
        LayerPart part = LayerPart::Forward;
        std::shared_ptr<LayerReplay> replay;
        LayerResult first;
    };
    /// A mismatch whose verdict waits for another rank.
    struct Pending {
        CheckRecord record;
        std::shared_ptr<CheckBoard::Question> question;
        std::optional<Rank> by; ///< of Elsewhere: who ran it again
    };
    struct PlacedSlot {
        std::size_t before = 0;  ///< in the rank's list
        TimeNs end{0};           ///< planned, counted from the step's begin
        std::deque<TimeNs> seen; ///< the last ends, likewise
    };

    void placePlan();
    /// Of the step at hand; empty where nothing is planned.
    [[nodiscard]] std::span<const PlannedCheck> planned() const;
    [[nodiscard]] std::optional<TimeNs> predictedEnd(const PlacedSlot& slot) const;
    [[nodiscard]] TimeNs costOf(const Kept& part, TimeNs nominal) const;
    /// What it took, where it does not take its nominal time.
    void noteCost(const Kept& part, TimeNs took);
    /// The embedding, a block or the head.
    [[nodiscard]] int kindOf(int layer) const { return layer == 0 ? 0 : layer == setup_->headLayer() ? 2 : 1; }
    void runPlanned(const PlannedCheck& check, TimeNs end, SlotClock& clock);
    [[nodiscard]] LayerResult execute(const LayerReplay& replay, LayerRun run, int again);
    void compare(const Kept& kept, const LayerResult& second, CheckRecord record, TimeNs nominal, SlotClock* clock);
    /// `by`: the other rank that disagreed.
    void settleLater(CheckRecord record, ShippedLayer layer, std::optional<Rank> by);
    [[nodiscard]] ShippedLayer ship(const Kept& kept, TimeNs nominal) const;
    /// `clock`: of a device; null on the host, where it is done in the op.
    void tryTwice(const Kept& kept, SlotClock* clock);
    void knownAnswers(TimeNs end, SlotClock& clock);
    void checkWeights(TimeNs end, SlotClock& clock);
    /// Runs what another rank offers, if it fits; false if nothing does.
    bool checkElsewhere(TimeNs end, SlotClock& clock);
    /// In place of a check of what was checked in this step already: hands that to another rank, and takes up what one
    /// offers. False where there is nothing.
    bool swap(const PlannedCheck& check, TimeNs end, SlotClock& clock);
    void offer(const Kept& kept, TimeNs nominal);
    void answerOthers();
    void settleElsewhere();
    void settle(Pending& pending, CheckBoard::Reply reply);

    /// Does what asks for digests of an op: at once on the host, at `now`, else when they are known.
    void whenKnown(const Op& op, TimeNs now, std::function<void(TimeNs)> then);
    [[nodiscard]] std::uint64_t weightsOf(Stage stage) const;
    [[nodiscard]] CheckRecord recordOf(CheckKind kind, const Op& op, int layer, CheckedTensor tensor) const;
    void tell(CheckRecord record, CheckedTensor tensor, Stage stage);
    void tellMismatch(const CheckRecord& record, Rank world);
    /// Told of a rank, which need not be this one.
    void note(CheckRecord record, Rank world);
    void push(const profiler::SliceRecord& record);

    CheckSetup* setup_;
    const RankFaults& faults_;
    const Schedule& schedule_;
    const CostModel& times_;
    Place place_;
    profiler::RecordRing* ring_;
    const std::atomic<bool>& ended_;
    RankDevice* device_ = nullptr; ///< none = the host
    bool emulated_ = true;
    std::vector<std::pair<Stage, StageModel*>> stages_;
    std::vector<PlacedSlot> slots_;                                    ///< as the plan numbers them
    std::vector<std::optional<TimeNs>> holds_;                         ///< by index, from the step's begin
    std::map<std::pair<Stage, int>, LayerResult> weights_;             ///< as written, by layer
    std::map<std::tuple<OpKind, LayerPart, int>, TimeNs> usual_;       ///< time that a part of a layer takes
    std::set<std::pair<LayerPart, int>> tried_;                        ///< part, and what kind of layer
    std::map<std::tuple<OpKind, LayerPart, Chunk, int>, int> offered_; ///< how often to others
    std::uint64_t executions_ = 0;
    int step_ = 0;
    TimeNs begin_{0};

    // Of the step at hand:
    std::map<LayerKey, std::size_t> wanted_; ///< planned checks, by place in the plan's step
    std::map<LayerKey, std::vector<Kept>> kept_;
    std::int64_t kept_bytes_ = 0;
    std::vector<Pending> pending_;
    std::set<std::size_t> checked_; ///< units
    /// What a device is to tell of its ops.
    struct Late {
        Op op;
        std::function<void(TimeNs)> then;
    };
    std::vector<Late> late_;
    std::vector<Kept> to_try_; ///< on a device, twice

    // Of the op and the layer at hand:
    Op op_;
    Stage stage_;
    TimeNs op_begin_{0};
    LayerCall call_;
    LayerRun run_;
    std::optional<LayerStrikes> strikes_;
    LayerResult shown_;
    bool keeps_ = false;
    bool tries_ = false;
    std::optional<ShownTensor> output_; ///< of the op
    TimeNs layer_began_{0};
};

} // namespace bubblescope::runtime
