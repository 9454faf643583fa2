#include "app/cli/transfer_options.h"

namespace bubblescope::cli {

void addSendModeOption(Command command, std::string& name) {
    command
        .addOption(
            "--sends", name,
            "When a rank continues after a send: async = at once; blocking = when it is received; paired, batched "
            "= blocking, with sends and receives posted together (async)")
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
}

void addTransferOptions(Command command, TransferRequest& request) {
    command
        .addOption("--activation-bytes", request.activation_bytes,
                   "Size of what a stage hands to the next, such as 32MiB")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command.addOption("--gradient-bytes", request.gradient_bytes, "Size of what it hands back (as much)")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command
        .addOption("--bandwidth", request.bandwidth, "Of a link between ranks, such as 50GB/s or 400Gbit/s (unlimited)")
        .typeName("RATE")
        .group("Transfers and single ops")
        .rare();
    command.addOption("--links", request.links, "Links with a latency or bandwidth of their own, as JSON or CSV")
        .typeName("FILE")
        .group("Transfers and single ops")
        .rare();
    command
        .addOption("--comm-streams", request.streams,
                   "Which of a rank's transfers queue: unlimited = none, direction, link, rank (unlimited)")
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
    addSendModeOption(command, request.sends);
    command.addFlag("--no-comm-overlap", request.no_overlap, "Transfers hold up the rank that sends them")
        .group("Transfers and single ops")
        .rare();
}

} // namespace bubblescope::cli
