#pragma once

#include "core/cost/communicators.h"
#include "core/cost/cost_model.h"
#include "core/cost/measured_times.h"
#include "core/schedule/dependency.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

// Reads files with costs that command-line options cannot express. Each is a JSON object, or a CSV table whose header
// has the field names. A time is a string with a unit ("forward": "5ms") or an integer number of nanoseconds under a
// name ending in _ns ("forward_ns": 5000000). Unknown names are errors, so that typos are found. Errors: Input, with
// the file and the position. The content can also be passed as a string; `where` is then the file name in errors.

/// Times of each stage, starting with stage 0:
///
///     {"stages": [{"forward": "5ms", "backward": "10ms"}, {"forward": "6ms", "input_grad": "6ms",
///      "weight_grad": "5ms", "optimizer": "1ms", "loss": "2ms"}, …]}
///
/// Missing backward times are filled in as in makeOpTimes(). `loss`, the time of the output head and loss, is added to
/// F, I and W (twice to B), as in Paddle's ZB-VPP creator. `stage` is optional and is checked if present.
[[nodiscard]] Result<std::vector<OpTimes>> readStageTimes(const std::string& file);
[[nodiscard]] Result<std::vector<OpTimes>> stageTimesFrom(std::string_view text, const std::string& where);

/// Properties of links that differ from those of the default link, in one or both directions:
///
///     {"links": [{"from": 3, "to": 4, "latency": "20us", "bandwidth": "12.5GB/s"}, {"between": [0, 1], …}, …]}
///
/// CSV columns: from, to, latency, bandwidth. Ranks are 0 to pp − 1.
[[nodiscard]] Result<std::vector<Link>> readLinks(const std::string& file, int pp);
[[nodiscard]] Result<std::vector<Link>> linksFrom(std::string_view text, const std::string& where, int pp);

/// Assignment of transfers to communicators. The first matching entry applies; omitted fields match all transfers:
///
///     {"communicators": [{"name": "up", "payload": "activation", "from": 0, "to": 1}, {"name": "rest"}]}
///
/// CSV columns: name, payload, from, to.
[[nodiscard]] Result<Communicators> readCommunicators(const std::string& file, int pp);
[[nodiscard]] Result<Communicators> communicatorsFrom(std::string_view text, const std::string& where, int pp);

/// Measured times of individual ops of a valid schedule:
///
///     {"ops": [[kind, microbatch, chunk, rank, duration], …]}
///
/// The duration is either a time with a unit or a number of nanoseconds. The form [kind, microbatch, chunk, rank,
/// start, end] that `simulate --json --ops` prints is also accepted; an optional seventh entry is the slice of the
/// sequence. Other names in the document are ignored, so that the output of that command can be used unchanged. CSV
/// columns: kind, microbatch, chunk, rank, duration, sequence. A backward can be listed as a single op or as two
/// halves, whichever the schedule runs: two halves are added up, and a single op is split evenly. An op that is not in
/// the schedule is an error. `graph` is completeGraph(schedule).
[[nodiscard]] Result<MeasuredTimes> readOpTimes(const std::string& file, const Schedule& schedule,
                                                const OpGraph& graph);
[[nodiscard]] Result<MeasuredTimes> opTimesFrom(std::string_view text, const std::string& where,
                                                const Schedule& schedule, const OpGraph& graph);

} // namespace bubblescope
