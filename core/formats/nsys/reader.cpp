#include "core/formats/nsys/reader.h"

#include "core/base/reserved_memory.h"
#include "core/formats/sqlite/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

namespace bubblescope::nsys {
namespace {

using sqlite::Database;
using sqlite::Row;

// Ids of processes and threads are packed into one number: … | process, 24 bits | thread, 24 bits.
constexpr std::int64_t processOf(std::int64_t global) {
    return global / 0x1000000 % 0x1000000;
}
constexpr std::int64_t threadOf(std::int64_t global) {
    return global % 0x1000000;
}

// NVTX_EVENTS.eventType
constexpr std::int64_t kMark = 34;
constexpr std::int64_t kPushPop = 59;
constexpr std::int64_t kStartEnd = 60;

std::string_view copyName(std::int64_t kind) {
    switch (kind) {
    case 1: return "Memcpy HtoD";
    case 2: return "Memcpy DtoH";
    case 3: return "Memcpy HtoA";
    case 4: return "Memcpy AtoH";
    case 8: return "Memcpy DtoD";
    case 9: return "Memcpy HtoH";
    case 10: return "Memcpy PtoP";
    default: return "Memcpy";
    }
}

/// A key of several numbers, looked up for every row.
template <std::size_t count>
using Numbers = std::array<std::int64_t, count>;

struct HashNumbers {
    template <std::size_t count>
    std::size_t operator()(const Numbers<count>& numbers) const {
        std::uint64_t hash = 0;
        for (const std::int64_t number : numbers)
            hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15;
        return hash ^ (hash >> 32);
    }
};

class Reader {
public:
    Reader(const Database& database, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
           LoadProgress& progress)
        : db_(database), where_(where), builder_(builder), log_(log), progress_(progress),
          correlation_(builder.intern("correlation")), bytes_(builder.intern("bytes")) {}

