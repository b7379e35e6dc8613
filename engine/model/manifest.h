/* The manifest of a version: which files it consists of, so that a half-copied one is not taken for whole. It lies in
 * the version's directory as manifest.sha256:
 *
 *     # weir manifest 1
 *     # size BYTES PATH            for each file
 *     HEX  PATH                    for each file; the lines that `sha256sum -c` reads
 *
 * One without the first line, as sha256sum writes it, is taken too; then only the hashes tell whether a file is whole.
 */
#ifndef WEIR_ENGINE_MODEL_MANIFEST_H
#define WEIR_ENGINE_MODEL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/model/file_hash.h"
#include "engine/status.h"

/* Compares the files' sizes alone. *present: there is a manifest; without one it is OK. Errors: NOT_READY ("incomplete:
 * samples/x.npy has 12 of 345 bytes", "... is missing", a manifest that ends early), INVALID (a faulty line, a path
 * that leads out of the directory), UNSUPPORTED (a later form), NOT_FOUND (no such directory), TOO_LARGE, IO,
 * NO_MEMORY. thread: any that may wait for a disk. */
enum weir_status manifest_sizes(const char *directory, bool *present, struct weir_error *err) WEIR_CHECKED;

/* Compares sizes and SHA-256 of all files. Errors: those of manifest_sizes, NOT_READY (a file has another hash),
 * INVALID (a file that the manifest does not name; hidden ones and those whose names begin with README need not be
 * named), CANCELLED. pace may be NULL. thread: loader. */
enum weir_status manifest_verify(const char *directory, const struct file_hash_pace *pace, bool *present,
                                 struct weir_error *err) WEIR_CHECKED;

/* Writes the manifest of what lies in the directory, hidden files and READMEs left out: under another name first, so
 * that nobody sees half of it, and kept through a loss of power. Errors: INVALID (no files; a name that cannot stand in
 * a line; a link that leads out of the directory), NOT_FOUND, TOO_LARGE, IO, NO_MEMORY, CANCELLED. */
enum weir_status manifest_seal(const char *directory, const struct file_hash_pace *pace,
                               struct weir_error *err) WEIR_CHECKED;

#endif
