#include "runtime/backend/cuda/kernels.h"

#include "runtime/backend/cuda/neighbours.h"
#include "runtime/backend/cuda/unroll.h"

namespace bubblescope::runtime {
/// Not anonymous: nvcc derives the name of such a namespace from the path of the file, and builds would differ.
inline namespace device_kernels {

constexpr unsigned kAllLanes = 0xFFFFFFFFU;

template <class Kernel>
__global__ void eachKernel(Kernel kernel, std::int64_t count) {
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
        kernel(i);
}

/// Like eachKernel, with kAtOnce elements per thread.
template <class Kernel>
__global__ void neighboursKernel(Kernel kernel, std::int64_t count) {
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kAtOnce;
    for (std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kAtOnce;
         first < count; first += stride) {
        if (first + kAtOnce <= count) {
            NeighboursRoom room;
            visited(kernel, FetchElements{room, first, true});
            const Kernel local = visited(kernel, PointToRoom{room});
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < kAtOnce; ++i)
                local(i);
            visited(kernel, PutElements{room, first});
        } else {
            for (std::int64_t i = first; i < count; ++i)
                kernel(i);
        }
    }
}

/// A block handles whole rows, so no thread has to divide.
template <class Kernel>
__global__ void gridKernel(Kernel kernel, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        for (std::int64_t column = threadIdx.x; column < columns; column += blockDim.x)
            kernel(row, column);
    }
}

/// Like gridKernel, but each lane of a warp has kAtOnce neighbouring columns of kRowsOfLane rows that are kGridRows
/// apart, so that per-column data is read only once.
constexpr int kGridRows = 8;
constexpr int kRowsOfLane = 4;
template <class Kernel>
__global__ void __launch_bounds__(kWarp* kGridRows)
    gridNeighboursKernel(Kernel kernel, std::int64_t rows, std::int64_t columns, std::int64_t strips) {
    const std::int64_t column = (blockIdx.x % strips * kWarp + threadIdx.x) * kAtOnce;
    if (column >= columns) return;
    NeighboursRoom room;
    visited(kernel, FetchColumns{room, column});
    const std::int64_t first = blockIdx.x / strips * (kGridRows * kRowsOfLane) + threadIdx.y;
    BUBBLESCOPE_UNROLL
    for (int n = 0; n < kRowsOfLane; ++n) {
        const std::int64_t row = first + n * kGridRows;
        if (row >= rows) return;
        visited(kernel, FetchElements{room, row * columns + column, true});
        const Kernel local = visited(kernel, PointToRoom{room, row});
        BUBBLESCOPE_UNROLL
        for (int i = 0; i < kAtOnce; ++i)
            local(0, i);
        visited(kernel, PutElements{room, row * columns + column});
    }
}

/// A block handles one entry and some of its columns, one per thread. It visits all rows once, kLanes at a time, and
/// lists the entry's rows in order.
template <class Kernel>
__global__ void __launch_bounds__(kLanes) tableKernel(Kernel kernel, std::int64_t tiles) {
    __shared__ int listed[kLanes];
    __shared__ int counts[kLanes / kWarp];
    const int lane = static_cast<int>(threadIdx.x);
    const unsigned below = (1U << (lane % kWarp)) - 1; // lanes of the warp with a smaller number
    const std::int64_t entry = blockIdx.x / tiles;
    const std::int64_t column = blockIdx.x % tiles * kLanes + lane;
    const bool inside = column < kernel.columns();
    const std::int64_t rows = kernel.rows();
    float sum = 0.0F;
    for (std::int64_t first = 0; first < rows; first += kLanes) {
        const bool its = first + lane < rows && kernel.entryOf(first + lane) == entry;
        const unsigned those = __ballot_sync(kAllLanes, its ? 1 : 0);
        if (lane % kWarp == 0) counts[lane / kWarp] = __popc(those);
        __syncthreads();
        int before = 0;
        int all = 0;
        for (int warp = 0; warp < kLanes / kWarp; ++warp) {
            if (warp == lane / kWarp) before = all;
            all += counts[warp];
        }
        if (its) listed[before + __popc(those & below)] = lane;
        __syncthreads();
        for (int i = 0; inside && i < all; ++i)
            sum += kernel.value(first + listed[i], column);
        __syncthreads(); // the next rows write to the same shared memory
    }
    if (!inside) return;
    const std::int64_t place = kernel.place(entry, column);
    kernel.grad[place] = kernel.before != nullptr ? kernel.before[place] + sum : sum;
}

