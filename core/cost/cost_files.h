#pragma once

#include "core/cost/communicators.h"
#include "core/cost/cost_model.h"
#include "core/cost/measured_times.h"
#include "core/schedule/dependency.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

// Files in which a user or a tool gives costs that options cannot express. Each is a JSON object, or CSV with the field
// names as its header. A time is text with a unit ("forward": "5ms") or, under a name ending in _ns, an integer number
// of nanoseconds ("forward_ns": 5000000). Unknown names are errors, to catch typing mistakes. Errors: Input, with the
// file and the place. Each can also be parsed from a string; `where` is then the file name to report.

/// Times of each stage, from stage 0:
///
///     {"stages": [{"forward": "5ms", "backward": "10ms"}, {"forward": "6ms", "input_grad": "6ms",
///      "weight_grad": "5ms", "optimizer": "1ms", "loss": "2ms"}, …]}
///
/// Missing backward times are filled in as in makeOpTimes(). `loss`, the time of the output head and loss, is added to
/// F, I and W (twice to B), as Paddle's ZB-VPP creator counts it. `stage` is optional and is checked if given.
[[nodiscard]] Result<std::vector<OpTimes>> readStageTimes(const std::string& file);
[[nodiscard]] Result<std::vector<OpTimes>> stageTimesFrom(std::string_view text, const std::string& where);

/// Links between ranks that differ from the default link, for one direction or both:
///
///     {"links": [{"from": 3, "to": 4, "latency": "20us", "bandwidth": "12.5GB/s"}, {"between": [0, 1], …}, …]}
///
/// CSV: from, to, latency, bandwidth. Ranks are 0 to pp − 1.
[[nodiscard]] Result<std::vector<Link>> readLinks(const std::string& file, int pp);
[[nodiscard]] Result<std::vector<Link>> linksFrom(std::string_view text, const std::string& where, int pp);

/// The transfers that share a communicator. The first matching entry counts; omitted fields match all:
///
///     {"communicators": [{"name": "up", "payload": "activation", "from": 0, "to": 1}, {"name": "rest"}]}
///
/// CSV: name, payload, from, to.
[[nodiscard]] Result<Communicators> readCommunicators(const std::string& file, int pp);
[[nodiscard]] Result<Communicators> communicatorsFrom(std::string_view text, const std::string& where, int pp);

/// Measured times of single ops of a valid schedule:
///
///     {"ops": [[kind, microbatch, chunk, rank, duration], …]}
///
/// The duration is a time with a unit or a number of nanoseconds. [kind, microbatch, chunk, rank, start, end], as
/// `simulate --json --ops` prints it, is also accepted; an optional seventh entry is the slice of the sequence. Other
/// names in the document are ignored, so that the output of that command can be used unchanged. CSV: kind, microbatch,
/// chunk, rank, duration, sequence. A backward may be given whole or in halves, regardless of how the schedule runs it:
/// halves add up to the whole, and a whole alone is split evenly. An op that the schedule does not have is an error.
/// `graph` is completeGraph(schedule).
[[nodiscard]] Result<MeasuredTimes> readOpTimes(const std::string& file, const Schedule& schedule,
                                                const OpGraph& graph);
[[nodiscard]] Result<MeasuredTimes> opTimesFrom(std::string_view text, const std::string& where,
                                                const Schedule& schedule, const OpGraph& graph);

} // namespace bubblescope
