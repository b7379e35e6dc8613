/* Which known name was a misspelt one meant to be? */
#ifndef WEIR_CONFIG_NEAREST_H
#define WEIR_CONFIG_NEAREST_H

/* Returns the index of the nearest name, or of the first that begins with what was written; -1: none is near. Capitals
 * count as small letters and '-' as '_', which the names themselves are written with. */
int nearest_find(const char *written, const char *const *names, int count);

#endif
