#pragma once

#include "core/aadiff/bubble_forecast.h"
#include "runtime/checks/check_context.h"
#include "runtime/checks/check_setup.h"
#include "runtime/checks/layer_capture.h"
#include "runtime/checks/layer_reexecution.h"
#include "runtime/checks/peer_checks.h"
#include "runtime/checks/state_checks.h"
#include "runtime/engine/rank_hook.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The positions of a rank's planned slots in its list of ops, and the predicted ends of the slots. Times are relative
/// to the start of the step.
class SlotSchedule {
public:
    SlotSchedule(const CheckSetup& setup, const Schedule& schedule, Rank rank);

    /// The number of slots.
    [[nodiscard]] std::size_t size() const { return slots_.size(); }
    /// Index of the op that ends the slot; the length of the list for the slot after the last op.
    [[nodiscard]] std::size_t endsBefore(std::size_t slot) const { return slots_[slot].before; }
    [[nodiscard]] bool hasSlotBefore(std::size_t index) const;

    /// The earliest start of the op at `index`, if the plan delays ops.
    [[nodiscard]] std::optional<TimeNs> held(std::size_t index) const {
        return index < holds_.size() ? holds_[index] : std::nullopt;
    }
    /// Records the time at which all inputs of the op at `index` had arrived in a step.
    void ended(std::size_t index, TimeNs time) { ends_.add(index, time); }
    /// The end of a slot, predicted from the last steps. `emulated` is true if ops take the plan's times, which are
    /// used until ends are known. Otherwise nothing is returned until enough ends are known.
    [[nodiscard]] std::optional<TimeNs> predictedEnd(std::size_t slot, bool emulated) const;

private:
    struct PlacedSlot {
        std::size_t before = 0;
        TimeNs end{0}; ///< as planned
    };

    std::vector<PlacedSlot> slots_;
    BubbleForecast ends_;                      ///< times since the step's start, by the op that ends the bubble
    std::vector<std::optional<TimeNs>> holds_; ///< earliest starts by op index
};

/// The checks of one rank: attaches to the training loop and executes the plan in the rank's bubbles. For the rank's
/// thread.
///
/// The same code is used for the host and for devices. On a device, work is only queued. Results are known when the
/// device has finished the step's ops (onOpsDone()); the thread only waits for work in slots.
class RankChecker final : public RankHook {
public:
    /// `setup` and the references in `rank` must outlive the checker.
    RankChecker(CheckSetup& setup, const RankContext& rank);

    void useDevice(RankQueue& device) override;
    void watch(std::vector<std::pair<Stage, StageModel*>> stages) override;
    void beginStep(int step, TimeNs begin) override;
    void beginOp(const Op& op, Stage stage, TimeNs begin) override { capture_.beginOp(op, stage, begin); }
    [[nodiscard]] std::uint64_t variantOf(std::span<const Op> ops) const override { return capture_.variantOf(ops); }
    void sending(Message& message) override;
    void opsComputed() override;
    void sendingGradients(Stage stage, Message& message) override;
    void received(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival) override;
    void receivedGradients(Stage stage, Arrival& arrival) override;
    void weightsWritten() override;
    [[nodiscard]] bool begin(const LayerCall& call) override { return capture_.begin(call); }
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { capture_.touch(tensor, values); }
    [[nodiscard]] bool changes() const override { return capture_.changes(); }
    [[nodiscard]] bool watches() const override { return capture_.watches(); }
    [[nodiscard]] bool keepsWeightGradient(int layer) const override { return capture_.keepsWeightGradient(layer); }
    void end(std::unique_ptr<ReexecutableLayer> kept) override { capture_.end(std::move(kept)); }

    [[nodiscard]] bool fillsBubbles() const override { return true; }
    [[nodiscard]] bool active() const override { return context_.active(); }
    void stepBegan(TimeNs begin) override { context_.step_begin = begin; }
    [[nodiscard]] TimeNs stepBegin() const override { return context_.step_begin; }
    [[nodiscard]] std::optional<TimeNs> heldSinceStep(std::size_t index) const override { return slots_.held(index); }
    [[nodiscard]] bool hasWork(std::size_t index) const override;
    void onIdle(std::size_t index, IdleClock& clock) override;
    void inputsReady(std::size_t index, TimeNs ready, std::optional<TimeNs> idle_since) override;
    void onOpsDone(std::span<const DoneOp> done, IdleClock& clock) override;
    void onStepEnd() override { peers_.endStep(); }
    void drain() override { peers_.drain(); }
    void abandon() override { peers_.abandon(); }

private:
    /// Implements beginStep() if the rank plans from measurements of its own steps.
    void beginMeasuredStep(int step, TimeNs begin);
    /// The checks of the current step; empty if none is planned.
    [[nodiscard]] std::span<const PlannedCheck> planned() const;
    /// True if `index` identifies the bubble after the last op.
    [[nodiscard]] bool isLast(std::size_t index) const {
        return index == context_.rank.schedule.ranks[context_.rank.place.rank.index()].size();
    }
    /// Runs a planned check in the bubble before `index`, which ends at `end`.
    void runPlanned(const PlannedCheck& check, std::size_t index, TimeNs end, IdleClock& clock);
    /// Implements onIdle() if the rank plans from measurements of its own steps.
    void onMeasuredIdle(std::size_t index, IdleClock& clock);
    /// Measures how long a core is free in the bubble before `index`.
    void watchCores(std::size_t index, TimeNs began, IdleClock& clock);
    /// True if the input that the rank waits for has arrived. After the last op, this is known only in some cases.
    [[nodiscard]] bool over(std::size_t index, IdleClock& clock) const;
    /// Replaces a check that was already made in this step: offers it to another rank, and executes an offer. Returns
    /// false if there is no offer.
    bool swap(const CheckUnit& unit, const Op& op, int layer, TimeNs end, IdleClock& clock);

    CheckContext context_;
    int next_step_ = 0;
    bool tried_answers_ = false; ///< on a device
    SlotSchedule slots_;
    ReexecutionCosts costs_;
    std::optional<MeasuredPlan> measured_; ///< empty if the study's plan is used
    PeerChecks peers_;
    LayerReexecution reexecution_;
    LayerCapture capture_;
    StateChecks state_;
    bool untold_plan_ = false;      ///< true if the first plan has been made but not announced
    std::set<std::size_t> checked_; ///< units checked in the current step
};

/// Creates the checkers of a run's ranks; empty if `setup` is null. `setup` must outlive the checkers.
[[nodiscard]] AttachHook attachChecks(CheckSetup* setup);

} // namespace bubblescope::runtime
