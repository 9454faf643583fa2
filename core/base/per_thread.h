#pragma once

#include <pthread.h>

#include <memory>
#include <new>
#include <optional>

namespace bubblescope {

/// The calling thread's object of this type, created on first use; `Purpose` distinguishes several objects of one type.
/// If memory runs out, this throws std::bad_alloc, whereas for a thread_local object with a destructor, glibc
/// terminates the process. The main thread's object lives until the process exits.
template <class Object, class Purpose = Object>
[[nodiscard]] Object& perThread() {
    struct Kept {
        Object object;
        Kept** place = nullptr; ///< the thread's pointer to this object
    };
    static const std::optional<pthread_key_t> key = [] {
        pthread_key_t made = 0;
        const auto destroy = [](void* kept) {
            const std::unique_ptr<Kept> ended(static_cast<Kept*>(kept));
            *ended->place = nullptr;
        };
        return ::pthread_key_create(&made, destroy) == 0 ? std::optional(made) : std::nullopt;
    }();
    thread_local Kept* mine = nullptr;
    if (mine == nullptr) {
        auto made = std::make_unique<Kept>();
        made->place = &mine;
        if (!key || ::pthread_setspecific(*key, made.get()) != 0) throw std::bad_alloc{};
        mine = made.release();
    }
    return mine->object;
}

} // namespace bubblescope
