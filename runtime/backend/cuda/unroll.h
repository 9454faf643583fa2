#pragma once

/// Put it before a loop of a kernel whose arrays must stay in registers.
#ifdef __CUDACC__
#define BUBBLESCOPE_UNROLL _Pragma("unroll")
#else // tests run kernels on the host
#define BUBBLESCOPE_UNROLL
#endif
