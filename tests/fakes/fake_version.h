/* Stands in for engine/model/model.c where a test needs versions but no model files: one float in, one float out. */
#ifndef WEIR_TESTS_FAKES_FAKE_VERSION_H
#define WEIR_TESTS_FAKES_FAKE_VERSION_H

struct fake_backend;
struct version;

/* On device `number`, 0 or 1, all fake versions run on this one. */
void fake_version_device(int number, struct fake_backend *fake);

/* One of three versions: 0 and 1 take rows of strangers together; 2 has an input that rows share, so its jobs run
 * alone. Their tables know nothing of costs at first. */
struct version *fake_version(int index);

#endif
