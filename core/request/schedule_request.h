#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/cost/slice_parts.h"
#include "core/families/registry.h"
#include "core/recognise/run.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// "async", "blocking", "paired" or "batched". Error: Usage, for any other name.
[[nodiscard]] Result<SendMode> parseSendMode(std::string_view name);
/// "unlimited", "direction", "link" or "rank". Error: Usage, for any other name.
[[nodiscard]] Result<CommStreams> parseCommStreams(std::string_view name);

/// The user's options for the cost of transfers, apart from their latency.
struct TransferRequest {
    TransferModel stated;                       ///< excludes links and, if given separately, gradient_bytes
    std::optional<std::int64_t> gradient_bytes; ///< defaults to stated.activation_bytes
    std::string links;                          ///< a file; empty: none

    bool eager_sends = false; ///< small sends complete early, so that sizes matter even if bytes take no time

    /// `pp` is the number of ranks that a file of links may name. `timed` means that transfers take time for another
    /// reason, such as a latency. Rejects options that have no effect. Errors: Usage, Input.
    [[nodiscard]] Result<TransferModel> model(int pp, bool timed) const;
};

/// A schedule and its costs.
struct Planned {
    Schedule schedule;
    CostModel costs;
};

/// The schedule that a user means, and its times.
struct ScheduleRequest {
    /// Family, sizes, limits, latency, loss; sizes are 0 if not given. Its chunks and times are derived from the other
    /// members.
    ScheduleSpec spec{.name = "", .flavor = "", .pp = 0, .microbatches = 0};
    std::optional<int> vpp;                     ///< defaults to the result of chunks()
    std::vector<std::int64_t> activation_sizes; ///< three sizes for spec.sizes, or none
    std::string file;                           ///< instead of a family
    std::optional<Schedule> order;              ///< an order that is already loaded, instead of both
    std::string op_costs;                       ///< a file; empty: none
    std::string pair_cuts = "paddle";           ///< used with op_costs
    std::optional<TimeNs> forward;
    std::optional<TimeNs> backward;
    std::optional<TimeNs> input_grad;
    std::optional<TimeNs> weight_grad;
    std::optional<TimeNs> overlapped;
    std::optional<TimeNs> all_reduce; ///< added to the times of F and I, see CostModel::all_reduce
    std::string stage_times;          ///< a file; empty: none
    std::string op_times;             ///< a file; empty: none
    std::string slice_cut;            ///< name of a SliceCut; empty: all slices take equally long
    double attention = 0;             ///< used with slice_cut, see sliceParts()
    TransferRequest transfers;

    /// Op times and latency, from stage_times, op_costs or the individual times. Without `forward`, a forward takes
    /// `usual_forward` and a backward twice that.
    [[nodiscard]] Result<CostModel> costs(TimeNs usual_forward) const;

    /// Generated from the name and sizes, read from the file (not validated), or the loaded order; a schedule from a
    /// file is named after the family with the same order, otherwise "custom". `times` are the result of costs(), for
    /// families whose order depends on them.
    [[nodiscard]] Result<Schedule> schedule(const CostModel& times) const;

    /// The schedule and its costs, with transfers and the times of individual ops.
    [[nodiscard]] Result<Planned> plan(TimeNs usual_forward) const;

    /// Like plan(), but the times are those of an op when a rank's model part is cut into `chunks` (empty: as many as
    /// the order has); with another number of chunks, an op takes its share of the work. If there are as many stage
    /// times as ranks, each is the time of a rank's whole part. Accepts inputs that the order does not use.
    [[nodiscard]] Result<Planned> planShare(TimeNs usual_forward, std::optional<int> chunks) const;

    /// Another schedule with the same sizes: "NAME", "NAME/FLAVOR", or "/FLAVOR" for another flavor of the same family.
    /// `other_vpp`, if given, replaces `vpp`.
    [[nodiscard]] Result<Schedule> sibling(const std::string& sibling_name, const CostModel& times,
                                           std::optional<int> other_vpp = {}) const;

    /// Chunks per rank: as given, or else one if the family allows it, or else two.
    [[nodiscard]] int chunks() const;

    /// Asks `options` for the schedule that a trace should show; sizes that are not given are left open.
    [[nodiscard]] Status open(LoadOptions& options) const;
    /// Rejects inputs that none of these orders uses: limits and groups that their families do not have, times of pairs
    /// and halves that do not occur. Errors: Usage.
    [[nodiscard]] Status checkUsed(std::span<const Schedule> orders) const;
    /// The slices of each sequence of an order; none without slice_cut or in an order without slices. Errors: Usage.
    [[nodiscard]] Result<SliceParts> slices(const Schedule& made) const;
    /// True if op times are given.
    [[nodiscard]] bool timed() const;
    /// True if a size is given.
    [[nodiscard]] bool sized() const { return spec.pp > 0 || spec.microbatches > 0 || vpp; }

    /// True if it names a schedule.
    [[nodiscard]] bool given() const { return !spec.name.empty() || !file.empty() || order.has_value(); }

private:
    /// The requested spec, apart from op times.
    [[nodiscard]] ScheduleSpec specOf(const std::string& family, const std::string& whose, int chunks) const;
    [[nodiscard]] Result<Schedule> generate(const std::string& family, const std::string& whose, const CostModel& times,
                                            int chunks) const;
    /// Adds the loss to the last stage of each pipeline.
    [[nodiscard]] Status addLoss(CostModel& model) const;
    /// The ops' times from op_costs, or from `forward` and the other individual times.
    [[nodiscard]] Result<CostModel> operatorCosts() const;
    [[nodiscard]] Result<CostModel> singleCosts(TimeNs usual_forward) const;
    /// Op times with the latency but without the loss.
    [[nodiscard]] Result<CostModel> opCosts(TimeNs usual_forward) const;
};

} // namespace bubblescope
