/* A quick reader of TREC files: what rankscope needs to know of a run, in one pass over its bytes.
 *
 * The rules are those of the reader in Python (rankscope.tables.whitespace): lines end with a line
 * feed, columns are separated by any of space, tab, vertical tab, form feed and carriage return,
 * lines without columns and lines whose first column begins with # are skipped, text is UTF-8.
 * Whatever is not plainly right is refused, without a reason: the reader in Python then looks at
 * the file and says what is wrong. So nothing here reports an error, and nothing is decided twice.
 *
 * `rs_scan` takes a block of whole lines. Rows of one query without another query's row between
 * them are a stretch; of each it tells the size, how scores go, and for each judged document how
 * many rows are ahead of it. All memory belongs to one call: threads share only the judgments,
 * which are not changed. The counterpart in Python is rankscope.scoring.scan_tables.
 */

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "lines.h"

enum { ABI = 7, RUN_COLUMNS = 6, QRELS_COLUMNS = 4, MOST_COLUMNS = 7 };
enum { WINDOW = 1 << 16, LONGEST_LINE = 1 << 20, LONGEST_NUMBER = 400 };
enum { RISES = 1, FALLS = 2, RANKS_GO_BY_SCORE = 4 };
enum { OK = 0, REFUSED = 1, NO_MEMORY = 2 };

static const int64_t LARGEST_BLOCK = (int64_t)1 << 31;

/* --- text ------------------------------------------------------------------------------------- */

static int is_ascii(const uint8_t *p, int64_t n) {
    uint64_t any = 0;
    for (; n >= 32; n -= 32, p += 32)
        any |= load64(p) | load64(p + 8) | load64(p + 16) | load64(p + 24);
    for (; n > 0; n--, p++) any |= *p;
    return !(any & 0x8080808080808080u);
}

/* UTF-8 as Python has it: no surrogates, nothing overlong, nothing above U+10FFFF. */
static int is_utf8(const uint8_t *p, int64_t n) {
    const uint8_t *end = p + n;
    while (p < end) {
        uint8_t c = *p;
        if (c < 0x80) {
            p++;
            continue;
        }
        int64_t more = c >= 0xC2 && c <= 0xDF ? 1 : (c & 0xF0) == 0xE0 ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
        if (!more || end - p <= more) return 0;
        uint8_t low = 0x80, high = 0xBF;
        if (c == 0xE0) low = 0xA0;
        if (c == 0xED) high = 0x9F;
        if (c == 0xF0) low = 0x90;
        if (c == 0xF4) high = 0x8F;
        if (p[1] < low || p[1] > high) return 0;
        for (int64_t i = 2; i <= more; i++)
            if ((p[i] & 0xC0) != 0x80) return 0;
        p += more + 1;
    }
    return 1;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static const double EXACT_TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { MOST_FIVES = 27 }; /* 5 to this power is the last below 2 to the 64th */

/* digits / 10^tens, rounded to the nearest double and to even: digits are not 0, tens are at most
 * MOST_FIVES. The quotient has 64 bits and more than the 53 wanted; the remainder breaks ties. */
static double divided(uint64_t digits, int tens) {
    uint64_t fives = 1;
    for (int i = 0; i < tens; i++) fives *= 5;
    int up = __builtin_clzll(digits), divisor_up = __builtin_clzll(fives);
    uint64_t numerator = digits << up, divisor = fives << divisor_up;
    wide dividend = (wide)numerator << 63; /* numerator < 2 * divisor, so the quotient fits */
    uint64_t quotient = (uint64_t)(dividend / divisor);
    uint64_t sticky = dividend % divisor != 0;
    /* value = quotient * 2^exponent; quotient is at least 2^62 */
    int exponent = divisor_up - up - 63 - tens;
    int extra = 11 - (quotient >> 63 == 0);
    uint64_t kept = quotient >> extra, rest = quotient & (((uint64_t)1 << extra) - 1);
    uint64_t half = (uint64_t)1 << (extra - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1)))) kept++;
    /* kept has at most 54 bits, of which the last is 0 if there are 54: exact as a double, and so is
     * the scaling, which is far from the ends of what a double can hold. */
    double value = (double)kept;
    uint64_t scale = (uint64_t)(1023 + exponent + extra) << 52;
    double factor;
    memcpy(&factor, &scale, 8);
    return value * factor;
}

