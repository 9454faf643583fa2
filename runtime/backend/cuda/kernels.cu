#include "runtime/backend/cuda/kernels.h"

#include "runtime/backend/cuda/unroll.h"

#include <type_traits>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;

template <class Kernel>
__global__ void eachKernel(Kernel kernel, std::int64_t count) {
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
        kernel(i);
}

/// Whether a kernel names its arrays: see EachForm.
struct ArraysAligned {
    bool all = true;

    template <class T>
    BUBBLESCOPE_PORTABLE void read(T* array) {
        all = all && reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void write(T* array) {
        read(array);
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void change(T* array) {
        read(array);
    }
};
template <class Kernel, class = void>
constexpr bool kNamesArrays = false;
template <class Kernel>
constexpr bool kNamesArrays<Kernel, decltype(std::declval<Kernel&>().visitArrays(std::declval<ArraysAligned&>()))> =
    true;

/// kAtOnce numbers of an array, moved 16 bytes at a time.
template <class T>
struct alignas(16) Neighbours {
    T values[kAtOnce];
};

/// Room for neighbours of several arrays, which the compiler keeps in registers.
struct NeighboursRoom {
    static constexpr int kArrays = 5;
    alignas(16) unsigned char bytes[kArrays][sizeof(Neighbours<float>)];

    template <class T>
    __device__ Neighbours<std::remove_const_t<T>>& of(int array) {
        return *reinterpret_cast<Neighbours<std::remove_const_t<T>>*>(bytes[array]);
    }
};

/// Points a kernel's arrays to their neighbours from `first` on, in registers.
struct TakeNeighbours {
    NeighboursRoom& room;
    std::int64_t first;
    int used = 0;

    template <class T>
    __device__ void write(T*& array) {
        array = room.of<T>(used++).values;
    }
    template <class T>
    __device__ void read(T*& array) {
        room.of<T>(used) = *reinterpret_cast<const Neighbours<std::remove_const_t<T>>*>(array + first);
        write(array);
    }
    template <class T>
    __device__ void change(T*& array) {
        read(array);
    }
};

/// Writes back what a kernel has changed.
struct PutNeighbours {
    NeighboursRoom& room;
    std::int64_t first;
    int used = 0;

    template <class T>
    __device__ void read(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void write(T*& array) {
        *reinterpret_cast<Neighbours<T>*>(array + first) = room.of<T>(used++);
    }
    template <class T>
    __device__ void change(T*& array) {
        write(array);
    }
};

/// As eachKernel, with kAtOnce elements for each thread.
template <class Kernel>
__global__ void neighboursKernel(Kernel kernel, std::int64_t count) {
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kAtOnce;
    for (std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kAtOnce;
         first < count; first += stride) {
        if (first + kAtOnce <= count) {
            NeighboursRoom room;
            Kernel local = kernel;
            TakeNeighbours take{room, first};
            local.visitArrays(take);
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < kAtOnce; ++i)
                local(i);
            Kernel target = kernel;
            PutNeighbours put{room, first};
            target.visitArrays(put);
        } else {
            for (std::int64_t i = first; i < count; ++i)
                kernel(i);
        }
    }
}

/// A block has whole rows: no thread divides.
template <class Kernel>
__global__ void gridKernel(Kernel kernel, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        for (std::int64_t column = threadIdx.x; column < columns; column += blockDim.x)
            kernel(row, column);
    }
}

/// A block has an entry and some of its columns, one for each thread. It looks at all rows once, kLanes at a time, and
/// lists those of the entry in their order.
template <class Kernel>
__global__ void __launch_bounds__(kLanes) tableKernel(Kernel kernel, std::int64_t tiles) {
    __shared__ int listed[kLanes];
    __shared__ int counts[kLanes / kWarp];
    const int lane = static_cast<int>(threadIdx.x);
    const unsigned below = (1U << (lane % kWarp)) - 1; // lanes of the warp before this one
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
    float& to = kernel.sum(entry, column);
    to = kernel.accumulate ? to + sum : sum;
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

/// A butterfly reduction in each warp, then over the warps.
template <class Kernel>
__device__ typename Kernel::Part combineLanes(int pass, typename Kernel::Part part) {
    using Part = typename Kernel::Part;
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
        part = Kernel::combine(pass, part, fromLane(part, distance));
    __shared__ Part warps[kLanes / kWarp];
    const int lane = static_cast<int>(threadIdx.x);
    if (lane % kWarp == 0) warps[lane / kWarp] = part;
    __syncthreads();
    Part total = warps[0];
    for (int warp = 1; warp < kLanes / kWarp; ++warp)
        total = Kernel::combine(pass, total, warps[warp]);
    __syncthreads(); // the next pass writes to the same shared memory
    return total;
}

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
        kernel.total(pass, combineLanes<Kernel>(pass, part), state);
    }
    const std::int64_t columns = kernel.columns();
    for (std::int64_t column = lane; column < columns; column += kLanes)
        kernel.write(row, column, state);
    if (lane == 0) kernel.finish(row, state);
}

template <class Kernel>
__global__ void __launch_bounds__(kWarp* kColumnLanes) columnKernel(Kernel kernel) {
    using Part = typename Kernel::Part;
    __shared__ Part parts[kColumnLanes][kWarp];
    const auto column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
    const bool inside = column < kernel.columns();
    Part sum = Kernel::zero();
    if (inside) {
        for (std::int64_t row = threadIdx.y; row < kernel.rows(); row += kColumnLanes)
            sum = Kernel::combine(sum, kernel.part(row, column));
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || !inside) return;
    Part total = Kernel::zero();
    for (int lane = 0; lane < kColumnLanes; ++lane)
        total = Kernel::combine(total, parts[lane][threadIdx.x]);
    kernel.finish(column, total);
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
        Kernel named = kernel;
        ArraysAligned aligned;
        named.visitArrays(aligned);
        if (aligned.all) {
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

template <class Kernel>
void launchForm(const Kernel& kernel, RowForm, cudaStream_t stream) {
    if (kernel.rows() <= 0) return;
    start(rowKernel<Kernel>, static_cast<unsigned>(kernel.rows()), kLanes, stream, kernel);
}

template <class Kernel>
void launchForm(const Kernel& kernel, ColumnForm, cudaStream_t stream) {
    if (kernel.columns() <= 0) return;
    const std::int64_t blocks = (kernel.columns() + kWarp - 1) / kWarp;
    start(columnKernel<Kernel>, static_cast<unsigned>(blocks), dim3(kWarp, kColumnLanes), stream, kernel);
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

template <class Kernel>
cudaError_t loadForm(EachForm) {
    cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, eachKernel<Kernel>);
    if constexpr (kNamesArrays<Kernel>) {
        if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, neighboursKernel<Kernel>);
    }
    return result;
}

template <class Kernel>
cudaError_t loadForm(GridForm) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, gridKernel<Kernel>);
}

template <class Kernel>
cudaError_t loadForm(TableForm) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, tableKernel<Kernel>);
}

template <class Kernel>
cudaError_t loadForm(RowForm) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, rowKernel<Kernel>);
}

template <class Kernel>
cudaError_t loadForm(ColumnForm) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, columnKernel<Kernel>);
}

} // namespace

cudaError_t loadKernels() {
    cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, stampKernel);
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, holdKernel);
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
