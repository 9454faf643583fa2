#include "app/cli/load_options.h"

#include "app/cli/schedule_options.h"

namespace bubblescope::cli {

void addMeshOptions(Command command, RecogniseRequest& request) {
    const Option mesh =
        command.addOption("--mesh", request.mesh, "How the job spreads over its ranks, as in pp=4,dp=2,tp=2")
            .typeName("SIZES");
    command
        .addOption("--mesh-order", request.mesh_order,
                   "How its ranks are numbered: torchtitan (the default), megatron, or axes, the fastest first, as in "
                   "tp-cp-ep-dp-pp")
        .typeName("ORDER")
        .needs(mesh);
}

void addNameOptions(Command command, RecogniseRequest& request) {
    command.addOption("--rules", request.rules, "Further rules for names of ops, see the manual on recognition")
        .typeName("FILE");
    addMeshOptions(command, request);
}

void addRecogniseOptions(Command command, RecogniseRequest& request) {
    addNameOptions(command, request);
    addScheduleOptions(command, request.schedule);
}

} // namespace bubblescope::cli
