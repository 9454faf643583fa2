#pragma once

#include "core/base/result.h"

#include <string>
#include <vector>

namespace bubblescope {

/// Processes that work together on one job and exchange byte strings of any length. All members must make the same
/// calls in the same order, each from one thread; a call returns when this member's part is done. After an error the
/// team is unusable. Other members that can be reached also return an error; the launcher terminates the others.
/// Errors: Run.
class ProcessTeam {
public:
    ProcessTeam() = default;
    ProcessTeam(const ProcessTeam&) = delete;
    ProcessTeam& operator=(const ProcessTeam&) = delete;
    virtual ~ProcessTeam() = default;

    [[nodiscard]] virtual int rank() const = 0; ///< 0 … size − 1; 0 is the root
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] bool isRoot() const { return rank() == 0; }

    /// Returns the root's bytes on all members; the arguments of the others are ignored.
    [[nodiscard]] virtual Result<std::string> broadcast(std::string bytes) = 0;
    /// On the root, returns the bytes of all members, by rank; on the others, returns nothing.
    [[nodiscard]] virtual Result<std::vector<std::string>> gather(std::string bytes) = 0;
    /// `to` has one entry per member; returns the bytes that each member sent to this one, by rank.
    [[nodiscard]] virtual Result<std::vector<std::string>> exchange(std::vector<std::string> to) = 0;
};

} // namespace bubblescope
