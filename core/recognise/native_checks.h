#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/trace_share.h"
#include "core/schedule/op.h"
#include "core/timeline/check_log.h"

#include <string_view>
#include <vector>

namespace bubblescope {

/// The checks and digests that our own files in a share of a trace hold, spelled as timeline/trace_names.h says.
struct NativeChecks {
    std::vector<CheckRecord> checks;
    std::vector<DigestRecord> digests;
    std::vector<std::pair<CheckPlace, CheckedDevice>> devices; ///< of the files that say where they were written
    std::vector<Diagnostic> problems;                          ///< "bad-check": records that could not be used
};

[[nodiscard]] NativeChecks nativeChecks(const TraceShare& share);

/// Those of a whole trace. What is wrong with them goes to `log`.
[[nodiscard]] CheckLog joinNativeChecks(std::vector<NativeChecks> shares, DiagnosticLog& log);

/// Asks the shares of a trace for them.
struct NativeChecksOf {
    static constexpr std::string_view kName = "own checks";
    using Answer = NativeChecks;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const { return nativeChecks(share); }
};

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
template <class Wire>
void fields(Wire& wire, DigestRecord& value) {
    auto& [step, rank, replica, tensor_rank, op, layer, tensor, digest, time] = value;
    wire(step, rank, replica, tensor_rank, op, layer, tensor, digest, time);
}
template <class Wire>
void fields(Wire& wire, CheckPlace& value) {
    auto& [replica, rank, tensor_rank] = value;
    wire(replica, rank, tensor_rank);
}
template <class Wire>
void fields(Wire& wire, CheckedDevice& value) {
    auto& [host, device] = value;
    wire(host, device);
}
template <class Wire>
void fields(Wire& wire, NativeChecks& value) {
    auto& [checks, digests, devices, problems] = value;
    wire(checks, digests, devices, problems);
}

} // namespace bubblescope
