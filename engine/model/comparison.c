#include "engine/model/comparison.h"

#include <math.h>

#include "engine/tensor_element.h"

/* Two choices are equal but for rounding when they are no further apart than this, relative to the largest of the row:
 * a few units in the last place, for float32 a few dozen (sums of many terms). */
static double rounding(enum tensor_dtype dtype) {
    switch (dtype) {
    case TENSOR_F64:
        return 1e-12;
    case TENSOR_F16:
        return 0x1p-9;
    case TENSOR_BF16:
        return 0x1p-6;
    default:
        return 1e-5;
    }
}

/* One row of one output, of both versions. */
struct row {
    const unsigned char *stable, *candidate;
    enum tensor_dtype dtype;
    size_t elements;
    size_t group; /* elements of the last dimension */
};

static bool same_kind(double a, double b) {
    return (isnan(a) && isnan(b)) || (isinf(a) && a == b);
}

static void add_floats(struct comparison_tally *tally, const struct row *row) {
    double largest_stable = 0, largest_candidate = 0, worst = 0;
    for (size_t i = 0; i < row->elements; i++) {
        double s = tensor_float_at(row->dtype, row->stable, i), c = tensor_float_at(row->dtype, row->candidate, i);
        tally->elements++;
        if (!isfinite(s) || !isfinite(c)) {
            bool same = same_kind(s, c);
            tally->unequal += !same;
            tally->new_non_finite += !same && isfinite(s);
            tally->non_finite += !same && !isfinite(s);
            continue;
        }
        double error = fabs(s - c);
        tally->unequal += s != c;
        tally->sum_error += error;
        worst = fmax(worst, error);
        largest_stable = fmax(largest_stable, fabs(s));
        largest_candidate = fmax(largest_candidate, fabs(c));
    }
    tally->max_error = fmax(tally->max_error, worst);
    if (worst > 0) /* a row of zeros has no magnitude: the candidate's then, so that the error counts as all of it */
        tally->max_relative =
            fmax(tally->max_relative, worst / (largest_stable > 0 ? largest_stable : largest_candidate));
}

/* Counts whether both choose the same of group elements beginning with element `first`. What stable cannot choose from
 * is not counted. */
static void add_argmax(struct comparison_tally *tally, const struct row *row, size_t first) {
    size_t s_best = first, c_best = first;
    double s_top = -INFINITY, c_top = -INFINITY, largest = 0;
    bool is_broken = false;
    for (size_t i = first; i < first + row->group; i++) {
        double s = tensor_float_at(row->dtype, row->stable, i), c = tensor_float_at(row->dtype, row->candidate, i);
        if (!isfinite(s))
            return;
        is_broken |= !isfinite(c);
        largest = fmax(largest, fabs(s));
        if (s > s_top) {
            s_top = s;
            s_best = i;
        }
        if (c > c_top) {
            c_top = c;
            c_best = i;
        }
    }
    tally->decisions++;
    if (is_broken)
        return;
    double slack = rounding(row->dtype) * largest;
    double s_other = tensor_float_at(row->dtype, row->stable, c_best);
    double c_other = tensor_float_at(row->dtype, row->candidate, s_best);
    tally->agreements += s_best == c_best || s_top - s_other <= slack || c_top - c_other <= slack;
}

static void add_integers(struct comparison_tally *tally, const struct row *row) {
    uint64_t unequal = 0;
    for (size_t i = 0; i < row->elements; i++) {
        int64_t s = tensor_integer_at(row->dtype, row->stable, i), c = tensor_integer_at(row->dtype, row->candidate, i);
        if (s == c)
            continue;
        double error = fabs((double)s - (double)c);
        unequal++;
        tally->sum_error += error;
        tally->max_error = fmax(tally->max_error, error);
    }
    tally->elements += row->elements;
    tally->unequal += unequal;
    if (row->elements == 1) {
        tally->decisions++;
        tally->agreements += unequal == 0;
    }
}

static void add_output(struct comparison_tally *tally, const struct comparison_pair *pair, int index) {
    const struct tensor_spec *spec = &pair->signature->outputs[index];
    const struct job_tensor *stable = &pair->stable[index], *candidate = &pair->candidate[index];
    uint32_t rows = spec->batch_axis >= 0 ? pair->rows : 1;
    int rank = stable->row.rank;
    struct row row = {.dtype = spec->dtype,
                      .elements = stable->row_bytes / tensor_dtype_bytes(spec->dtype),
                      .group = rank > 0 ? (size_t)stable->row.dims[rank - 1] : 1};
    if (row.elements == 0)
        return;
    for (uint32_t r = 0; r < rows; r++) {
        row.stable = (const unsigned char *)stable->data + r * stable->row_bytes;
        row.candidate = (const unsigned char *)candidate->data + r * candidate->row_bytes;
        if (!tensor_is_float(spec->dtype)) {
            add_integers(tally, &row);
            continue;
        }
        add_floats(tally, &row);
        for (size_t first = 0; row.group > 1 && first + row.group <= row.elements; first += row.group)
            add_argmax(tally, &row, first);
    }
}

static bool fits(const struct comparison_pair *pair) {
    for (int i = 0; i < pair->signature->output_count; i++)
        if (!pair->stable[i].data || !pair->candidate[i].data ||
            pair->stable[i].row_bytes != pair->candidate[i].row_bytes)
            return false;
    return true;
}

void comparison_add(struct comparison *comparison, const struct comparison_pair *pair) {
    comparison->requests++;
    if (!fits(pair)) {
        comparison->misfits++;
        return;
    }
    comparison->rows += pair->rows;
    for (int i = 0; i < pair->signature->output_count; i++) {
        int slot = i < COMPARISON_OUTPUTS ? i : COMPARISON_OUTPUTS - 1;
        add_output(&comparison->outputs[slot], pair, i);
        if (slot >= comparison->output_count)
            comparison->output_count = slot + 1;
    }
}

void comparison_summarize(const struct comparison *comparison, struct comparison_summary *out) {
    *out = (struct comparison_summary){
        .requests = comparison->requests, .rows = comparison->rows, .misfits = comparison->misfits};
    for (int i = 0; i < comparison->output_count; i++) {
        const struct comparison_tally *one = &comparison->outputs[i];
        out->all.elements += one->elements;
        out->all.unequal += one->unequal;
        out->all.decisions += one->decisions;
        out->all.agreements += one->agreements;
        out->all.new_non_finite += one->new_non_finite;
        out->all.non_finite += one->non_finite;
        out->all.max_error = fmax(out->all.max_error, one->max_error);
        out->all.sum_error += one->sum_error;
        out->all.max_relative = fmax(out->all.max_relative, one->max_relative);
    }
    out->mean_error = out->all.elements > 0 ? out->all.sum_error / (double)out->all.elements : 0;
    out->agreement = out->all.decisions > 0 ? (double)out->all.agreements / (double)out->all.decisions : -1;
}
