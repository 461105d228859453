/**
 * @file settings_file.h
 * @brief The settings of a model server in a JSON file that only its owner can read.
 */
#ifndef RP_OPTIMIZE_LLM_SETTINGS_FILE_H
#define RP_OPTIMIZE_LLM_SETTINGS_FILE_H

struct rp_err;
struct rp_llm_settings;

/**
 * Puts what the file says over the settings. @return 0; RP_USAGE when others could read it (mode
 * other than 0600 or 0400, another owner) or it does not exist, RP_BAD_INPUT when it is not such a
 * file. No message holds anything out of the file but the names of its members.
 */
int rp_llm_settings_file(const char *path, struct rp_llm_settings *settings, struct rp_err *err);

#endif
