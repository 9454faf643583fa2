#pragma once

#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "runtime/checks/aadiff_options.h"
#include "runtime/checks/check_broker.h"
#include "runtime/model/model_config.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace bubblescope::runtime {

/// State shared by all ranks of a run with checks.
class CheckSetup {
public:
    struct Of {
        const Schedule& schedule;
        const CostModel& times; ///< nominal times; timesOrUnits() if there are none
        const ModelConfig& model;
        bool paced = true;
        bool on_host = true;        ///< true if ranks compute on the host, not on devices
        std::size_t ranks_here = 1; ///< number of ranks that can repeat each other's layers
        std::filesystem::path dir;  ///< folder for the tensors of mismatches; empty = tensors are not stored
    };

    /// Plans checks of each layer of each op; once all are covered, the plan starts again. Errors: those of
    /// studyAadiff().
    [[nodiscard]] static Result<std::unique_ptr<CheckSetup>> make(const Of& of, const AadiffOptions& options);

    const AadiffOptions options;
    const PlanLimits limits;
    const AadiffStudy study;
    /// True if each rank plans checks from the idle time of its own steps (see MeasuredPlan) instead of using the
    /// study; this is the case if ops are not paced.
    const bool measured;
    /// True if CheckedSteps decides how often steps are checked, within AadiffOptions::cost; this is the case on
    /// devices where ops are not paced.
    const bool chooses_steps;
    /// True if ops are delayed until their times in the plan, so that the idle time of a step is contiguous.
    const bool holds;
    /// The broker of the ranks of this process. Replace this before the run if ranks of other processes can be asked.
    std::unique_ptr<CheckBroker> broker;
    /// Writes a mismatch of a rank, given by its global number, into that rank's trace; may be empty.
    std::function<void(Rank, const CheckRecord&)> write;

    /// The layers of a stage, by their numbers in the complete model.
    [[nodiscard]] LayerRange layersOf(Stage stage) const { return layers_[stage.index()]; }
    [[nodiscard]] int headLayer() const { return head_; }

    /// Maximum fraction of a rank's time for each of the two kinds of work in AadiffOptions::cost.
    [[nodiscard]] double shareOfOne() const;
    /// Reports that a rank has made its first plan (see MeasuredPlan), and that it executes one step of it every
    /// `interval` steps. Thread-safe.
    void planned(Rank world, const RankPlan& plan, int interval);
    /// Number of steps until all units are covered, according to the study or to later plans of ranks; nothing if some
    /// units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;

    /// Writes the tensors of a mismatch to disk, within AadiffOptions::bytes_on_disk.
    void keepTensors(Rank world, const CheckRecord& check, const ShownTensor& first, const ShownTensor& second);

private:
    CheckSetup(const Of& of, const AadiffOptions& wanted, PlanLimits by, AadiffStudy planned);

    std::vector<LayerRange> layers_; ///< by stage
    const std::size_t ranks_here_;
    mutable std::mutex planning_;
    std::size_t have_planned_ = 0; ///< number of ranks that have made a plan
    PlannedCoverage coverage_;
    int head_;
    std::filesystem::path dir_;
    std::mutex disk_;
    std::int64_t on_disk_ = 0;
};

} // namespace bubblescope::runtime