/// Reads another lane's partial sum, of any type.
template <class Part>
__device__ Part fromLane(const Part& part, int distance) {
    static_assert(sizeof(Part) % sizeof(unsigned) == 0, "parts are exchanged in words");
    unsigned words[sizeof(Part) / sizeof(unsigned)];
    memcpy(words, &part, sizeof(Part));
    for (unsigned& word : words)
        word = __shfl_xor_sync(kAllLanes, word, distance);
    Part other;
    memcpy(&other, words, sizeof(Part));
    return other;
}

/// A butterfly reduction within each warp of a block, then over the warps.
template <int kWarps, class Kernel>
__device__ typename Kernel::Part combineLanes(int pass, typename Kernel::Part part) {
    using Part = typename Kernel::Part;
    BUBBLESCOPE_UNROLL
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
        part = Kernel::combine(pass, part, fromLane(part, distance));
    if constexpr (kWarps == 1) return part;
    __shared__ Part warps[kWarps];
    const int lane = static_cast<int>(threadIdx.x);
    if (lane % kWarp == 0) warps[lane / kWarp] = part;
    __syncthreads();
    Part total = warps[0];
    for (int warp = 1; warp < kWarps; ++warp)
        total = Kernel::combine(pass, total, warps[warp]);
    __syncthreads(); // the next pass writes to the same shared memory
    return total;
}

/// One block per row; each pass reads the row's elements.
template <class Kernel>
__global__ void __launch_bounds__(kLanes) rowKernel(Kernel kernel) {
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const int lane = static_cast<int>(threadIdx.x);
    typename Kernel::State state{};
    const std::int64_t terms = kernel.terms(row);
    for (int pass = 0; pass < Kernel::kPasses; ++pass) {
        typename Kernel::Part part = Kernel::zero(pass);
        for (std::int64_t i = lane; i < terms; i += kLanes)
            part = Kernel::combine(pass, part, kernel.term(pass, row, i, state));
        kernel.total(pass, combineLanes<kLanes / kWarp, Kernel>(pass, part), state);
    }
    const std::int64_t columns = kernel.columns();
    for (std::int64_t column = lane; column < columns; column += kLanes)
        kernel.write(row, column, state);
    if (lane == 0) kernel.finish(row, state);
}

constexpr int kHeldRowThreads = kRowWarps * kWarp;

/// A lane's part of a row: runs of kAtOnce elements, held in registers.
struct HeldRow {
    std::int64_t row;
    std::int64_t columns;
    int lane;
    int lanes;
    bool wide; ///< true if memory is accessed 16 bytes at a time
    NeighboursRoom runs[kRowRuns];

    __device__ HeldRow(std::int64_t at, std::int64_t width, int place, int places, bool by_16_bytes)
        : row(at), columns(width), lane(place), lanes(places), wide(by_16_bytes) {}

    [[nodiscard]] __device__ std::int64_t column(int run) const { return (run * lanes + lane) * kAtOnce; }

