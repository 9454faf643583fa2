#pragma once

#include "tests/support/cupti_stand_in.h"
#include "tests/support/emulated_device.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace bubblescope::test {

/// Reports the activity of an emulated device to the stand-in for CUPTI, which a program then loads as CUPTI.
class CuptiObserver final : public runtime::test::DeviceObserver {
public:
    /// `library` is the file of the stand-in.
    explicit CuptiObserver(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) throw std::runtime_error(::dlerror());
        ::setenv("BUBBLESCOPE_CUPTI", library.c_str(), 1);
        get(deliver_, "standInDeliver");
        get(call_, "standInCall");
        get(ran_, "standInRan");
        get(idle_, "standInIdle");
    }

    void deliver(const cupti::Delivery& how) const { deliver_(&how); }

    std::uint32_t called(Kind kind, bool graph) override {
        constexpr std::uint32_t kGetLastError = 10;
        constexpr std::uint32_t kLaunchKernel = 211;
        constexpr std::uint32_t kMemcpyAsync = 41;
        constexpr std::uint32_t kMemsetAsync = 51;
        constexpr std::uint32_t kGraphLaunch = 311;
        (void)call_(kGetLastError); // as programs do after each launch
        if (graph) return call_(kGraphLaunch);
        return call_(kind == Kind::Kernel ? kLaunchKernel : kind == Kind::Copy ? kMemcpyAsync : kMemsetAsync);
    }

    void ran(const Work& work) override {
        constexpr std::uint32_t kMemcpy = 1;
        constexpr std::uint32_t kMemset = 2;
        constexpr std::uint32_t kConcurrentKernel = 10;
        cupti::Ran ran;
        ran.kind = work.kind == Kind::Kernel ? kConcurrentKernel : work.kind == Kind::Copy ? kMemcpy : kMemset;
        ran.name = work.name;
        ran.bytes = static_cast<std::uint64_t>(work.bytes);
        ran.correlation = work.call;
        ran.graph = work.in_graph ? 1 : 0;
        ran.stream = work.stream;
        ran.begin = work.begin.count();
        ran.end = work.end.count();
        ran_(&ran);
    }

    void idleAt(TimeNs now) override { idle_(now.count()); }

    /// Calls a function of the stand-in as another tool in the process would.
    template <class Function>
    [[nodiscard]] Function function(const char* name) const {
        Function found = nullptr;
        get(found, name);
        return found;
    }

private:
    template <class Function>
    void get(Function& function, const char* name) const {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        if (function == nullptr) throw std::runtime_error(name);
    }

    void* library_;
    cupti::DeliverFunction deliver_ = nullptr;
    cupti::CallFunction call_ = nullptr;
    cupti::RanFunction ran_ = nullptr;
    cupti::IdleFunction idle_ = nullptr;
};

} // namespace bubblescope::test
