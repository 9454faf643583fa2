#include "app/cli/config.h"
#include "tests/unit/cli/whole_line.h"

#include <gmock/gmock.h>

namespace bubblescope::cli::test {
namespace {

using testing::HasSubstr;

const std::string kText = R"(# mine
color = never

[analyze]
top = 3
max-bubble = 20%
json = true
[aadiff plan]
margin=12
[thresholds]
cost.least = 0.05
)";

Result<Config> parsed(const std::string& text) {
    return configFrom(text, "FILE", WholeLine().line.describe());
}

std::string errorOf(const std::string& text) {
    const Result<Config> config = parsed(text);
    if (config.ok()) return "no error";
    EXPECT_EQ(config.error().kind, ErrorKind::Input);
    return config.error().text();
}

TEST(ConfigFile, HoldsOptionsOfCommandsAndThresholds) {
    const Result<Config> config = parsed(kText);
    ASSERT_TRUE(config.ok()) << config.error().text();
    const auto& defaults = config.value().defaults;
    ASSERT_EQ(defaults.size(), 6U);
    EXPECT_EQ(defaults[0].option, "color");
    EXPECT_TRUE(defaults[0].command.empty());
    EXPECT_EQ(defaults[2].value, "20%");
    EXPECT_EQ(defaults[2].source, "FILE:6");
    EXPECT_EQ(defaults[4].command, (std::vector<std::string>{"aadiff", "plan"}));
    EXPECT_EQ(defaults[5].option, "threshold");
    EXPECT_EQ(defaults[5].value, "cost.least=0.05");
}

TEST(ConfigFile, ErrorsNameTheLineAndWhatWasMeant) {
    EXPECT_THAT(errorOf("\n[analyse]\n"), testing::AllOf(HasSubstr("FILE:2"), HasSubstr("did you mean 'analyze'?")));
    EXPECT_THAT(errorOf("[analyze]\ntpo = 3\n"), testing::AllOf(HasSubstr("FILE:2"), HasSubstr("did you mean 'top'?")));
    EXPECT_THAT(errorOf("colour = never\n"), HasSubstr("did you mean 'color'?"));
    EXPECT_THAT(errorOf("[analyze]\nsummary\n"), HasSubstr("write NAME = VALUE"));
    EXPECT_THAT(errorOf("[analyze\n"), HasSubstr("FILE:1"));
    EXPECT_THAT(errorOf("[thresholds]\ncost.leats = 1\n"), HasSubstr("FILE:2"));
    EXPECT_THAT(errorOf("[thresholds]\ncost.least = high\n"), HasSubstr("FILE:2"));
    EXPECT_THAT(errorOf("[analyze]\nFILES = x\n"), HasSubstr("FILE:2")) << "arguments are not for the file";
}

/// Parses a line with the file's defaults and returns which of them held.
std::vector<std::string> used(const std::vector<std::string>& words) {
    WholeLine whole;
    whole.line.setDefaults(parsed(kText).value().defaults);
    EXPECT_EQ(whole.line.parse(words, true), std::nullopt);
    std::vector<std::string> names;
    for (const OptionDefault& entry : whole.line.usedDefaults())
        names.push_back(entry.option);
    return names;
}

TEST(ConfigFile, StandsForOptionsThatTheLineDoesNotGive) {
    EXPECT_EQ(used({"analyze", "x"}), (std::vector<std::string>{"color", "top", "max-bubble", "json", "threshold"}));
    EXPECT_EQ(used({"analyze", "x", "--top", "5", "--color=always"}),
              (std::vector<std::string>{"max-bubble", "json", "threshold"}));
    EXPECT_EQ(used({"info", "x"}), (std::vector<std::string>{"color"}));
    EXPECT_EQ(used({"analyze", "x", "--threshold", "cost.least=0.1"}).back(), "threshold") << "thresholds add up";
}

TEST(ConfigFile, ValuesThatOptionsRejectAreReportedWithTheLine) {
    WholeLine whole;
    whole.line.setDefaults(parsed("[analyze]\ntop = -3\n").value().defaults);
    testing::internal::CaptureStderr();
    EXPECT_EQ(whole.line.parse({"analyze", "x"}, true), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("FILE:2"));
}

} // namespace
} // namespace bubblescope::cli::test
