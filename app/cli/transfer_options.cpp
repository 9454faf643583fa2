#include "app/cli/transfer_options.h"

#include "app/cli/input_options.h"
#include "core/base/bytes.h"

namespace bubblescope::cli {
namespace {

constexpr const char* kSendsAbout =
    "How long a send blocks its rank: async = not at all; blocking = until the data is received; paired, batched = "
    "like blocking, with sends and receives posted together (default: async)";

} // namespace

void addSendModeOption(Command command, SendMode& mode) {
    command.addParsed("--sends", mode, parseSendMode, kSendsAbout)
        .typeName("MODE")
        .group("Transfers and single ops")
        .rare();
}

void addTransferOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes) {
    const std::string group = "Transfers and single ops";
    const InputOptions inputs(command, request, axes);
    inputs
        .add(
            Field("activation_bytes"), parseBytes,
            [](ScheduleRequest& into, std::int64_t size) { into.transfers.stated.activation_bytes = size; },
            "Size of the activations between two stages, such as 32MiB")
        .typeName("SIZE")
        .group(group)
        .rare();
    inputs
        .add(
            Field("gradient_bytes"), parseBytes,
            [](ScheduleRequest& into, std::int64_t size) { into.transfers.gradient_bytes = size; },
            "Size of the gradients between two stages (default: same as the activations)")
        .typeName("SIZE")
        .group(group)
        .rare();
    inputs
        .add(
            Field("bandwidth"), parseBandwidth,
            [](ScheduleRequest& into, std::int64_t rate) { into.transfers.stated.bytes_per_second = rate; },
            "Bandwidth of a link between ranks, such as 50GB/s or 400Gbit/s (default: unlimited)")
        .typeName("RATE")
        .group(group)
        .rare();
    inputs
        .text(
            Field("links"), [](ScheduleRequest& into, const std::string& file) { into.transfers.links = file; },
            "Latency and bandwidth of single links, as JSON or CSV")
        .typeName("FILE")
        .group(group)
        .rare();
    inputs
        .add(
            Field("comm_streams"), parseCommStreams,
            [](ScheduleRequest& into, CommStreams streams) { into.transfers.stated.streams = streams; },
            "Transfer queues: one per direction, link or rank, or unlimited (default), where no transfer waits")
        .typeName("MODE")
        .group(group)
        .rare();
    inputs
        .add(
            Field("sends"), parseSendMode,
            [](ScheduleRequest& into, SendMode sends) { into.transfers.stated.sends = sends; }, kSendsAbout)
        .typeName("MODE")
        .group(group)
        .rare();
    command.addFlag("--no-comm-overlap", request.transfers.stated.on_compute_stream, "Transfers block the sending rank")
        .group(group)
        .rare();
}

} // namespace bubblescope::cli
