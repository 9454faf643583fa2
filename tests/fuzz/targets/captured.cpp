// Recordings of unmodified jobs: the data that CUPTI, NCCL and NVTX pass on, the trace that is written of it, and
// such traces as they are read, finished and while they grow.

#include "core/formats/read_trace.h"
#include "core/live/live_analyzer.h"
#include "profiler/capture/capture_writer.h"
#include "profiler/job/report.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/portions.h"
#include "tests/fuzz/targets.h"
#include "tests/support/scratch_folder.h"

#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <vector>

namespace bubblescope::fuzz {
namespace {

using namespace bubblescope::live;
using namespace bubblescope::profiler;

/// A process that records the events that the bytes describe.
class Recording {
public:
    Recording(const std::filesystem::path& dir, std::uint8_t how)
        : options_(optionsOf(how)), writer_(options_, infoOf(dir, options_), names_, communicators_, {}) {
        readClocks(1);
    }

    void tell(Portions& from) {
        switch (from.number() % 8) {
        case 0: return decodeRecord(from);
        case 1: return takeWords(from);
        case 2: return takeRange(from);
        case 3: return takeComm(from);
        case 4: return registerSchema(from);
        case 5: return registerNames(from);
        case 6: return readClocks(from.number<std::uint16_t>());
        default: return flush();
        }
    }

    void finish() {
        hand();
        const Status written = writer_.finish(now_);
        require(written.ok(), "a trace can be written");
        // A fork and a process that records nothing are left out of no count.
        for (const auto& [name, member] : perfetto::kCaptureCounts)
            require(writer_.counts().*member >= 0, "counts are not negative");
    }

private:
    static CaptureOptions optionsOf(std::uint8_t how) {
        CaptureOptions options;
        constexpr std::int64_t kSmall = 4096; // parts are full soon
        if ((how & 1U) != 0) options.mode = CaptureOptions::Mode::Pipeline;
        if ((how & 2U) != 0) options.size = kSmall;
        if ((how & 4U) != 0) options.first_step = 1;
        if ((how & 8U) != 0) options.duration = std::chrono::microseconds(100);
        return options;
    }
    static CaptureFileInfo infoOf(const std::filesystem::path& dir, const CaptureOptions& options) {
        CaptureFileInfo info;
        info.dir = dir;
        info.identity.rank = 1;
        info.process = {.host = "node", .clock = "boot", .pid = 77, .program = "train"};
        info.size = options.size;
        return info;
    }

    /// A record of CUPTI, alone in memory, so that a read beyond its end is seen. CUPTI owns the memory behind
    /// pointers, and the collector copies it: here names are the bytes after it.
    void decodeRecord(Portions& from) {
        const auto size = static_cast<std::size_t>(from.number());
        const std::uint32_t version = from.number() % 2 == 0 ? 8 : 130001;
        const std::string_view given = from.text(size);
        std::vector<std::byte> bytes(given.size());
        if (!given.empty()) std::memcpy(bytes.data(), given.data(), given.size());
        cupti::Activity activity;
        if (cupti::decodeActivity(bytes, version, activity) != cupti::DecodeStatus::Decoded) return;
        const bool named = activity.name != nullptr;
        activity.name = nullptr;
        const auto letters = static_cast<std::size_t>(from.number() % 32);
        activities_.push_back({activity, named ? std::string(from.text(letters)) : std::string(), activity.id});
        if (activities_.size() >= kTogether) hand();
    }

    /// The content of a process's memory, whether it is a record or not.
    void takeWords(Portions& from) {
        std::array<std::uint64_t, HostRecord::kMaxWords> words{};
        const std::size_t count = from.number() % (words.size() + 1);
        for (std::size_t w = 0; w < count; ++w)
            words[w] = from.number<std::uint64_t>();
        const auto record = decodeHostRecord(std::span(words).first(count));
        if (!record) return;
        HostWords again_words{};
        const auto again = decodeHostRecord(encode(*record, again_words));
        require(again.has_value(), "a record is written as it was read");
        require(again->type == record->type && again->ticks == record->ticks && again->value == record->value &&
                    again->id == record->id && again->text == record->text,
                "and says the same");
        writer_.take(kThread, *record, false);
    }