    Status read();

private:
    static constexpr std::array<std::string_view, 8> kTables{
        "CUPTI_ACTIVITY_KIND_KERNEL",          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        "CUPTI_ACTIVITY_KIND_MEMCPY",          "CUPTI_ACTIVITY_KIND_MEMSET",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_OVERHEAD",        "NVTX_EVENTS"};
    static constexpr std::string_view kMemory = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    static constexpr std::string_view kSession = "TARGET_INFO_SESSION_START_TIME";
    static constexpr std::array<std::string_view, 5> kOtherTables{"StringIds", "PROCESSES", "ThreadNames", kSession,
                                                                  kMemory};

    bool readNames();
    bool readDevice();
    bool readKernels();
    bool readCopies();
    bool readSets();
    bool readSynchronization();
    bool readGraphs();
    bool readCalls(std::string_view table, std::string_view category);
    bool readNvtx();
    bool readMemory();

    /// Reads one table's rows; false if the job is stopped.
    template <class Take>
    bool eachRow(std::string_view table, const std::vector<std::string_view>& columns, const Take& take);
    bool reportComputed();
    void readSession();

    [[nodiscard]] StringId named(std::int64_t id) const;
    [[nodiscard]] TrackId deviceTrack(std::int64_t process, std::int64_t device, std::int64_t stream);
    [[nodiscard]] TrackId threadTrack(std::int64_t global, bool may_overlap = false);
    [[nodiscard]] ArgSetId correlation(std::int64_t value, ArgSetId with = 0);
    [[nodiscard]] ArgSetId sizeOf(std::int64_t bytes);
    /// Omits and counts slices without an end or with an end before their start.
    void addSlice(TrackId track, std::int64_t start, std::int64_t end, StringId name, StringId category, ArgSetId args);

    const Database& db_;
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    StringId correlation_;
    StringId bytes_;
    std::unordered_map<std::int64_t, StringId> strings_;
    std::unordered_map<std::int64_t, StringId> process_names_;
    std::unordered_map<std::int64_t, StringId> thread_names_; ///< by global thread id
    std::unordered_map<Numbers<3>, TrackId, HashNumbers> device_tracks_;
    std::unordered_map<Numbers<2>, TrackId, HashNumbers> thread_tracks_;
    std::unordered_map<std::int64_t, ArgSetId> sizes_; ///< for copies, which have few different sizes
    std::size_t rows_ = 0;                             ///< read so far
    std::size_t total_ = 0;
};

Status Reader::read() {
    for (const std::string_view table : kTables)
        total_ += db_.maxRowsOf(table);
    const bool computed = reportComputed();
    if (total_ == 0 && computed) {
        return inputError(where_, "keeps its events in views or virtual tables, which are not supported",
                          "copy them into tables (CREATE TABLE … AS SELECT …), or export again with nsys");
    }
    if (total_ == 0) {
        return inputError(where_, "is an SQLite database without Nsight Systems events",
                          "export with 'nsys export --type sqlite'");
    }
    constexpr std::size_t kSmallestRows =
        4; // bytes per row, to check whether the number of rows is plausible for the size of the file
    builder_.expectSlices(std::min(total_, db_.maxRows() / kSmallestRows));
    total_ += db_.maxRowsOf("StringIds") + db_.maxRowsOf(kMemory);
    if (!readNames() || !readDevice() || !readCalls("CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime") ||
        !readCalls("CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead") || !readNvtx() || !readMemory()) {
        return cancelledError();
    }
    builder_.file(builder_.currentFile()).format = "nsys";
    readSession();
    return {};
}

/// Reports views and virtual tables in place of tables; returns true if there is one.
bool Reader::reportComputed() {
    bool any = false;
    const auto tell = [&](std::string_view table) {
        if (!db_.isComputed(table)) return;
        any = true;
        log_.add("not-a-table", say("{}, table {}", where_, table),
                 say("skipped views and virtual tables; their rows are missing"));
    };
    std::ranges::for_each(kTables, tell);
    std::ranges::for_each(kOtherTables, tell);
    return any;
}

void Reader::readSession() {
    db_.eachRow(kSession, {"utcEpochNs"}, [this](const Row& row) {
        builder_.setFileOffset(builder_.currentFile(), TimeNs{row.integer(0)});
        return false; // there is one
    });
}

bool Reader::readNames() {
    const auto names = [this](const Row& row) { strings_[row.integer(0)] = builder_.intern(row.text(1)); };
    const auto processes = [this](const Row& row) {
        process_names_[processOf(row.integer(0))] = builder_.intern(row.text(1));
    };
    const auto threads = [this](const Row& row) { thread_names_[row.integer(0)] = named(row.integer(1)); };
    return eachRow("StringIds", {"id", "value"}, names) && eachRow("PROCESSES", {"globalPid", "name"}, processes) &&
           eachRow("ThreadNames", {"globalTid", "nameId", "priority"}, threads);
}

StringId Reader::named(std::int64_t id) const {
    const auto known = strings_.find(id);
    return known == strings_.end() ? 0 : known->second;
}

template <class Take>
bool Reader::eachRow(std::string_view table, const std::vector<std::string_view>& columns, const Take& take) {
    // Other readers measure progress in bytes; a row counts as this many.
    constexpr std::size_t kRowBytes = 64;
    const Database::End end = db_.eachRow(table, columns, [&](const Row& row) {
        if (!progress_.reached(rows_ * kRowBytes, total_ * kRowBytes)) return false;
        ++rows_;
        take(row);
        return true;
    });
    if (end == Database::End::Stopped) return false;
    if (end == Database::End::Damaged) {
        log_.add("corrupt", say("{}, table {}", where_, table),
                 say("the table is corrupt; the rows before the corruption were read"));
    }
    return true;
}

bool Reader::readDevice() {
    return readKernels() && readCopies() && readSets() && readSynchronization() && readGraphs();
}

bool Reader::readKernels() {
    const StringId category = builder_.intern("kernel");
    const StringId grid = builder_.intern("grid");
    const StringId block = builder_.intern("block");
    // Kernels of one kind are launched with the same shape again and again, so shapes are stored once.
    std::unordered_map<Numbers<6>, ArgSetId, HashNumbers> shapes;
    const auto shapeArgs = [&](const Numbers<6>& s) {
        const auto [known, is_new] = shapes.try_emplace(s, 0);
        if (is_new) {
            std::array<StoredArg, 2> args;
            args[0].name = grid;
            args[0].setText(builder_.intern(fmt::format("[{}, {}, {}]", s[0], s[1], s[2])));
            args[1].name = block;
            args[1].setText(builder_.intern(fmt::format("[{}, {}, {}]", s[3], s[4], s[5])));
            known->second = builder_.args().add(args);
        }
        return known->second;
    };
    return eachRow("CUPTI_ACTIVITY_KIND_KERNEL",
                   {"start", "end", "globalPid", "deviceId", "streamId", "correlationId", "demangledName", "shortName",
                    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"},
                   [&](const Row& row) {
                       StringId name = named(row.integer(6));
                       if (name == 0) name = named(row.integer(7));
                       const ArgSetId shape = shapeArgs({row.integer(8), row.integer(9), row.integer(10),
                                                         row.integer(11), row.integer(12), row.integer(13)});
                       addSlice(deviceTrack(processOf(row.integer(2)), row.integer(3), row.integer(4)), row.integer(0),
                                row.integer(1), name, category, correlation(row.integer(5), shape));
                   });
}

bool Reader::readCopies() {
    const StringId category = builder_.intern("gpu_memcpy");
    return eachRow("CUPTI_ACTIVITY_KIND_MEMCPY",
                   {"start", "end", "globalPid", "deviceId", "streamId", "correlationId", "copyKind", "bytes"},
                   [&](const Row& row) {
                       addSlice(deviceTrack(processOf(row.integer(2)), row.integer(3), row.integer(4)), row.integer(0),
                                row.integer(1), builder_.intern(copyName(row.integer(6))), category,
                                correlation(row.integer(5), sizeOf(row.integer(7))));
                   });
}

bool Reader::readSets() {
    const StringId category = builder_.intern("gpu_memset");
    const StringId name = builder_.intern("Memset");
    return eachRow("CUPTI_ACTIVITY_KIND_MEMSET",
                   {"start", "end", "globalPid", "deviceId", "streamId", "correlationId", "bytes"},
                   [&](const Row& row) {
                       addSlice(deviceTrack(processOf(row.integer(2)), row.integer(3), row.integer(4)), row.integer(0),
                                row.integer(1), name, category, correlation(row.integer(5), sizeOf(row.integer(6))));
                   });
}

// Waits overlap the kernels of their stream, so they get a separate row.
bool Reader::readSynchronization() {
    constexpr std::int64_t kSyncRows = 1'000'000; // the numbering of Kineto
    const StringId category = builder_.intern("cuda_sync");
    const StringId name = builder_.intern("Synchronize");
    return eachRow("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                   {"start", "end", "globalPid", "deviceId", "streamId", "correlationId"}, [&](const Row& row) {
                       // The absence of a stream (a whole device) is written as the largest unsigned number.
                       const std::int64_t stream = row.integer(4) < kSyncRows ? row.integer(4) : 0;
                       const TrackId track = deviceTrack(processOf(row.integer(2)), row.integer(3), kSyncRows + stream);
                       builder_.track(track).may_overlap = true;
                       addSlice(track, row.integer(0), row.integer(1), name, category, correlation(row.integer(5)));
                   });
}

// By default, nsys records each launch of a CUDA graph without its kernels.
bool Reader::readGraphs() {
    const StringId category = builder_.intern("kernel");
    return eachRow("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                   {"start", "end", "globalPid", "deviceId", "streamId", "correlationId", "graphId"},
                   [&](const auto& row) {
                       addSlice(deviceTrack(processOf(row.integer(2)), row.integer(3), row.integer(4)), row.integer(0),
                                row.integer(1), builder_.intern(fmt::format("CUDA graph {}", row.integer(6))), category,
                                correlation(row.integer(5)));
                   });
}

bool Reader::readCalls(std::string_view table, std::string_view category_name) {
    const StringId category = builder_.intern(category_name);
    return eachRow(table, {"start", "end", "globalTid", "correlationId", "nameId"}, [&](const Row& row) {
        addSlice(threadTrack(row.integer(2)), row.integer(0), row.integer(1), named(row.integer(4)), category,
                 row.isNull(3) ? 0 : correlation(row.integer(3)));
    });
}

bool Reader::readNvtx() {
    const StringId category = builder_.intern("nvtx");
    return eachRow("NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "text", "textId"}, [&](const Row& row) {
        const std::int64_t type = row.integer(2);
        if (type != kMark && type != kPushPop && type != kStartEnd) return; // names of domains and categories
        const StringId name = row.text(4).empty() ? named(row.integer(5)) : builder_.intern(row.text(4));
        if (type == kMark) {
            builder_.addInstant({threadTrack(row.integer(3)), TimeNs{row.integer(0)}, name, category, 0});
            return;
        }
        if (row.integer(1) == 0) { // NULL, or what old exporters write instead
            log_.add("unmatched-begin", say("{}, slice '{}'", where_, builder_.text(name)),
                     say("slices without an end; shown to the end of the trace"));
            if (isWithinReach(TimeNs{row.integer(0)})) {
                builder_.leaveOpen(builder_.openSlice({threadTrack(row.integer(3), type == kStartEnd),
                                                       TimeNs{row.integer(0)}, TimeNs{0}, name, category}));
            }
            return;
        }
        // Start/end ranges, unlike push/pop ranges, need not nest.
        addSlice(threadTrack(row.integer(3), type == kStartEnd), row.integer(0), row.integer(1), name, category, 0);
    });
}

// The rows need not be in order of time.
bool Reader::readMemory() {
    struct Event {
        std::int64_t time;
        std::int64_t process;
        std::int64_t device;
        std::uint64_t address;
        std::uint64_t bytes;
        bool is_release;
        bool is_on_device;
    };
    // ENUM_CUDA_MEM_KIND; managed memory moves between host and device, so it is left out.
    constexpr std::array<std::int64_t, 3> kOnDevice{2, 3, 5}; // device, array, static
    std::vector<Event> events;
    const auto take = [&](const Row& row) {
        const std::int64_t operation = row.integer(6);
        const bool is_foreign = row.integer(7) != 0; // from another process's pool
        const bool is_on_device = std::ranges::count(kOnDevice, row.integer(5)) > 0;
        if ((operation != 0 && operation != 1) || (operation == 0 && (is_foreign || !is_on_device))) return;
        if (!isWithinReach(TimeNs{row.integer(0)}) || row.integer(4) < 0) {
            log_.add("bad-event", say("{}, table {}", where_, kMemory),
                     say("skipped memory events without a usable time and size"));
            return;
        }
        events.push_back({row.integer(0), processOf(row.integer(1)), row.integer(2),
                          static_cast<std::uint64_t>(row.integer(3)), static_cast<std::uint64_t>(row.integer(4)),
                          operation == 1, is_on_device});
    };
    if (!eachRow(kMemory,
                 {"start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType",
                  "importedMemoryPoolAddress"},
                 take))
        return false;
    std::ranges::stable_sort(events, {}, &Event::time);
    std::unordered_map<std::int64_t, ReservedMemory> processes;
    for (const Event& event : events) {
        ReservedMemory& process = processes[event.process];
        const auto change = event.is_release
                                ? process.release(event.address)
                                : std::optional(process.allocate(event.address, event.device, event.bytes));
        if (change) {
            builder_.addCounter(event.process, builder_.intern(reservedMemoryName(change->device)), TimeNs{event.time},
                                static_cast<double>(change->bytes));
        } else if (event.is_on_device && event.address != 0) {
            log_.add("unmatched-release", say("{}, table {}", where_, kMemory),
                     say("skipped releases of memory without a recorded allocation; more memory was reserved than "
                         "shown"));
        }
    }
    return true;
}

void Reader::addSlice(TrackId track, std::int64_t start, std::int64_t end, StringId name, StringId category,
                      ArgSetId args) {
    if (!isWithinReach(TimeNs{start}) || !isWithinReach(TimeNs{end})) {
        log_.add("bad-time", say("{}, slice '{}'", where_, builder_.text(name)),
                 say("skipped events without a usable time"));
        return;
    }
    if (end < start) {
        log_.add("negative-duration", say("{}, slice '{}'", where_, builder_.text(name)),
                 say("events that end before they start; shown with duration 0"));
        end = start;
    }
    builder_.addSlice({track, TimeNs{start}, TimeNs{end} - TimeNs{start}, name, category, args});
}

TrackId Reader::deviceTrack(std::int64_t process, std::int64_t device, std::int64_t stream) {
    const auto [known, is_new] = device_tracks_.try_emplace({process, device, stream}, kNoId);
    if (is_new) {
        known->second = builder_.addTrack(process, stream);
        Track& track = builder_.track(known->second);
        track.process_name = builder_.intern(fmt::format("GPU {} (process {})", device, process));
        track.thread_name = builder_.intern(stream < 1'000'000 ? fmt::format("stream {}", stream)
                                                               : fmt::format("stream {} (sync)", stream - 1'000'000));
    }
    return known->second;
}

TrackId Reader::threadTrack(std::int64_t global, bool may_overlap) {
    const auto [known, is_new] = thread_tracks_.try_emplace({global, may_overlap ? 1 : 0}, kNoId);
    if (is_new) {
        known->second = builder_.addTrack(processOf(global), threadOf(global));
        Track& track = builder_.track(known->second);
        track.may_overlap = may_overlap;
        if (const auto name = process_names_.find(processOf(global)); name != process_names_.end())
            track.process_name = name->second;
        if (const auto name = thread_names_.find(global); name != thread_names_.end()) track.thread_name = name->second;
    }
    return known->second;
}

ArgSetId Reader::correlation(std::int64_t value, ArgSetId with) {
    return builder_.args().addNumber(correlation_, value, with);
}

ArgSetId Reader::sizeOf(std::int64_t bytes) {
    if (bytes < 0) return 0;
    const auto [known, is_new] = sizes_.try_emplace(bytes, 0);
    if (is_new) {
        StoredArg arg;
        arg.name = bytes_;
        arg.setInt(bytes);
        known->second = builder_.args().add({&arg, 1});
    }
    return known->second;
}

} // namespace

Status readNsys(const sqlite::Database& database, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                LoadProgress& progress) {
    return Reader(database, where, builder, log, progress).read();
}

} // namespace bubblescope::nsys
