#include "kernels/ref/ref_dense.h"

void ref_dense_run(const struct ref_dense_layer *layer, const float *x, float *y, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        for (size_t col = 0; col < layer->out; col++) {
            double sum = layer->bias ? layer->bias[col] : 0.0;
            for (size_t k = 0; k < layer->in; k++)
                sum += (double)x[row * layer->in + k] * layer->weights[k * layer->out + col];
            y[row * layer->out + col] = (float)sum;
        }
}
