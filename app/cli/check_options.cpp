#include "app/cli/check_options.h"

#include "app/cli/output.h"
#include "core/base/bytes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

namespace bubblescope::cli {
namespace {

std::string mismatchText(const CheckRecord& check) {
    std::string out = fmt::format("aadiff: {} check of step {}, rank {}, {}, layer {}: {} differs ({})",
                                  checkKindName(check.kind), check.step, check.rank.value, opName(check.op),
                                  check.layer, check.tensor, verdictName(check.verdict));
    if (!check.difference) return out;
    return out + fmt::format("; {} of {} numbers, the first at {}: {:08x} and {:08x}", check.difference->differing,
                             check.difference->elements, check.difference->first, check.difference->first_bits,
                             check.difference->second_bits);
}

/// Ranks may find something at once.
std::mutex& speaks() {
    static std::mutex mutex;
    return mutex;
}

void warn(const CheckRecord& check) {
    const std::lock_guard lock(speaks());
    printError(mismatchText(check));
}

/// What is wrong goes to the command in BUBBLESCOPE_MISMATCH.
void callCommand(const std::string& command, const CheckRecord& check) {
    const std::lock_guard lock(speaks());
    const std::string text = mismatchText(check);
    printError(text);
    ::setenv("BUBBLESCOPE_MISMATCH", text.c_str(), 1);
    if (std::system(command.c_str()) != 0) printError(fmt::format("aadiff: '{}' failed", command));
}

} // namespace

void CheckOptions::add(Command command, bool always) {
    const std::string group = "Checks in bubbles";
    if (always) {
        on_ = true;
    } else {
        command.addFlag("--aadiff", on_, "Compute again in bubbles what has been computed, and compare the bits")
            .group(group);
    }
    command.addOption("--aadiff-margin", margin_, "By how much a check may take longer and delay nobody, in percent")
        .range(0.0, 1000.0)
        .typeName("PERCENT")
        .showDefault()
        .group(group);
    command.addOption("--aadiff-memory", memory_, "What a rank may keep for checks, such as 64MiB (what they take)")
        .typeName("BYTES")
        .group(group);
    command.addFlag("--no-digests", no_digests_, "Leave out the digests by which runs can be compared").group(group);
    command
        .addOption("--on-mismatch", on_mismatch_,
                   "warn, stop, or a command to call, which finds what was found in BUBBLESCOPE_MISMATCH")
        .typeName("warn|stop|COMMAND")
        .showDefault()
        .group(group);
}

Result<std::optional<runtime::AadiffOptions>> CheckOptions::options() const {
    if (!on_) return std::optional<runtime::AadiffOptions>();
    runtime::AadiffOptions options;
    constexpr double kPercent = 100;
    options.margin = margin_ / kPercent;
    options.digests = !no_digests_;
    if (!memory_.empty()) {
        BUBBLESCOPE_ASSIGN(options.memory, parseBytes(memory_));
    }
    options.stop = on_mismatch_ == "stop";
    options.on_mismatch = warn;
    if (on_mismatch_ != "warn" && on_mismatch_ != "stop")
        options.on_mismatch = [command = on_mismatch_](const CheckRecord& check) { callCommand(command, check); };
    return std::optional(std::move(options));
}

} // namespace bubblescope::cli
