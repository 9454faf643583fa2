#include "core/formats/foreign_formats.h"

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

struct ForeignFormat {
    std::string_view begins;    ///< with these bytes, if known
    std::string_view name_ends; ///< otherwise
    std::string_view way_out;
};

using namespace std::string_view_literals;

constexpr std::array kForeign{
    ForeignFormat{{}, ".nsys-rep", "export it with 'nsys export --type sqlite' and load the SQLite file"},
    ForeignFormat{{}, ".qdrep", "export it with 'nsys export --type sqlite' and load the SQLite file"},
    ForeignFormat{{}, ".ncu-rep", "Nsight Compute measures kernels one by one; record a timeline with nsys instead"},
    ForeignFormat{"PAR1"sv, {}, "Parquet tables are not read; load the timeline in Chrome's JSON that belongs to it"},
    ForeignFormat{{}, ".xplane.pb", "convert it to Chrome's JSON with TensorBoard's profile plugin"},
    ForeignFormat{"PK\x03\x04"sv, {}, "unpack the archive and load what is in it"},
    ForeignFormat{{}, ".tar", "unpack the archive and load what is in it"},
    ForeignFormat{"\x80\x04"sv,
                  {},
                  "a Python pickle may run code when it is read and is not; traces are written by "
                  "prof.export_chrome_trace()"},
};

} // namespace

std::string_view wayOutFor(std::string_view name, std::string_view beginning) {
    const auto known = std::ranges::find_if(kForeign, [&](const ForeignFormat& format) {
        return format.begins.empty() ? name.ends_with(format.name_ends) : beginning.starts_with(format.begins);
    });
    if (known != kForeign.end()) return known->way_out;
    return "traces are JSON (Chrome trace events), Perfetto files or SQLite exports of Nsight Systems, packed or not";
}

} // namespace bubblescope
