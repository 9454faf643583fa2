#include "core/optimize/search/one_machine.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace bubblescope {

MachineBound machineBound(std::vector<MachineJob> jobs) {
    std::ranges::sort(jobs, {}, &MachineJob::head);
    const auto longer = [](const MachineJob& a, const MachineJob& b) { return a.after < b.after; };
    std::priority_queue<MachineJob, std::vector<MachineJob>, decltype(longer)> open(longer);
    struct Run {
        std::int64_t begin, end, after;
    };
    std::vector<Run> runs;
    std::int64_t now = std::numeric_limits<std::int64_t>::min();
    MachineBound best;
    std::size_t decides = 0;
    for (std::size_t next = 0; next < jobs.size() || !open.empty();) {
        if (open.empty()) now = std::max(now, jobs[next].head);
        for (; next < jobs.size() && jobs[next].head <= now; ++next)
            open.push(jobs[next]);
        MachineJob job = open.top();
        open.pop();
        const std::int64_t until = next < jobs.size() ? std::min(now + job.work, jobs[next].head) : now + job.work;
        runs.push_back({now, until, job.after});
        job.work -= until - now;
        now = until;
        if (job.work > 0) {
            open.push(job);
        } else if (now + job.after >= best.time) {
            best.time = now + job.after;
            decides = runs.size() - 1;
        }
    }
    if (runs.empty()) return best;
    // The deciding ops ran without a break before the last of them, and none has a shorter tail.
    std::size_t first = decides;
    while (first > 0 && runs[first - 1].end == runs[first].begin && runs[first - 1].after >= runs[decides].after)
        --first;
    best.head = runs[first].begin;
    best.work = runs[decides].end - best.head;
    best.after = runs[decides].after;
    return best;
}

} // namespace bubblescope
