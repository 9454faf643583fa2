#include "tests/cli/program.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::test {
namespace {

using Keys = std::vector<std::string>;

/// The names in backquotes in the first cell of a table's row, or before the colon of a list's item.
Keys keysOf(const std::string& row) {
    Keys keys;
    const std::size_t end = std::min({row.find(" | ", 2), row.find("`: "), row.find("`：")});
    for (std::size_t open = row.find('`'); open < end; open = row.find('`', open + 1)) {
        const std::size_t close = row.find('`', open + 1);
        keys.push_back(row.substr(open + 1, close - open - 1));
        open = close;
    }
    return keys;
}

/// The keys that a page of the manual documents, by command: in the tables and lists below "`analyze --json`" …
std::map<std::string, Keys> documentedKeys(const std::string& page) {
    std::ifstream file(dataDir() / "../../resources/manual" / page);
    std::map<std::string, Keys> keys;
    std::string command;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) {
            const std::size_t begin = line.find('`');
            const std::size_t end = line.find(" --json`");
            command = end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
        } else if (!command.empty() && (line.starts_with("| `") || line.starts_with("- `"))) {
            for (std::string& key : keysOf(line))
                keys[command].push_back(std::move(key));
        }
    }
    return keys;
}

/// "a.b[].c": names, each with how many lists it is of.
std::vector<std::string> partsOf(std::string_view key) {
    std::vector<std::string> parts;
    while (!key.empty()) {
        const std::size_t dot = key.find('.');
        parts.emplace_back(key.substr(0, dot));
        key.remove_prefix(dot == std::string_view::npos ? key.size() : dot + 1);
    }
    return parts;
}

bool isDocumented(const std::vector<std::string>& pattern, const std::vector<std::string>& key) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == "*") return true;
        if (i >= key.size()) return false;
        const bool any = pattern[i].starts_with('{');
        if (!any && pattern[i] != key[i]) return false;
    }
    return pattern.size() == key.size();
}

/// The keys of a document that hold values and no further keys; a list counts as its elements.
void collect(const nlohmann::json& value, std::vector<std::string>& path, std::set<std::vector<std::string>>& out) {
    if (value.is_array()) {
        path.back() += "[]";
        for (const auto& element : value) {
            if (element.is_object())
                collect(element, path, out);
            else
                out.insert(path);
        }
        path.back().resize(path.back().size() - 2);
    } else if (value.is_object()) {
        for (const auto& [name, below] : value.items()) {
            // Names hold no dots, but for those of hosts and the like, which are values.
            path.push_back(name);
            collect(below, path, out);
            path.pop_back();
        }
    } else {
        out.insert(path);
    }
}

class JsonKeys : public testing::Test {
protected:
    /// `name`: of a command of another's.
    void look(const std::vector<std::string>& words, std::string name = {}, int exit_code = 0) {
        if (name.empty()) name = words.front();
        std::vector<std::string> line = words;
        line.emplace_back("--json");
        const auto result = runProgram(line);
        ASSERT_EQ(result.exit_code, exit_code) << name << ": " << result.err;
        const std::string begin = result.out.substr(0, 40);
        EXPECT_NE(begin.find("schema_version"), std::string::npos) << name << ": " << begin;
        auto document = result.json();
        EXPECT_EQ(document["schema_version"], 1) << name;
        document.erase("schema_version"); // documented once for all commands
        std::vector<std::string> path;
        collect(document, path, seen_[name]);
    }

    void compareWith(const std::string& page) {
        const auto english = documentedKeys(page);
        EXPECT_EQ(documentedKeys("zh_CN/" + page), english);
        for (const auto& [command, keys] : seen_) {
            ASSERT_TRUE(english.contains(command)) << command;
            std::vector<std::vector<std::string>> patterns;
            for (const std::string& key : english.at(command))
                patterns.push_back(partsOf(key));
            std::set<std::size_t> used;
            for (const auto& key : keys) {
                std::string name;
                for (const std::string& part : key)
                    name += (name.empty() ? "" : ".") + part;
                const auto of =
                    std::ranges::find_if(patterns, [&](const auto& each) { return isDocumented(each, key); });
                EXPECT_NE(of, patterns.end()) << command << " --json: " << name << " is not in " << page;
                if (of != patterns.end()) used.insert(static_cast<std::size_t>(of - patterns.begin()));
            }
            // Most of the documented keys exist in these few documents, so the page was not invented.
            EXPECT_GT(used.size() * 3, patterns.size() * 2) << command;
        }
    }

    std::map<std::string, std::set<std::vector<std::string>>> seen_;
};