    /// Calls use(run) for the lane's runs.
    template <class Use>
    __device__ void forRuns(const Use& use) const {
        BUBBLESCOPE_UNROLL
        for (int run = 0; run < kRowRuns; ++run) {
            if (column(run) < columns) use(run);
        }
    }
    template <class Kernel>
    __device__ void fetch(const Kernel& kernel, bool by_16_bytes) {
        forRuns([&](int run) { visited(kernel, FetchElements{runs[run], row * columns + column(run), by_16_bytes}); });
    }
    template <class Kernel>
    __device__ typename Kernel::Part sum(const Kernel& kernel, int pass, const typename Kernel::State& state) {
        typename Kernel::Part part = Kernel::zero(pass);
        forRuns([&](int run) {
            visited(kernel, FetchColumns{runs[run], column(run), wide});
            const Kernel local = visited(kernel, PointToRoom{runs[run], row});
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < kAtOnce; ++i)
                part = Kernel::combine(pass, part, local.term(pass, 0, i, state));
        });
        return part;
    }
    template <class Kernel>
    __device__ void write(const Kernel& kernel, const typename Kernel::State& state) {
        forRuns([&](int run) {
            visited(kernel, FetchColumns{runs[run], column(run), wide});
            const Kernel local = visited(kernel, PointToRoom{runs[run], row});
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < kAtOnce; ++i)
                local.write(0, i, state);
            visited(kernel, PutElements{runs[run], row * columns + column(run), wide});
        });
    }
};

/// Like rowKernel, with kWarps warps per row, which read the row once: see rowLanes().
template <int kWarps, class Kernel>
__global__ void __launch_bounds__(kHeldRowThreads) heldRowKernel(Kernel kernel, bool wide) {
    constexpr int kRowLanes = kWarps * kWarp;
    const auto thread = static_cast<int>(threadIdx.x);
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * (kRowWarps / kWarps);
    HeldRow held(first_row + thread / kRowLanes, kernel.columns(), thread % kRowLanes, kRowLanes, wide);
    if (held.row >= kernel.rows()) return; // true for all lanes of the row

    // Decided once instead of for each load, so that all loads are in flight together.
    if (wide) {
        held.fetch(kernel, true);
    } else {
        held.fetch(kernel, false);
    }
    typename Kernel::State state{};
    BUBBLESCOPE_UNROLL
    for (int pass = 0; pass < Kernel::kPasses; ++pass)
        kernel.total(pass, combineLanes<kWarps, Kernel>(pass, held.sum(kernel, pass, state)), state);
    held.write(kernel, state);
    if (held.lane == 0) kernel.finish(held.row, state);
}

// A block of a ColumnForm has 16 columns. This is few enough to give blocks to many processors. Even with 16-bit
// numbers, it fills the 32 bytes per row that are a cache's smallest unit.
constexpr int kStripLanes = kWarp / kColumnWarpLanes;
constexpr int kStrip = kStripLanes * kAtOnce;
constexpr int kColumnThreads = kColumnLanes * kStripLanes;

/// Adds kRows rows, kColumnLanes apart, to a lane's sums of kAtOnce columns. All loads are in flight together.
template <int kRows, class Kernel>
__device__ void addRows(const Kernel& kernel, typename Kernel::Part (&sums)[kAtOnce], std::int64_t row,
                        std::int64_t column, bool wide) {
    const std::int64_t columns = kernel.columns();
    const std::int64_t left = columns - column;
    const int count = left < kAtOnce ? static_cast<int>(left) : kAtOnce;
    NeighboursRoom rooms[kRows];
    BUBBLESCOPE_UNROLL
    for (int i = 0; i < kRows; ++i)
        visited(kernel, FetchElements{rooms[i], (row + i * kColumnLanes) * columns + column, wide, count});
    BUBBLESCOPE_UNROLL
    for (int i = 0; i < kRows; ++i) {
        const Kernel local = visited(kernel, PointToRoom{rooms[i]});
        BUBBLESCOPE_UNROLL
        for (int c = 0; c < kAtOnce; ++c)
            sums[c] = Kernel::combine(sums[c], local.part(0, c));
    }
}

