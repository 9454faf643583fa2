#pragma once

#include "profiler/nvtx/abi.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>

/// A replacement for a program's copy of NVTX, for builds without NVTX's headers: loads the tool in the environment
/// variable and calls the functions in its tables, as far as the job of the tests uses them.
namespace nvtx_client {

namespace abi = bubblescope::profiler::nvtx::abi;

inline std::array<abi::Function, 32> functions{};
inline std::array<abi::Function*, 32> table{};

inline int moduleTable(std::int32_t module, abi::FunctionTable* out, unsigned* size) {
    if (module != abi::kModuleCore) return 0;
    *out = table.data();
    *size = 16;
    return 1;
}
inline const void* exportTable(std::uint32_t id) {
    static const abi::Callbacks callbacks{sizeof(abi::Callbacks), moduleTable};
    return id == abi::kTableOfCallbacks ? &callbacks : nullptr;
}
inline void load() {
    for (std::size_t i = 1; i < table.size(); ++i)
        table[i] = &functions[i];
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    void* const library = path == nullptr ? nullptr : ::dlopen(path, RTLD_LAZY);
    if (library == nullptr) return;
    using Initialize = int (*)(abi::GetExportTable);
    const auto initialize = reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2"));
    if (initialize == nullptr || initialize(exportTable) == 0) {
        functions.fill(nullptr);
        ::dlclose(library);
    }
}
inline abi::Function function(abi::Core id) {
    static const bool loaded = (load(), true);
    static_cast<void>(loaded);
    return functions[static_cast<std::size_t>(id)];
}
inline void rangePush(const char* name) {
    if (const auto push = function(abi::Core::RangePushA)) reinterpret_cast<int (*)(const char*)>(push)(name);
}
inline void rangePop() {
    if (const auto pop = function(abi::Core::RangePop)) reinterpret_cast<int (*)()>(pop)();
}

} // namespace nvtx_client
