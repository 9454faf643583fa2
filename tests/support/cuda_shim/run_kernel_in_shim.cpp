// Kernels as the GPU's code runs them, on the host. Every launch is made several times, with threads that take turns in
// different orders, and each time must leave the bits in memory that the kernel's form leaves. Attention has no form:
// each launch must leave the same bits, and what rounding explains of the results in double precision.

#include "runtime/backend/cuda/kernels.h"
#include "tests/support/attention_by_rows.h"
#include "tests/support/cuda_shim/kernel_log.h"
#include "tests/support/gpu_order.h"
#include "tests/support/run_kernel.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using DeviceMemoryMap = std::map<void*, std::int64_t>;

class MemoryImage {
public:
    explicit MemoryImage(const DeviceMemoryMap& memory) : memory_(memory) {
        for (const auto& [data, bytes] : memory_) {
            const auto* const begin = static_cast<const unsigned char*>(data);
            bytes_.insert(bytes_.end(), begin, begin + bytes);
        }
    }
    void restore() const {
        std::size_t at = 0;
        for (const auto& [data, bytes] : memory_) {
            std::memcpy(data, bytes_.data() + at, static_cast<std::size_t>(bytes));
            at += static_cast<std::size_t>(bytes);
        }
    }
    [[nodiscard]] bool operator==(const MemoryImage& other) const { return bytes_ == other.bytes_; }

private:
    const DeviceMemoryMap& memory_;
    std::vector<unsigned char> bytes_;
};

template <class Kernel>
void runInShim(const Kernel& kernel, const char* name, const DeviceMemoryMap& memory) {
    const MemoryImage before(memory);
    runInGpuOrder(kernel, typename Kernel::Form{});
    const MemoryImage expected(memory);
    cuda_shim::Options options;
    for (const auto& [data, bytes] : memory)
        options.memory.push_back({data, static_cast<std::size_t>(bytes)});
    KernelLog& log = KernelLog::get();
    for (const auto turns : {cuda_shim::Turns::Ascending, cuda_shim::Turns::Descending, cuda_shim::Turns::Shuffled}) {
        before.restore();
        options.turns = turns;
        options.seed = static_cast<unsigned>(log.launches());
        cuda_shim::use(options);
        launchOnGpu(kernel, nullptr);
        const bool equal = MemoryImage(memory) == expected;
        log.note(name, cuda_shim::lastShape(), cuda_shim::takeFaults(), equal);
    }
}

template <class T>
void append(std::vector<double>& to, const HeadRows<T>& rows, const AttentionSizes& sizes, std::int64_t count) {
    if (rows.data == nullptr) return;
    for (std::int64_t pair = 0; pair < sizes.pairs(); ++pair) {
        for (std::int64_t row = 0; row < count; ++row) {
            for (int i = 0; i < sizes.width; ++i)
                to.push_back(static_cast<double>(load(headOf(rows, sizes, pair, row)[i])));
        }
    }
}

bool close(const std::vector<double>& values, const std::vector<double>& expected) {
    double off = 0;
    double size = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        off += (values[i] - expected[i]) * (values[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    // False for what is not a number. A gradient may be nothing, where a query sees one key.
    return off <= 6e-3 * 6e-3 * size + 1e-8 * static_cast<double>(values.size());
}

/// `expect` computes row by row, `launch` as the GPU does; `results` reads what they have written.
template <class Expect, class Launch, class Results>
void attendInShim(const char* name, const DeviceMemoryMap& memory, const Expect& expect, const Launch& launch,
                  const Results& results) {
    const MemoryImage before(memory);
    expect();
    const std::vector<double> expected = results();
    cuda_shim::Options options;
    for (const auto& [data, bytes] : memory)
        options.memory.push_back({data, static_cast<std::size_t>(bytes)});
    KernelLog& log = KernelLog::get();
    std::optional<MemoryImage> first;
    for (const auto turns : {cuda_shim::Turns::Ascending, cuda_shim::Turns::Shuffled}) {
        before.restore();
        options.turns = turns;
        options.seed = static_cast<unsigned>(log.launches());
        cuda_shim::use(options);
        launch();
        MemoryImage after(memory);
        const bool equal = close(results(), expected) && (!first || *first == after);
        log.note(name, cuda_shim::lastShape(), cuda_shim::takeFaults(), equal);
        first.emplace(std::move(after));
    }
}

} // namespace

void runAttention(const FusedAttention& attention, const DeviceMemoryMap& memory) {
    const AttentionSizes& sizes = attention.sizes;
    attendInShim(
        "attention", memory, [&] { attendByRows(attention); }, [&] { attendOnGpu(attention, nullptr); },
        [&] {
            std::vector<double> values(attention.logs, attention.logs + sizes.pairs() * sizes.rows);
            append(values, attention.output, sizes, sizes.rows);
            return values;
        });
}

void runQueriesGradient(const FusedAttentionGradient& attention, const DeviceMemoryMap& memory) {
    const AttentionSizes& sizes = attention.sizes;
    attendInShim(
        "queries gradient", memory, [&] { queriesGradientByRows(attention); },
        [&] { queriesGradientOnGpu(attention, nullptr); },
        [&] {
            std::vector<double> values;
            append(values, attention.queries_grad, sizes, sizes.rows);
            return values;
        });
}

void runKeysGradient(const FusedAttentionGradient& attention, const DeviceMemoryMap& memory) {
    const AttentionSizes& sizes = attention.sizes;
    attendInShim(
        "keys gradient", memory, [&] { keysGradientByRows(attention); }, [&] { keysGradientOnGpu(attention, nullptr); },
        [&] {
            std::vector<double> values;
            append(values, attention.keys_grad, sizes, sizes.seen);
            append(values, attention.values_grad, sizes, sizes.seen);
            append(values, attention.keys_sum, sizes, sizes.seen);
            append(values, attention.values_sum, sizes, sizes.seen);
            return values;
        });
}

#define BUBBLESCOPE_RUN(Kernel)                                                         \
    void runKernel(const Kernel& kernel, const std::map<void*, std::int64_t>& memory) { \
        runInShim(kernel, #Kernel, memory);                                             \
    }
BUBBLESCOPE_KERNELS(BUBBLESCOPE_RUN)
#undef BUBBLESCOPE_RUN

} // namespace bubblescope::runtime::test
