#include "app/cli/backend_option.h"

#include "runtime/launch/launcher.h"
#ifdef BUBBLESCOPE_WITH_CUDA
#include "runtime/backend/cuda/cuda_backend.h"
#endif

#include <fmt/format.h>

namespace bubblescope::cli {

void BackendOption::add(Command command) {
    const std::string group = "GPU";
    command.addOption("--backend", name_, "Where ops execute: cpu, or cuda for GPUs (cpu)")
        .typeName("NAME")
        .suggests({"cpu", "cuda"})
        .group("Run");
    command
        .addOption("--gpu", gpu_,
                   "Which GPU, with --backend cuda (0; of several processes on a host each takes its own)")
        .notNegative()
        .typeName("N")
        .group(group)
        .rare();
    command
        .addOption("--precision", precision_,
                   "How a GPU stores activations and the weights that it multiplies: bf16 or fp32 (bf16); "
                   "the CPU computes in fp32")
        .oneOf({"bf16", "fp32"})
        .typeName("NAME")
        .group(group)
        .rare();
    command.addFlag("--cuda-graphs", graphs_, "With --backend cuda, launch the kernels of an op as one CUDA graph")
        .group(group)
        .rare();
    command
        .addOption("--gpu-partition", partition_,
                   "Whether ranks that share a GPU get equal parts of its processors: auto where the driver can, or "
                   "off (auto)")
        .oneOf({"auto", "off"})
        .typeName("NAME")
        .group(group)
        .rare();
    command
        .addFlag("--no-kernels", no_kernels_,
                 "With --backend cuda, record ops alone, by events, and not the kernels that CUPTI reports")
        .group(group)
        .rare();
}

std::shared_ptr<profiler::KernelRecorder> BackendOption::recordKernels(std::string& reason) const {
    if (isCpu() || no_kernels_) return nullptr;
    return profiler::KernelRecorder::start(reason);
}

Result<std::shared_ptr<runtime::Backend>> BackendOption::open([[maybe_unused]] bool own_process) const {
    if (graphs_ && name_ != "cuda")
        return usageError("--cuda-graphs needs a GPU", "add --backend cuda, or leave it out");
    if (name_ == "cpu") return std::shared_ptr<runtime::Backend>();
#ifdef BUBBLESCOPE_WITH_CUDA
    if (name_ == "cuda") {
        const int gpu = gpu_.value_or(own_process ? runtime::gpuOfProcess(rankOnHost().value_or(0)) : 0);
        const auto storage = precision_ == "fp32" ? runtime::Storage::Float : runtime::Storage::Bf16;
        return runtime::openCudaBackend(gpu, storage, graphs_);
    }
    return usageError(fmt::format("there is no backend '{}'", name_), "use --backend cpu or cuda");
#else
    return usageError(fmt::format("this build has no backend '{}'", name_),
                      "use --backend cpu; cuda is there where the CUDA toolkit was found");
#endif
}

} // namespace bubblescope::cli
