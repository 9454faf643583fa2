#pragma once

/// Place this before a loop in a kernel whose arrays must stay in registers.
#ifdef __CUDACC__
#define BUBBLESCOPE_UNROLL _Pragma("unroll")
#else // tests run kernels on the host
#define BUBBLESCOPE_UNROLL
#endif
