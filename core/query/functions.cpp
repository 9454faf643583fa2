#include "core/query/functions.h"

#include "core/trace/args.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string_view>
#include <variant>
#include <vector>

namespace bubblescope::query {
namespace {

std::string_view textOf(sqlite3_value* value) {
    const unsigned char* const text = sqlite3_value_text(value);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

struct ArgAnswer {
    sqlite3_context* context;

    void operator()(std::int64_t value) const { sqlite3_result_int64(context, value); }
    void operator()(double value) const { sqlite3_result_double(context, value); }
    void operator()(bool value) const { sqlite3_result_int(context, value ? 1 : 0); }
    void operator()(const std::string& value) const {
        sqlite3_result_text64(context, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
};

/// Perfetto puts "args." and "debug." in front of the names that files have.
void extractArg(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
    try {
        std::string_view key = textOf(values[1]);
        const std::string_view object = textOf(values[0]);
        if (object.empty()) return sqlite3_result_null(context);
        auto found = findJsonArg(object, key);
        for (const std::string_view prefix : {"args.", "debug."}) {
            if (!found && key.starts_with(prefix)) found = findJsonArg(object, key.substr(prefix.size()));
        }
        if (!found) return sqlite3_result_null(context);
        std::visit(ArgAnswer{context}, *found);
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

/// The numbers of a group; SQLite keeps a pointer to them from call to call.
struct Numbers {
    std::vector<double> values;
    double percent = 50;
};

Numbers** placeOf(sqlite3_context* context, bool make) {
    return static_cast<Numbers**>(sqlite3_aggregate_context(context, make ? sizeof(Numbers*) : 0));
}

void addNumber(sqlite3_context* context, int count, sqlite3_value** values) {
    const int type = sqlite3_value_numeric_type(values[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return; // skipped, as other aggregates skip NULL
    Numbers** const place = placeOf(context, true);
    if (place == nullptr) return sqlite3_result_error_nomem(context);
    try {
        if (*place == nullptr) *place = std::make_unique<Numbers>().release();
        if (count > 1) (*place)->percent = sqlite3_value_double(values[1]);
        (*place)->values.push_back(sqlite3_value_double(values[0]));
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

void answerPercentile(sqlite3_context* context) {
    Numbers** const place = placeOf(context, false);
    if (place == nullptr || *place == nullptr) return sqlite3_result_null(context);
    const std::unique_ptr<Numbers> numbers(*place);
    *place = nullptr;
    std::vector<double>& values = numbers->values;
    if (!(numbers->percent >= 0 && numbers->percent <= 100))
        return sqlite3_result_error(context, "percentile() takes a percentage from 0 to 100", -1);
    const double at = numbers->percent / 100 * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(at));
    std::ranges::nth_element(values, values.begin() + below);
    const double low = values[static_cast<std::size_t>(below)];
    if (at == std::floor(at)) return sqlite3_result_double(context, low);
    const double high = *std::ranges::min_element(values.begin() + below + 1, values.end());
    sqlite3_result_double(context, low + (high - low) * (at - std::floor(at)));
}

} // namespace

bool addFunctions(sqlite3* connection) {
    constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    const auto aggregate = [&](const char* name, int arguments) {
        return sqlite3_create_function_v2(connection, name, arguments, kPure, nullptr, nullptr, &addNumber,
                                          &answerPercentile, nullptr) == SQLITE_OK;
    };
    return sqlite3_create_function_v2(connection, "extract_arg", 2, kPure, nullptr, &extractArg, nullptr, nullptr,
                                      nullptr) == SQLITE_OK &&
           aggregate("percentile", 2) && aggregate("median", 1);
}

} // namespace bubblescope::query