    void takeRange(Portions& from) {
        HostRecord record;
        record.type = static_cast<HostRecord::Type>(1 + from.number() % 5);
        const std::uint8_t how = from.number();
        record.domain = how % 4;
        record.depth = (how >> 2) % 8;
        record.ticks = ticks_ += from.number();
        record.id = from.number() % 8;
        record.payload = static_cast<HostRecord::Payload>(from.number() % 5);
        if (record.payload == HostRecord::Payload::Schema) {
            record.value = from.number() % 4;
            record.bytes = from.text(from.number() % (HostRecord::kMaxBytes + 1));
        } else if (record.payload != HostRecord::Payload::None) {
            record.value = from.number<std::uint64_t>();
        }
        record.text_handle = from.number() % 4;
        record.category = from.number() % 4;
        record.text = from.text(from.number() % 32);
        writer_.take(kThread + how / 128, record, how / 64 % 2 != 0 && record.ticks % 16 == 0);
    }

    void takeComm(Portions& from) {
        nccl::CommEvent event;
        const std::uint8_t how = from.number();
        event.type = std::uint32_t{1} << how % 12;
        event.comm = how % 3;
        event.count = from.number<std::uint64_t>();
        event.peer = from.number<std::int32_t>();
        event.function = from.text(from.number() % 32);
        event.datatype = how % 2 == 0 ? std::string_view("ncclBfloat16") : from.text(from.number() % 16);
        nccl::CommRoom room;
        HostRecord record = recordOf(event, room);
        const auto again = nccl::commEventOf(record);
        require(again && again->count == event.count && again->peer == event.peer && again->type == event.type,
                "an event of NCCL is read as it was written");
        record.id = from.number() % 8;
        if (how >= 128) record.type = HostRecord::Type::CommEnd;
        record.ticks = ticks_ += from.number();
        writer_.take(kThread, record, false);
    }

    void registerSchema(Portions& from) {
        std::array<nvtx::abi::SchemaEntry, 6> entries{};
        static constexpr std::array kNames{"bytes", "peer", "Root", "Message size [bytes]", "", "x"};
        const std::size_t count = from.number() % (entries.size() + 1);
        for (std::size_t i = 0; i < count; ++i) {
            entries[i].flags = from.number<std::uint16_t>();
            entries[i].type = from.number<std::uint32_t>();
            entries[i].name = kNames[i];
            entries[i].array_length = from.number<std::uint16_t>();
            entries[i].offset = from.number<std::uint64_t>();
        }
        nvtx::abi::SchemaAttributes schema{};
        schema.field_mask = nvtx::abi::kSchemaName | nvtx::abi::kSchemaSchemaId | from.number<std::uint16_t>();
        schema.name = "schema";
        schema.type = from.number();
        schema.flags = from.number();
        schema.entries = entries.data();
        schema.entry_count = count;
        schema.static_size = from.number<std::uint16_t>();
        schema.pack_align = from.number();
        schema.schema = from.number() % 4;
        const std::uint64_t number = names_.addSchema(from.number() % 4, schema);
        const std::string_view payload = from.text(from.number() % 64);
        for (const nvtx::PayloadField& field : names_.decode(0, number, payload)) {
            if (const auto* const text = std::get_if<std::string>(&field.value))
                require(text->size() <= payload.size(), "a text is no longer than the payload");
        }
    }

    void registerNames(Portions& from) {
        const std::uint8_t how = from.number();
        const std::string_view name = from.text(how % 32);
        switch (how / 64) {
        case 0: return names_.nameThread(kThread + how % 2, name);
        case 1: return names_.nameCategory(how % 4, how % 4, name);
        case 2: return static_cast<void>(names_.addText(name));
        default: return static_cast<void>(names_.domain(name));
        }
    }