static double by_library(const char *text) {
#if defined(_WIN32)
    return strtod(text, NULL);
#else
    static locale_t plain;
    locale_t known = __atomic_load_n(&plain, __ATOMIC_ACQUIRE);
    if (!known) {
        known = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (!known) return 0.0 / 0.0;
        locale_t none = (locale_t)0;
        if (!__atomic_compare_exchange_n(&plain, &none, known, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            freelocale(known);
            known = none;
        }
    }
    return strtod_l(text, NULL, known);
#endif
}

/* Add the digits that follow to a number, four at a time and then one at a time; where they end. */
static inline const uint8_t *add_digits(const uint8_t *p, const uint8_t *end, uint64_t *digits) {
    uint64_t number = *digits;
    while (end - p >= 4) {
        uint32_t four = load32(p) ^ 0x30303030u; /* each digit becomes its value */
        if ((four | (four + 0x76767676u)) & 0x80808080u || is_big_endian()) break;
        four = (four * 10 + (four >> 8)) & 0x00FF00FFu; /* two pairs of two digits */
        number = number * 10000 + (four & 0xFF) * 100 + (four >> 16);
        p += 4;
    }
    while (p < end && (uint8_t)(*p - '0') < 10) number = number * 10 + (uint8_t)(*p++ - '0');
    *digits = number;
    return p;
}

/* A finite decimal such as -12.5e-3, as the nearest double; 0 if it is anything else. */
static int parse_number(const uint8_t *p, int64_t n, double *value) {
    const uint8_t *end = p + n;
    int negative = 0, exponent = 0;
    if (p < end && *p == '-') {
        negative = 1;
        p++;
    }
    uint64_t digits = 0;
    const uint8_t *first = p;
    p = add_digits(p, end, &digits);
    if (p == first) return 0;
    int64_t count = p - first;
    if (p < end && *p == '.') {
        const uint8_t *fraction = ++p;
        p = add_digits(p, end, &digits);
        int64_t places = p - fraction;
        if (!places || places > LONGEST_NUMBER) return 0;
        count += places;
        exponent = -(int)places;
    }
    if (p < end && (*p | 32) == 'e') {
        int sign = 1, size = 0;
        if (++p < end && (*p == '-' || *p == '+')) sign = *p++ == '-' ? -1 : 1;
        const uint8_t *power = p;
        while (p < end && (uint8_t)(*p - '0') < 10 && p - power < 5) size = size * 10 + (*p++ - '0');
        if (p == power) return 0;
        exponent += sign * size;
    }
    if (p != end) return 0;
    double result;
    if (count > 19) {
        const uint8_t *zeros = first;
        int64_t leading = 0;
        for (; zeros < end && (*zeros == '0' || *zeros == '.'); zeros++) leading += *zeros == '0';
        count -= leading;
    }
    if (count <= 19 && digits <= ((uint64_t)1 << 53) && exponent >= -22 && exponent <= 22) {
        result = (double)digits;
        result = exponent < 0 ? result / EXACT_TENS[-exponent] : result * EXACT_TENS[exponent];
    } else if (count <= 19 && digits && exponent < 0 && exponent >= -MOST_FIVES) {
        result = divided(digits, -exponent);
    } else {
        char text[LONGEST_NUMBER + 1];
        int64_t length = end - first;
        if (length > LONGEST_NUMBER) return 0;
        memcpy(text, first, (size_t)length);
        text[length] = 0;
        result = by_library(text);
        if (!(result <= 1.7976931348623157e308)) return 0; /* too large, or no number */
    }
    *value = negative ? -result : result;
    return 1;
}

/* --- judgments -------------------------------------------------------------------------------- */

typedef struct {
    int64_t queries;
    const uint8_t *query_text;
    const int64_t *query_ends;
    const int64_t *pair_offsets;
    const uint8_t *doc_text;
    const int64_t *doc_ends;
    uint64_t seed;
    uint64_t *doc_hash;   /* by pair */
    uint64_t *query_hash; /* by query */
    uint32_t *slots;      /* query + 1, or 0 */
    uint64_t mask;
} judged;

EXPORT void rs_judged_free(judged *j) {
    if (!j) return;
    free(j->doc_hash);
    free(j->query_hash);
    free(j->slots);
    free(j);
}

/* Prepare judged pairs. The arrays stay the caller's, and must live as long as the result. */
EXPORT judged *rs_judged_new(int64_t queries, const uint8_t *query_text, const int64_t *query_ends,
                             const int64_t *pair_offsets, const uint8_t *doc_text,
                             const int64_t *doc_ends, uint64_t seed) {
    if (queries >= INT32_MAX || pair_offsets[queries] >= INT32_MAX) return NULL;
    judged *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    int64_t pairs = pair_offsets[queries];
    uint64_t size = 16;
    while (size < 2 * (uint64_t)queries) size *= 2;
    *j = (judged){queries, query_text, query_ends, pair_offsets, doc_text, doc_ends, seed, NULL, NULL, NULL, size - 1};
    j->doc_hash = malloc(sizeof(uint64_t) * (size_t)(pairs + 1));
    j->query_hash = malloc(sizeof(uint64_t) * (size_t)(queries + 1));
    j->slots = calloc(size, sizeof(uint32_t));
    if (!j->doc_hash || !j->query_hash || !j->slots) {
        rs_judged_free(j);
        return NULL;
    }
    for (int64_t i = 0; i < pairs; i++)
        j->doc_hash[i] = hash_of(doc_text + doc_ends[i], doc_ends[i + 1] - doc_ends[i], seed);
    for (int64_t i = 0; i < queries; i++) {
        uint64_t h = hash_of(query_text + query_ends[i], query_ends[i + 1] - query_ends[i], seed);
        j->query_hash[i] = h;
        uint64_t at = h & j->mask;
        while (j->slots[at]) at = (at + 1) & j->mask;
        j->slots[at] = (uint32_t)i + 1;
    }
    return j;
}

static int64_t judged_query(const judged *j, const uint8_t *id, int64_t n) {
    uint64_t h = hash_of(id, n, j->seed);
    for (uint64_t at = h & j->mask; j->slots[at]; at = (at + 1) & j->mask) {
        int64_t q = (int64_t)j->slots[at] - 1;
        if (j->query_hash[q] == h && j->query_ends[q + 1] - j->query_ends[q] == n &&
            same(j->query_text + j->query_ends[q], id, n))
            return q;
    }
    return -1;
}

/* --- results ---------------------------------------------------------------------------------- */

/* A judged document that was retrieved: what is ahead of it, and how many rows have its score. */
typedef struct {
    int32_t pair, above, tied, ahead_by_id, ahead_as_given;
} hit;

/* What Python reads; the order of the fields is that of `rankscope.tables.native`. */
typedef struct {
    int64_t status;
    int64_t rows;
    int64_t stretches;
    int64_t hits;
    int64_t query_size; /* bytes of query_text */
    int64_t deepest;    /* length of tied_across */
    int64_t doc_size;   /* bytes of doc_text */
    int64_t alike;      /* whether all rows have the same second column (qrels) or tag (runs) */
    int64_t skipped;    /* lines that are blank or comments */
    uint8_t *query_text;
    int64_t *query_ends; /* by stretch, the first is 0 */
    int64_t *sizes;
    double *first_score;
    double *last_score;
    uint8_t *flags;
    hit *hit_rows;
    int64_t *tied_across;
    uint8_t *doc_text; /* by row, if rows are kept: those of runs with a line feed after each */
    int64_t *doc_ends; /* by row, of qrels */
    double *numbers;   /* by row, if rows are kept: the score or the grade */
    double *ranks;     /* by row, if they are kept and asked for */
} result;

EXPORT void rs_free(result *r) {
    if (!r) return;
    free(r->query_text);
    free(r->query_ends);
    free(r->sizes);
    free(r->first_score);
    free(r->last_score);
    free(r->flags);
    free(r->hit_rows);
    free(r->tied_across);
    free(r->doc_text);
    free(r->doc_ends);
    free(r->numbers);
    free(r->ranks);
    free(r);
}

EXPORT int32_t rs_abi(void) { return ABI; }

/* --- a stretch -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t hash;
    const uint8_t *id;
    int64_t length;
    double score;
} row;

typedef struct {
    double score;
    uint32_t row;
} ranked;

typedef struct {
    const judged *judgments;
    result *out;
    uint64_t seed;
    int single, ranks, is_qrels, keeps;
    /* the stretch that is read at present */
    const uint8_t *query;
    int64_t query_length;
    row *rows;
    double *rank; /* by row, if asked for */
    int64_t count, row_room, rank_room;
    int flags;
    names queries; /* so far: one for each stretch */
    /* work space */
    uint32_t *slots;
    int64_t slot_room;
    ranked *order, *spare;
    int64_t order_room, spare_room;
    uint32_t *members, *spare_members, *given, *found; /* found: by row its judged pair, counted from 1 */
    int64_t member_room, spare_member_room, given_room, found_room;
    /* how much there is room for in the results */
    int64_t sizes_room, first_room, last_room, flags_room, hit_room, tied_room;
    int64_t doc_room, doc_ends_room, number_room, ranks_room;
    /* the column that may be the same in all rows */
    const uint8_t *constant;
    int64_t constant_length;
} state;

