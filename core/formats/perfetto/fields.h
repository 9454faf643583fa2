#pragma once

#include <cstdint>

/// Numbers of the protobuf fields and enumerators in Perfetto's trace format that are read or written here. The schema
/// is append-only, so these numbers are valid for every version of Perfetto.
namespace bubblescope::perfetto::fields {

namespace trace {
inline constexpr std::uint32_t kPacket = 1;
}

namespace packet {
inline constexpr std::uint32_t kClockSnapshot = 6;
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequenceId = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kStateCleared = 41; ///< replaced by the flags in newer versions
inline constexpr std::uint32_t kPreviousPacketDropped = 42;
inline constexpr std::uint32_t kProcessDescriptor = 43; ///< describes the sequence, as does the next field
inline constexpr std::uint32_t kThreadDescriptor = 44;
inline constexpr std::uint32_t kCompressedPackets = 50; ///< zlib
inline constexpr std::uint32_t kRenderStage = 53;
inline constexpr std::uint32_t kTimestampClockId = 58;
inline constexpr std::uint32_t kDefaults = 59;
inline constexpr std::uint32_t kTrackDescriptor = 60;
inline constexpr std::uint32_t kFirstPacketOnSequence = 87;
// Bubblescope's own fields, which viewers skip.
inline constexpr std::uint32_t kExtract = 20471;     ///< an encoded FileExtract
inline constexpr std::uint32_t kSourceFiles = 20472; ///< encoded SourceFiles

inline constexpr std::uint32_t kFlagStateCleared = 1; ///< earlier interned data is now invalid
inline constexpr std::uint32_t kFlagNeedsState = 2;   ///< the packet uses interned data
} // namespace packet

namespace defaults {
inline constexpr std::uint32_t kTrackEventDefaults = 11;
inline constexpr std::uint32_t kTimestampClockId = 58;
inline constexpr std::uint32_t kTrackUuid = 11; ///< in TrackEventDefaults
} // namespace defaults

namespace track {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kThread = 4;
inline constexpr std::uint32_t kParentUuid = 5;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kStaticName = 10;
inline constexpr std::uint32_t kChildOrdering = 11;
inline constexpr std::uint32_t kSiblingOrderRank = 12;
inline constexpr std::uint32_t kSiblingMergeBehavior = 15;

inline constexpr std::int32_t kOrderingExplicit = 3;
inline constexpr std::int32_t kMergeNone = 2;
} // namespace track

namespace process {
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kLegacySortIndex = 3;
inline constexpr std::uint32_t kName = 6;
inline constexpr std::uint32_t kLabels = 8;
} // namespace process

namespace thread {
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kTid = 2;
inline constexpr std::uint32_t kName = 5;
} // namespace thread

namespace event {
inline constexpr std::uint32_t kCategoryIids = 3;
inline constexpr std::uint32_t kDebugAnnotations = 4;
inline constexpr std::uint32_t kLegacyEvent = 6;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrackUuid = 11;
inline constexpr std::uint32_t kCategories = 22;
inline constexpr std::uint32_t kName = 23;
inline constexpr std::uint32_t kCounterValue = 30;
inline constexpr std::uint32_t kDoubleCounterValue = 44;
inline constexpr std::uint32_t kOldFlowIds = 36; ///< varints
inline constexpr std::uint32_t kOldTerminatingFlowIds = 42;
inline constexpr std::uint32_t kFlowIds = 47;
inline constexpr std::uint32_t kTerminatingFlowIds = 48;

inline constexpr std::int32_t kTypeBegin = 1;
inline constexpr std::int32_t kTypeEnd = 2;
inline constexpr std::int32_t kTypeInstant = 3;
inline constexpr std::int32_t kTypeCounter = 4;
} // namespace event

namespace legacy_event { ///< an event in Chrome's JSON format within a TrackEvent
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kPhase = 2;
inline constexpr std::uint32_t kDurationUs = 3;
inline constexpr std::uint32_t kUnscopedId = 6;
inline constexpr std::uint32_t kLocalId = 10;
inline constexpr std::uint32_t kGlobalId = 11;
} // namespace legacy_event

namespace annotation {
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kBool = 2;
inline constexpr std::uint32_t kUint = 3;
inline constexpr std::uint32_t kInt = 4;
inline constexpr std::uint32_t kDouble = 5;
inline constexpr std::uint32_t kString = 6;
inline constexpr std::uint32_t kPointer = 7;
inline constexpr std::uint32_t kLegacyJson = 9;
inline constexpr std::uint32_t kName = 10;
inline constexpr std::uint32_t kDictEntries = 11;
inline constexpr std::uint32_t kArrayValues = 12;
inline constexpr std::uint32_t kStringIid = 17;
} // namespace annotation

namespace interned {
inline constexpr std::uint32_t kCategories = 1;
inline constexpr std::uint32_t kNames = 2;
inline constexpr std::uint32_t kArgNames = 3;
inline constexpr std::uint32_t kGraphicsContexts = 23;
inline constexpr std::uint32_t kGpuSpecifications = 24;
inline constexpr std::uint32_t kArgStrings = 29;

inline constexpr std::uint32_t kIid = 1; ///< number of each entry
inline constexpr std::uint32_t kText = 2;
inline constexpr std::uint32_t kContextPid = 2;
} // namespace interned

namespace clock {
inline constexpr std::uint32_t kClocks = 1;       ///< in ClockSnapshot
inline constexpr std::uint32_t kPrimaryClock = 2; ///< in ClockSnapshot
inline constexpr std::uint32_t kId = 1;           ///< id of each clock
inline constexpr std::uint32_t kTimestamp = 2;
inline constexpr std::uint32_t kIsIncremental = 3;
inline constexpr std::uint32_t kUnitMultiplier = 4;

inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kMonotonic = 3;
inline constexpr std::uint32_t kBoottime = 6;
inline constexpr std::uint32_t kFirstOfSequence = 64; ///< ids up to 127 are private to each sequence
inline constexpr std::uint32_t kLastOfSequence = 127;
} // namespace clock

namespace counter { ///< CounterDescriptor
inline constexpr std::uint32_t kUnitMultiplier = 4;
inline constexpr std::uint32_t kIsIncremental = 5;
} // namespace counter

namespace render_stage { ///< GpuRenderStageEvent
inline constexpr std::uint32_t kEventId = 1;
inline constexpr std::uint32_t kDuration = 2;
inline constexpr std::uint32_t kOldQueue = 3;
inline constexpr std::uint32_t kOldStage = 4;
inline constexpr std::uint32_t kContext = 5;
inline constexpr std::uint32_t kExtraData = 6;
inline constexpr std::uint32_t kOldSpecifications = 7;
inline constexpr std::uint32_t kGpu = 11;
inline constexpr std::uint32_t kQueueIid = 13;
inline constexpr std::uint32_t kStageIid = 14;
inline constexpr std::uint32_t kName = 17;
inline constexpr std::uint32_t kNameIid = 20;

inline constexpr std::uint32_t kOldQueues = 2; ///< in the old specifications
inline constexpr std::uint32_t kOldStages = 3;
} // namespace render_stage

} // namespace bubblescope::perfetto::fields
