#include "engine/graph/einsum_equation.h"

#include <string.h>

enum { LETTERS = 128 };

/* One side's word: its letters, and how many of them stand before the ellipsis (-1: it has none). */
struct term {
    char letters[VIEW_MAX_RANK];
    int count, ellipsis;
};

struct equation {
    struct term inputs[OPERATION_MAX_TERMS], output;
    int dots[OPERATION_MAX_TERMS]; /* dimensions of each input's ellipsis */
    int most_dots;
    int uses[LETTERS];
    signed char labels[LETTERS];
    int label_count; /* of letters */
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads up to the end, a comma or an arrow. Returns the place behind the word, NULL if it is wrong. */
static const char *read_term(const char *text, struct term *term) {
    term->count = 0;
    term->ellipsis = -1;
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == ' ')
            continue;
        if (strncmp(text, "...", 3) == 0 && term->ellipsis < 0) {
            term->ellipsis = term->count;
            text += 2;
        } else if (is_letter(*text) && term->count < VIEW_MAX_RANK) {
            term->letters[term->count++] = *text;
        } else {
            return NULL;
        }
    }
    return text;
}

static enum weir_status fail(enum weir_status status, const char **fault, const char *why) {
    *fault = why;
    return status;
}

static enum weir_status read_inputs(const char **text, const int *ranks, int count, struct equation *equation,
                                    const char **fault) {
    for (int i = 0; i < count; i++) {
        struct term *term = &equation->inputs[i];
        *text = read_term(*text, term);
        if (!*text)
            return fail(WEIR_INVALID, fault, "is not made of letters and an ellipsis, at most 8 a term");
        bool last = i == count - 1;
        if (last ? **text == ',' : **text != ',')
            return fail(WEIR_INVALID, fault, "has not as many terms as the node has inputs");
        *text += last ? 0 : 1;
        equation->dots[i] = ranks[i] - term->count;
        if (equation->dots[i] < 0 || (equation->dots[i] > 0 && term->ellipsis < 0))
            return fail(WEIR_INVALID, fault, "has a term with another number of letters than its input has dimensions");
        if (equation->dots[i] > equation->most_dots)
            equation->most_dots = equation->dots[i];
        for (int j = 0; j < term->count; j++) {
            int letter = (unsigned char)term->letters[j];
            if (equation->uses[letter]++ == 0)
                equation->labels[letter] = (signed char)equation->label_count++;
        }
    }
    if (equation->label_count + equation->most_dots > OPERATION_MAX_LABELS)
        return fail(WEIR_UNSUPPORTED, fault, "has more than 26 labels");
    return WEIR_OK;
}

/* Without an arrow: the ellipsis, then the letters that occur once, in the alphabet's order. */
static void imply_output(struct equation *equation) {
    struct term *output = &equation->output;
    output->count = 0;
    output->ellipsis = 0;
    for (int letter = 0; letter < LETTERS && output->count < VIEW_MAX_RANK; letter++)
        if (equation->uses[letter] == 1)
            output->letters[output->count++] = (char)letter;
}

static int single_letters(const struct equation *equation) {
    int count = 0;
    for (int letter = 0; letter < LETTERS; letter++)
        count += equation->uses[letter] == 1;
    return count;
}

static enum weir_status read_output(const char *text, struct equation *equation, const char **fault) {
    bool placed[LETTERS] = {false};
    if (*text == '\0') {
        if (single_letters(equation) > VIEW_MAX_RANK)
            return fail(WEIR_UNSUPPORTED, fault, "gives more than 8 dimensions");
        imply_output(equation);
        return WEIR_OK;
    }
    if (strncmp(text, "->", 2) != 0)
        return fail(WEIR_INVALID, fault, "has a '-' that begins no arrow");
    text = read_term(text + 2, &equation->output);
    if (!text || *text != '\0')
        return fail(WEIR_INVALID, fault, "has an output that is not made of letters and an ellipsis, at most 8");
    for (int i = 0; i < equation->output.count; i++) {
        int letter = (unsigned char)equation->output.letters[i];
        if (equation->uses[letter] == 0)
            return fail(WEIR_INVALID, fault, "has a letter in its output that no input has");
        if (placed[letter])
            return fail(WEIR_INVALID, fault, "has a letter twice in its output");
        placed[letter] = true;
    }
    return WEIR_OK;
}

/* Labels of a word whose ellipsis stands for the last `dots` of the equation's ellipsis dimensions. */
static void write_labels(const struct equation *equation, const struct term *term, int dots, signed char *out) {
    int at = 0;
    for (int i = 0; i <= term->count; i++) {
        for (int dot = 0; i == term->ellipsis && dot < dots; dot++)
            out[at++] = (signed char)(equation->label_count + equation->most_dots - dots + dot);
        if (i < term->count)
            out[at++] = equation->labels[(unsigned char)term->letters[i]];
    }
}

enum weir_status einsum_equation_read(const char *text, const int *ranks, int count, struct einsum *einsum,
                                      int *output_rank, const char **fault) {
    struct equation equation = {.most_dots = 0};
    enum weir_status status = read_inputs(&text, ranks, count, &equation, fault);
    if (status != WEIR_OK)
        return status;
    status = read_output(text, &equation, fault);
    if (status != WEIR_OK)
        return status;
    int dots = equation.output.ellipsis >= 0 ? equation.most_dots : 0;
    if (equation.output.count + dots > VIEW_MAX_RANK)
        return fail(WEIR_UNSUPPORTED, fault, "gives more than 8 dimensions");
    einsum->term_count = count;
    einsum->label_count = equation.label_count + equation.most_dots;
    for (int i = 0; i < count; i++)
        write_labels(&equation, &equation.inputs[i], equation.dots[i], einsum->inputs[i]);
    write_labels(&equation, &equation.output, dots, einsum->output);
    *output_rank = equation.output.count + dots;
    return WEIR_OK;
}
