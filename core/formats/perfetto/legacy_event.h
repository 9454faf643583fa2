#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <cstdint>
#include <string_view>

namespace bubblescope::perfetto {

/// An event in Chrome's JSON format within a TrackEvent that has no type.
struct LegacyEvent {
    char phase = 0;
    TimeNs duration{0};
    std::uint64_t id = 0; ///< id of asynchronous slices
    std::uint64_t name_iid = 0;

    /// Throws protozero::exception on malformed input.
    [[nodiscard]] static LegacyEvent decoded(std::string_view message) {
        constexpr std::int64_t kNsPerUs = 1000;
        LegacyEvent out;
        FieldReader reader(message);
        while (reader.next()) {
            switch (reader.tag()) {
            case fields::legacy_event::kNameIid: out.name_iid = reader.uint64(); break;
            case fields::legacy_event::kPhase: out.phase = static_cast<char>(reader.int32()); break;
            case fields::legacy_event::kDurationUs: {
                const std::int64_t micros = reader.int64();
                const bool fits = micros <= INT64_MAX / kNsPerUs && micros >= INT64_MIN / kNsPerUs;
                out.duration = fits ? TimeNs{micros * kNsPerUs} : TimeNs::max();
                break;
            }
            case fields::legacy_event::kUnscopedId:
            case fields::legacy_event::kLocalId:
            case fields::legacy_event::kGlobalId: out.id = reader.uint64(); break;
            default: reader.skip();
            }
        }
        return out;
    }
};

} // namespace bubblescope::perfetto
