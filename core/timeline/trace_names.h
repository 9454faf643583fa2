#pragma once

#include <string_view>

/// Layout of a StepTimeline in Bubblescope's own trace files. These names are the only code shared by writers (simulate
/// --out, the recorder) and the recogniser.
///
/// There is one process track per rank. Its pid is rank + 1, since viewers treat pid 0 as the idle process. Its name is
/// "rank R", or "rank R of replica D" if the pipeline has replicas, which then have consecutive pids. The child tracks
/// are "compute", "send activation", "send gradient", "receive activation", "receive gradient", "wait", "collective".
/// If slices of a child track would overlap, there is a second lane with the same name plus " (2)". Names of ranks that
/// share stages (tensor parallelism) end in ", tensor rank T".
///
/// - category "op": a slice with the name from opName(); args kind (string), microbatch, chunk, stage, step (ints),
///   lateness_ns, exposed_comm_ns (see TimelineOp) and sequence (ints, only if not 0), overlapped (bool, only if true).
///   The producer and the consumer of an activation or a gradient have the same flow id.
/// - categories "send", "receive", "wait": args payload ("activation" or "gradient"), microbatch, stage
///   (the consumer's, see CommSpan), peer, step, sequence (only if not 0).
/// - category "collective": a slice named "all_reduce" for a collective of a tensor-parallel group; the args are those
///   of a transfer, with the stage that the ranks share and without a peer.
/// - category "run": one instant named "bubblescope run" per file; the args are the fields of RunInfo by name (the
///   placement is a placementName(), the tolerance is named pace_tolerance_ns; dp and tp only if above 1, steps and
///   faults only if present), and `rank` if the file contains only one rank. Files of a run also contain `host` (its
///   name), `clock` (a name for CLOCK_MONOTONIC: equal names mean equal clocks), `pid`, `pids` (the PID namespace) and,
///   if known, `device` (a GPU's UUID). A file that continues a full one has `segment`, counted from 0.
/// - category "run": an instant "records lost" if the records of a rank exceeded its memory (arg records). An instant
///   "bubblescope end" marks the end of a rank's last file. Its args are `records` (slices written, over all segments),
///   `dropped` and, for a failed run, `failure` (the reason).
/// - category "check": a check (see CheckRecord) on the track "replay", with a name such as "F3.1 layer 5"; a slice if
///   the check ran, otherwise an instant. The args are check, outcome, verdict (see checkKindName() and the functions
///   after it), kind, microbatch, chunk, stage, step and sequence as for an op, layer (index across the model, from 0
///   for the embedding), tensor, first and second (digests, 16 hexadecimal digits). For a mismatch whose tensors were
///   available, also elements, differing, first_index, first_bits, second_bits (hexadecimal) and ulp.
/// - category "digest": an instant on the same track (see DigestRecord); the name and args are those of a check, with
///   `digest` instead of first and second.
/// - categories "kernel", "gpu_memcpy" and "gpu_memset": device activity of the rank, on tracks "stream: …" that are
///   named by the stream's purpose; categories "cuda_runtime" and "cuda_driver": calls of the rank, on the track "CUDA
///   calls". Names and args are those of PyTorch's profiler. Slices inside an op have the args `op` (opName(), both
///   names of a pair joined by "+") and `step`. An op lasts from its first to its last slice on the device; its slice
///   of category "op" then has the times of the events recorded around them.
/// - category "clock": an instant named "ping" for an exchange between ranks with different clocks; args asker, replier
///   (ranks in the run) and t0_ns … t3_ns; see Ping (core/base/time.h). All timestamps are nanoseconds of the
///   recording host's CLOCK_MONOTONIC; simulations start at 0.
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
inline constexpr std::string_view kFailure = "failure"; ///< an arg of kEndEvent
inline constexpr std::string_view kCheck = "check";
inline constexpr std::string_view kDigest = "digest";
inline constexpr std::string_view kReplay = "replay"; ///< name of the track with checks and digests
inline constexpr std::string_view kClock = "clock";
inline constexpr std::string_view kPing = "ping";

inline constexpr std::string_view kOfOp = "op"; ///< arg of device work: the op to which the work belongs

inline constexpr std::string_view kActivation = "activation";
inline constexpr std::string_view kGradient = "gradient";

} // namespace bubblescope::trace_names
