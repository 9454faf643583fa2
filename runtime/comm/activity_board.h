#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/comm/transport.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The current activity of each rank of a job on this machine, in memory shared by the job's processes. The memory
/// outlives a killed process, so other processes can still read the last activity of that process. Ranks on other
/// machines, and processes whose memory cannot be opened, have no entry.
///
/// Each entry is written only by its rank and can be read from any thread.
class ActivityBoard {
public:
    /// Collective: all processes of the job must call this; each process is one rank. Errors: those of the team. If a
    /// process cannot create or open shared memory, its board has fewer entries.
    [[nodiscard]] static Result<std::shared_ptr<ActivityBoard>> open(ProcessTeam& team);

    ActivityBoard(const ActivityBoard&) = delete;
    ActivityBoard& operator=(const ActivityBoard&) = delete;
    ~ActivityBoard();

    /// This process's entry. Must be called by one thread at a time.
    void write(const Activity& activity) noexcept;
    /// The last entry of a rank; nothing if the entry is missing. Times are on the machine's shared clock.
    [[nodiscard]] std::optional<Activity> read(Rank rank) const noexcept;
    /// Number of other ranks on the board that keep a core busy.
    [[nodiscard]] int othersBusy() const noexcept;
    /// Number of ranks on the board; the next function returns the number of cores that they may use, at least 1.
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] int cores() const noexcept { return cores_; }

private:
    struct Entry;
    class Mapping;

    ActivityBoard();

    std::vector<std::unique_ptr<Mapping>> entries_; ///< entries by rank; null if a rank has no entry
    std::size_t own_ = 0;
    int ranks_ = 1;
    int cores_ = 1;
};

} // namespace bubblescope::runtime
