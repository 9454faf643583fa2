#pragma once

#include "bindings/python/interruptible_call.h"
#include "core/base/time.h"
#include "core/request/memory_request.h"
#include "core/request/order_request.h"
#include "core/request/recognise_request.h"
#include "core/request/schedule_request.h"
#include "core/timeline/step_selection.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope::python {

/// Keyword arguments of a call, used to fill in requests. end() must be called after the last request.
class Keywords {
public:
    explicit Keywords(const pybind11::dict& given);

    /// Leaves `into` unchanged if the keyword is missing or None.
    template <class T>
    void take(const char* name, T& into) {
        if (const pybind11::object value = taken(name); !value.is_none()) into = value.cast<T>();
    }
    /// A path or a string.
    void path(const char* name, std::string& into);
    /// A time: integer nanoseconds, a datetime.timedelta, or a string with a unit.
    template <class T>
    void time(const char* name, T& into) {
        if (const pybind11::object value = taken(name); !value.is_none()) into = timeFrom(name, value);
    }
    /// A size: an integer number of bytes, or a string with a unit.
    template <class T>
    void size(const char* name, T& into) {
        if (const pybind11::object value = taken(name); !value.is_none()) into = sizeFrom(name, value);
    }
    /// A string that is converted by `parse`, a function of type Result<…>(std::string_view).
    template <class T, class Parse>
    void parsed(const char* name, T& into, Parse parse) {
        if (const pybind11::object value = taken(name); !value.is_none())
            into = valueOf(parse(value.cast<std::string>()));
    }
    /// A single value of a type that take() accepts, or a list of them.
    template <class T>
    void several(const char* name, std::vector<T>& into) {
        for (const auto& value : list(name))
            into.push_back(value.template cast<T>());
    }
    /// Like several(), but accepts numbers and strings, and converts both to strings.
    void texts(const char* name, std::vector<std::string>& into);
    void sizes(const char* name, std::vector<std::int64_t>& into);

    [[nodiscard]] pybind11::object taken(const char* name);

    /// Raises TypeError if a keyword argument was not used.
    void end() const;

private:
    static TimeNs timeFrom(const char* name, const pybind11::object& value);
    static std::int64_t sizeFrom(const char* name, const pybind11::object& value);
    [[nodiscard]] std::vector<pybind11::object> list(const char* name);

    pybind11::dict rest_;
};

/// Reads an order, or a family and its sizes, without times. `schedule` may be a schedule object, a name, or None.
void takeSchedule(Keywords& from, ScheduleRequest& into);
void takeSizes(Keywords& from, ScheduleRequest& into);
void takeTimes(Keywords& from, ScheduleRequest& into);
void takeTransfers(Keywords& from, TransferRequest& into);
void takeMemory(Keywords& from, MemoryRequest& into);
void takeRecognition(Keywords& from, RecogniseRequest& into);
void takeSteps(Keywords& from, StepRequest& into);
void takeSearch(Keywords& from, OrderRequest& into);

} // namespace bubblescope::python