/* Keep what is known of the stretch; a query that comes back has its rows in two places. */
static int keep_query(state *s) {
    result *r = s->out;
    int64_t n = r->stretches, number = number_of(&s->queries, s->query, s->query_length);
    if (number < 0) return NO_MEMORY;
    if (number < n) return REFUSED; /* the query comes back after another one */
    if (!room((void **)&r->sizes, &s->sizes_room, n + 1, sizeof(int64_t)) ||
        !room((void **)&r->first_score, &s->first_room, n + 1, sizeof(double)) ||
        !room((void **)&r->last_score, &s->last_room, n + 1, sizeof(double)) ||
        !room((void **)&r->flags, &s->flags_room, n + 1, 1))
        return NO_MEMORY;
    r->sizes[n] = s->count;
    r->first_score[n] = s->rows[0].score;
    r->last_score[n] = s->rows[s->count - 1].score;
    r->flags[n] = (uint8_t)s->flags;
    r->rows += s->count;
    r->stretches++;
    return OK;
}

/* Put the documents of the stretch in a hash table; refuse if one is there twice. */
static int tabled(state *s, uint64_t *mask) {
    uint64_t size = 16;
    while (size < 2 * (uint64_t)s->count) size *= 2;
    if (!room((void **)&s->slots, &s->slot_room, (int64_t)size, sizeof(uint32_t))) return NO_MEMORY;
    memset(s->slots, 0, size * sizeof(uint32_t));
    *mask = size - 1;
    for (int64_t i = 0; i < s->count; i++) {
        const row *mine = s->rows + i;
        uint64_t at = mine->hash & *mask;
        while (s->slots[at]) {
            const row *other = s->rows + s->slots[at] - 1;
            if (other->hash == mine->hash && other->length == mine->length && same(other->id, mine->id, mine->length))
                return REFUSED;
            at = (at + 1) & *mask;
        }
        s->slots[at] = (uint32_t)i + 1;
    }
    return OK;
}