template <class Kernel>
__global__ void __launch_bounds__(kColumnThreads) columnKernel(Kernel kernel, bool wide) {
    using Part = typename Kernel::Part;
    constexpr int kWarps = kColumnThreads / kWarp;
    constexpr int kRowsAtOnce = 4;
    __shared__ Part parts[kWarps][kStrip];
    const auto thread = static_cast<int>(threadIdx.x);
    const int in_strip = thread % kStripLanes * kAtOnce;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kStrip;
    const std::int64_t column = first + in_strip;
    const std::int64_t rows = column < kernel.columns() ? kernel.rows() : 0;
    Part sums[kAtOnce];
    BUBBLESCOPE_UNROLL
    for (Part& sum : sums)
        sum = Kernel::zero();
    std::int64_t row = thread / kStripLanes;
    for (; row + (kRowsAtOnce - 1) * kColumnLanes < rows; row += kRowsAtOnce * kColumnLanes)
        addRows<kRowsAtOnce>(kernel, sums, row, column, wide);
    for (; row < rows; row += kColumnLanes)
        addRows<1>(kernel, sums, row, column, wide);
    BUBBLESCOPE_UNROLL
    for (int c = 0; c < kAtOnce; ++c) {
        for (int distance = kWarp / 2; distance >= kStripLanes; distance /= 2)
            sums[c] = Kernel::combine(sums[c], fromLane(sums[c], distance));
        if (thread % kWarp < kStripLanes) parts[thread / kWarp][in_strip + c] = sums[c];
    }
    __syncthreads();
    if (thread >= kStrip || first + thread >= kernel.columns()) return;
    Part total = parts[0][thread];
    for (int warp = 1; warp < kWarps; ++warp)
        total = Kernel::combine(total, parts[warp][thread]);
    kernel.finish(first + thread, total);
}

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 1 << 16;

