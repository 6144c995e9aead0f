/* Lines of a run brought together by query, as they are: for files in which queries take turns.
 *
 * Queries are numbered as they first appear. Lines go by the number of their query, or by its rest
 * after division into buckets, and stay in their order within one. Lines that are blank or comments
 * are left out. Nothing else is looked at: what is wrong with a line is found when it is scanned.
 */

#include "lines.h"

typedef struct {
    uint32_t length; /* without the line feed */
    uint32_t query;  /* its number, or NONE */
} line;

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    names queries;
    line *lines;
    int64_t *places; /* by bucket: where its next line goes */
    int64_t line_room, place_room;
} gathering;

EXPORT void rs_gather_free(gathering *g) {
    if (!g) return;
    forget(&g->queries);
    free(g->lines);
    free(g->places);
    free(g);
}

/* The queries of a file are numbered through all of its blocks. */
EXPORT gathering *rs_gather_new(uint64_t seed) {
    gathering *g = calloc(1, sizeof *g);
    if (g) g->queries.seed = seed;
    return g;
}

/* Copy a block of whole lines to `out`, which has room for one byte more, by bucket; with no buckets
 * by query. `ends` tells where each bucket ends, and may be NULL. Returns the size of what was
 * copied, or -1. */
EXPORT int64_t rs_gather(gathering *g, const uint8_t *data, int64_t size, int64_t buckets, uint8_t *out,
                         int64_t *ends) {
    if (size >= (int64_t)NONE) return -1;
    int64_t count = 0;
    for (int64_t at = 0; at < size; count++) {
        const uint8_t *newline = memchr(data + at, '\n', (size_t)(size - at));
        int64_t end = newline ? newline - data : size, query = NONE;
        field first;
        if (first_column(data + at, end - at, &first)) query = number_of(&g->queries, first.begin, first.length);
        if (query < 0 || !room((void **)&g->lines, &g->line_room, count + 1, sizeof(line))) return -1;
        g->lines[count] = (line){(uint32_t)(end - at), (uint32_t)query};
        at = end + 1;
    }
    int64_t groups = buckets ? buckets : g->queries.count;
    if (!room((void **)&g->places, &g->place_room, groups + 1, sizeof(int64_t))) return -1;
    int64_t *places = g->places;
    memset(places, 0, sizeof(int64_t) * (size_t)(groups + 1));
    for (int64_t i = 0; i < count; i++) {
        line *one = g->lines + i;
        if (one->query == NONE) continue;
        if (buckets) one->query %= (uint32_t)buckets;
        places[one->query + 1] += (int64_t)one->length + 1;
    }
    for (int64_t i = 0; i < groups; i++) places[i + 1] += places[i];
    int64_t total = places[groups];
    if (ends) memcpy(ends, places + 1, sizeof(int64_t) * (size_t)groups);
    for (int64_t i = 0, at = 0; i < count; at += (int64_t)g->lines[i++].length + 1) {
        const line *one = g->lines + i;
        if (one->query == NONE) continue;
        uint8_t *target = out + places[one->query];
        memcpy(target, data + at, one->length);
        target[one->length] = '\n'; /* which the last line may lack */
        places[one->query] += (int64_t)one->length + 1;
    }
    return total;
}