/* Merge sort from the bottom up: stable, so that equal scores stay as they are listed. */
static ranked *by_score(ranked *a, ranked *b, int64_t n) {
    int64_t sorted = 1;
    while (sorted < n && a[sorted - 1].score >= a[sorted].score) sorted++;
    if (sorted >= n) return a;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
            int64_t i = low, j = middle;
            for (int64_t k = low; k < high; k++)
                b[k] = i < middle && (j >= high || a[i].score >= a[j].score) ? a[i++] : a[j++];
        }
        ranked *other = a;
        a = b;
        b = other;
    }
    return a;
}

/* Sort rows by id from high to low. */
static uint32_t *by_id(const row *rows, uint32_t *a, uint32_t *b, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
            int64_t i = low, j = middle;
            for (int64_t k = low; k < high; k++) {
                int first = i < middle &&
                            (j >= high || !higher(rows[a[j]].id, rows[a[j]].length, rows[a[i]].id, rows[a[i]].length));
                b[k] = first ? a[i++] : a[j++];
            }
        }
        uint32_t *other = a;
        a = b;
        b = other;
    }
    return a;
}

/* The row at a place of the order; without an order rows are as they are listed. */
static inline uint32_t row_at(const ranked *order, int64_t place) {
    return order ? order[place].row : (uint32_t)place;
}

