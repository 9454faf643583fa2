#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// A shared library that is loaded on first use and never unloaded, so that programs start on machines without it.
class LoadedLibrary {
public:
    /// Searches the path in the environment variable `variable`, the loader's paths, and `folder`, unless it is empty.
    /// If the library is not found, throws an exception that names `title`, the common name of the library.
    LoadedLibrary(const char* title, const std::string& file, const char* variable, const std::string& folder)
        : title_(title) {
        std::vector<std::string> places;
        if (const char* const chosen = std::getenv(variable)) places.emplace_back(chosen);
        places.push_back(file);
        if (!folder.empty()) places.push_back(folder + '/' + file);
        for (const std::string& place : places) {
            // RTLD_LOCAL, because other code in this process may use another version.
            handle_ = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (handle_ != nullptr) return;
        }
        throw std::runtime_error(title_ + " was not found: add the folder of " + file +
                                 " to LD_LIBRARY_PATH, or put its path in " + variable);
    }

    template <class Function>
    void find(const char* name, Function& function) const {
        void* const symbol = ::dlsym(handle_, name);
        if (symbol == nullptr) throw std::runtime_error("this " + title_ + " has no " + name);
        function = reinterpret_cast<Function>(symbol);
    }

private:
    std::string title_;
    void* handle_ = nullptr;
};

} // namespace bubblescope::runtime
