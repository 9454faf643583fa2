#pragma once

#include "profiler/nvtx/abi.h"
#include "profiler/nvtx/payload_schema.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler::nvtx {

/// The objects that a program registers with NVTX before using them: domains, strings, categories, thread names,
/// payload schemas. Handles are numbers, so that events can store them. The number and length of names are limited;
/// registrations beyond the limit have no name. Any thread. Every function takes a lock, so the job's threads must not
/// call one while recording an event; only the writing thread may.
class Names {
public:
    static constexpr std::uint16_t kDefaultDomain = 0;
    /// "bubblescope": ranges of the pipeline's ops, named as described in the manual. Any program may use this domain
    /// through NVTX.
    static constexpr std::uint16_t kPipelineDomain = 1;
    static constexpr std::uint16_t kNoDomain = UINT16_MAX; ///< number assigned to all domains beyond the maximum

    /// Returns the same domain for equal names.
    [[nodiscard]] std::uint16_t domain(std::string_view name);
    [[nodiscard]] std::uint32_t addText(std::string_view text);
    void nameCategory(std::uint16_t domain, std::uint32_t category, std::string_view name);
    void nameThread(std::uint32_t tid, std::string_view name);
    std::uint64_t addSchema(std::uint16_t domain, const abi::SchemaAttributes& schema);
    std::uint64_t addEnum(std::uint16_t domain, const abi::EnumAttributes& values);

    [[nodiscard]] std::string domainName(std::uint16_t domain) const; ///< empty for the default domain
    [[nodiscard]] std::string text(std::uint32_t handle) const;
    [[nodiscard]] std::string category(std::uint16_t domain, std::uint32_t category) const;
    /// Number of times that a thread was named, so that readers can detect changes.
    [[nodiscard]] std::uint64_t threadNamings() const;
    [[nodiscard]] std::optional<std::string> threadName(std::uint32_t tid) const;
    /// See PayloadSchemas::decode().
    [[nodiscard]] std::vector<PayloadField> decode(std::uint16_t domain, std::uint64_t schema,
                                                   std::string_view bytes) const;

    static constexpr std::size_t kMaxNames = std::size_t{1} << 16; ///< limit for each kind
    static constexpr std::size_t kMaxLetters = 255;

    /// Writes all current and future names except schemas to a log in memory that another process may read. A full log
    /// ignores further names. `used` is the number of complete bytes in the log.
    void shareIn(std::span<char> log, std::atomic<std::uint64_t>& used);
    /// Registers the names in a log under their original numbers. Ignores damaged parts.
    void replay(std::string_view log);

    // Ensures that no other thread holds the lock when the process forks.
    void beforeFork() noexcept { mutex_.lock(); }
    void afterFork() noexcept { mutex_.unlock(); }

private:
    enum class Kind : std::uint8_t { Domain, Text, Category, Thread };
    void share(Kind kind, std::uint16_t domain, std::uint32_t number, std::string_view name);

    mutable std::mutex mutex_;
    std::span<char> log_;
    std::atomic<std::uint64_t>* logged_ = nullptr;
    std::vector<std::string> domains_{std::string{}, std::string{"bubblescope"}};
    std::map<std::string, std::uint16_t, std::less<>> domain_numbers_{{"", 0}, {"bubblescope", 1}};
    std::vector<std::string> texts_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::string> categories_;
    std::map<std::uint32_t, std::string> threads_;
    std::uint64_t namings_ = 0;
    PayloadSchemas schemas_;
};

} // namespace bubblescope::profiler::nvtx
