#pragma once

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/schedule/op.h"
#include "core/schedule/schedule.h"
#include "core/timeline/checks.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::runtime {

/// Numbers from `first` to `last`, inclusive.
struct FaultRange {
    int first = 0;
    int last = std::numeric_limits<int>::max();

    [[nodiscard]] constexpr bool holds(int number) const { return first <= number && number <= last; }
};

/// The ops that a fault affects; omitted attributes match all ops.
struct OpPattern {
    std::optional<OpKind> kind;
    std::optional<Microbatch> microbatch;
    std::optional<Chunk> chunk;

    [[nodiscard]] bool matches(const Op& op) const {
        return kind.value_or(op.kind) == op.kind && microbatch.value_or(op.microbatch) == op.microbatch &&
               chunk.value_or(op.chunk) == op.chunk;
    }
};

enum class FaultKind : std::uint8_t {
    Slow,   ///< every op of a rank takes `factor` times as long
    Op,     ///< some ops take `factor` times as long, plus `time`
    Jitter, ///< op times follow a normal distribution with relative standard deviation `share`
    Link,   ///< transfers from one rank to another take `time` longer
    Stall,  ///< in each step the first transfer of a link, and the transfers directly after it, arrive `time` late
    Pause,  ///< the rank pauses for `time` before an op
    Drop,   ///< a fraction `share` of a rank's records is lost
    Flip,   ///< a bit of a tensor is flipped
    Nondet, ///< a layer's op computes different bits each time, on every rank
    Die,    ///< the rank's process dies before an op
    Hang,   ///< the rank stops before an op and never continues
};

enum class FaultTensor : std::uint8_t { Input, Output };

/// The executions that a flip inside a layer affects.
enum class FaultStay : std::uint8_t {
    Transient,   ///< only the first execution
    Reexecution, ///< only the second execution, which checks the first
    Sticky,      ///< every execution on this rank; each flip affects a different element
    Fixed,       ///< every execution on this rank; each flip affects the same bit, so that these executions agree
};

/// A fault to be injected into a run. Omitted parameters have neutral values.
struct Fault {
    FaultKind kind = FaultKind::Slow;
    FaultRange ranks;        ///< ranks affected; for a link, the sender
    FaultRange tensor_ranks; ///< indices among the ranks that share a stage; the same at both ends of a link
    FaultRange peers;        ///< the receiver of a link
    FaultRange steps;
    OpPattern ops;
    double factor = 1;
    double share = 0;
    TimeNs time{0};
    FaultTensor tensor = FaultTensor::Output;
    // Layer in which a bit is flipped (see LayerCall); used instead of `tensor`, which refers to tensors between
    // stages. Weights are flipped before the op. Known answers have no layer and are identified by `shown`.
    std::optional<int> layer;
    std::optional<CheckedTensor> shown; ///< none = the output of the op
    FaultStay stay = FaultStay::Transient;
    std::int64_t bit = 0;
    std::uint64_t seed = 1;
    std::string text; ///< the fault as specified by the user
};

/// Parses "KIND:KEY=VALUE,…". A word without "=" directly after the colon is the op or link that the fault affects.
///
///     slow:rank=2,factor=1.3                  jitter:rank=*,sigma=3%[,seed=7]
///     op:F3.1,rank=1,add=5ms   (or factor=2)  pause:rank=1,for=30ms[,op=B0]
///     link:0>1,latency=2ms                    stall:1>2,for=50ms
///     drop:rank=1[,op=W][,share=10%]          flip:B2,rank=1,tensor=out,bit=17
///     flip:F2,rank=1,layer=3,tensor=hidden,bit=9,stay=sticky      nondet:F,layer=3
///     die:rank=3,op=F1                        hang:rank=3,op=F1
///
/// Ranks are a number, a range such as 1-3, or * (the default for kinds that do not require one). All kinds accept
/// step=N, step=N-M, from=N and to=N; without them a fault is active in every step. All kinds accept tp=N, which
/// selects one of the ranks that share a stage. An op is written as in traces: F3.1 is the forward of micro-batch 3 on
/// chunk 1, F3 is that forward on any chunk, F.1 every forward on chunk 1, F every forward, * every op. Error: Usage,
/// with the text as `where`; the message names the invalid word.
[[nodiscard]] Result<Fault> parseFault(std::string_view text);

/// Checks that everything named by the faults exists: ranks, steps, ops of a rank, tensors. Error: Usage. Layer numbers
/// are not checked, because the layers of a stage are unknown at this point.
[[nodiscard]] Status checkFaults(std::span<const Fault> faults, const Schedule& schedule, int steps,
                                 int tensor_ranks = 1);

} // namespace bubblescope::runtime
