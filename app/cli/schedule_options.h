#pragma once

#include "app/cli/command_line.h"
#include "app/cli/transfer_options.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/recognise/run.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// A schedule and what it costs.
struct Planned {
    Schedule schedule;
    CostModel costs;
};

/// The options that `schedule`, `formula`, `simulate` and `run` share: which schedule, at which times.
class ScheduleOptions {
public:
    void addSchedule(Command command);
    /// --pp, --microbatches and --vpp alone, for commands that make an order of their own.
    void addSizes(Command command);
    void addTimes(Command command);
    /// What only a simulation can follow: transfers that cost more than a latency, and times of single ops.
    void addTransfers(Command command);

    [[nodiscard]] int pp() const { return pp_; }                     ///< 0 if not given
    [[nodiscard]] int microbatches() const { return microbatches_; } ///< 0 if not given
    [[nodiscard]] int vpp() const { return vpp_; }                   ///< 1 if not given

    /// Op times and latency, from --stage-times, --op-costs or the single times. Without --forward the last are
    /// `forward` and, for the backward, twice that.
    [[nodiscard]] Result<CostModel> costs(TimeNs forward) const;

    /// From --schedule and its sizes, or from --schedule-file (not validated), named after the family whose
    /// order it is, else "custom". `times` are what costs()
    /// gave, for the families whose order depends on them.
    [[nodiscard]] Result<Schedule> schedule(const CostModel& times) const;

    /// Both, with what addTransfers() asks for.
    [[nodiscard]] Result<Planned> plan(TimeNs forward) const;

    /// Another schedule of the same sizes: "NAME", "NAME/FLAVOR", or "/FLAVOR" for another flavor of the
    /// family that --schedule names. `vpp` takes the place of --vpp where given.
    [[nodiscard]] Result<Schedule> sibling(const std::string& name, const CostModel& times,
                                           std::optional<int> vpp = {}) const;

    /// The schedule that a trace is meant to show; sizes that are not given are left open, and so is v where it is 1.
    [[nodiscard]] Status open(LoadOptions& options) const;
    /// True if a size is given.
    [[nodiscard]] bool sized() const { return pp_ > 0 || microbatches_ > 0 || vpp_ > 1; }

    /// True if --schedule or --schedule-file says which schedule is meant.
    [[nodiscard]] bool given() const { return !name_.empty() || !file_.empty(); }

private:
    /// What the options ask for, apart from times.
    [[nodiscard]] ScheduleSpec spec(const std::string& name, const std::string& flavor, int vpp) const;
    [[nodiscard]] Result<Schedule> generate(const std::string& name, const std::string& flavor, const CostModel& times,
                                            int vpp) const;
    /// The last stage of each pipeline computes the loss.
    [[nodiscard]] Status addLoss(CostModel& model, TimeNs loss) const;
    /// The ops' times from --op-costs, or from --forward and its kind.
    [[nodiscard]] Result<CostModel> operatorCosts() const;
    [[nodiscard]] Result<CostModel> singleCosts(TimeNs forward) const;

    std::string name_;
    std::string flavor_;
    std::string file_;
    int pp_ = 0;
    int microbatches_ = 0;
    int vpp_ = 1;
    int group_size_ = 0;
    int memory_limit_ = 0;
    std::vector<std::int64_t> activation_sizes_; ///< three, or none
    int sequence_slices_ = 1;
    std::string op_costs_;
    std::string pair_cuts_ = "paddle";
    std::optional<std::string> forward_;
    std::optional<std::string> backward_;
    std::optional<std::string> input_grad_;
    std::optional<std::string> weight_grad_;
    std::optional<std::string> overlapped_;
    std::optional<std::string> comm_;
    std::optional<std::string> loss_;
    std::string stage_times_;
    std::string op_times_;
    TransferOptions transfers_;
};

} // namespace bubblescope::cli
