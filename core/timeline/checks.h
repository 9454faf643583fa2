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

/// The tensors that checks compare, with their names in records. Within a layer they are in the order of computation,
/// so the first mismatch is nearest to the cause.
enum class CheckedTensor : std::uint8_t {
    // forward
    Normalised, ///< output of a normalisation
    Deviations, ///< the normalisation's divisors, one per row
    Columns,    ///< queries, keys and values
    Attention,  ///< softmax weights
    Attended,
    Part,   ///< partial sum, before the reduction over the ranks that share the stage
    Hidden, ///< of the MLP, before its GELU
    Loss,
    LogitsGradient,
    Output,
    // gradients with respect to the input
    HiddenGradient,
    NormalisedGradient,
    AttendedGradient, ///< of the attention projection's output
    ColumnsGradient,
    EarlierGradient, ///< with respect to earlier slices of the sequence
    InputGradient,
    // gradients with respect to the weights
    WeightGradient,
    // outside of layers
    Weights,
    GradientSum,
    Activation, ///< of transfers
    Gradient,
    Product, ///< of known answers: matrix product, sums, copy
    Sums,
    Copy,
};

/// The name in records and messages: "output", "input gradient".
[[nodiscard]] std::string_view tensorName(CheckedTensor tensor);
/// Inverse of tensorName(); also accepts dashes between words.
[[nodiscard]] std::optional<CheckedTensor> parseTensor(std::string_view name);

/// The subject of a check.
enum class CheckKind : std::uint8_t {
    Replay,      ///< re-executes an op of one layer on this step's inputs and compares with the first execution
    KnownAnswer, ///< compares a computation on stored inputs with its stored answer
    Transfer,    ///< compares received data with the data that the peer sent
    Replicas,    ///< compares weights or summed gradients across ranks that must hold equal ones
    Weights,     ///< compares current weights with those that the optimizer wrote
    Elsewhere,   ///< like Replay, but another rank re-executes
};

enum class CheckOutcome : std::uint8_t {
    Equal,
    Mismatch,
    Aborted, ///< started, then aborted because the step was waiting
    Skipped, ///< planned, but not started because it would not have fitted
};

/// The result of repeating a check that found a mismatch.
enum class Verdict : std::uint8_t {
    Open,       ///< not repeated, or not repeatable
    Transient,  ///< repeated on the same rank: both executions agree
    Device,     ///< this rank deviates again but another does not: suspect this rank's hardware
    Everywhere, ///< repetitions on other ranks deviate from each other too: the code is not deterministic
};

/// The place of a difference inside a tensor.
struct TensorDifference {
    std::int64_t elements = 0; ///< in the tensor
    std::int64_t differing = 0;
    std::int64_t first = 0;          ///< index of the first differing element, in memory order
    std::uint64_t first_bits = 0;    ///< its bits in the first execution
    std::uint64_t second_bits = 0;   ///< its bits in the second execution
    std::optional<std::int64_t> ulp; ///< distance between the two in units in the last place; none if either is NaN
};

/// A planned check and its outcome. Times are on the clock of the run's trace.
struct CheckRecord {
    CheckKind kind = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    int step = 0;
    Rank rank;       ///< in its pipeline
    int replica = 0; ///< index of the replica
    int tensor_rank = 0;
    Op op;                   ///< for a transfer, the op that consumes it; for weights, the optimizer op
    int layer = 0;           ///< counted over the whole model
    std::string tensor;      ///< a tensorName(); for a mismatch, the first tensor that differs
    std::uint64_t first = 0; ///< digest of the first execution, the sent data, or the stored answer
    std::uint64_t second = 0;
    TimeNs start{0};
    TimeNs end{0};
    std::optional<TensorDifference> difference; ///< for a mismatch, if both tensors were available
};

/// "F3.1 layer 5".
[[nodiscard]] std::string checkName(const CheckRecord& check);

/// The digest of a computed tensor, for comparing runs. Equal (step, kind, layer, tensor, micro-batch, sequence) in two
/// runs of the same model identify the same values, regardless of the split into stages and the order of ops.
struct DigestRecord {
    int step = 0;
    Rank rank;
    int replica = 0;
    int tensor_rank = 0;
    Op op;
    int layer = 0; ///< counted over the whole model
    std::string tensor;
    std::uint64_t digest = 0;
    TimeNs time{0}; ///< time at which the tensor was complete
};

// The names that traces, JSON and messages use: "replay", "known-answer", "transfer", "replicas", "weights",
// "elsewhere"; "equal", "mismatch", "aborted", "skipped"; "open", "transient", "device", "everywhere".
[[nodiscard]] std::string_view checkKindName(CheckKind kind);
[[nodiscard]] std::string_view checkOutcomeName(CheckOutcome outcome);
[[nodiscard]] std::string_view verdictName(Verdict verdict);
[[nodiscard]] std::optional<CheckKind> parseCheckKind(std::string_view name);
[[nodiscard]] std::optional<CheckOutcome> parseCheckOutcome(std::string_view name);
[[nodiscard]] std::optional<Verdict> parseVerdict(std::string_view name);

// Serialization, see core/base/wire.h.
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

/// The position of a rank in the job.
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

/// The hardware of a rank. Fields are empty if the trace does not name it.
struct CheckedDevice {
    std::string host;
    std::string device; ///< "GPU-3f…": identifies a GPU across restarts

    /// "device GPU-3f… of host node7".
    [[nodiscard]] Sentence text() const;
    friend bool operator==(const CheckedDevice&, const CheckedDevice&) = default;
};

/// The checks and digests of a run's traces, including those of incomplete steps.
struct CheckLog {
    std::vector<CheckRecord> checks;   ///< by place, step and time
    std::vector<DigestRecord> digests; ///< by place, step and time
    std::map<CheckPlace, CheckedDevice> devices;

    [[nodiscard]] bool empty() const { return checks.empty() && digests.empty(); }
    /// Sorts the records as above.
    void sort();
};

/// The intervals in which each rank of a step ran checks, on the step's clock: sorted by start, with overlapping
/// intervals merged.
using StepReplays = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

/// One entry per step, for the first rank of each tensor-parallel group, as in StepTimeline; empty if checks took no
/// time.
[[nodiscard]] std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps);

} // namespace bubblescope
