#pragma once

#include "core/aadiff/study.h"
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

/// What the ranks of a run that checks itself share.
class CheckSetup {
public:
    struct Of {
        const Schedule& schedule;
        const CostModel& times; ///< nominal; without any, those that bubblePlaces() takes
        const ModelConfig& model;
        bool paced = true;
        std::size_t ranks_here = 1; ///< that can run each other's layers again
        std::filesystem::path dir;  ///< for tensors of mismatches; empty = they are not kept
    };

    /// What is planned: each layer of each op, again and again. Errors: those of studyAadiff().
    [[nodiscard]] static Result<std::unique_ptr<CheckSetup>> make(const Of& of, const AadiffOptions& options);

    const AadiffOptions options;
    const AadiffStudy study;
    /// Ops are held back until the plan's time, so that the step's idle time lies together.
    const bool holds;
    /// Of the ranks that are here; to be replaced before the run where others can be asked too.
    std::unique_ptr<CheckBroker> broker;
    /// Writes a mismatch of a rank of the whole run into its trace; may be empty.
    std::function<void(Rank, const CheckRecord&)> write;

    /// Of a stage, counted over the whole model.
    [[nodiscard]] LayerRange layersOf(Stage stage) const { return layers_[stage.index()]; }
    [[nodiscard]] int headLayer() const { return head_; }

    /// Keeps a mismatch's tensors on disk while there is room.
    void keepTensors(Rank world, const CheckRecord& check, const ShownTensor& first, const ShownTensor& second);

private:
    CheckSetup(const Of& of, const AadiffOptions& wanted, AadiffStudy planned);

    std::vector<LayerRange> layers_; ///< by stage
    int head_;
    std::filesystem::path dir_;
    std::mutex disk_;
    std::int64_t on_disk_ = 0;
};

} // namespace bubblescope::runtime
