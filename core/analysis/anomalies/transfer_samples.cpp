#include "core/analysis/anomalies/transfer_samples.h"

#include "core/analysis/clocks/transfers.h"

#include <algorithm>

namespace bubblescope {

TransferSamples::TransferSamples(std::span<const StepTimeline> steps) {
    std::vector<MatchedTransfer> matched;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        matchTransfers(steps[s], matched);
        auto latest = links.end(); // those of one link follow each other
        for (const MatchedTransfer& transfer : matched) {
            const CommSpan& send = *transfer.send;
            const CommSpan& receive = *transfer.receive;
            if (const TimeNs early = send.start - receive.end; early > TimeNs{0})
                backwards.push_back({s, transfer.from, transfer.to, receive.start, receive.end, early});
            if (transfer.from == transfer.to) continue;
            const LinkKey link{steps[s].replica, transfer.from, transfer.to};
            if (latest == links.end() || latest->first != link) latest = links.try_emplace(link).first;
            const TimeNs time = std::max(TimeNs{0}, receive.end - std::max(send.start, receive.start));
            latest->second.push_back({s, static_cast<double>(time.count())});
        }
    }
}

} // namespace bubblescope
