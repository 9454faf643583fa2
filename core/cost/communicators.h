#pragma once

#include "core/base/ids.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Rules that determine which sends and receives share a communicator. Within a communicator, a rank executes its sends
/// and receives one after another, in the order of posting.
enum class CommunicatorKind : std::uint8_t {
    One,       ///< a single communicator for all transfers
    Direction, ///< one for activations and one for gradients
    Edge,      ///< one per ordered pair of ranks
    Pair,      ///< one per unordered pair of ranks
    Tag,       ///< no queues: sends are matched with receives by tag, as in Gloo and MPI
    Rules,     ///< rules from a file
};

/// Name of the kind: "one", "direction", "edge", "pair" or "tag".
[[nodiscard]] std::string_view communicatorKindName(CommunicatorKind kind);
[[nodiscard]] std::optional<CommunicatorKind> communicatorKindFromName(std::string_view name);

/// Selects the transfers of a communicator; an empty field matches every transfer.
struct CommunicatorRule {
    std::string name;
    std::optional<Payload> payload;
    std::optional<Rank> from;
    std::optional<Rank> to;
    friend bool operator==(const CommunicatorRule&, const CommunicatorRule&) = default;
};

struct Communicators {
    CommunicatorKind kind = CommunicatorKind::Tag;
    std::vector<CommunicatorRule> rules; ///< used with Rules; a transfer belongs to the first matching rule

    /// Number of a transfer's communicator; -1 if it has none, which is always the case with Tag.
    [[nodiscard]] std::int64_t of(Payload payload, Rank from, Rank to, int pp) const;
    /// Name of the communicator with this number: "all", "activations", "0→1", "0 and 1", or the name of the rule.
    [[nodiscard]] std::string nameOf(std::int64_t number, int pp) const;
};

/// Rules that determine when sends and receives can proceed.
struct QueueModel {
    Communicators communicators;
    /// Sends up to this size in bytes complete without waiting for their receive.
    std::int64_t eager_bytes = 0;
    /// A posted receive blocks all later ops until the receive ends, as on ROCm.
    bool receive_blocks_compute = false;
    /// Percentage of its rank's compute that each pending receive takes, as NCCL's kernels take multiprocessors; 0 to
    /// 99. Does not affect whether an order hangs. See simulateLowered().
    int receive_share = 0;
};

} // namespace bubblescope
