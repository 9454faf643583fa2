#pragma once

#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"
#include "core/schedule/op.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {

/// Tensors that checks compare, with their names in records. Within a layer, the tensors are in the order in which they
/// are computed, so that the first mismatch is the closest to the cause.
enum class CheckedTensor : std::uint8_t {
    // forward
    Normalised, ///< output of a normalisation
    Deviations, ///< divisors of the normalisation, one per row
    Columns,    ///< queries, keys and values
    Attention,  ///< softmax weights
    Attended,
    Part,   ///< partial sum, before it is reduced over the ranks that share the stage
    Hidden, ///< hidden layer of the MLP, before its GELU
    Loss,
    LogitsGradient,
    Output,
    // gradients with respect to the input
    HiddenGradient,
    NormalisedGradient,
    AttendedGradient, ///< gradient of the attention projection's output
    ColumnsGradient,
    EarlierGradient, ///< gradient with respect to earlier slices of the sequence
    InputGradient,
    // gradients with respect to the weights
    WeightGradient,
    // weights outside of layers
    Weights,
    GradientSum,
    Activation, ///< tensor of a transfer
    Gradient,
    Product, ///< known answers: matrix product, sums, copy
    Sums,
    Copy,
};

/// Name in records and messages, such as "output" or "input gradient".
[[nodiscard]] std::string_view tensorName(CheckedTensor tensor);
/// Inverse of tensorName(); also accepts hyphens in place of spaces.
[[nodiscard]] std::optional<CheckedTensor> parseTensor(std::string_view name);

/// The subject of a check.
enum class CheckKind : std::uint8_t {
    Replay,      ///< re-executes an op of one layer with this step's inputs, for comparison with the first execution
    KnownAnswer, ///< runs a computation on stored inputs and compares the result with a stored answer
    Transfer,    ///< compares received data with the data sent by the peer
    Replicas,    ///< compares weights or summed gradients across ranks that must hold equal values
    Weights,     ///< compares current weights with those written by the optimizer
    Elsewhere,   ///< same as Replay, but re-executed by another rank
};

enum class CheckOutcome : std::uint8_t {
    Equal,
    Mismatch,
    Aborted, ///< started, but aborted because the step was waiting for it
    Skipped, ///< planned, but not started because there was not enough time
};

/// Conclusion from repeating a check that found a mismatch.
enum class Verdict : std::uint8_t {
    Open,       ///< not repeated, or cannot be repeated
    Transient,  ///< repeated on the same rank, and both repetitions agree
    Device,     ///< this rank deviates again but another does not: this rank's hardware is suspect
    Everywhere, ///< repetitions on other ranks also deviate from each other: the code is nondeterministic
};

/// Location and extent of a difference inside a tensor.
struct TensorDifference {
    std::int64_t elements = 0; ///< number of elements in the tensor
    std::int64_t differing = 0;
    std::int64_t first = 0;          ///< index of the first differing element, in memory order
    std::uint64_t first_bits = 0;    ///< bits of this element in the first execution
    std::uint64_t second_bits = 0;   ///< bits of this element in the second execution
    std::optional<std::int64_t> ulp; ///< distance between the two elements in ulps; none if either is NaN
};

/// A planned check and its result. Times are on the clock of the run's trace.
struct CheckRecord {
    CheckKind kind = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    int step = 0;
    Rank rank;       ///< rank in its pipeline
    int replica = 0; ///< index of the replica
    int tensor_rank = 0;
    Op op;                   ///< for a transfer, the op that uses the data; for weights, the optimizer op
    int layer = 0;           ///< index across the model
    std::string tensor;      ///< name from tensorName(); for a mismatch, the first tensor that differs
    std::uint64_t first = 0; ///< digest of the first execution, the sent data, or the stored answer
    std::uint64_t second = 0;
    TimeNs start{0};
    TimeNs end{0};
    std::optional<TensorDifference> difference; ///< set for a mismatch if both tensors were available
};

/// Name of a check, such as "F3.1 layer 5".
[[nodiscard]] std::string checkName(const CheckRecord& check);

/// Digest of a computed tensor, used to compare runs. In two runs of the same model, equal values of (step, kind,
/// layer, tensor, micro-batch, sequence) identify a tensor, regardless of the split into stages and the order of ops.
struct DigestRecord {
    int step = 0;
    Rank rank;
    int replica = 0;
    int tensor_rank = 0;
    Op op;
    int layer = 0; ///< index across the model
    std::string tensor;
    std::uint64_t digest = 0;
    TimeNs time{0}; ///< time at which the tensor was complete
};

// Names in traces, JSON and messages: "replay", "known-answer", "transfer", "replicas", "weights", "elsewhere";
// "equal", "mismatch", "aborted", "skipped"; "open", "transient", "device", "everywhere".
[[nodiscard]] std::string_view checkKindName(CheckKind kind);
[[nodiscard]] std::string_view checkOutcomeName(CheckOutcome outcome);
[[nodiscard]] std::string_view verdictName(Verdict verdict);
[[nodiscard]] std::optional<CheckKind> parseCheckKind(std::string_view name);
[[nodiscard]] std::optional<CheckOutcome> parseCheckOutcome(std::string_view name);
[[nodiscard]] std::optional<Verdict> parseVerdict(std::string_view name);

// Serialization (see core/base/wire.h).
template <class Wire>
void fields(Wire& wire, TensorDifference& value) {
    auto& [elements, differing, first, first_bits, second_bits, ulp] = value;
    wire(elements, differing, first, first_bits, second_bits, ulp);
}
template <class Wire>
void fields(Wire& wire, CheckRecord& value) {
    auto& [kind, outcome, verdict, step, rank, replica, tensor_rank, op, layer, tensor, first, second, start, end,
           difference] = value;
    wire(kind, outcome, verdict, step, rank, replica, tensor_rank, op, layer, tensor, first, second, start, end,
         difference);
}

/// Position of a rank in the job.
struct CheckPlace {
    int replica = 0;
    Rank rank; ///< in its pipeline
    int tensor_rank = 0;

    friend constexpr auto operator<=>(const CheckPlace&, const CheckPlace&) = default;
};

template <class Record>
[[nodiscard]] CheckPlace placeOf(const Record& record) {
    return {record.replica, record.rank, record.tensor_rank};
}

/// Hardware of a rank. Fields that are missing from the trace are empty.
struct CheckedDevice {
    std::string host;
    std::string device; ///< such as "GPU-3f…", which identifies a GPU across restarts

    /// Text such as "device GPU-3f… of host node7".
    [[nodiscard]] Sentence text() const;
    friend bool operator==(const CheckedDevice&, const CheckedDevice&) = default;
};

/// Checks and digests from a run's traces, including those of incomplete steps.
struct CheckLog {
    std::vector<CheckRecord> checks;   ///< sorted by place, step and time
    std::vector<DigestRecord> digests; ///< sorted by place, step and time
    std::map<CheckPlace, CheckedDevice> devices;

    [[nodiscard]] bool empty() const { return checks.empty() && digests.empty(); }
    /// Sorts the records by the keys above.
    void sort();
};

/// Intervals in which each rank of a step ran checks, on the step's clock: sorted by start, with overlapping intervals
/// merged.
using StepReplays = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

/// One entry per step for the first rank of each tensor-parallel group, as in StepTimeline; empty if checks took no
/// time.
[[nodiscard]] std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps);

} // namespace bubblescope