/* Count a tie at the places low:high, and tell whether a judged document is in it. */
static int take_tie(state *s, const ranked *order, int64_t low, int64_t high, int *is_judged) {
    result *r = s->out;
    if (high > r->deepest) {
        if (!room((void **)&r->tied_across, &s->tied_room, high, sizeof(int64_t))) return NO_MEMORY;
        memset(r->tied_across + r->deepest, 0, (size_t)(high - r->deepest) * sizeof(int64_t));
        r->deepest = high;
    }
    for (int64_t k = low + 1; k < high; k++) r->tied_across[k]++;
    *is_judged = 0;
    for (int64_t k = low; k < high; k++) *is_judged |= s->found[row_at(order, k)] != 0;
    return OK;
}

/* Add the hits of a tie, which is sorted by id for it. */
static int keep_tied(state *s, const ranked *order, int64_t low, int64_t high, int64_t first) {
    result *r = s->out;
    int64_t size = high - low;
    if (!room((void **)&s->members, &s->member_room, size, sizeof(uint32_t)) ||
        !room((void **)&s->spare_members, &s->spare_member_room, size, sizeof(uint32_t)) ||
        !room((void **)&s->given, &s->given_room, s->count, sizeof(uint32_t)))
        return NO_MEMORY;
    for (int64_t i = 0; i < size; i++) {
        s->members[i] = row_at(order, low + i);
        s->given[s->members[i]] = (uint32_t)i;
    }
    const uint32_t *sorted = by_id(s->rows, s->members, s->spare_members, size);
    for (int64_t i = 0; i < size; i++) {
        uint32_t row = sorted[i], pair = s->found[row];
        if (!pair) continue;
        r->hit_rows[r->hits++] =
            (hit){(int32_t)(first + pair - 1), (int32_t)low, (int32_t)size, (int32_t)i, (int32_t)s->given[row]};
    }
    return OK;
}

/* Find the judged documents of the stretch, and what is ahead of each. They come by rank, those with
 * the same score by id from high to low. */
static int find_hits(state *s, int64_t query, uint64_t mask) {
    const judged *j = s->judgments;
    result *r = s->out;
    int64_t n = s->count, count = 0, first = j->pair_offsets[query];
    if (!room((void **)&s->found, &s->found_room, n, sizeof(uint32_t))) return NO_MEMORY;
    memset(s->found, 0, (size_t)n * sizeof(uint32_t));
    for (int64_t pair = first; pair < j->pair_offsets[query + 1]; pair++) {
        uint64_t h = j->doc_hash[pair];
        const uint8_t *id = j->doc_text + j->doc_ends[pair];
        int64_t length = j->doc_ends[pair + 1] - j->doc_ends[pair];
        for (uint64_t at = h & mask; s->slots[at]; at = (at + 1) & mask) {
            int64_t place = (int64_t)s->slots[at] - 1;
            const row *there = s->rows + place;
            if (there->hash != h || there->length != length || !same(there->id, id, length)) continue;
            s->found[place] = (uint32_t)(pair - first) + 1;
            count++;
            break;
        }
    }
    if (!room((void **)&r->hit_rows, &s->hit_room, r->hits + count, sizeof(hit))) return NO_MEMORY;
    const ranked *order = NULL;
    if (s->flags & RISES) {
        if (!room((void **)&s->order, &s->order_room, n, sizeof(ranked)) ||
            !room((void **)&s->spare, &s->spare_room, n, sizeof(ranked)))
            return NO_MEMORY;
        for (int64_t i = 0; i < n; i++) s->order[i] = (ranked){s->rows[i].score, (uint32_t)i};
        order = by_score(s->order, s->spare, n);
    }
    for (int64_t low = 0, high; low < n; low = high) {
        uint32_t row = row_at(order, low), pair = s->found[row];
        double score = s->rows[row].score;
        for (high = low + 1; high < n && s->rows[row_at(order, high)].score == score;) high++;
        if (high - low > 1) {
            int is_judged, status = take_tie(s, order, low, high, &is_judged);
            if (status == OK && is_judged) status = keep_tied(s, order, low, high, first);
            if (status != OK) return status;
        } else if (pair) {
            r->hit_rows[r->hits++] = (hit){(int32_t)(first + pair - 1), (int32_t)low, 1, 0, 0};
        }
    }
    return OK;
}

