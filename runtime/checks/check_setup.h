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

/// State that all ranks of a run with checks share.
class CheckSetup {
public:
    struct Of {
        const Schedule& schedule;
        const CostModel& times; ///< nominal; if empty, those of timesOrUnits()
        const ModelConfig& model;
        bool paced = true;
        bool on_host = true;        ///< ranks compute on the host, not on devices
        std::size_t ranks_here = 1; ///< number of ranks that can repeat each other's layers
        std::filesystem::path dir;  ///< for the tensors of mismatches; empty = they are not written
    };

    /// Plans checks of each layer of each op, repeating the plan when all are covered. Errors: those of studyAadiff().
    [[nodiscard]] static Result<std::unique_ptr<CheckSetup>> make(const Of& of, const AadiffOptions& options);

    const AadiffOptions options;
    const PlanLimits limits;
    const AadiffStudy study;
    /// Whether each rank plans from the idle time of its own steps, see MeasuredPlan, and not by the study: if ops take
    /// the time of their maths.
    const bool measured;
    /// Whether steps are checked as often as AadiffOptions::cost allows, see CheckedSteps: on devices where ops take
    /// the time of their maths.
    const bool chooses_steps;
    /// Whether ops are held back until the plan's times, so that the idle time of a step is contiguous.
    const bool holds;
    /// The broker of the ranks of this process. Replace it before the run if other processes can be asked.
    std::unique_ptr<CheckBroker> broker;
    /// Writes a mismatch of a rank, numbered over the whole run, into its trace; may be empty.
    std::function<void(Rank, const CheckRecord&)> write;

    /// The layers of a stage, numbered over the whole model.
    [[nodiscard]] LayerRange layersOf(Stage stage) const { return layers_[stage.index()]; }
    [[nodiscard]] int headLayer() const { return head_; }

    /// The share of its time that a rank may use for one of the two kinds of work in AadiffOptions::cost.
    [[nodiscard]] double shareOfOne() const;
    /// A rank has made its first plan, see MeasuredPlan; a step of it is executed in every `interval` steps.
    /// Thread-safe.
    void planned(Rank world, const RankPlan& plan, int interval);
    /// Steps until everything is covered, according to the study or to later plans of ranks; nothing if some units
    /// never are.
    [[nodiscard]] std::optional<int> stepsToFull() const;

    /// Writes the tensors of a mismatch to disk, within AadiffOptions::bytes_on_disk.
    void keepTensors(Rank world, const CheckRecord& check, const ShownTensor& first, const ShownTensor& second);

private:
    CheckSetup(const Of& of, const AadiffOptions& wanted, PlanLimits by, AadiffStudy planned);

    std::vector<LayerRange> layers_; ///< by stage
    const std::size_t ranks_here_;
    mutable std::mutex planning_;
    std::size_t have_planned_ = 0; ///< ranks
    PlannedCoverage coverage_;
    int head_;
    std::filesystem::path dir_;
    std::mutex disk_;
    std::int64_t on_disk_ = 0;
};

} // namespace bubblescope::runtime
