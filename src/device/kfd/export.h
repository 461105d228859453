/**
 * @file export.h
 * @brief Mark of the functions that the injected library shows to the program.
 */
#ifndef RP_DEVICE_KFD_EXPORT_H
#define RP_DEVICE_KFD_EXPORT_H

#define RP_EXPORT __attribute__((visibility("default")))

#endif
