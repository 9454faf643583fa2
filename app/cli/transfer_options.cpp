#include "app/cli/transfer_options.h"

#include "core/base/bytes.h"

namespace bubblescope::cli {

void addSendModeOption(Command command, SendMode& mode) {
    command
        .addParsed(
            "--sends", mode, parseSendMode,
            "When a rank continues after a send: async = at once; blocking = when it is received; paired, batched "
            "= blocking, with sends and receives posted together (async)")
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
}

void addTransferOptions(Command command, TransferRequest& request) {
    command
        .addParsed("--activation-bytes", request.stated.activation_bytes, parseBytes,
                   "Size of what a stage hands to the next, such as 32MiB")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command.addParsed("--gradient-bytes", request.gradient_bytes, parseBytes, "Size of what it hands back (as much)")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command
        .addParsed("--bandwidth", request.stated.bytes_per_second, parseBandwidth,
                   "Of a link between ranks, such as 50GB/s or 400Gbit/s (unlimited)")
        .typeName("RATE")
        .group("Transfers and single ops")
        .rare();
    command.addOption("--links", request.links, "Links with a latency or bandwidth of their own, as JSON or CSV")
        .typeName("FILE")
        .group("Transfers and single ops")
        .rare();
    command
        .addParsed("--comm-streams", request.stated.streams, parseCommStreams,
                   "Which of a rank's transfers queue: unlimited = none, direction, link, rank (unlimited)")
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
    addSendModeOption(command, request.stated.sends);
    command.addFlag("--no-comm-overlap", request.stated.on_compute_stream, "Transfers hold up the rank that sends them")
        .group("Transfers and single ops")
        .rare();
}

} // namespace bubblescope::cli