    /// Clocks do not go back; the wall clock does, when it is set.
    void readClocks(std::uint16_t later) {
        ticks_ += later;
        now_ += TimeNs{later};
        constexpr TimeNs kAhead{1'700'000'000'000'000'000};
        writer_.addReading({ticks_, now_, kAhead + (later % 64 == 63 ? TimeNs{0} : now_)});
    }

    void hand() {
        writer_.take(activities_);
        activities_.clear();
    }
    void flush() {
        hand();
        require(writer_.flush(now_ += std::chrono::milliseconds(700)).ok(), "a trace can be written");
    }

    static constexpr std::uint32_t kThread = 5;
    static constexpr std::size_t kTogether = 16;

    CaptureOptions options_;
    nvtx::Names names_;
    nccl::Communicators communicators_;
    CaptureWriter writer_;
    std::vector<cupti::OwnedActivity> activities_;
    std::int64_t ticks_ = 0;
    TimeNs now_{std::chrono::seconds(1)};
};

void watch(LiveAnalyzer& analyzer, const std::filesystem::path& dir) {
    CapturedRun run({dir}, std::chrono::seconds(1));
    TimeNs now{std::chrono::hours(1)};
    run.look(analyzer, now);
    (void)analyzer.advance(now);
    run.look(analyzer, now += std::chrono::seconds(10)); // nothing grows any more
    (void)analyzer.advance(now);
    for (const LiveStep& step : analyzer.steps())
        require(step.bubble >= TimeNs{0} && step.busy >= TimeNs{0}, "times are not negative");
    require(analyzer.counts().dropped >= 0, "counts are not negative");
}

/// As it is reported, and watched.
void readCaptured(const std::filesystem::path& dir) {
    JobControl control;
    const auto report = reportCapture(dir, control);
    if (!report.ok()) return checkError(report.error(), dir.native());
    for (const CapturedProcess& process : report.value().processes) {
        require(!process.files.empty(), "a process has files");
        for (const auto& [name, member] : perfetto::kCaptureCounts)
            require(process.counts.*member >= 0, "counts are not negative");
    }
}

/// The written file, and every part of it, is complete.
void checkWritten(const std::filesystem::path& dir) {
    LiveAnalyzer analyzer;
    bool any = false;
    for (const auto& file : std::filesystem::directory_iterator(dir)) {
        if (file.path().extension() != ".pftrace") continue;
        any = true;
        analyzer.feed(analyzer.open(), test::readAll(file.path()), TimeNs{1});
    }
    if (!any) return;
    require(analyzer.captured(), "the trace says that it is a recording");
    require(analyzer.counts().torn == 0 && analyzer.counts().damaged == 0, "what is written is whole");
    JobControl control;
    const auto read = readTraces({dir}, control);
    require(read.ok(), "what was written can be read");
    checkTrace(*read.value().trace, read.value().problems);
    readCaptured(dir);
    watch(analyzer, dir);
}

} // namespace

void captured(std::string_view bytes) {
    const test::ScratchFolder scratch;
    constexpr char kPacket = '\n'; // what a trace begins with
    if (bytes.starts_with(kPacket)) {
        scratch.write("node.pid77.pftrace", bytes);
        readCaptured(scratch.path());
        LiveAnalyzer analyzer;
        const auto stream = analyzer.open();
        for (std::size_t at = 0; at < bytes.size(); at += 97)
            analyzer.feed(stream, bytes.substr(at, 97), TimeNs{1});
        return watch(analyzer, scratch.path());
    }
    Portions portions(bytes);
    Recording recording(scratch.path(), portions.number());
    while (portions.any())
        recording.tell(portions);
    recording.finish();
    checkWritten(scratch.path());
}

} // namespace bubblescope::fuzz
