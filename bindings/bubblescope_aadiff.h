/* Checks in the bubbles of anybody's pipeline: the C interface.
 *
 * A framework that runs a pipeline tells what its rank computes, and asks in its bubbles what to compute again. Digests
 * of both executions come here; verdicts go back, and ops, checks and digests into a trace file that `bubblescope
 * analyze` and `bubblescope aadiff compare` read.
 *
 * Use, on every rank:
 *
 *     bubblescope_aadiff_open(&config, &session);
 *     for each step:
 *         bubblescope_aadiff_begin_step(session, step);
 *         for each op:
 *             in the bubble before it, again and again, while bubblescope_aadiff_ask(session, 0, &task) == 1:
 *                 compute the task's layer again on its inputs and pass the digest of what comes out to
 *                 bubblescope_aadiff_checked(); or bubblescope_aadiff_given_up() where the step would have to wait
 *             compute it; pass the digest of each layer's output to bubblescope_aadiff_computed(), at least where
 *                 bubblescope_aadiff_wanted() says 1, and keep the layer's inputs there
 *             bubblescope_aadiff_op(session, &op, start, end);
 *         the bubble behind the last op, as above
 *         bubblescope_aadiff_end_step(session);
 *     bubblescope_aadiff_close(session);
 *
 * Send an op's results before asking: what is queued before a send delays it.
 *
 * All functions may be called by any thread; calls for one session wait for each other, and a session must not be used
 * while or after it is closed. None throws, none ends the process. Texts are UTF-8. Times are nanoseconds of
 * CLOCK_MONOTONIC, as bubblescope_aadiff_now() gives them.
 *
 * Functions that return int give BUBBLESCOPE_AADIFF_ERROR (-1) where something went wrong; then
 * bubblescope_aadiff_error() says what. The struct's first member is its size, so that later versions may add members:
 * what an older caller does not give counts as 0.
 */
#ifndef BUBBLESCOPE_AADIFF_H
#define BUBBLESCOPE_AADIFF_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BUBBLESCOPE_AADIFF_API __attribute__((visibility("default")))
#else
#define BUBBLESCOPE_AADIFF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library of another one has another interface. */
#define BUBBLESCOPE_AADIFF_VERSION 1

enum {
    BUBBLESCOPE_AADIFF_ERROR = -1,
    /* of bubblescope_aadiff_checked() */
    BUBBLESCOPE_AADIFF_EQUAL = 0,
    BUBBLESCOPE_AADIFF_MISMATCH = 1
};

/* What repeating a mismatch told. */
enum {
    BUBBLESCOPE_AADIFF_OPEN = 0,      /* not known */
    BUBBLESCOPE_AADIFF_TRANSIENT = 1, /* repeated on this rank, executions agree */
    BUBBLESCOPE_AADIFF_DEVICE = 2,    /* this rank departs again, another one does not: suspect hardware */
    BUBBLESCOPE_AADIFF_EVERYWHERE = 3 /* other ranks depart from themselves too: the code is not deterministic */
};

/* What elements of a tensor are. */
enum {
    BUBBLESCOPE_AADIFF_BITS8 = 1, /* compared as bits, without a distance in ulp */
    BUBBLESCOPE_AADIFF_BITS16 = 2,
    BUBBLESCOPE_AADIFF_BITS32 = 4,
    BUBBLESCOPE_AADIFF_BITS64 = 8,
    BUBBLESCOPE_AADIFF_FLOAT16 = 16,
    BUBBLESCOPE_AADIFF_BFLOAT16 = 17,
    BUBBLESCOPE_AADIFF_FLOAT32 = 32,
    BUBBLESCOPE_AADIFF_FLOAT64 = 64
};

typedef struct bubblescope_aadiff bubblescope_aadiff; /* a session: what one rank's process has open */

typedef struct {
    uint32_t size;        /* sizeof(bubblescope_aadiff_config) */
    int32_t rank;         /* in its pipeline */
    int32_t replica;      /* of dp */
    int32_t tensor_rank;  /* of tp */
    int32_t dp;           /* replicas of the pipeline; 0 counts as 1, here and below */
    int32_t tp;           /* ranks that share each stage */
    const char* schedule; /* as `bubblescope schedules` lists them: "1f1b" */
    const char* flavor;   /* NULL = the first */
    int32_t pp;
    int32_t microbatches;
    int32_t vpp;              /* chunks of a rank */
    int32_t layers_per_stage; /* parts of a stage that can be computed again one by one */
    int64_t forward_ns;       /* of one op; 0 = taken from the first steps, during which nothing is asked for */
    int64_t backward_ns;      /* whole: input and weight gradient */
    int64_t input_grad_ns;    /* 0 = half of it */
    int64_t weight_grad_ns;
    double margin;         /* share by which a check may take longer and still delay nobody; 0 counts as 0.1 */
    int64_t latency_ns;    /* from an answer to the first work */
    const char* directory; /* for the trace, made where missing; NULL = no trace */
    const char* device;    /* what names the hardware across restarts: a GPU's UUID; NULL = unknown */
} bubblescope_aadiff_config;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_op_id) */
    char kind;     /* F forward, B whole backward, I its input half, W its weight half, O optimizer */
    int32_t microbatch;
    int32_t chunk;
    int32_t sequence; /* slice of the sequence, where micro-batches are split along it */
} bubblescope_aadiff_op_id;