/// Launch errors are left for cudaGetLastError().
template <class... Parameters, class... Arguments>
void start(void (*kernel)(Parameters...), unsigned blocks, dim3 threads, cudaStream_t stream,
           const Arguments&... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = threads;
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// For one thread per element, up to the limit of the grid.
unsigned blocksFor(std::int64_t count) {
    const std::int64_t blocks = (count + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

template <class Kernel>
void launchForm(const Kernel& kernel, EachForm, cudaStream_t stream) {
    const std::int64_t count = kernel.count();
    if (count <= 0) return;
    if constexpr (kNamesArrays<Kernel>) {
        if (arraysAligned(kernel)) {
            const unsigned blocks = blocksFor((count + kAtOnce - 1) / kAtOnce);
            return start(neighboursKernel<Kernel>, blocks, kThreads, stream, kernel, count);
        }
    }
    start(eachKernel<Kernel>, blocksFor(count), kThreads, stream, kernel, count);
}

template <class Kernel>
void launchForm(const Kernel& kernel, GridForm, cudaStream_t stream) {
    const std::int64_t rows = kernel.rows();
    const std::int64_t columns = kernel.columns();
    if (rows <= 0 || columns <= 0) return;
    if constexpr (kNamesArrays<Kernel>) {
        if (columns % kAtOnce == 0 && arraysAligned(kernel)) {
            constexpr int kRows = kGridRows * kRowsOfLane;
            constexpr int kColumns = kWarp * kAtOnce;
            const std::int64_t strips = (columns + kColumns - 1) / kColumns;
            const auto blocks = static_cast<unsigned>((rows + kRows - 1) / kRows * strips);
            return start(gridNeighboursKernel<Kernel>, blocks, dim3(kWarp, kGridRows), stream, kernel, rows, columns,
                         strips);
        }
    }
    const auto blocks = static_cast<unsigned>(rows < kMaxBlocks ? rows : kMaxBlocks);
    const std::int64_t warps = (columns + kWarp - 1) / kWarp;
    const auto threads = static_cast<unsigned>(warps * kWarp < kThreads ? warps * kWarp : kThreads);
    start(gridKernel<Kernel>, blocks, threads, stream, kernel, rows, columns);
}

template <class Kernel>
void launchForm(const Kernel& kernel, TableForm, cudaStream_t stream) {
    const std::int64_t tiles = (kernel.columns() + kLanes - 1) / kLanes;
    if (kernel.entries() <= 0 || tiles <= 0) return;
    start(tableKernel<Kernel>, static_cast<unsigned>(kernel.entries() * tiles), kLanes, stream, kernel, tiles);
}

template <int kWarps, class Kernel>
void startHeldRows(const Kernel& kernel, cudaStream_t stream) {
    constexpr int kRows = kRowWarps / kWarps;
    const auto blocks = static_cast<unsigned>((kernel.rows() + kRows - 1) / kRows);
    start(heldRowKernel<kWarps, Kernel>, blocks, kHeldRowThreads, stream, kernel, arraysAligned(kernel));
}

template <class Kernel>
void launchForm(const Kernel& kernel, RowForm, cudaStream_t stream) {
    if (kernel.rows() <= 0) return;
    if constexpr (kNamesArrays<Kernel>) {
        const int lanes = rowLanes(kernel).lanes;
        if (lanes == kWarp) return startHeldRows<1>(kernel, stream);
        if (lanes == kRowWarps * kWarp) return startHeldRows<kRowWarps>(kernel, stream);
    }
    start(rowKernel<Kernel>, static_cast<unsigned>(kernel.rows()), kLanes, stream, kernel);
}

template <class Kernel>
void launchForm(const Kernel& kernel, ColumnForm, cudaStream_t stream) {
    if (kernel.columns() <= 0) return;
    const bool wide = kernel.columns() % kAtOnce == 0 && arraysAligned(kernel);
    const auto blocks = static_cast<unsigned>((kernel.columns() + kStrip - 1) / kStrip);
    start(columnKernel<Kernel>, blocks, kColumnThreads, stream, kernel, wide);
}

__device__ std::uint64_t nanoseconds() {
#ifdef __CUDACC__
    std::uint64_t time = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
#else // tests run these kernels on the host
    return cuda_shim::globalTimer();
#endif
}

__global__ void stampKernel(std::uint64_t* at) {
    *at = nanoseconds();
}

__global__ void holdKernel(const std::uint64_t* since, std::uint64_t length) {
    const std::uint64_t end = *since + length;
    while (nanoseconds() < end)
        __nanosleep(100);
}

template <class... Functions>
cudaError_t load(const Functions&... functions) {
    cudaFuncAttributes attributes;
    cudaError_t result = cudaSuccess;
    ((result = result == cudaSuccess ? cudaFuncGetAttributes(&attributes, functions) : result), ...);
    return result;
}

template <class Kernel>
cudaError_t loadForm(EachForm) {
    if constexpr (kNamesArrays<Kernel>) {
        return load(eachKernel<Kernel>, neighboursKernel<Kernel>);
    } else {
        return load(eachKernel<Kernel>);
    }
}

template <class Kernel>
cudaError_t loadForm(GridForm) {
    if constexpr (kNamesArrays<Kernel>) {
        return load(gridKernel<Kernel>, gridNeighboursKernel<Kernel>);
    } else {
        return load(gridKernel<Kernel>);
    }
}

template <class Kernel>
cudaError_t loadForm(TableForm) {
    return load(tableKernel<Kernel>);
}

template <class Kernel>
cudaError_t loadForm(RowForm) {
    if constexpr (kNamesArrays<Kernel>) {
        return load(rowKernel<Kernel>, heldRowKernel<1, Kernel>, heldRowKernel<kRowWarps, Kernel>);
    } else {
        return load(rowKernel<Kernel>);
    }
}

template <class Kernel>
cudaError_t loadForm(ColumnForm) {
    return load(columnKernel<Kernel>);
}

} // namespace device_kernels

cudaError_t loadKernels() {
    cudaError_t result = load(stampKernel, holdKernel);
#define BUBBLESCOPE_LOAD(Kernel) \
    if (result == cudaSuccess) result = loadForm<Kernel>(Kernel::Form{});
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LOAD)
#undef BUBBLESCOPE_LOAD
    return result;
}

#define BUBBLESCOPE_LAUNCH(Kernel)                                \
    void launchOnGpu(const Kernel& kernel, cudaStream_t stream) { \
        launchForm(kernel, Kernel::Form{}, stream);               \
    }
BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

void stampOnGpu(std::uint64_t* at, cudaStream_t stream) {
    start(stampKernel, 1, 1, stream, at);
}

void holdOnGpu(const std::uint64_t* since, std::uint64_t length, cudaStream_t stream) {
    start(holdKernel, 1, 1, stream, since, length);
}

} // namespace bubblescope::runtime
