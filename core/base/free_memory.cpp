#include "core/base/free_memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace bubblescope {

void returnFreeMemory() {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

} // namespace bubblescope
