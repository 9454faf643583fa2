#include "runtime/run_setup.h"

#include "profiler/recorder/recorder.h"
#include "runtime/checks/check_memory.h"
#include "runtime/checks/rank_checker.h"
#include "runtime/checks/remote_check_broker.h"

#include <utility>

namespace bubblescope::runtime {
RunChecks::RunChecks(std::unique_ptr<CheckSetup> setup) : setup_(std::move(setup)) {}

RunChecks::~RunChecks() = default;

void RunChecks::recordInto(profiler::Recorder* recorder) {
    if (recorder == nullptr) return;
    setup_->write = [recorder](Rank world, const CheckRecord& check) { recorder->addCheck(world, check); };
}

std::int64_t RunChecks::memoryOf(const RunConfig& config, Rank rank, int value_bytes) const {
    return checkMemoryOf(*setup_, config.schedule, config.model, rank, value_bytes);
}

AttachHook RunChecks::attach() {
    return attachChecks(setup_.get());
}

void RunChecks::askProcesses(Transport& transport, int ranks) {
    if (transport.carriesMail()) setup_->broker = std::make_unique<RemoteCheckBroker>(transport, ranks);
}

RunSummary::Checks RunChecks::summary() const {
    return {setup_->stepsToFull(), setup_->holds};
}

Result<std::unique_ptr<RunChecks>> RunChecks::plan(const RunConfig& config, std::size_t ranks_here) {
    if (!config.aadiff) return std::unique_ptr<RunChecks>();
    // Ranks of one process share a device, so another rank could not detect more faults than the rank that found a
    // mismatch.
    const std::size_t separate = config.backend ? 1 : ranks_here;
    const CheckSetup::Of of{config.schedule, config.times, config.model,  config.paced,
                            !config.backend, separate,     config.out_dir};
    BUBBLESCOPE_ASSIGN(std::unique_ptr<CheckSetup> setup, CheckSetup::make(of, *config.aadiff));
    return std::make_unique<RunChecks>(std::move(setup));
}

} // namespace bubblescope::runtime
