// The page of `analyze --html` in a browser: its timeline is drawn, zoomed, moved and pointed at.

#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

/// The page as a browser shows it after its scripts have run; nothing without a browser.
std::string shownBy(const std::string& browser, const std::string& page, const std::string& profile) {
    const std::string command = "timeout 120 " + browser +
                                " --headless --no-sandbox --disable-gpu --window-size=1200,1000 --user-data-dir='" +
                                profile + "' --virtual-time-budget=3000 --dump-dom 'file://" + page + "' 2>/dev/null";
    std::string out;
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    std::array<char, 4096> part{};
    for (std::size_t size = 0; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
        out.append(part.data(), size);
    pclose(pipe);
    return out;
}

std::string browserHere() {
    for (const char* const name : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
        if (std::filesystem::exists(name)) return name;
    }
    return {};
}

/// The actions of a reader, and afterwards the state of the timeline as JSON in an element.
constexpr const char* kActions = R"js(<pre id="seen"></pre><script>
"use strict";
const canvas = document.querySelector(".zoom canvas"), tip = document.querySelector(".zoom .tip"), seen = {};
const box = () => canvas.getBoundingClientRect();
const state = () => ({from: Number(canvas.dataset.from), to: Number(canvas.dataset.to), drawn: Number(canvas.dataset.drawn)});
const pointer = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, {clientX: box().left + x, clientY: box().top + y, bubbles: true}));
seen.width = canvas.clientWidth;
seen.height = canvas.clientHeight;
seen.steps = document.querySelectorAll(".zoom option").length;
seen.first = state();
const context = canvas.getContext("2d");
const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
let coloured = 0;
for (let i = 0; i < pixels.length; i += 4) if (pixels[i] === 0x2f && pixels[i + 1] === 0x6d && pixels[i + 2] === 0xb5) ++coloured;
seen.forward = coloured;
pointer("pointermove", 90, 10);
seen.tip = tip.textContent;
canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, ctrlKey: true, clientX: box().left + 300, clientY: box().top + 10, cancelable: true}));
seen.zoomed = state();
const plain = new WheelEvent("wheel", {deltaY: -100, clientX: box().left + 300, clientY: box().top + 10, cancelable: true});
canvas.blur();
canvas.dispatchEvent(plain);
seen.scrolls = !plain.defaultPrevented;
canvas.focus();
canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
seen.moved = state();
pointer("pointerdown", 400, 10);
pointer("pointermove", 500, 10);
pointer("pointerup", 500, 10);
seen.dragged = state();
canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "0"}));
seen.fitted = state();
const chooser = document.querySelector(".zoom select");
chooser.value = 1;
chooser.dispatchEvent(new Event("change"));
seen.second = state();
document.getElementById("seen").textContent = JSON.stringify(seen);
</script>)js";

TEST(PageInABrowser, ItsTimelineIsZoomedAndPointedAt) {
    const std::string browser = browserHere();
    if (browser.empty()) GTEST_SKIP() << "no Chromium here (Debian's package chromium)";
    const ScratchFolder scratch;
    const std::string trace = scratch.file("trace.pftrace");
    const std::string page = scratch.file("page.html");
    ASSERT_EQ(runProgram({"run", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--steps", "3", "--forward",
                          "5ms", "--backward", "10ms", "--out", trace})
                  .exit_code,
              0);
    ASSERT_EQ(runProgram({"analyze", trace, "--html", page}).exit_code, 0);
    std::string text = test::readAll(page);
    ASSERT_THAT(text, HasSubstr("class=\"zoom\""));
    text.insert(text.rfind("</body>"), kActions);
    std::ofstream(page, std::ios::binary) << text;

    const std::string shown = shownBy(browser, page, scratch.file("profile"));
    constexpr std::string_view kBegin = "<pre id=\"seen\">";
    const std::size_t begin = shown.find(kBegin);
    ASSERT_NE(begin, std::string::npos) << shown.substr(0, 2000);
    const std::size_t end = shown.find("</pre>", begin);
    const auto seen =
        nlohmann::json::parse(shown.substr(begin + kBegin.size(), end - begin - kBegin.size()), nullptr, false);
    ASSERT_TRUE(seen.is_object()) << shown.substr(begin, 1000);

    EXPECT_GT(seen["width"], 600);
    EXPECT_GT(seen["height"], 60);
    EXPECT_EQ(seen["steps"], 3);
    // All of the first step: (m + p − 1)·15 ms, 16 ops on each rank and bubbles.
    EXPECT_EQ(seen["first"]["from"], 0);
    EXPECT_GE(seen["first"]["to"], 165'000'000);
    EXPECT_GE(seen["first"]["drawn"], 64);
    EXPECT_GT(seen["forward"], 1000) << "pixels in the colour of forwards";
    EXPECT_THAT(seen["tip"].get<std::string>(), HasSubstr("forward F0"));
    EXPECT_THAT(seen["tip"].get<std::string>(), HasSubstr("rank 0"));
    EXPECT_THAT(seen["tip"].get<std::string>(), HasSubstr(" ms"));

    const auto length = [&](const char* state) {
        return seen[state]["to"].get<std::int64_t>() - seen[state]["from"].get<std::int64_t>();
    };
    EXPECT_LT(length("zoomed"), length("first"));
    EXPECT_TRUE(seen["scrolls"].get<bool>()) << "a wheel without Ctrl scrolls the page";
    EXPECT_GT(seen["moved"]["from"], seen["zoomed"]["from"]);
    EXPECT_NEAR(static_cast<double>(length("moved")), static_cast<double>(length("zoomed")), 2);
    EXPECT_LT(seen["dragged"]["from"], seen["moved"]["from"]);
    EXPECT_EQ(length("fitted"), length("first"));
    EXPECT_GE(seen["second"]["drawn"], 64);
}

} // namespace
} // namespace bubblescope::test
