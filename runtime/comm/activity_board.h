#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/comm/transport.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The current activity of each rank of a job on this machine, in memory shared by its processes. The memory outlives a
/// killed
/// process, so the others can read what it was doing. Ranks on other machines, and processes whose memory cannot be
/// opened, are missing.
///
/// An entry has one writer, its rank. Any thread reads.
class ActivityBoard {
public:
    /// All processes of the job call it together; a rank is a process. Errors: those of the team. A process that cannot
    /// make or open shared memory has a board with fewer entries.
    [[nodiscard]] static Result<std::shared_ptr<ActivityBoard>> open(ProcessTeam& team);

    ActivityBoard(const ActivityBoard&) = delete;
    ActivityBoard& operator=(const ActivityBoard&) = delete;
    ~ActivityBoard();

    /// This process's entry. One thread at a time.
    void write(const Activity& activity) noexcept;
    /// The last entry of a rank; nothing if it is missing. Times are on the machine's shared clock.
    [[nodiscard]] std::optional<Activity> read(Rank rank) const noexcept;
    /// The number of other ranks on the board that keep a core busy.
    [[nodiscard]] int othersBusy() const noexcept;
    /// The number of ranks on the board, and of the cores that the system lets them use; at least 1.
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] int cores() const noexcept { return cores_; }

private:
    struct Entry;
    class Mapping;

    ActivityBoard();

    std::vector<std::unique_ptr<Mapping>> entries_; ///< by rank; null where there is none
    std::size_t own_ = 0;
    int ranks_ = 1;
    int cores_ = 1;
};

} // namespace bubblescope::runtime
