/* Judged documents in plain dicts of Python, {query: {document: score}}, and what is ahead of them.
 *
 * Python's functions come as pointers, so that this library needs none of its headers and can be
 * loaded without it. They are called with the interpreter's lock held. Only what runs no code of
 * anybody else's is looked at: real dicts, ids that are exactly text, numbers of known types.
 * Anything else is refused, and Python does it.
 */

#include <stddef.h>

#include "lines.h"

enum { RISES = 1, FALLS = 2 };
enum { HIGHER_ID_FIRST = 0, LOWER_ID_FIRST = 1, AS_GIVEN = 2 }; /* among equal scores */
enum { MOST_TIED = 128, NUMBERS = 4, NETWORK = 8 };

typedef struct {
    void *(*list_item)(void *list, ptrdiff_t at);                                  /* PyList_GetItem */
    int (*dict_next)(void *dict, ptrdiff_t *at, void **key, void **value);          /* PyDict_Next */
    void *(*dict_get)(void *dict, void *key);                                       /* PyDict_GetItemWithError */
    double (*as_double)(void *number);                                              /* PyFloat_AsDouble */
    int64_t (*hash)(void *text);                                                    /* PyObject_Hash */
    int (*compare)(void *text, void *other);                                        /* PyUnicode_Compare */
    void *(*error)(void);                                                           /* PyErr_Occurred */
    void (*clear)(void);                                                            /* PyErr_Clear */
    const void *dict, *text, *numbers[NUMBERS];                                     /* types; the first is float */
    int64_t float_at;                                                               /* where a float has its value, or 0 */
} python;

typedef struct {
    int64_t query, pair, rank, above, tied;
} dict_hit;

static inline const void *type_of(const void *object) {
    const void *type;
    memcpy(&type, (const char *)object + sizeof(void *), sizeof type);
    return type;
}

/* Whether the type of an object is where it is looked for. */
EXPORT int32_t rs_knows_types(const void *object, const void *type) { return type_of(object) == type; }

/* Whether a float has its value where it is looked for. */
EXPORT int32_t rs_knows_floats(const void *object, double value, int64_t float_at) {
    double there;
    memcpy(&there, (const char *)object + float_at, sizeof there);
    return there == value;
}

static int is_number(const python *py, const void *object) {
    const void *type = type_of(object);
    for (int i = 0; i < NUMBERS; i++)
        if (type == py->numbers[i]) return 1;
    return 0;
}

/* Put the higher of two first; no branch, which would be guessed wrongly. */
static inline void in_order(double *a, double *b) {
    double first = *a > *b ? *a : *b, second = *a > *b ? *b : *a;
    *a = first;
    *b = second;
}

/* Sort eight numbers from high to low. */
static inline void sort_eight(double *a) {
    static const uint8_t PAIRS[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                       {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 19
#endif
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) in_order(a + PAIRS[i][0], a + PAIRS[i][1]);
}

/* Sort from high to low; the result is in one of the two. */
static double *sorted(double *a, double *b, int64_t n) {
    int64_t whole = n - n % NETWORK;
    for (int64_t low = 0; low < whole; low += NETWORK) sort_eight(a + low);
    for (int64_t i = whole + 1; i < n; i++) /* the rest, which is short */
        for (int64_t j = i; j > whole && a[j] > a[j - 1]; j--) in_order(a + j - 1, a + j);
    for (int64_t width = NETWORK; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
            int64_t i = low, j = middle, k = low;
            while (i < middle && j < high) { /* no branch here either */
                int64_t first = a[i] >= a[j];
                b[k++] = first ? a[i] : a[j];
                i += first;
                j += !first;
            }
            if (i < middle) memcpy(b + k, a + i, sizeof(double) * (size_t)(middle - i));
            else if (j < high) memcpy(b + k, a + j, sizeof(double) * (size_t)(high - j));
        }
        double *other = a;
        a = b;
        b = other;
    }
    return a;
}

/* How many of falling numbers are higher than one, and how many are equal to it. */
static void count(const double *falling, int64_t n, double one, int64_t *above, int64_t *level) {
    const double *low = falling;
    for (int64_t left = n; left > 0;) { /* no branch on the scores */
        int64_t half = (left + 1) / 2;
        low = low[half - 1] > one ? low + half : low;
        left -= half;
    }
    *above = low - falling;
    int64_t at = *above;
    while (at < n && falling[at] == one) at++;
    *level = at - *above;
}

/* The value of a number; 0 if it has none as a double. */
static inline int read_number(const python *py, void *number, double *value) {
    if (py->float_at && type_of(number) == py->numbers[0]) {
        memcpy(value, (const char *)number + py->float_at, sizeof *value);
        return 1;
    }
    *value = py->as_double(number);
    if (*value == -1.0 && py->error()) {
        py->clear();
        return 0;
    }
    return 1;
}

/* Read the scores of a query as they are compared; 0 if something is not plain. `mark` becomes what
 * is the same for all answers that hold the same documents, and for others next to never. */
static int read_scores(const python *py, void *documents, int64_t size, int single, double *scores, int *flags,
                       uint64_t *mark) {
    ptrdiff_t at = 0;
    void *key, *value;
    int64_t n = 0;
    *mark = 0;
    while (py->dict_next(documents, &at, &key, &value)) {
        double score;
        if (n >= size || type_of(key) != py->text || !is_number(py, value) || !read_number(py, value, &score)) return 0;
        *mark += fold((uint64_t)py->hash(key) ^ 0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u);
        if (!(score - score == 0.0)) return 0; /* not finite */
        if (single) score = (double)(float)score;
        if (n) *flags |= (score > scores[n - 1] ? RISES : 0) | (score < scores[n - 1] ? FALLS : 0);
        scores[n++] = score;
    }
    return n == size;
}

