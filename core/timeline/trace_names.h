#pragma once

#include <string_view>

/// The layout of a StepTimeline in Bubblescope's own trace files. Writers (simulate --out, the recorder) and the
/// recogniser share these names and nothing else.
///
/// Layout: one process track per rank (pid = rank + 1, since viewers treat pid 0 as the idle process; name "rank R", or
/// "rank R of replica D" if the pipeline has replicas, which then have consecutive pids) with the child tracks
/// "compute", "send activation", "send gradient", "receive activation", "receive gradient", "wait", "collective"; a
/// child whose slices would overlap gets a second lane of the same name with " (2)". Ranks that share stages (tensor
/// parallelism) have ", tensor rank T" in the name.
///
/// - category "op": slice named as opName(); args kind (string), microbatch, chunk, stage, step (ints),
///   lateness_ns, exposed_comm_ns (see TimelineOp) and sequence (ints, only if not 0), overlapped (bool, only if true).
///   Ops that pass on an activation or a gradient share a flow id.
/// - categories "send", "receive", "wait": args payload ("activation" or "gradient"), microbatch, stage
///   (the consumer's, see CommSpan), peer, step, sequence (only if not 0).
/// - category "collective": slice named "all_reduce" among the ranks of a tensor-parallel group; args as those of a
///   transfer, with the stage that the ranks share and without a peer.
/// - category "run": one instant named "bubblescope run" per file; args are the fields of RunInfo under their own names
///   (the placement is a placementName(), the tolerance is named pace_tolerance_ns; dp and tp only if above 1, steps
///   and faults only if present) and `rank` if the file holds one rank only. Files of a run also contain `host` (its
///   name), `clock` (its CLOCK_MONOTONIC: equal names mean equal clocks), `pid` and `pids` (its PID namespace), and, if
///   known, `device` (a GPU's UUID); a file that continues a full one has `segment`, its number counted from 0.
/// - category "run": an instant "records lost" when a rank's records exceeded its memory: arg records. An instant
///   "bubblescope end" closes a rank's last file: args records (slices written, over all segments) and dropped, and for
///   a failed run also failure (the reason).
/// - category "check": a check (see CheckRecord) on the track "replay", named after its op and layer, "F3.1 layer 5";
///   a slice if it ran, else an instant. Args check, outcome, verdict (see checkKindName() and the functions after it),
///   kind, microbatch, chunk, stage, step and sequence as for an op, layer (over the whole model: 0 is the embedding,
///   the last one the head), tensor, first and second (digests, 16 hexadecimal digits); for a mismatch whose tensors
///   were available: elements, differing, first_index, first_bits, second_bits (hexadecimal) and ulp.
/// - category "digest": an instant on the same track, see DigestRecord; name and args as for a check, with `digest`
///   instead of first and second.
/// - categories "kernel", "gpu_memcpy" and "gpu_memset": device activity of the rank, on tracks named "stream: …"
///   after the stream's purpose; categories "cuda_runtime" and "cuda_driver": the rank's calls, on the track "CUDA
///   calls". Names and args are those of PyTorch's profiler. Those inside an op have `op` (opName(), both names of a
///   pair joined by "+") and `step`. On the device, the op ran from the first of these to the last; the slice of
///   category "op" then has the times of the events recorded around them.
/// - category "clock": an instant named "ping" for an exchange between ranks on different clocks; args asker and
///   replier (ranks of the whole run) and t0_ns … t3_ns, see Ping (core/base/time.h). Slice timestamps are nanoseconds
///   of the recording host's CLOCK_MONOTONIC; simulations start at 0.
namespace bubblescope::trace_names {

inline constexpr std::string_view kOp = "op";
inline constexpr std::string_view kSend = "send";
inline constexpr std::string_view kReceive = "receive";
inline constexpr std::string_view kWait = "wait";
inline constexpr std::string_view kCollective = "collective";
inline constexpr std::string_view kAllReduce = "all_reduce";
inline constexpr std::string_view kRun = "run";
inline constexpr std::string_view kRunEvent = "bubblescope run";
inline constexpr std::string_view kLostEvent = "records lost";
inline constexpr std::string_view kEndEvent = "bubblescope end";
inline constexpr std::string_view kFailure = "failure"; ///< arg of kEndEvent
inline constexpr std::string_view kCheck = "check";
inline constexpr std::string_view kDigest = "digest";
inline constexpr std::string_view kReplay = "replay"; ///< track of checks and digests
inline constexpr std::string_view kClock = "clock";
inline constexpr std::string_view kPing = "ping";

inline constexpr std::string_view kOfOp = "op"; ///< arg of device work: the op it belongs to

inline constexpr std::string_view kActivation = "activation";
inline constexpr std::string_view kGradient = "gradient";

} // namespace bubblescope::trace_names