/* Whether the ranks that the file gives are in the order of the scores, and none is there twice. */
static int ranks_go_by_score(state *s) {
    int64_t n = s->count;
    if (!room((void **)&s->order, &s->order_room, n, sizeof(ranked)) ||
        !room((void **)&s->spare, &s->spare_room, n, sizeof(ranked)))
        return -1;
    for (int64_t i = 0; i < n; i++) s->order[i] = (ranked){-s->rank[i], (uint32_t)i};
    ranked *order = by_score(s->order, s->spare, n);
    for (int64_t i = 1; i < n; i++) {
        if (order[i].score == order[i - 1].score) return 0;
        if (s->rows[order[i].row].score > s->rows[order[i - 1].row].score) return 0;
    }
    return 1;
}

/* Add the rows of the stretch to the results. */
static int keep_rows(state *s) {
    result *r = s->out;
    int64_t bytes = s->count, before = r->rows - s->count;
    for (int64_t i = 0; i < s->count; i++) bytes += s->rows[i].length;
    if (!room((void **)&r->doc_text, &s->doc_room, r->doc_size + bytes, 1) ||
        !room((void **)&r->doc_ends, &s->doc_ends_room, s->is_qrels ? r->rows + 1 : 1, sizeof(int64_t)) ||
        !room((void **)&r->numbers, &s->number_room, r->rows, sizeof(double)) ||
        !room((void **)&r->ranks, &s->ranks_room, s->ranks ? r->rows : 1, sizeof(double)))
        return NO_MEMORY;
    r->doc_ends[0] = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const row *mine = s->rows + i;
        memcpy(r->doc_text + r->doc_size, mine->id, (size_t)mine->length);
        r->doc_size += mine->length;
        if (s->is_qrels) r->doc_ends[before + i + 1] = r->doc_size;
        else r->doc_text[r->doc_size++] = '\n';
        r->numbers[before + i] = mine->score;
        if (s->ranks) r->ranks[before + i] = s->rank[i];
    }
    return OK;
}

