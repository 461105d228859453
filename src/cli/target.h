/**
 * @file target.h
 * @brief Does the program have code for the GPU that it is to run on?
 */
#ifndef RP_CLI_TARGET_H
#define RP_CLI_TARGET_H

#include "collect/environment.h"

/** HIP 7.2 crashes at the launch of a kernel that it has no code for: says why before. Code for a
 *  GPU with XNACK only, or without, is none for the other. Of the program's libraries the software
 *  device says so when a kernel of theirs is asked for (device/kfd/fat_binaries.c). */
void rp_cli_warn_about_target(const char *executable, enum rp_device device);

#endif
