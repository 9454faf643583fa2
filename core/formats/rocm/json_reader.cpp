#include "core/formats/rocm/json_reader.h"

#include "core/formats/rocm/tracks.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace bubblescope::rocm {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr std::string_view kTool = "rocprofiler-sdk-tool";

std::optional<std::int64_t> numberAt(const element& record, std::string_view path) {
    std::int64_t number = 0;
    if (record.at_pointer(path).get(number) == simdjson::SUCCESS) return number;
    std::uint64_t large = 0; // handles use all bits
    if (record.at_pointer(path).get(large) == simdjson::SUCCESS) return static_cast<std::int64_t>(large);
    return std::nullopt;
}

std::string_view textAt(const element& record, std::string_view path) {
    std::string_view text;
    return record.at_pointer(path).get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// One process's part of the document.
class RocprofReader {
public:
    RocprofReader(const element& tool, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                  LoadProgress& progress)
        : tool_(tool), builder_(builder), progress_(progress), tracks_(where, builder, log),
          correlation_(builder.intern("corr_id")), process_(numberAt(tool, "/metadata/pid").value_or(0)) {}

    bool read() {
        readNames();
        return kernels() && copies() && calls("hip_api") && calls("rccl_api") && calls("marker_api");
    }

private:
    void readNames() {
        array list;
        if (tool_.at_pointer("/agents").get(list) == simdjson::SUCCESS) {
            for (const element agent : list) {
                const auto handle = numberAt(agent, "/id/handle");
                if (handle) agents_[*handle] = numberAt(agent, "/node_id").value_or(*handle);
            }
        }
        if (tool_.at_pointer("/kernel_symbols").get(list) == simdjson::SUCCESS) {
            for (const element symbol : list) {
                const auto id = numberAt(symbol, "/kernel_id");
                std::string_view name = textAt(symbol, "/formatted_kernel_name");
                if (name.empty()) name = textAt(symbol, "/truncated_kernel_name");
                if (name.empty()) name = textAt(symbol, "/kernel_name");
                if (id) kernels_[*id] = builder_.intern(name);
            }
        }
        if (tool_.at_pointer("/strings/buffer_records").get(list) == simdjson::SUCCESS) {
            std::int64_t kind = 0;
            for (const element record : list) {
                array operations;
                std::int64_t operation = 0;
                if (record.at_pointer("/operations").get(operations) == simdjson::SUCCESS) {
                    for (const element name : operations) {
                        std::string_view text;
                        if (name.get(text) == simdjson::SUCCESS) operations_[kind][operation] = builder_.intern(text);
                        ++operation;
                    }
                }
                ++kind;
            }
        }
    }

    /// Calls `take(record)` for each record of a kind. False if the job is stopped.
    template <class Take>
    bool eachRecord(const char* kind, const Take& take) {
        array list;
        if (tool_.at_pointer(std::string("/buffer_records/") + kind).get(list) != simdjson::SUCCESS) return true;
        for (const element record : list) {
            if (progress_.stopRequested()) return false;
            take(record);
        }
        return true;
    }

    bool kernels() {
        const StringId category = builder_.intern("kernel_dispatch");
        return eachRecord("kernel_dispatch", [&, this](const element& record) {
            const auto kernel = numberAt(record, "/dispatch_info/kernel_id");
            const auto known = kernel ? kernels_.find(*kernel) : kernels_.end();
            add(tracks_.queue(process_, agentAt(record, "/dispatch_info/agent_id/handle"),
                              numberAt(record, "/dispatch_info/queue_id/handle").value_or(0)),
                record, known == kernels_.end() ? 0 : known->second, category);
        });
    }
    bool copies() {
        const StringId category = builder_.intern("memory_copy");
        return eachRecord("memory_copy", [&, this](const element& record) {
            add(tracks_.queue(process_, agentAt(record, "/dst_agent_id/handle"), 0), record, operationOf(record),
                category);
        });
    }
    bool calls(const char* kind) {
        const StringId category = builder_.intern(kind);
        return eachRecord(kind, [&, this](const element& record) {
            add(tracks_.thread(process_, numberAt(record, "/thread_id").value_or(0)), record, operationOf(record),
                category);
        });
    }

    [[nodiscard]] std::int64_t agentAt(const element& record, std::string_view path) const {
        const auto handle = numberAt(record, path).value_or(0);
        const auto known = agents_.find(handle);
        return known == agents_.end() ? handle : known->second;
    }
    [[nodiscard]] StringId operationOf(const element& record) {
        const auto kind = operations_.find(numberAt(record, "/kind").value_or(-1));
        if (kind == operations_.end()) return 0;
        const auto name = kind->second.find(numberAt(record, "/operation").value_or(-1));
        return name == kind->second.end() ? 0 : name->second;
    }

    void add(TrackId track, const element& record, StringId name, StringId category) {
        const auto correlation = numberAt(record, "/correlation_id/internal");
        const ArgSetId args = correlation ? builder_.args().addNumber(correlation_, *correlation, 0) : 0;
        tracks_.add(track, numberAt(record, "/start_timestamp"), numberAt(record, "/end_timestamp"), name, category,
                    args);
    }

    const element& tool_;
    TraceBuilder& builder_;
    LoadProgress& progress_;
    RocmTracks tracks_;
    StringId correlation_;
    std::int64_t process_;
    std::unordered_map<std::int64_t, std::int64_t> agents_; ///< by handle: the node's number
    std::unordered_map<std::int64_t, StringId> kernels_;
    std::unordered_map<std::int64_t, std::unordered_map<std::int64_t, StringId>> operations_; ///< by kind
};

} // namespace

bool looksLikeRocprofJson(std::string_view beginning) {
    constexpr std::size_t kHead = 256;
    return beginning.substr(0, kHead).find(kTool) != std::string_view::npos;
}

Status readRocprofJson(std::string_view text, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                       LoadProgress& progress) {
    simdjson::dom::parser parser;
    element document;
    array tools;
    const simdjson::padded_string padded(text);
    if (parser.parse(padded).get(document) != simdjson::SUCCESS) {
        return inputError(where, "is corrupt JSON from rocprofv3",
                          "record again, or use rocprofv3's output format pftrace, which survives a crash");
    }
    if (document[kTool].get(tools) == simdjson::SUCCESS) {
        for (const element tool : tools) {
            if (!RocprofReader(tool, where, builder, log, progress).read()) return cancelledError();
        }
    }
    if (builder.sliceCount() == 0) {
        return inputError(where, "is rocprofv3 JSON without kernels, copies or calls",
                          "record HIP kernels, copies and calls with rocprofv3");
    }
    builder.file(builder.currentFile()).format = "rocprofv3";
    return {};
}

} // namespace bubblescope::rocm
