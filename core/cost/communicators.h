#pragma once

#include "core/base/ids.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The rule that decides which sends and receives share a communicator. Within a communicator, a rank executes its
/// sends and receives one after another, in the order in which it posts them.
enum class CommunicatorKind : std::uint8_t {
    One,       ///< one for all
    Direction, ///< one for activations, one for gradients
    Edge,      ///< one per ordered pair of ranks
    Pair,      ///< one per unordered pair of ranks
    Tag,       ///< no queues: sends and receives match by tag, as in Gloo and MPI
    Rules,     ///< as given in a file
};

/// "one", "direction", "edge", "pair" or "tag".
[[nodiscard]] std::string_view communicatorKindName(CommunicatorKind kind);
[[nodiscard]] std::optional<CommunicatorKind> communicatorKindFromName(std::string_view name);

/// Selects the transfers of a communicator; empty fields match all.
struct CommunicatorRule {
    std::string name;
    std::optional<Payload> payload;
    std::optional<Rank> from;
    std::optional<Rank> to;
    friend bool operator==(const CommunicatorRule&, const CommunicatorRule&) = default;
};

struct Communicators {
    CommunicatorKind kind = CommunicatorKind::Tag;
    std::vector<CommunicatorRule> rules; ///< used with Rules; the first match counts

    /// The number of a transfer's communicator; -1 if it has none, as always with Tag.
    [[nodiscard]] std::int64_t of(Payload payload, Rank from, Rank to, int pp) const;
    /// The name of a communicator number: "all", "activations", "0→1", "0 and 1", or the rule's name.
    [[nodiscard]] std::string nameOf(std::int64_t number, int pp) const;
};

/// The rules by which sends and receives proceed.
struct QueueModel {
    Communicators communicators;
    /// Sends of at most this many bytes complete without waiting for their receive.
    std::int64_t eager_bytes = 0;
    /// A posted receive blocks all later ops until it ends, as on ROCm.
    bool receive_blocks_compute = false;
};

} // namespace bubblescope
