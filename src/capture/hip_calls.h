/**
 * @file hip_calls.h
 * @brief What the rows of hip_calls.def mean.
 */
#ifndef RP_CAPTURE_HIP_CALLS_H
#define RP_CAPTURE_HIP_CALLS_H

/** What a call does to the order of work. */
enum rp_hip_kind {
    RP_HIP_OTHER, /**< waits for nothing that is known; may start work */
    RP_HIP_STREAM_CREATE,
    RP_HIP_STREAM_DESTROY,
    RP_HIP_EVENT_RECORD,
    RP_HIP_STREAM_WAIT, /**< the stream goes on when the event has been reached */
    RP_HIP_EVENT_SYNC,  /**< returns when the event's last record has been reached */
    RP_HIP_STREAM_SYNC, /**< returns when the stream is empty */
    RP_HIP_DEVICE_SYNC, /**< returns when all streams are empty */
    RP_HIP_OWN_SYNC,    /**< returns when what it started is done */
    RP_HIP_QUERY,       /**< asks without waiting; programs do so in loops */
};

/** How an argument is printed. */
enum rp_hip_form {
    RP_HIP_PTR,
    RP_HIP_U64,
    RP_HIP_I64,
    RP_HIP_U32,
    RP_HIP_I32,
    RP_HIP_U16,
    RP_HIP_U8,
    RP_HIP_DIM3,      /**< three uint32_t */
    RP_HIP_COPY_KIND, /**< hipMemcpyKind */
};

#endif
