#pragma once

#include "core/base/process_team.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Answers a question, both as bytes.
using Responder = std::function<Result<std::string>(std::string_view question)>;

/// A team of which the root leads: it puts questions to all members, itself included, and dismisses them when it is
/// destroyed, however that comes about. The others serve(). So whatever goes wrong on the root, nobody waits for it.
class TeamLead {
public:
    /// On the root; `team` must outlive the lead.
    explicit TeamLead(ProcessTeam& team) : team_(team) {}
    ~TeamLead();
    TeamLead(const TeamLead&) = delete;
    TeamLead& operator=(const TeamLead&) = delete;

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(team_.size()); }

    /// The members' answers by rank; `own` gives the root's. Error: the first member's that has one.
    [[nodiscard]] Result<std::vector<std::string>> ask(const std::string& question, const Responder& own);

    /// On the other members: answers until dismissed. Exceptions of `respond` become errors of the root's question.
    [[nodiscard]] static Status serve(ProcessTeam& team, const Responder& respond);

private:
    ProcessTeam& team_;
};

} // namespace bubblescope
