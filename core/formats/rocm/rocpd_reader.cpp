#include "core/formats/rocm/rocpd_reader.h"

#include "core/formats/rocm/tracks.h"
#include "core/formats/sqlite/database.h"

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace bubblescope::rocm {
namespace {

using sqlite::Database;
using sqlite::Row;

class RocpdReader {
public:
    RocpdReader(const Database& database, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                LoadProgress& progress)
        : db_(database), where_(where), builder_(builder), log_(log), progress_(progress), tracks_(where, builder, log),
          correlation_(builder.intern("corr_id")) {}

    Status read() {
        // rocprofv3 appends the run's id to each table; a merged file has several tables of each kind.
        const bool done =
            eachTable("rocpd_string", [this](const std::string& table) { return strings(table); }) &&
            eachTable("rocpd_info_kernel_symbol", [this](const std::string& table) { return symbols(table); }) &&
            eachTable("rocpd_api_ops", [this](const std::string& table) { return ties(table); }) &&
            eachTable("rocpd_kernel_dispatch", [this](const std::string& table) { return kernels(table); }) &&
            eachTable("rocpd_memory_copy", [this](const std::string& table) { return copies(table); }) &&
            eachTable("rocpd_region", [this](const std::string& table) { return regions(table); }) &&
            eachTable("rocpd_op", [this](const std::string& table) { return operations(table); }) &&
            eachTable("rocpd_api", [this](const std::string& table) { return calls(table); });
        if (!done) return cancelledError();
        if (builder_.sliceCount() == 0) {
            return inputError(where_, "is a rocpd database (ROCm's profiler) without kernels, copies or calls",
                              "record HIP kernels, copies and calls with rocprofv3");
        }
        builder_.file(builder_.currentFile()).format = "rocpd";
        return {};
    }

private:
    /// "rocpd_op" itself and "rocpd_op_0000a1b2", but not "rocpd_op_other": the id is hexadecimal.
    template <class Read>
    bool eachTable(std::string_view name, const Read& read) {
        for (const std::string& table : db_.tablesFrom(name)) {
            const std::string_view rest = std::string_view(table).substr(name.size());
            const bool is_id =
                rest.starts_with('_') && rest.find_first_not_of("0123456789abcdef_-", 1) == std::string_view::npos;
            if ((rest.empty() || is_id) && !read(table)) return false;
        }
        return true;
    }
    template <class Take>
    bool eachRow(const std::string& table, const std::vector<std::string_view>& columns, const Take& take) {
        constexpr std::size_t kRowBytes = 64; // other readers measure progress in bytes
        const Database::End end = db_.eachRow(table, columns, [&](const Row& row) {
            if (!progress_.reached(rows_ * kRowBytes, (rows_ + 1) * kRowBytes)) return false;
            ++rows_;
            take(row);
            return true;
        });
        if (end == Database::End::Damaged) {
            log_.add("corrupt", say("{}, table {}", where_, table),
                     say("the table is corrupt; the rows before the corruption were read"));
        }
        return end != Database::End::Stopped;
    }

    bool strings(const std::string& table) {
        return eachRow(table, {"id", "string"},
                       [this](const Row& row) { strings_[row.integer(0)] = builder_.intern(row.text(1)); });
    }
    bool symbols(const std::string& table) {
        return eachRow(table, {"id", "display_name", "kernel_name"}, [this](const Row& row) {
            symbols_[row.integer(0)] = builder_.intern(row.text(1).empty() ? row.text(2) : row.text(1));
        });
    }
    /// RPD: links calls to the operations that they launched.
    bool ties(const std::string& table) {
        return eachRow(table, {"api_id", "op_id"}, [this](const Row& row) {
            call_of_operation_[row.integer(1)] = row.integer(0);
            launching_.insert(row.integer(0));
        });
    }

    bool kernels(const std::string& table) {
        const StringId category = builder_.intern("kernel_dispatch");
        return eachRow(table, {"start", "end", "pid", "agent_id", "queue_id", "kernel_id"}, [&, this](const Row& row) {
            add(tracks_.queue(row.integer(2), row.integer(3), row.integer(4)), row, named(symbols_, row.integer(5)),
                category, 0);
        });
    }
    bool copies(const std::string& table) {
        const StringId category = builder_.intern("memory_copy");
        return eachRow(table, {"start", "end", "pid", "dst_agent_id", "queue_id", "name_id"},
                       [&, this](const Row& row) {
                           add(tracks_.queue(row.integer(2), row.integer(3), row.integer(4)), row,
                               named(strings_, row.integer(5)), category, 0);
                       });
    }
    bool regions(const std::string& table) {
        const StringId category = builder_.intern("hip_api");
        return eachRow(table, {"start", "end", "pid", "tid", "name_id"}, [&, this](const Row& row) {
            add(tracks_.thread(row.integer(2), row.integer(3)), row, named(strings_, row.integer(4)), category, 0);
        });
    }

    bool operations(const std::string& table) {
        const StringId kernel = builder_.intern("kernel_dispatch");
        const StringId copy = builder_.intern("memory_copy");
        return eachRow(
            table, {"start", "end", "gpuId", "queueId", "description_id", "opType_id", "id"},
            [&, this](const Row& row) {
                const std::string_view type = builder_.text(named(strings_, row.integer(5)));
                const bool copies =
                    type.find("Copy") != std::string_view::npos || type.find("Fill") != std::string_view::npos;
                const StringId name = named(strings_, row.integer(4));
                const auto call = call_of_operation_.find(row.integer(6));
                add(tracks_.queue(0, row.integer(2), row.integer(3)), row,
                    builder_.text(name).empty() ? named(strings_, row.integer(5)) : name, copies ? copy : kernel,
                    call == call_of_operation_.end() ? 0 : builder_.args().addNumber(correlation_, call->second, 0));
            });
    }
    bool calls(const std::string& table) {
        const StringId category = builder_.intern("hip_api");
        return eachRow(table, {"start", "end", "pid", "tid", "apiName_id", "id"}, [&, this](const Row& row) {
            const bool launches = launching_.contains(row.integer(5));
            add(tracks_.thread(row.integer(2), row.integer(3)), row, named(strings_, row.integer(4)), category,
                launches ? builder_.args().addNumber(correlation_, row.integer(5), 0) : 0);
        });
    }

    using Names = std::unordered_map<std::int64_t, StringId>;
    [[nodiscard]] static StringId named(const Names& names, std::int64_t id) {
        const auto known = names.find(id);
        return known == names.end() ? 0 : known->second;
    }

    /// The first two columns are the times.
    void add(TrackId track, const Row& row, StringId name, StringId category, ArgSetId args) {
        tracks_.add(track, row.integer(0), row.integer(1), name, category, args);
    }

    const Database& db_;
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    RocmTracks tracks_;
    StringId correlation_;
    Names strings_;
    Names symbols_;
    std::unordered_map<std::int64_t, std::int64_t> call_of_operation_;
    std::unordered_set<std::int64_t> launching_; ///< calls that have operations
    std::size_t rows_ = 0;
};

} // namespace

bool isRocpd(const Database& database) {
    return !database.tablesFrom("rocpd_").empty();
}

Status readRocpd(const Database& database, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                 LoadProgress& progress) {
    return RocpdReader(database, where, builder, log, progress).read();
}

} // namespace bubblescope::rocm
