/* What chance alone would bring: the binomial distribution's tail. */
#ifndef WEIR_ENGINE_MODEL_CHANCE_H
#define WEIR_ENGINE_MODEL_CHANCE_H

#include <stdint.h>

/* The probability that `least` or more of `trials` happen, each with probability p; 1 where that is no more than what
 * is to be expected (so the true value may be as low as a half there). */
double chance_at_least(uint64_t least, uint64_t trials, double p);

#endif
