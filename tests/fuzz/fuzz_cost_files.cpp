// Bytes as each of the files that give costs and sizes, and what is read through simulation.

#include "core/cost/cost_files.h"
#include "core/cost/memory_estimate.h"
#include "core/schedule/registry.h"
#include "core/simulate/simulate.h"
#include "tests/support/scratch_folder.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace bubblescope {
namespace {

template <class T>
bool usable(const Result<T>& result) {
    // Whatever is wrong, the user learns which file it is.
    if (!result.ok() && result.error().where.find("costs") == std::string::npos) std::abort();
    return result.ok();
}

} // namespace
} // namespace bubblescope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bubblescope;
    static const test::ScratchFolder folder;
    static const Schedule schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
    const std::string file = folder.write("costs", {reinterpret_cast<const char*>(data), size}).string();
    CostModel costs;
    costs.transfers.activation_bytes = 1000;
    if (auto stages = readStageTimes(file); usable(stages)) costs.stages = stages.value();
    if (auto links = readLinks(file, 2); usable(links)) costs.transfers.links = links.value();
    if (auto times = readOpTimes(file, schedule); usable(times)) {
        costs.measured = std::make_shared<MeasuredTimes>(std::move(times).value());
    }
    (void)simulate(schedule, costs);
    if (auto sizes = readModelSizes(file); usable(sizes)) {
        const auto model = memoryModel(sizes.value(), schedule);
        if (model.ok()) (void)memoryUse(schedule, model.value());
    }
    return 0;
}
