#include "profiler/job/environment.h"

#include <fmt/format.h>

#include <system_error>

namespace bubblescope::profiler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libbubblescope_inject.so";
constexpr std::string_view kLibraryVariable = "BUBBLESCOPE_INJECT_LIBRARY";

} // namespace

Result<fs::path> findInjectLibrary(const ReadVariable& variable) {
    std::vector<fs::path> places;
    if (const auto told = variable(kLibraryVariable); told && !told->empty()) {
        places.emplace_back(*told);
    } else {
        std::error_code ignored;
        const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
        for (const char* from : {BUBBLESCOPE_LIBRARY_FROM_PROGRAM, ".", BUBBLESCOPE_LIBRARY_FROM_BUILT_PROGRAM})
            places.push_back((program / from / kLibrary).lexically_normal());
    }
    std::string looked_at;
    for (const fs::path& place : places) {
        std::error_code ignored;
        if (fs::is_regular_file(place, ignored)) return fs::absolute(place, ignored);
        looked_at += (looked_at.empty() ? "" : ", ") + place.string();
    }
    return inputError(looked_at, "the library that jobs load is not there",
                      fmt::format("install it with the program, or name it with {}", kLibraryVariable));
}

std::vector<std::pair<std::string, std::string>> captureEnvironment(const fs::path& library,
                                                                    const CaptureOptions& options) {
    std::error_code ignored;
    const fs::path dir = fs::absolute(options.dir, ignored).lexically_normal();
    std::vector<std::pair<std::string, std::string>> variables{{std::string(kCaptureDirVariable), dir.string()}};
    if (std::string text = captureOptionsText(options); !text.empty())
        variables.emplace_back(kCaptureVariable, std::move(text));
    if (options.cuda) variables.emplace_back("CUDA_INJECTION64_PATH", library.string());
    if (options.nvtx) variables.emplace_back("NVTX_INJECTION64_PATH", library.string());
    if (options.nccl) variables.emplace_back("NCCL_PROFILER_PLUGIN", library.string());
    return variables;
}

} // namespace bubblescope::profiler
