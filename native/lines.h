/* What the readers of TREC files share: bytes, lines and names. */

#if !defined(RANKSCOPE_LINES_H)
#define RANKSCOPE_LINES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef unsigned __int128 wide;

/* --- bytes ------------------------------------------------------------------------------------ */

static inline uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline int is_big_endian(void) {
    const uint16_t two = 1;
    uint8_t first;
    memcpy(&first, &two, 1);
    return !first;
}

static inline uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A hash of some bytes. The seed is random, so that no file can be made to collide. */
static inline uint64_t hash_of(const uint8_t *p, int64_t n, uint64_t seed) {
    const uint64_t k0 = 0x9E3779B97F4A7C15u, k1 = 0xD1B54A32D192ED03u;
    uint64_t a = 0, b = 0, h = seed ^ k0;
    int64_t left = n;
    for (; left > 16; left -= 16, p += 16) h = fold(load64(p) ^ k1, load64(p + 8) ^ h);
    if (left >= 8) {
        a = load64(p);
        b = load64(p + left - 8);
    } else if (left >= 4) {
        a = load32(p);
        b = load32(p + left - 4);
    } else if (left > 0) {
        a = ((uint64_t)p[0] << 16) | ((uint64_t)p[left >> 1] << 8) | p[left - 1];
    }
    return fold(fold(a ^ k1, b ^ h) ^ k0, (uint64_t)n ^ k1);
}

static inline int same(const uint8_t *a, const uint8_t *b, int64_t n) {
    return memcmp(a, b, (size_t)n) == 0;
}

/* Whether the first id is higher, by its bytes. */
static inline int higher(const uint8_t *a, int64_t n, const uint8_t *b, int64_t m) {
    int order = memcmp(a, b, (size_t)(n < m ? n : m));
    return order ? order > 0 : n > m;
}

static inline int is_blank(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Room for n items of a size in a growing array; 0 if there is no memory. */
static inline int room(void **items, int64_t *capacity, int64_t n, size_t size) {
    if (n <= *capacity) return 1;
    int64_t more = *capacity + *capacity / 2 + 64;
    if (more < n) more = n;
    void *bigger = realloc(*items, (size_t)more * size);
    if (!bigger) return 0;
    *items = bigger;
    *capacity = more;
    return 1;
}

/* --- lines ------------------------------------------------------------------------------------ */

typedef struct {
    const uint8_t *begin;
    int64_t length;
} field;

/* The first column of a line; 0 if it is blank or a comment. */
static inline int first_column(const uint8_t *line, int64_t length, field *f) {
    int64_t at = 0;
    while (at < length && is_blank(line[at])) at++;
    f->begin = line + at;
    int64_t begin = at;
    while (at < length && !is_blank(line[at])) at++;
    f->length = at - begin;
    return f->length && f->begin[0] != '#';
}

/* --- names ------------------------------------------------------------------------------------ */

/* Names by the order in which they first came: name i is text[ends[i]:ends[i + 1]]. */
typedef struct {
    uint64_t seed;
    int64_t count;
    uint8_t *text;
    int64_t *ends;
    uint64_t *hash;
    uint32_t *slots; /* by hash: number + 1, or 0 */
    uint64_t mask;   /* of the slots; 0 before there are any */
    int64_t text_room, ends_room, hash_room, slot_room;
} names;

static inline void forget(names *known) {
    free(known->text);
    free(known->ends);
    free(known->hash);
    free(known->slots);
}

/* The number of a name; one that is new gets the next. -1 if there is no memory. */
static inline int64_t number_of(names *known, const uint8_t *name, int64_t length) {
    uint64_t hash = hash_of(name, length, known->seed), at = hash & known->mask;
    if (known->mask)
        for (; known->slots[at]; at = (at + 1) & known->mask) {
            int64_t other = (int64_t)known->slots[at] - 1;
            if (known->hash[other] == hash && known->ends[other + 1] - known->ends[other] == length &&
                same(known->text + known->ends[other], name, length))
                return other;
        }
    int64_t n = known->count, size = n ? known->ends[n] : 0;
    if (n >= (int64_t)UINT32_MAX - 1 || !room((void **)&known->text, &known->text_room, size + length, 1) ||
        !room((void **)&known->ends, &known->ends_room, n + 2, sizeof(int64_t)) ||
        !room((void **)&known->hash, &known->hash_room, n + 1, sizeof(uint64_t)))
        return -1;
    if (2 * (uint64_t)(n + 1) > known->mask) { /* more slots: put all in again */
        uint64_t slots = known->mask ? 4 * (known->mask + 1) : 1 << 10;
        if (!room((void **)&known->slots, &known->slot_room, (int64_t)slots, sizeof(uint32_t))) return -1;
        memset(known->slots, 0, slots * sizeof(uint32_t));
        known->mask = slots - 1;
        for (int64_t i = 0; i < n; i++) {
            at = known->hash[i] & known->mask;
            while (known->slots[at]) at = (at + 1) & known->mask;
            known->slots[at] = (uint32_t)i + 1;
        }
        at = hash & known->mask;
        while (known->slots[at]) at = (at + 1) & known->mask;
    }
    known->slots[at] = (uint32_t)n + 1;
    known->hash[n] = hash;
    memcpy(known->text + size, name, (size_t)length);
    known->ends[n] = size;
    known->ends[n + 1] = size + length;
    known->count = n + 1;
    return n;
}

#endif
