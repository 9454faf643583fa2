#pragma once

#include "app/cli/command_line.h"
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/request/sweep_request.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::cli {

/// Options that set the inputs of a schedule request. If `axes` is set, each option takes several values separated by
/// commas, for commands that compare schedules. The arguments must outlive parse().
class InputOptions {
public:
    InputOptions(Command command, ScheduleRequest& request, std::vector<SweepAxis>* axes)
        : command_(command), request_(&request), axes_(axes) {}

    /// `parse` converts text to a Result; `set` stores the value in the request.
    template <class Parse, class Set>
    Option add(Field field, Parse parse, Set set, const std::string& about) const {
        const auto take = [field, parse, set, request = request_, axes = axes_](const std::string& text) -> Status {
            SweepAxis axis{field, {}};
            for (const std::string& one : valuesOf(text)) {
                BUBBLESCOPE_ASSIGN(auto value, parse(std::string_view(one)));
                axis.settings.push_back({one, [set, value](ScheduleRequest& into) { set(into, value); }});
            }
            if (axis.settings.size() == 1) {
                axis.settings.front().apply(*request);
                return {};
            }
            if (axes == nullptr)
                return usageError(fmt::format("{} takes one value, not {}", field, text),
                                  "`bubblescope simulate` compares several");
            axes->push_back(std::move(axis));
            return {};
        };
        return command_.addText(std::string(optionOf(field)), take, about);
    }
    /// Like the previous function, but stores the text without parsing.
    template <class Set>
    Option text(Field field, Set set, const std::string& about) const {
        return add(
            field, [](std::string_view text) { return Result<std::string>(std::string(text)); }, set, about);
    }
    template <class Set>
    Option count(Field field, Set set, const std::string& about) const {
        const auto parse = [field](std::string_view text) -> Result<int> {
            if (const auto number = parseNumber<int>(text); number && *number > 0) return *number;
            return usageError(fmt::format("{}: '{}' is not a whole number above 0", field, text));
        };
        return add(field, parse, set, about);
    }

private:
    /// Splits the text at commas, unless it is the name of an existing file.
    static std::vector<std::string> valuesOf(const std::string& text);

    Command command_;
    ScheduleRequest* request_;
    std::vector<SweepAxis>* axes_;
};

} // namespace bubblescope::cli
