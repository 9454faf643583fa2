#include "app/cli/memory_options.h"

namespace bubblescope::cli {

void addMemoryOptions(Command command, MemoryRequest& request) {
    const Option model =
        command.addOption("--memory-model", request.model, "Tensor sizes of the model's layers, as JSON")
            .typeName("FILE");
    command
        .addOption("--memory-budget", request.budget, "Memory of a rank, such as 80GiB: names the first op beyond it")
        .typeName("SIZE")
        .needs(model);
}

} // namespace bubblescope::cli
