#include "core/report/value.h"

#include <fmt/format.h>

namespace bubblescope::report {
namespace {

struct Words {
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(TimeNs value) const { return formatTime(value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const Sentence& value) const { return value.text(); }
    template <class Other>
    std::string operator()(const Other&) const {
        return {};
    }
};

} // namespace

std::string Value::text() const {
    return visit(Words{});
}

} // namespace bubblescope::report
