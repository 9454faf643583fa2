#pragma once

#include "runtime/checks/check_context.h"
#include "runtime/checks/layer_capture.h"
#include "runtime/checks/layer_reexecution.h"
#include "runtime/checks/peer_checks.h"
#include "runtime/checks/reexecution_costs.h"
#include "runtime/checks/slot_schedule.h"
#include "runtime/checks/state_checks.h"
#include "runtime/engine/rank_hooks.h"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The checks of one rank: attaches to the training loop, and executes the plan in the rank's bubbles. The work is done
/// by its members. For the rank's thread.
///
/// The same code serves the host and devices. On a device work is only queued: results are known when the device has
/// finished the step's ops (onOpsDone()), except those of work in slots, which is waited for.
class RankChecker final : public LayerHook, public IdleHook {
public:
    /// `setup` and the references in `rank` must outlive the checker.
    RankChecker(CheckSetup& setup, const RankContext& rank);

    // LayerHook
    void useDevice(RankDevice& device) override;
    void watch(std::vector<std::pair<Stage, StageModel*>> stages) override;
    void beginStep(int step, TimeNs begin) override;
    void beginOp(const Op& op, Stage stage, TimeNs begin) override { capture_.beginOp(op, stage, begin); }
    [[nodiscard]] std::uint64_t variantOf(std::span<const Op> ops) const override { return capture_.variantOf(ops); }
    void sending(Message& message) override;
    void sendingGradients(Stage stage, Message& message) override;
    void received(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival) override;
    void receivedGradients(Stage stage, Arrival& arrival) override;
    void weightsWritten() override { state_.weightsWritten(); }
    [[nodiscard]] bool begin(const LayerCall& call) override { return capture_.begin(call); }
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { capture_.touch(tensor, values); }
    void end(std::unique_ptr<LayerReplay> kept) override { capture_.end(std::move(kept)); }

    // IdleHook
    [[nodiscard]] bool active() const override { return context_.active(); }
    void stepBegan(TimeNs begin) override { context_.step_begin = begin; }
    [[nodiscard]] TimeNs stepBegin() const override { return context_.step_begin; }
    [[nodiscard]] std::optional<TimeNs> heldSinceStep(std::size_t index) const override { return slots_.held(index); }
    [[nodiscard]] bool hasWork(std::size_t index) const override { return slots_.hasSlotBefore(index); }
    void onIdle(std::size_t index, IdleClock& clock) override;
    void inputsReady(std::size_t index, TimeNs ready) override { slots_.ended(index, ready - context_.step_begin); }
    void onOpsDone(std::span<const DoneOp> done, IdleClock& clock) override;
    void onStepEnd() override { peers_.endStep(); }
    void drain() override { peers_.drain(); }
    void abandon() override { peers_.abandon(); }

private:
    /// The checks of the current step; empty if none is planned.
    [[nodiscard]] std::span<const PlannedCheck> planned() const;
    void runPlanned(const PlannedCheck& check, TimeNs end, IdleClock& clock);
    /// Instead of a check that was already made in this step: offers it to another rank and executes an offer. Returns
    /// false if there is no offer.
    bool swap(const CheckUnit& unit, const Op& op, int layer, TimeNs end, IdleClock& clock);

    CheckContext context_;
    SlotSchedule slots_;
    ReexecutionCosts costs_;
    PeerChecks peers_;
    LayerReexecution reexecution_;
    LayerCapture capture_;
    StateChecks state_;
    std::set<std::size_t> checked_; ///< units checked in the current step
};

/// Makes the checkers of a run's ranks; empty if `setup` is null. `setup` must outlive them.
[[nodiscard]] AttachHooks attachChecks(CheckSetup* setup);

} // namespace bubblescope::runtime
