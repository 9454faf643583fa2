#pragma once

#include "core/base/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Processes that cooperate on one job and exchange byte strings of any length. All members make the same calls in the
/// same order, each from one thread; a call returns once this member's part is done. After an error the team is
/// unusable: the other members get an error too if they can be reached, or are terminated by whoever started them.
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
    /// On the root, returns the bytes of all members by rank; on the others, nothing.
    [[nodiscard]] virtual Result<std::vector<std::string>> gather(std::string bytes) = 0;
    /// `to` has one entry per member; returns what each member sent to this one, by rank.
    [[nodiscard]] virtual Result<std::vector<std::string>> exchange(std::vector<std::string> to) = 0;
};

/// Answers a request; both are byte strings.
using RequestHandler = std::function<Result<std::string>(std::string_view request)>;

/// Makes the root the coordinator of a team: it sends requests to all members, itself included, and dismisses them when
/// it is destroyed, also by an exception. The others call serve(). So no member keeps waiting when something fails on
/// the root.
class Coordinator {
public:
    /// On the root; `team` must outlive this object.
    explicit Coordinator(ProcessTeam& team) : team_(team) {}
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(team_.size()); }

    /// Returns the members' answers by rank; `own` answers for the root. Error: that of the first member that failed.
    [[nodiscard]] Result<std::vector<std::string>> ask(const std::string& request, const RequestHandler& own);

    /// The same with a request of its own for each member, by rank; that of the root is not passed to `own`.
    [[nodiscard]] Result<std::vector<std::string>> askEach(std::vector<std::string> requests,
                                                           const std::function<Result<std::string>()>& own);

    /// On the other members: handles requests until dismissed. Exceptions thrown by `handle` become errors of the
    /// root's ask().
    [[nodiscard]] static Status serve(ProcessTeam& team, const RequestHandler& handle);

private:
    [[nodiscard]] Result<std::vector<std::string>> answers(Result<std::string> own);

    ProcessTeam& team_;
};

} // namespace bubblescope
