#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/cost/slice_parts.h"
#include "core/families/registry.h"
#include "core/recognise/run.h"
#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Parses "async", "blocking", "paired" or "batched". Error: Usage, for any other name.
[[nodiscard]] Result<SendMode> parseSendMode(std::string_view name);
/// Parses "unlimited", "direction", "link" or "rank". Error: Usage, for any other name.
[[nodiscard]] Result<CommStreams> parseCommStreams(std::string_view name);

/// The time of an encoder for the samples of one of the trunk's micro-batches.
struct EncoderTime {
    std::optional<TimeNs> forward; ///< per stage, on one replica; none = as long as the trunk's
    /// Data-parallel replicas of the encoder per replica of the trunk. They divide the samples and thus the times.
    double replicas = 1;

    [[nodiscard]] bool given() const { return forward || replicas != 1; }
};

/// Encoders before the trunk, as in "2+1", "2:800us+1" or "2:800us@dp4".
struct EncoderRequest {
    Encoders ranks;
    std::array<EncoderTime, 2> times;
};
/// Error: Usage.
[[nodiscard]] Result<EncoderRequest> parseEncoders(std::string_view text);

/// The user's options for the cost of transfers, except for latency.
struct TransferRequest {
    TransferModel stated;                       ///< excludes links, and also gradient_bytes if specified
    std::optional<std::int64_t> gradient_bytes; ///< the default is stated.activation_bytes
    std::string links;                          ///< path of a file; empty = none

    bool eager_sends = false; ///< small sends complete early, so that sizes matter even if transmission takes no time

    /// `pp` is the number of ranks that may occur in a links file. `timed` means that transfers take time for another
    /// reason, such as latency. Rejects options without effect. Errors: Usage, Input.
    [[nodiscard]] Result<TransferModel> model(int pp, bool timed) const;
};

/// A schedule together with its costs.
struct Planned {
    Schedule schedule;
    CostModel costs;
};

/// The schedule selected by the user, and its times.
struct ScheduleRequest {
    /// Family, sizes, limits, latency, loss; unspecified sizes are 0. The chunks and times are derived from the other
    /// members.
    ScheduleSpec spec{.name = "", .flavor = "", .pp = 0, .microbatches = 0};
    std::array<EncoderTime, 2> encoder_times;   ///< see EncoderRequest; their ranks are in spec.encoders
    std::optional<int> vpp;                     ///< the default is the result of chunks()
    std::vector<std::int64_t> activation_sizes; ///< either three sizes for spec.sizes, or empty
    std::string file;                           ///< path of a file, instead of a family
    std::optional<Schedule> order;              ///< an order that is already loaded, instead of a family or a file
    std::string op_costs;                       ///< path of a file; empty = none
    std::string pair_cuts = "paddle";           ///< used together with op_costs
    std::optional<TimeNs> forward;
    std::optional<TimeNs> backward;
    std::optional<TimeNs> input_grad;
    std::optional<TimeNs> weight_grad;
    std::optional<TimeNs> overlapped;
    std::optional<TimeNs> all_reduce; ///< added to the times of F and I; see CostModel::all_reduce
    std::string stage_times;          ///< path of a file; empty = none
    std::string op_times;             ///< path of a file; empty = none
    std::string slice_cut;            ///< name of a SliceCut; empty = all slices take the same time
    double attention = 0;             ///< used with slice_cut; see sliceParts()
    TransferRequest transfers;

    /// Op times and latency from stage_times, op_costs or the individual times. Without `forward`, a forward takes
    /// `usual_forward`, and a backward takes twice as long.
    [[nodiscard]] Result<CostModel> costs(TimeNs usual_forward) const;

    /// The schedule that is generated from the name and sizes, read from the file (without validation), or already
    /// loaded. A schedule from a file gets the name of the family with the same order, or else "custom". `times`,
    /// needed by families whose order depends on op times, must be the result of costs().
    [[nodiscard]] Result<Schedule> schedule(const CostModel& times) const;

    /// The schedule and its costs, including transfers and the times of individual ops.
    [[nodiscard]] Result<Planned> plan(TimeNs usual_forward) const;

    /// Same as plan(), but op times are those for a rank's part of the model divided into `chunks` (empty = number of
    /// chunks in the order). With another number of chunks, op times are scaled accordingly. If there are as many stage
    /// times as ranks, each is for a rank's whole part of the model. Accepts inputs that do not affect the order.
    [[nodiscard]] Result<Planned> planShare(TimeNs usual_forward, std::optional<int> chunks) const;

    /// Another schedule with the same sizes: "NAME", "NAME/FLAVOR", or "/FLAVOR" for another flavor of the same family.
    /// `other_vpp` replaces `vpp` if specified.
    [[nodiscard]] Result<Schedule> sibling(const std::string& sibling_name, const CostModel& times,
                                           std::optional<int> other_vpp = {}) const;

    /// Chunks per rank: as specified, or else one if the family supports it, or else two.
    [[nodiscard]] int chunks() const;

    /// Stores the expected schedule of a trace in `options`, leaving unspecified sizes open.
    [[nodiscard]] Status open(LoadOptions& options) const;
    /// Rejects inputs that affect none of these orders, such as limits or groups that their families do not use, or
    /// times of pairs or halves that do not occur. Errors: Usage.
    [[nodiscard]] Status checkUsed(std::span<const Schedule> orders) const;
    /// Slices of each sequence in an order; empty without slice_cut or if the order has no slices. Errors: Usage.
    [[nodiscard]] Result<SliceParts> slices(const Schedule& made) const;
    /// True if op times are specified.
    [[nodiscard]] bool timed() const;
    /// True if at least one size is specified.
    [[nodiscard]] bool sized() const { return spec.pp > 0 || spec.microbatches > 0 || vpp; }

    /// True if a schedule is specified by name, file or order.
    [[nodiscard]] bool given() const { return !spec.name.empty() || !file.empty() || order.has_value(); }

private:
    /// The requested spec except for op times.
    [[nodiscard]] ScheduleSpec specOf(const std::string& family, const std::string& whose, int chunks) const;
    [[nodiscard]] Result<Schedule> generate(const std::string& family, const std::string& whose, const CostModel& times,
                                            int chunks) const;
    /// Rejects a loss if the sizes of the schedule are too large or not yet known.
    [[nodiscard]] Status checkLoss() const;
    /// Adds the time of the loss to the last stage of each pipeline.
    void addLoss(CostModel& model, std::int64_t stages, int pipelines) const;
    /// Times of ops from op_costs, or from `forward` and the other individual times.
    [[nodiscard]] Result<CostModel> operatorCosts() const;
    [[nodiscard]] Result<CostModel> singleCosts(TimeNs usual_forward) const;
    /// Gives each encoder its own times, in the same proportion as the trunk's.
    [[nodiscard]] Status addEncoderTimes(CostModel& model) const;
    /// Op times including the latency but not the loss.
    [[nodiscard]] Result<CostModel> opCosts(TimeNs usual_forward) const;
};

} // namespace bubblescope
