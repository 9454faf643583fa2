#include "app/cli/dispatch_options.h"

#include <fmt/format.h>

namespace bubblescope::cli {
namespace {

Result<DispatchRule> parseDispatchRule(std::string_view name) {
    if (const std::optional<DispatchRule> rule = dispatchRuleFromName(name)) return *rule;
    return usageError(fmt::format("unknown rule '{}'", name), "use list, ready, backward or oldest");
}

} // namespace

void addDispatchOptions(Command command, DispatchPolicy& policy) {
    command
        .addParsed("--dispatch", policy.rule, parseDispatchRule,
                   "How ranks choose ops: list = in order; ready, backward, oldest = any ready op, with the order as a "
                   "hint (default: list)")
        .typeName("RULE")
        .suggests({"list", "ready", "backward", "oldest"})
        .group("Dispatch")
        .rare();
    command
        .addOption("--in-flight", policy.in_flight,
                   "With --dispatch: maximum activations per rank (default: the order's largest peak)")
        .positive()
        .typeName("N")
        .group("Dispatch")
        .rare();
}

} // namespace bubblescope::cli