typedef struct {
    uint32_t size;               /* sizeof(bubblescope_aadiff_task), set by the caller */
    bubblescope_aadiff_op_id op; /* that ran in this step and is to run again */
    int32_t layer;               /* of its stage, from its input: 0 … layers_per_stage - 1 */
    int64_t cost_ns;             /* expected */
    int64_t free_ns;             /* how long it may take from now on */
} bubblescope_aadiff_task;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_counts), set by the caller */
    int64_t planned;
    int64_t equal; /* tensors: a check may compare several */
    int64_t mismatched;
    int64_t aborted;
    int64_t skipped;
    int32_t units;         /* kinds of ops of layers that this rank has */
    int32_t units_covered; /* of them, checked at least once */
} bubblescope_aadiff_counts;

/* Of the library. */
BUBBLESCOPE_AADIFF_API uint32_t bubblescope_aadiff_version(void);
/* What went wrong in the calling thread's last call that failed; valid until its next one. Never NULL. */
BUBBLESCOPE_AADIFF_API const char* bubblescope_aadiff_error(void);
BUBBLESCOPE_AADIFF_API int64_t bubblescope_aadiff_now(void);

/* The digest of a buffer in the host's memory. Those of other memory are made by whoever can read it: the sum over the
 * buffer's 64-bit words of term(index, word), in any order, then finish(). core/aadiff/digest.h defines them. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest(const void* data, size_t bytes);
/* Of a part that begins with word number `first_word`; parts but the last must be a multiple of 8 bytes long. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_sum(const void* data, size_t bytes, uint64_t first_word);
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_finish(uint64_t sum, uint64_t bytes);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_open(const bubblescope_aadiff_config* config,
                                                   bubblescope_aadiff** session);
/* Writes what is left; NULL is allowed. */
BUBBLESCOPE_AADIFF_API void bubblescope_aadiff_close(bubblescope_aadiff* session);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_begin_step(bubblescope_aadiff* session, int32_t step);
/* What was planned and not asked for counts as skipped. Writes the step's records. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_end_step(bubblescope_aadiff* session);

/* An op that ran. Where a rank leaves its schedule's order, nothing more is asked for in the step. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_op(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                 int64_t start_ns, int64_t end_ns);
/* 1 where a check of the layer is planned in this step: its inputs and first digest will be needed. Else 0. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_wanted(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                     int32_t layer);
/* The digest of what a layer computed the first time: "output", "input gradient", "weight gradient", "weights" of an
 * optimizer (its `layer` counted the same way). Goes into the trace. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_computed(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                       int32_t layer, const char* tensor, uint64_t digest);

/* What to compute again now: 1 and a task, or 0 where nothing fits. The bubble is the one before the op that is due by
 * the schedule; how long it lasts follows from the plan and the last steps, or is `free_ns` where that is above 0. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_ask(bubblescope_aadiff* session, int64_t free_ns,
                                                  bubblescope_aadiff_task* task);
/* The digest that computing it again gave, of each tensor that the first execution told. EQUAL, MISMATCH or ERROR. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_checked(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                      const char* tensor, uint64_t digest, int64_t start_ns,
                                                      int64_t end_ns);
/* It was begun, and given up since the step was waiting. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_given_up(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                       int64_t start_ns, int64_t end_ns);

/* Where the two executions of the latest mismatch differ: their tensors in the host's memory. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_difference(bubblescope_aadiff* session, const void* first,
                                                         const void* second, int64_t elements, int32_t element_type);
/* The latest mismatch was repeated on the same inputs: digests of `here_count` executions on this rank (at least 2) and
 * of `there_count` on another one (0 where there is none, else at least 2). Returns the verdict, which goes into the
 * trace. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_repeated(bubblescope_aadiff* session, const uint64_t* here,
                                                       size_t here_count, const uint64_t* there, size_t there_count);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_count(bubblescope_aadiff* session, bubblescope_aadiff_counts* counts);

#ifdef __cplusplus
}
#endif

#endif
