// Every option of `simulate` on every family and flavor: it changes what is simulated, or is refused with a reason.

#include "core/families/registry.h"
#include "tests/cli/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// An option, with inputs for which it has an effect if it ever has one.
struct OptionCase {
    Words option;
    std::vector<Words> beside; ///< tried in turn
};

const Words kTimes{"--forward", "4ms", "--backward", "9ms"};
const Words kSlowLinks{"--forward", "4ms", "--backward", "9ms", "--comm", "2ms"};
const Words kSizedLinks{"--forward", "4ms", "--backward", "9ms", "--bandwidth", "1GB/s", "--activation-bytes", "3MB"};

std::vector<OptionCase> optionCases(const ScratchFolder& scratch) {
    const std::string links =
        scratch.write("links.json", R"({"links": [{"from": 1, "to": 2, "latency": "30ms"}]})").string();
    return {
        {{"--forward", "5ms"}, {{"--backward", "9ms"}}},
        {{"--backward", "11ms"}, {{"--forward", "4ms"}}},
        {{"--input-grad", "2ms"}, {kTimes}},
        {{"--weight-grad", "2ms"}, {kTimes}},
        {{"--overlapped", "10ms"}, {kTimes}},
        {{"--all-reduce", "2ms"}, {kTimes}},
        {{"--comm", "3ms"}, {kTimes}},
        {{"--loss", "3ms"}, {kTimes}},
        {{"--group-size", "8"}, {kTimes}},
        {{"--group-size", "3"}, {kTimes}},
        {{"--memory-limit", "5"}, {kTimes, {"--forward", "4ms", "--backward", "9ms", "--comm", "3ms"}}},
        {{"--memory-limit", "9"}, {kTimes, {"--forward", "9ms", "--backward", "9ms", "--comm", "3ms"}}},
        {{"--activation-sizes", "9,1,8"},
         {joined(kTimes, {"--memory-limit", "9"}), joined(kTimes, {"--memory-limit", "5"}), kTimes}},
        {{"--activation-sizes", "9,8,1"}, {joined(kTimes, {"--memory-limit", "5"}), kTimes}},
        {{"--sequence-slices", "2"}, {kTimes}},
        {{"--bandwidth", "1GB/s"}, {joined(kTimes, {"--activation-bytes", "1GB"})}},
        {{"--activation-bytes", "9MB"}, {joined(kTimes, {"--bandwidth", "1GB/s"}), kTimes}},
        {{"--activation-bytes", "9MB"}, {kTimes}},
        {{"--gradient-bytes", "9MB"}, {joined(kTimes, {"--bandwidth", "1GB/s"})}},
        {{"--gradient-bytes", "9MB"}, {kTimes}},
        {{"--links", links}, {kTimes}},
        {{"--comm-streams", "rank"},
         {{"--forward", "4ms", "--backward", "9ms", "--comm", "30ms"},
          {"--forward", "1ms", "--backward", "1ms", "--comm", "30ms"}}},
        {{"--comm-streams", "rank"}, {kTimes}},
        {{"--sends", "blocking"}, {kSlowLinks}},
        {{"--no-comm-overlap"}, {kSlowLinks}},
        {{"--lower", "torch"}, {kSlowLinks}},
        {{"--unshard", "7ms"}, {joined(kTimes, {"--lower", "torch"})}},
        {{"--unshard", "7ms"}, {kTimes}},
        {{"--reduce-grad", "9ms"}, {kTimes}},
        {{"--communicators", "one"}, {kSlowLinks}},
        {{"--eager", "9MB"}, {joined(kSizedLinks, {"--communicators", "one"})}},
        {{"--memory-preset", "gpt2-small"}, {kTimes}},
        {{"--memory-budget", "1GiB"}, {joined(kTimes, {"--memory-preset", "gpt2-small"})}},
        {{"--memory-budget", "1GiB"}, {kTimes}},
        {{"--ops"}, {kTimes}},
    };
}

/// "used", "refused", or what is wrong.
std::string outcomeOf(const Words& base, const OptionCase& one) {
    std::string worst = "ignored: the output stays as it is";
    for (const Words& beside : one.beside) {
        const Words without = joined(joined(base, beside), {"--json"});
        static std::map<Words, ProgramResult> known; // many options share their other inputs
        const auto [entry, is_new] = known.try_emplace(without);
        if (is_new) entry->second = runProgram(without);
        const ProgramResult& before = entry->second;
        const ProgramResult after = runProgram(joined(joined(joined(base, beside), one.option), {"--json"}));
        if (after.exit_code == 0 && (before.exit_code != 0 || after.out != before.out)) return "used";
        if (after.exit_code == 0) continue;
        const std::string family = base[2];
        const bool names_it = after.err.find(one.option.front()) != std::string::npos ||
                              after.err.find(family) != std::string::npos ||
                              after.err.find("waits for") != std::string::npos || // a deadlock
                              after.err.find("PyTorch does not run") != std::string::npos;
        if (after.exit_code == 2 || after.exit_code == 3)
            return names_it ? "refused" : "refused without a reason: " + after.err;
        worst = fmt::format("exit code {}: {}", after.exit_code, after.err);
    }
    return worst;
}

std::vector<Words> allFlavors() {
    std::vector<Words> bases;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        for (const std::string_view flavor : flavorsOf(family)) {
            const bool as_many = flavor == "paddle-static-split";
            bases.push_back({"simulate", "--schedule", std::string(family.name), "--pp", "4"});
            if (!flavor.empty()) bases.back().insert(bases.back().end(), {"--flavor", std::string(flavor)});
            const char* const microbatches = as_many ? "4" : family.name == "stp" ? "12" : "8"; // stp needs 3p−1
            bases.back().insert(bases.back().end(), {"--microbatches", microbatches});
        }
    }
    for (const char* const moving : {"roundpipe", "weipipe", "weipipe-naive", "weipipe-zb", "tawpipe"})
        bases.push_back({"simulate", "--schedule", moving, "--pp", "4", "--microbatches", "8"});
    return bases;
}

TEST(OptionTable, EveryOptionIsUsedOrRefusedByEveryFamily) {
    const ScratchFolder scratch;
    const std::vector<OptionCase> options = optionCases(scratch);
    for (const Words& base : allFlavors()) {
        const std::string name = base[2] + (base.size() > 7 ? "/" + base[6] : "");
        std::string used;
        std::string refused;
        std::map<std::string, std::vector<std::string>> outcomes; // several values are tried of some options
        for (const OptionCase& one : options) {
            const std::string result = outcomeOf(base, one);
            outcomes[one.option.front()].push_back(result);
            (result == "used" ? used : refused) += fmt::format(" {}", fmt::join(one.option, " "));
        }
        for (const auto& [option, results] : outcomes) {
            const bool some_use = std::ranges::find(results, "used") != results.end();
            for (const std::string& result : results) {
                const bool fine =
                    result == "used" || result == "refused" || (some_use && result.starts_with("ignored"));
                EXPECT_TRUE(fine) << name << " " << option << ": " << result;
            }
        }
        fmt::print("{:<40} used:{}\n{:<40} refused:{}\n", name, used, "", refused);
    }
}

} // namespace
} // namespace bubblescope::test
