#include "app/cli/check_options.h"

#include "app/cli/output.h"
#include "core/aadiff/mismatch.h"
#include "core/base/bytes.h"
#include "core/base/child_process.h"

#include <fmt/format.h>

#include <mutex>
#include <system_error>
#include <utility>

namespace bubblescope::cli {
namespace {

std::string mismatchText(const CheckRecord& check, const CheckedDevice& device) {
    return fmt::format("aadiff: {}: {}. {}", mismatchPlace(check, device).text(), differenceText(check).text(),
                       verdictText(check).text());
}

/// Needed because several ranks may report at the same time.
std::mutex& speaks() {
    static std::mutex mutex;
    return mutex;
}

void warn(const CheckRecord& check, const CheckedDevice& device) {
    const std::lock_guard lock(speaks());
    printError(mismatchText(check, device));
}

/// Runs the command with the mismatch in BUBBLESCOPE_MISMATCH.
void callCommand(const std::string& command, const CheckRecord& check, const CheckedDevice& device) {
    const std::lock_guard lock(speaks());
    const std::string text = mismatchText(check, device);
    printError(text);
    ChildProcess::Command called = ChildProcess::Command::shell(command);
    called.environment = {{"BUBBLESCOPE_MISMATCH", text}};
    std::error_code failed;
    auto child = ChildProcess::start(called, failed);
    if (!child || child->wait() != 0) printError(fmt::format("aadiff: '{}' failed", command));
}

/// Prints the planned checks of a run without pacing as soon as they are known.
void announce(const runtime::PlannedCoverage& plan) {
    const std::lock_guard lock(speaks());
    const std::string ranks = plan.first_rank == plan.last_rank
                                  ? fmt::format("rank {}", plan.first_rank)
                                  : fmt::format("ranks {} to {}", plan.first_rank, plan.last_rank);
    printError(fmt::format("aadiff: {}: {:.1f} planned replays per step cover {} of {} work units within {} steps{}",
                           ranks, plan.per_step, plan.covered, plan.units, plan.steps,
                           plan.covered == plan.units ? "" : "; the others do not fit into any bubble"));
}

} // namespace

void CheckOptions::add(Command command, bool always) {
    const std::string group = "Checks in bubbles";
    std::optional<Option> asked; // the other options have no effect without it
    if (always) {
        on_ = true;
    } else {
        asked = command.addFlag("--aadiff", on_, "Recompute ops in bubbles and compare the bits").group(group);
    }
    const auto checks = [&](const Option& option) {
        option.group(group).rare();
        if (asked) option.needs(*asked);
    };
    checks(command
               .addOption(
                   "--aadiff-margin", margin_,
                   "Safety margin in percent: a check may take this much longer than its op without delaying the step")
               .range(0.0, 1000.0)
               .typeName("PERCENT")
               .showDefault());
    checks(command
               .addOption(
                   "--aadiff-cost", cost_,
                   "With --no-pace: maximum share of the step time for checks and digests, in percent; lower values "
                   "check fewer steps, 100 checks every step")
               .range(0.0, 100.0)
               .typeName("PERCENT")
               .showDefault());
    checks(command
               .addParsed("--aadiff-memory", memory_, parseBytes,
                          "Memory per rank for checks, such as 64MiB (default: as needed)")
               .typeName("BYTES"));
    checks(command.addFlag("--no-digests", no_digests_, "Do not record the digests for comparing runs"));
    checks(command
               .addOption("--on-mismatch", on_mismatch_,
                          "What to do on a mismatch: warn, stop, or run a command, which receives the mismatch in "
                          "BUBBLESCOPE_MISMATCH")
               .typeName("warn|stop|COMMAND")
               .showDefault());
}

Result<std::optional<runtime::AadiffOptions>> CheckOptions::options(std::string device) const {
    if (!on_) return std::optional<runtime::AadiffOptions>();
    runtime::AadiffOptions options;
    constexpr double kPercent = 100;
    options.margin = margin_ / kPercent;
    options.cost = cost_ / kPercent;
    options.digests = !no_digests_;
    if (memory_) options.memory = *memory_;
    options.on_plan = announce;
    options.stop = on_mismatch_ == "stop";
    const bool calls = on_mismatch_ != "warn" && on_mismatch_ != "stop";
    options.on_mismatch = [command = calls ? on_mismatch_ : std::string(),
                           where = CheckedDevice{{}, std::move(device)}](const CheckRecord& check) {
        if (command.empty()) return warn(check, where);
        callCommand(command, check, where);
    };
    return std::optional(std::move(options));
}

} // namespace bubblescope::cli
