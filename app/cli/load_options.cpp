#include "app/cli/load_options.h"

#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"

#include <filesystem>
#include <utility>

namespace bubblescope::cli {

void addMeshOptions(Command command, RecogniseRequest& request) {
    const Option mesh = command.addOption("--mesh", request.mesh, "Parallel sizes of the job, such as pp=4,dp=2,tp=2")
                            .typeName("SIZES")
                            .group("How to read the trace")
                            .rare();
    command
        .addOption("--mesh-order", request.mesh_order,
                   "Rank numbering of the job: torchtitan (default), megatron, or the axes from fastest to slowest, "
                   "such as tp-cp-ep-dp-pp")
        .typeName("ORDER")
        .needs(mesh)
        .group("How to read the trace")
        .rare();
}

void addNameOptions(Command command, RecogniseRequest& request) {
    command
        .addOption("--rules", request.rules, "More rules for op names and lanes; see the manual's page on recognition")
        .typeName("FILE")
        .group("How to read the trace")
        .rare();
    command
        .addOption("--rank-of", request.ranks,
                   "Set the rank of files, or of processes in a merged file, by a pattern for their names: '*node3*=3'")
        .typeName("PATTERN=RANK")
        .group("How to read the trace")
        .rare();
    addMeshOptions(command, request);
}

void addRecogniseOptions(Command command, RecogniseRequest& request) {
    addNameOptions(command, request);
    addScheduleOptions(command, request.schedule, Listed::InFullHelp);
}

Result<Run> loadWatched(const std::vector<std::string>& files, const LoadOptions& known_of) {
    JobControl control;
    const std::vector<std::filesystem::path> paths(files.begin(), files.end());
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, watchLoad(control, [&] { return loadTrace(paths, control, known_of); }));
    if (!loaded.no_pipeline) return std::move(loaded.run);
    printProblems(loaded.run.problems);
    return *std::move(loaded.no_pipeline);
}

} // namespace bubblescope::cli
