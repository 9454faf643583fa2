#include "tests/gui/gui_tests.h"

#include "app/gui/language/text.h"

#include <cstdio>
#include <map>
#include <string_view>

namespace bubblescope::gui {

namespace {

std::map<std::string_view, GuiTestEntry::Run>& guiTests() {
    static std::map<std::string_view, GuiTestEntry::Run> tests;
    return tests;
}

} // namespace

GuiTestEntry::GuiTestEntry(const char* name, Run run) {
    guiTests().emplace(name, run);
}

} // namespace bubblescope::gui

int main(int argc, char** argv) {
    bubblescope::setFieldWords(bubblescope::gui::fieldLabels());
    const auto& tests = bubblescope::gui::guiTests();
    const auto test = argc > 1 ? tests.find(argv[1]) : tests.end();
    if (test == tests.end()) {
        std::printf("usage: gui_tests NAME [options of QTest]; the names are:\n");
        for (const auto& [name, run] : tests)
            std::printf("  %.*s\n", static_cast<int>(name.size()), name.data());
        return 2;
    }
    // The application is named after the test, so that tests running in parallel have separate settings and caches.
    return test->second(argc - 1, argv + 1);
}
