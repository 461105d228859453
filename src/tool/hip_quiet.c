/**
 * @file hip_quiet.c
 * @brief Lets a stream come to rest before the program destroys it.
 */
#include "tool/hip_quiet.h"

#include <dlfcn.h>
#include <string.h>

#include "tool/tool.h"

enum { CAPTURE_MODE_RELAXED = 2 }; /* hipStreamCaptureModeRelaxed */

void rp_hip_quiet_find(struct rp_hip_quiet *quiet, void *handle)
{
    void *const symbols[] = {
        dlsym(handle, "hipStreamSynchronize"), dlsym(handle, "hipDeviceSynchronize"),
        dlsym(handle, "hipStreamIsCapturing"), dlsym(handle, "hipThreadExchangeStreamCaptureMode")};

    memset(quiet, 0, sizeof(*quiet));
    if (!symbols[0] || !symbols[1] || !symbols[2] || !symbols[3])
        return;
    memcpy(&quiet->sync_stream, &symbols[0], sizeof(quiet->sync_stream));
    memcpy(&quiet->sync_device, &symbols[1], sizeof(quiet->sync_device));
    memcpy(&quiet->is_capturing, &symbols[2], sizeof(quiet->is_capturing));
    memcpy(&quiet->exchange_capture_mode, &symbols[3], sizeof(quiet->exchange_capture_mode));
}

void rp_hip_quiet_stream(struct rp_tool *tool, void *stream)
{
    const struct rp_hip_quiet *quiet = &tool->hip.quiet;
    int mode = CAPTURE_MODE_RELAXED, capturing = 0;

    if (!quiet->sync_stream || rp_handlers_inside())
        return;
    /* In the other modes a wait for any stream spoils the captures that are going on. */
    if (quiet->exchange_capture_mode(&mode) != 0)
        return;
    if (!stream)
        quiet->sync_device();
    else if (quiet->is_capturing(stream, &capturing) == 0 && !capturing)
        quiet->sync_stream(stream);
    quiet->exchange_capture_mode(&mode);
    rp_handlers_settle(tool);
}