/* Move hits of one query that are tied behind those of equal score that the rule puts first. */
static int settle(const python *py, void *documents, const double *scores, int32_t ties, dict_hit **hits, void **keys,
                  const double *mine, int64_t tied) {
    ptrdiff_t at = 0;
    void *key, *value;
    uint8_t passed[MOST_TIED] = {0};
    for (int64_t n = 0; py->dict_next(documents, &at, &key, &value); n++) {
        for (int64_t h = 0; h < tied; h++) {
            if (scores[n] != mine[h]) continue;
            int order = py->compare(key, keys[h]);
            if (order == -1 && py->error()) {
                py->clear();
                return 0;
            }
            passed[h] |= order == 0;
            hits[h]->rank += ties == AS_GIVEN ? !passed[h] : ties == HIGHER_ID_FIRST ? order > 0 : order < 0;
        }
    }
    for (int64_t h = 0; h < tied; h++)
        if (!passed[h]) return 0;
    return 1;
}

/* Put the hits of a query in the order of their ranks, which differ; `at` has a place for each rank
 * and `copy` one for each hit. */
static void in_rank_order(dict_hit *hits, int64_t count, int64_t size, uint32_t *at, dict_hit *copy) {
    memset(at, 0, sizeof(uint32_t) * (size_t)size);
    for (int64_t h = 0; h < count; h++) at[hits[h].rank - 1] = (uint32_t)h + 1;
    memcpy(copy, hits, sizeof(dict_hit) * (size_t)count);
    for (int64_t rank = 0, h = 0; rank < size && h < count; rank++)
        if (at[rank]) hits[h++] = copy[at[rank] - 1];
}

/* Find the judged documents of some queries. `documents` and `judged` are lists of dicts; query i
 * has sizes[i] documents, and its judged pairs are numbered from starts[i] to before ends[i]. At
 * each of the cutoffs it is counted how many queries are tied across it. `alike` becomes whether all
 * queries have the same documents. Hits come by query and rank. Returns their number, or -1. */
EXPORT int64_t rs_dicts(const python *py, void *documents, void *judged, int64_t queries, const int64_t *sizes,
                        const int64_t *starts, const int64_t *ends, int32_t single, int32_t ties, const int64_t *cutoffs,
                        int64_t cutoff_count, int64_t *tied_at, uint8_t *flags_of, int32_t *alike, dict_hit *hits) {
    int64_t widest = 1, hit_count = 0;
    uint64_t first_mark = 0;
    *alike = 1;
    for (int64_t i = 0; i < queries; i++) widest = sizes[i] > widest ? sizes[i] : widest;
    double *scores = malloc(sizeof(double) * 3 * (size_t)widest);
    uint32_t *places = malloc(sizeof(uint32_t) * (size_t)widest);
    dict_hit *copy = malloc(sizeof(dict_hit) * (size_t)widest); /* each hit is a document of its query */
    if (!scores || !places || !copy) goto refused;
    for (int64_t i = 0; i < queries; i++) {
        void *docs = py->list_item(documents, i), *known = py->list_item(judged, i);
        int flags = 0;
        int64_t n = sizes[i], tied = 0, first = hit_count;
        if (!docs || !known || type_of(docs) != py->dict || type_of(known) != py->dict) goto refused;
        uint64_t mark;
        if (!read_scores(py, docs, n, single, scores, &flags, &mark)) goto refused;
        if (!i) first_mark = mark;
        *alike &= n == sizes[0] && mark == first_mark;
        flags_of[i] = (uint8_t)flags;
        const double *falling = scores;
        if (flags & RISES) {
            memcpy(scores + widest, scores, sizeof(double) * (size_t)n);
            falling = sorted(scores + widest, scores + 2 * widest, n);
        }
        for (int64_t c = 0; c < cutoff_count; c++)
            if (n > cutoffs[c]) tied_at[c] += falling[cutoffs[c]] == falling[cutoffs[c] - 1];
        dict_hit *tied_hits[MOST_TIED];
        void *keys[MOST_TIED], *key, *grade;
        double mine[MOST_TIED];
        ptrdiff_t at = 0;
        for (int64_t pair = starts[i]; py->dict_next(known, &at, &key, &grade); pair++) {
            if (pair >= ends[i] || type_of(key) != py->text) goto refused;
            void *value = py->dict_get(docs, key);
            if (!value) {
                if (py->error()) goto failed;
                continue;
            }
            double score;
            if (!read_number(py, value, &score)) goto refused;
            if (single) score = (double)(float)score;
            int64_t above, level;
            count(falling, n, score, &above, &level);
            if (hit_count - first >= n) goto refused; /* cannot be: keys differ */
            hits[hit_count] = (dict_hit){i, pair, above + 1, above, level};
            if (level > 1) {
                if (tied == MOST_TIED) goto refused;
                tied_hits[tied] = hits + hit_count;
                keys[tied] = key;
                mine[tied++] = score;
            }
            hit_count++;
        }
        if (tied && !settle(py, docs, scores, ties, tied_hits, keys, mine, tied)) goto refused;
        in_rank_order(hits + first, hit_count - first, n, places, copy);
    }
    free(scores);
    free(places);
    free(copy);
    return hit_count;
failed:
    py->clear();
refused:
    free(scores);
    free(places);
    free(copy);
    return -1;
}