TEST_F(JsonKeys, AreAllInTheManual) {
    const ScratchFolder folder;
    const auto examples = dataDir() / "../../resources/manual/examples";
    const std::string slow = (examples / "slow-rank.pftrace.gz").string();
    const std::string last = (examples / "slow-last-stage.pftrace").string();
    const std::string trained = folder.file("trained");
    ASSERT_EQ(runProgram({"run", "--schedule", "1f1b", "--pp", "2", "--microbatches", "4", "--steps", "6", "--forward",
                          "1ms", "--backward", "2ms", "--inject", "slow:rank=1,factor=2", "--out", trained})
                  .exit_code,
              0);
    for (const std::string& trace : {slow, last, trained})
        look({"analyze", trace});
    look({"analyze", trained, "--step", "2-4"});
    look({"analyze", trained, "--summary"});
    look({"analyze", trained, "--preset", "gpt2-small", "--global-batch", "8", "--tflops", "100"});
    const auto kernels = folder.write("kernels.json", R"({"traceEvents":[
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":0,"dur":5,"args":{"correlation":1}},
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":0,"dur":20},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel","pid":0,"tid":7,"ts":9,"dur":5,"args":{"correlation":1}}]})");
    const auto operators = folder.write("operators.json", R"({"traceEvents":[
        {"ph":"X","cat":"cpu_op","name":"add","pid":1,"tid":1,"ts":0,"dur":5}]})");
    look({"analyze", kernels.string()});
    look({"analyze", operators.string()});
    look({"whatif", last});
    look({"whatif", last, "--if", "rank:3=usual"});
    look({"whatif", last, "--if", "schedule=zb-v"});
    look({"whatif", last, "--if", "communicators=edge"});
    look({"advise", last});
    look({"advise", last, "--layers", "E(t*8|)*3t*8L"});
    look({"plan", "--preset", "llama2-7b", "--gpus", "8", "--gpu", "a100", "--global-batch", "16", "--plans", "2"});
    look({"plan", "--from", last});
    look({"search", "--from", last, "--rounds", "1"});
    look({"search", "--pp", "2", "--microbatches", "3", "--noise", "5%", "--rounds", "1"});
    look({"search", "--pp", "2", "--microbatches", "3", "--communicators", "one", "--rounds", "1"});
    look({"search", "--pp", "2", "--microbatches", "3", "--memory-limit", "1", "--rounds", "1", "--for", "torchtitan"});
    const auto model = folder.write("model.json", R"({"layers":[{"count":2,"activation":"1GiB","input":"1MiB"}]})");
    look({"search", "--pp", "2", "--microbatches", "3", "--memory-model", model.string(), "--memory-budget", "1GiB",
          "--moves", "offload,recompute", "--rounds", "1"});
    look({"fill", last, "--side-job", folder.write("kernels.txt", "120us, 1ms # twice\n2ms\n").string()});
    look({"diff", slow, last});
    look({"diff", trained, trained});
    const auto megatron = sharedDir() / "traces/megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json";
    if (std::filesystem::exists(megatron)) look({"analyze", megatron.string()});

    compareWith("report.md");
}

TEST_F(JsonKeys, OfOtherCommandsAreInTheManual) {
    const ScratchFolder folder;
    const std::vector<std::string> order{"--schedule", "1f1b", "--pp", "2", "--microbatches", "4"};
    const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
        words.insert(words.end(), order.begin(), order.end());
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const std::string last = (dataDir() / "../../resources/manual/examples/slow-last-stage.pftrace").string();
    look(with({"simulate"}, {"--memory-preset", "gpt2-small", "--memory-budget", "1MiB", "--ops"}));
    look(with({"simulate"}, {"--communicators", "edge", "--communication-choices"}));
    look(with({"simulate"}, {"--dispatch", "ready", "--inject", "jitter:sigma=20%", "--steps", "3"}));
    look({"simulate", "--schedule", "1f1b,interleaved", "--pp", "2", "--microbatches", "4,5"});
    look({"simulate", "--schedule", "tawpipe", "--pp", "4", "--microbatches", "8", "--nodes", "2", "--ops"});
    look(with({"schedule"}, {"--lower", "torch"}));
    look(with({"schedule"}, {"--for", "torchtitan"}));
    look({"schedules"});
    look(with({"formula"}, {"--explain"}));
    look(with({"memory"}, {"--preset", "gpt2-small", "--curve", "--memory-budget", "1MiB"}));
    look({"partition", "--layers", "8", "--pp", "2", "--for", "megatron"});
    look({"overlap", "--preset", "gpt2-small", "--tp", "1", "--pp", "2", "--microbatches", "4"});
    const std::string file = folder.file("order.json");
    ASSERT_EQ(runProgram(with({"schedule"}, {"--out", file})).exit_code, 0);
    look({"validate", file, "--communicators", "one"});
    const std::string dead =
        folder
            .write("dead.json", R"({"schedule":"x","pp":2,"microbatches":1,"vpp":1,"placement":"loop",
                                    "ranks":[[["B",0,0],["F",0,0]],[["F",0,0],["B",0,0]]]})")
            .string();
    look({"validate", dead}, {}, 3);
    look({"info", last});
    look({"extract", last, "--out", folder.file("extracts")});
    look(with({"aadiff", "plan"}, {"--steps"}), "aadiff plan");
    look({"anomalies"});
    look({"config"});
    look({"demo"});
    look({"env"});
    compareWith("json.md");
}

} // namespace
} // namespace bubblescope::test
