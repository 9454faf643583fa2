#include "app/cli/transfer_options.h"

#include "core/base/bytes.h"
#include "core/cost/cost_files.h"

#include <fmt/format.h>

namespace bubblescope::cli {

void addSendModeOption(Command command, std::string& name) {
    command
        .addOption("--sends", name,
                   "When a rank goes on after a send: async = at once; blocking = when it is received; paired, batched "
                   "= blocking, with sends and receives posted together (async)")
        .typeName("MODE");
}

Result<SendMode> sendMode(const std::string& name) {
    const auto mode = sendModeFromName(name);
    if (!mode)
        return usageError(fmt::format("--sends {} is not known", name), "give async, blocking, paired or batched");
    return *mode;
}

void TransferOptions::add(Command command) {
    command.addOption("--activation-bytes", activation_bytes_, "Size of what a stage hands to the next, such as 32MiB")
        .typeName("SIZE");
    command.addOption("--gradient-bytes", gradient_bytes_, "Size of what it hands back (as much)").typeName("SIZE");
    command.addOption("--bandwidth", bandwidth_, "Of a link between ranks, such as 50GB/s or 400Gbit/s (unlimited)")
        .typeName("RATE");
    command.addOption("--links", links_, "Links with a latency or bandwidth of their own, as JSON or CSV")
        .typeName("FILE");
    command
        .addOption("--comm-streams", streams_,
                   "Which of a rank's transfers queue: unlimited = none, direction, link, rank (unlimited)")
        .typeName("MODE");
    addSendModeOption(command, sends_);
    command.addFlag("--no-comm-overlap", no_overlap_, "Transfers hold up the rank that sends them");
}

Result<TransferModel> TransferOptions::model(int pp) const {
    TransferModel model;
    if (activation_bytes_) {
        BUBBLESCOPE_ASSIGN(model.activation_bytes, parseBytes(*activation_bytes_));
    }
    model.gradient_bytes = model.activation_bytes;
    if (gradient_bytes_) {
        BUBBLESCOPE_ASSIGN(model.gradient_bytes, parseBytes(*gradient_bytes_));
    }
    if (bandwidth_) {
        BUBBLESCOPE_ASSIGN(model.bytes_per_second, parseBandwidth(*bandwidth_));
    }
    if (!links_.empty()) {
        BUBBLESCOPE_ASSIGN(model.links, readLinks(links_, pp));
    }
    if (bandwidth_ && model.activation_bytes == 0 && model.gradient_bytes == 0) {
        return usageError("--bandwidth says nothing without the size of transfers",
                          "give --activation-bytes, and --gradient-bytes if they differ");
    }
    const auto streams = commStreamsFromName(streams_);
    if (!streams) {
        return usageError(fmt::format("--comm-streams {} is not known", streams_),
                          "give unlimited, direction, link or rank");
    }
    model.streams = *streams;
    BUBBLESCOPE_ASSIGN(model.sends, sendMode(sends_));
    model.on_compute_stream = no_overlap_;
    return model;
}

} // namespace bubblescope::cli
