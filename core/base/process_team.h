#pragma once

#include "core/base/result.h"

#include <string>
#include <vector>

namespace bubblescope {

/// Processes that work on one thing together and pass byte strings of any length. Each call is made by all members in
/// the same order, by one thread each, and returns once this member's part is done. After an error the team is of no
/// more use: its other members get one too where they can be told, or are ended by whoever started them. Errors: Run.
class ProcessTeam {
public:
    ProcessTeam() = default;
    ProcessTeam(const ProcessTeam&) = delete;
    ProcessTeam& operator=(const ProcessTeam&) = delete;
    virtual ~ProcessTeam() = default;

    [[nodiscard]] virtual int rank() const = 0; ///< 0 … size − 1; 0 is the root
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] bool isRoot() const { return rank() == 0; }

    /// The root's bytes, on all. What others give is not looked at.
    [[nodiscard]] virtual Result<std::string> broadcast(std::string bytes) = 0;
    /// On the root what each member gave, by rank; nothing on the others.
    [[nodiscard]] virtual Result<std::vector<std::string>> gather(std::string bytes) = 0;
    /// `to` has one entry a member; the result is what each had for this one, by rank.
    [[nodiscard]] virtual Result<std::vector<std::string>> exchange(std::vector<std::string> to) = 0;
};

} // namespace bubblescope
