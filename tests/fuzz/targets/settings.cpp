// Settings that the command line reads before its words.

#include "app/cli/config.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/cli/whole_line.h"

namespace bubblescope::fuzz {

void configFile(std::string_view bytes) {
    static const cli::CommandInfo program = cli::test::WholeLine().line.describe();
    const auto config = cli::configFrom(bytes, kInput, program);
    if (!config.ok()) return checkError(config.error());
    for (const cli::OptionDefault& set : config.value().defaults)
        require(!set.option.empty() && set.source.starts_with(kInput), "a setting names an option and its line");
}

} // namespace bubblescope::fuzz
