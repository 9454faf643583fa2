#include "app/cli/load_options.h"

#include <iterator>
#include <utility>

namespace bubblescope::cli {

void RecogniseOptions::addMesh(Command command) {
    const Option mesh = command.addOption("--mesh", mesh_, "How the job spreads over its ranks, as in pp=4,dp=2,tp=2")
                            .typeName("SIZES");
    command
        .addOption("--mesh-order", order_,
                   "How its ranks are numbered: torchtitan (the default), megatron, or axes, the fastest first, as in "
                   "tp-cp-ep-dp-pp")
        .typeName("ORDER")
        .needs(mesh);
}

void RecogniseOptions::addNames(Command command) {
    command.addOption("--rules", rules_, "Further rules for names of ops, see the manual on recognition")
        .typeName("FILE");
    addMesh(command);
}

void RecogniseOptions::add(Command command) {
    addNames(command);
    schedule_.addSchedule(command);
}

std::vector<std::string> RecogniseOptions::words() const {
    std::vector<std::string> words;
    const auto add = [&words](const char* name, const std::string& value) {
        if (value.empty()) return;
        words.emplace_back(name);
        words.push_back(value);
    };
    for (const std::string& file : rules_)
        add("--rules", file);
    add("--mesh", mesh_);
    add("--mesh-order", order_);
    return words;
}

Result<std::optional<Mesh>> RecogniseOptions::mesh() const {
    if (mesh_.empty()) return std::optional<Mesh>{};
    BUBBLESCOPE_ASSIGN(Mesh mesh, parseMesh(mesh_, order_));
    return std::optional(std::move(mesh));
}

Result<LoadOptions> RecogniseOptions::options() const {
    LoadOptions options;
    for (const std::string& file : rules_) {
        BUBBLESCOPE_ASSIGN(std::vector<RecognitionRule> rules, readRules(file));
        std::move(rules.begin(), rules.end(), std::back_inserter(options.rules));
    }
    BUBBLESCOPE_ASSIGN(options.mesh, mesh());
    if (!schedule_.given()) {
        if (schedule_.sized()) {
            return usageError("sizes of a schedule are given, but no schedule", "add --schedule NAME");
        }
        return options;
    }
    BUBBLESCOPE_TRY(schedule_.open(options));
    return options;
}

} // namespace bubblescope::cli
