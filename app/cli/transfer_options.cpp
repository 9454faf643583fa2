#include "app/cli/transfer_options.h"

#include "core/base/bytes.h"

namespace bubblescope::cli {

void addSendModeOption(Command command, SendMode& mode) {
    command
        .addParsed("--sends", mode, parseSendMode,
                   "When a rank continues after a send: async = at once; blocking = once it is received; paired, "
                   "batched = blocking, with sends and receives posted together (async)")
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
}

void addTransferOptions(Command command, TransferRequest& request) {
    command
        .addParsed("--activation-bytes", request.stated.activation_bytes, parseBytes,
                   "Size of the activations between two stages, such as 32MiB")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command
        .addParsed("--gradient-bytes", request.gradient_bytes, parseBytes,
                   "Size of the gradients between two stages (same)")
        .typeName("SIZE")
        .group("Transfers and single ops")
        .rare();
    command
        .addParsed("--bandwidth", request.stated.bytes_per_second, parseBandwidth,
                   "Bandwidth of a link between ranks, such as 50GB/s or 400Gbit/s (unlimited)")
        .typeName("RATE")
        .group("Transfers and single ops")
        .rare();
    command.addOption("--links", request.links, "Latency and bandwidth of single links, as JSON or CSV")
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
    command.addFlag("--no-comm-overlap", request.stated.on_compute_stream, "Transfers block the sending rank")
        .group("Transfers and single ops")
        .rare();
}

} // namespace bubblescope::cli
