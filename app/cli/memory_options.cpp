#include "app/cli/memory_options.h"

#include "core/base/bytes.h"
#include "core/cost/model_presets.h"

namespace bubblescope::cli {

void addMemoryOptions(Command command, MemoryRequest& request, Listed listed) {
    const std::string group = "Memory";
    const auto add = [&](const char* name, auto& value, const char* about) {
        const Option option = command.addOption(name, value, about).group(group);
        return listed == Listed::Always ? option : option.rare();
    };
    const Option model =
        add("--memory-model", request.model, "Tensor sizes of the model's layers, as JSON").typeName("FILE");
    add("--memory-preset", request.preset, "Tensor sizes of a known model, such as llama3-8b or gpt3-175b")
        .typeName("MODEL")
        .suggests(modelPresetNames())
        .excludes(model);
    const Option budget = command
                              .addParsed("--memory-budget", request.budget, parseBytes,
                                         "Memory per rank, such as 80GiB; the first op that exceeds it is reported")
                              .typeName("SIZE")
                              .group(group);
    if (listed == Listed::InFullHelp) budget.rare();
}

} // namespace bubblescope::cli