/* The stretch is complete. */
static int close_stretch(state *s) {
    if (!s->count) return OK;
    uint64_t mask;
    int status = tabled(s, &mask);
    if (status != OK) return status;
    if (s->ranks) {
        int in_order = ranks_go_by_score(s);
        if (in_order < 0) return NO_MEMORY;
        if (in_order) s->flags |= RANKS_GO_BY_SCORE;
    }
    int64_t query = s->judgments ? judged_query(s->judgments, s->query, s->query_length) : -1;
    status = keep_query(s);
    if (status == OK && query >= 0) status = find_hits(s, query, mask);
    if (status == OK && s->keeps) status = keep_rows(s);
    s->count = 0;
    s->flags = 0;
    return status;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int take_row(state *s, const field *f) {
    int score_at = s->is_qrels ? 3 : 4;
    double score;
    if (!parse_number(f[score_at].begin, f[score_at].length, &score)) return REFUSED;
    if (s->single) score = (double)(float)score;
    if (!s->count || f[0].length != s->query_length || !same(f[0].begin, s->query, s->query_length)) {
        int status = close_stretch(s);
        if (status != OK) return status;
        s->query = f[0].begin;
        s->query_length = f[0].length;
    } else {
        double before = s->rows[s->count - 1].score;
        s->flags |= (score > before ? RISES : 0) | (score < before ? FALLS : 0);
    }
    if (s->keeps) {
        const field *last = f + (s->is_qrels ? 1 : RUN_COLUMNS - 1);
        if (!s->constant) {
            s->constant = last->begin;
            s->constant_length = last->length;
        } else if (s->constant_length != last->length || !same(s->constant, last->begin, last->length)) {
            s->out->alike = 0;
        }
    }
    int64_t n = s->count;
    if (!room((void **)&s->rows, &s->row_room, n + 1, sizeof(row))) return NO_MEMORY;
    if (s->ranks) {
        if (!room((void **)&s->rank, &s->rank_room, n + 1, sizeof(double))) return NO_MEMORY;
        if (!parse_number(f[3].begin, f[3].length, s->rank + n)) return REFUSED;
    }
    s->rows[n] = (row){hash_of(f[2].begin, f[2].length, s->seed), f[2].begin, f[2].length, score};
    s->count = n + 1;
    return OK;
}

/* Write the places of all bytes up to the space, which are separators nearly always. */
static int64_t mark(const uint8_t *data, int64_t size, uint32_t *places) {
    int64_t n = 0, at = 0;
    for (; at + 64 <= size; at += 64) {
        uint64_t bits = 0;
#if defined(__SSE2__)
        const __m128i space = _mm_set1_epi8(' ');
        for (int i = 0; i < 4; i++) {
            __m128i part = _mm_loadu_si128((const __m128i *)(data + at + 16 * i));
            __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(part, space), part);
            bits |= (uint64_t)(uint16_t)_mm_movemask_epi8(low) << (16 * i);
        }
#else
        for (int i = 0; i < 64; i++) bits |= (uint64_t)(data[at + i] <= ' ') << i;
#endif
        while (bits) {
            places[n++] = (uint32_t)at + (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1;
        }
    }
    for (; at < size; at++)
        if (data[at] <= ' ') places[n++] = (uint32_t)at;
    return n;
}

/* Split a line by its blanks; the number of columns, MOST_COLUMNS if there are more. */
static int split(const uint8_t *line, int64_t length, field *fields) {
    int count = 0;
    for (int64_t at = 0; at < length && count < MOST_COLUMNS;) {
        while (at < length && is_blank(line[at])) at++;
        int64_t begin = at;
        while (at < length && !is_blank(line[at])) at++;
        if (at > begin) fields[count++] = (field){line + begin, at - begin};
    }
    return count;
}

/* One line that is not of the usual shape. */
static int take_line(state *s, const uint8_t *line, int64_t length) {
    field fields[MOST_COLUMNS];
    int count = split(line, length, fields);
    if (!count || fields[0].begin[0] == '#') {
        s->out->skipped++;
        return OK;
    }
    if (count != (s->is_qrels ? QRELS_COLUMNS : RUN_COLUMNS)) return REFUSED;
    return take_row(s, fields);
}

static inline int separates(uint8_t c) { return c == ' ' || c == '\t'; }

/* Whether a line has its columns, single blanks between them and nothing else. */
static inline int is_plain(const uint8_t *data, int64_t begin, const uint32_t *p, int columns) {
    int fits = (data[begin] != '#') & (p[0] > begin) & (data[p[columns - 1]] == '\n');
    for (int i = 1; i < columns; i++) fits &= separates(data[p[i - 1]]) & (p[i] > p[i - 1] + 1);
    return fits;
}

/* Whole lines; the last one ends with a line feed. */
static inline int take_some(state *s, const uint8_t *data, int64_t size, uint32_t *places, const int columns) {
    int64_t marks = mark(data, size, places), at = 0, begin = 0;
    while (begin < size) {
        field f[RUN_COLUMNS];
        int status;
        if (at + columns <= marks && is_plain(data, begin, places + at, columns)) {
            int64_t left = begin;
            for (int i = 0; i < columns; i++) {
                f[i] = (field){data + left, places[at + i] - left};
                left = (int64_t)places[at + i] + 1;
            }
            at += columns;
            begin = left;
            status = take_row(s, f);
        } else {
            while (data[places[at]] != '\n') at++;
            int64_t end = places[at++];
            status = take_line(s, data + begin, end - begin);
            begin = end + 1;
        }
        if (status != OK) return status;
    }
    return OK;
}

static int take_lines(state *s, const uint8_t *data, int64_t size, uint32_t *places) {
    if (s->is_qrels) return take_some(s, data, size, places, QRELS_COLUMNS);
    return take_some(s, data, size, places, RUN_COLUMNS);
}

/* The end of the last line that ends in some bytes; NULL if none does. */
static const uint8_t *last_line_end(const uint8_t *data, int64_t size) {
    while (size > 0)
        if (data[--size] == '\n') return data + size;
    return NULL;
}

static int take_block(state *s, const uint8_t *data, int64_t size) {
    int64_t most = size < LONGEST_LINE ? size : LONGEST_LINE; /* bytes that are marked at a time */
    uint32_t *places = malloc(sizeof(uint32_t) * (size_t)(most + 64));
    int status = places ? OK : NO_MEMORY;
    for (int64_t at = 0; at < size && status == OK;) {
        int64_t want = size - at < WINDOW ? size - at : WINDOW;
        const uint8_t *newline = last_line_end(data + at, want);
        if (!newline) {
            int64_t longest = size - at < LONGEST_LINE ? size - at : LONGEST_LINE;
            newline = memchr(data + at, '\n', (size_t)longest);
        }
        if (newline) {
            int64_t length = newline - (data + at) + 1;
            status = take_lines(s, data + at, length, places);
            at += length;
        } else if (size - at <= LONGEST_LINE) { /* the last line has no end */
            status = take_line(s, data + at, size - at);
            at = size;
        } else {
            status = REFUSED;
        }
    }
    free(places);
    return status == OK ? close_stretch(s) : status;
}

static result *scanned(state *s, const uint8_t *data, int64_t size) {
    result *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    s->out = r;
    r->alike = 1;
    if (size >= LARGEST_BLOCK) r->status = REFUSED;
    else if (!is_ascii(data, size) && !is_utf8(data, size)) r->status = REFUSED;
    else r->status = take_block(s, data, size);
    free(s->rows);
    free(s->rank);
    r->query_text = s->queries.text; /* which are the caller's from now on */
    r->query_ends = s->queries.ends;
    r->query_size = s->queries.count ? s->queries.ends[s->queries.count] : 0;
    s->queries.text = NULL;
    s->queries.ends = NULL;
    forget(&s->queries);
    free(s->slots);
    free(s->order);
    free(s->spare);
    free(s->members);
    free(s->spare_members);
    free(s->given);
    free(s->found);
    return r;
}

/* Scan some whole lines of a run. `ranks` asks whether the ranks in the file go by score. */
EXPORT result *rs_scan(const judged *judgments, const uint8_t *data, int64_t size, int32_t single, int32_t ranks) {
    uint64_t seed = judgments->seed;
    state s = {.judgments = judgments, .seed = seed, .queries.seed = seed, .single = single, .ranks = ranks};
    return scanned(&s, data, size);
}

/* Read whole qrels of four columns. */
EXPORT result *rs_pairs(const uint8_t *data, int64_t size, uint64_t seed) {
    state s = {.seed = seed, .queries.seed = seed, .is_qrels = 1, .keeps = 1};
    return scanned(&s, data, size);
}

/* Read some whole lines of a run, with their ranks if asked for. */
EXPORT result *rs_rows(const uint8_t *data, int64_t size, uint64_t seed, int32_t ranks) {
    state s = {.seed = seed, .queries.seed = seed, .ranks = ranks, .keeps = 1};
    return scanned(&s, data, size);
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* Where a new query begins: the first such line after the one that `from` is in, or -1. Only lines
 * that end are looked at. */
EXPORT int64_t rs_cut(const uint8_t *data, int64_t size, int64_t from) {
    field before = {NULL, 0}, now;
    int64_t at = from;
    if (from > 0) {
        const uint8_t *newline = memchr(data + from, '\n', (size_t)(size - from));
        if (!newline) return -1;
        at = newline - data + 1;
    }
    while (at < size) {
        const uint8_t *newline = memchr(data + at, '\n', (size_t)(size - at));
        if (!newline) return -1;
        int64_t end = newline - data;
        if (first_column(data + at, end - at, &now)) {
            if (before.begin && (before.length != now.length || !same(before.begin, now.begin, now.length))) return at;
            before = now;
        }
        at = end + 1;
    }
    return -1;
}
