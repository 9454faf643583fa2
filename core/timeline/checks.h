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

/// The tensors that checks compare, by the names in records. Those of a layer are in the order in which its ops compute
/// them: the first one that differs is nearest to the cause.
enum class CheckedTensor : std::uint8_t {
    // forward
    Normalised, ///< output of a normalisation
    Deviations, ///< by row, its divisors
    Columns,    ///< queries, keys and values
    Attention,  ///< softmax weights
    Attended,
    Part,   ///< of a sum over the ranks that share the stage
    Hidden, ///< the MLP's, before its GELU
    Loss,
    LogitsGradient,
    Output,
    // gradient for the input
    HiddenGradient,
    NormalisedGradient,
    AttendedGradient, ///< of the attention projection's output
    ColumnsGradient,
    EarlierGradient, ///< for earlier slices of the sequence
    InputGradient,
    // gradient for the weights
    WeightGradient,
    // beside layers
    Weights,
    GradientSum,
    Activation, ///< of transfers
    Gradient,
    Product, ///< of known answers: a product of matrices, sums, a copy
    Sums,
    Copy,
};

/// The name in records and messages: "output", "input gradient".
[[nodiscard]] std::string_view tensorName(CheckedTensor tensor);
/// Inverse of tensorName(); words may also be joined by a dash.
[[nodiscard]] std::optional<CheckedTensor> parseTensor(std::string_view name);

/// What a check compares.
enum class CheckKind : std::uint8_t {
    Replay,      ///< an op of one layer, run again on the inputs of this step, with its first execution
    KnownAnswer, ///< a computation on stored inputs with its stored answer
    Transfer,    ///< the data that a rank received with the data that its peer sent
    Replicas,    ///< weights or summed gradients with those of the ranks that must hold equal ones
    Weights,     ///< weights now with the weights that the optimizer wrote
    Elsewhere,   ///< as Replay, but run again by another rank on the same inputs
};

enum class CheckOutcome : std::uint8_t {
    Equal,
    Mismatch,
    Aborted, ///< begun, and aborted because the step was waiting
    Skipped, ///< planned, and not begun because it would not have fitted
};

/// The result of repeating a mismatch.
enum class Verdict : std::uint8_t {
    Open,       ///< not repeated, or not repeatable
    Transient,  ///< repeated on the same rank, both executions agree
    Device,     ///< the rank deviates again, another one does not: suspect hardware
    Everywhere, ///< other ranks deviate from themselves too: the code is not deterministic
};

/// Where a difference lies inside a tensor.
struct TensorDifference {
    std::int64_t elements = 0; ///< of the tensor
    std::int64_t differing = 0;
    std::int64_t first = 0;          ///< index of the first that differs, in memory order
    std::uint64_t first_bits = 0;    ///< its bits in the first execution
    std::uint64_t second_bits = 0;   ///< and in the second
    std::optional<std::int64_t> ulp; ///< distance of the two in units in the last place; none if one of them is NaN
};

/// A check that was planned in a run, and its outcome. Times are those of the run's trace.
struct CheckRecord {
    CheckKind kind = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    int step = 0;
    Rank rank;       ///< in its pipeline
    int replica = 0; ///< of the pipeline
    int tensor_rank = 0;
    Op op;                   ///< of a transfer, the op that consumes it; of weights, the optimizer
    int layer = 0;           ///< counted over the whole model
    std::string tensor;      ///< a tensorName(); of a mismatch the first that differs
    std::uint64_t first = 0; ///< digest of the first execution, the sender, the stored answer
    std::uint64_t second = 0;
    TimeNs start{0};
    TimeNs end{0};
    std::optional<TensorDifference> difference; ///< of a mismatch, where both tensors were available
};

/// "F3.1 layer 5".
[[nodiscard]] std::string checkName(const CheckRecord& check);

/// The digest of a computation's result, for comparing runs. Equal (step, kind, layer, tensor, micro-batch, sequence)
/// in two runs of the same model name the same numbers, independent of how layers were cut into stages and in which
/// order ops ran.
struct DigestRecord {
    int step = 0;
    Rank rank;
    int replica = 0;
    int tensor_rank = 0;
    Op op;
    int layer = 0; ///< counted over the whole model
    std::string tensor;
    std::uint64_t digest = 0;
    TimeNs time{0}; ///< when the result existed
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

/// The hardware of a rank; fields are empty where the trace does not name it.
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

/// When the ranks of a step ran checks, on the step's clock: per rank by start, merged where they overlap.
using StepReplays = std::vector<std::vector<std::pair<TimeNs, TimeNs>>>;

/// One entry per step, for the first rank of each tensor-parallel group, as in StepTimeline; empty if no check took any
/// time.
[[nodiscard]] std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps);

} // namespace bubblescope
