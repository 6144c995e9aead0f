/* Drives native/scan.c without Python, so that sanitizers see nothing else. Arguments are files, of
 * any content. Each is scanned as a run, read as a run and as qrels, and put in order by query:
 *
 * - whole and cut off at many places, in memory of exactly its size: nothing may be read behind it;
 * - with the first, second, third … allocation failing, until none is left to fail: the answer must
 *   be "no memory", and everything must have been given back;
 * - with `-t` before the files, in four threads that share the judgments.
 */

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread long until_failure = -1, live;
static __thread int failed;

static int fails(void) {
    if (until_failure < 0) return 0;
    if (until_failure-- > 0) return 0;
    failed = 1;
    return 1;
}

static void *counted_malloc(size_t size) {
    void *p = fails() ? NULL : malloc(size);
    live += p != NULL;
    return p;
}

static void *counted_calloc(size_t count, size_t size) {
    void *p = fails() ? NULL : calloc(count, size);
    live += p != NULL;
    return p;
}

static void *counted_realloc(void *old, size_t size) {
    void *p = fails() ? NULL : realloc(old, size);
    live += p != NULL && old == NULL;
    return p;
}

static void counted_free(void *p) {
    live -= p != NULL;
    free(p);
}

#define malloc counted_malloc
#define calloc counted_calloc
#define realloc counted_realloc
#define free counted_free
#include "../native/scan.c"
#undef malloc
#undef calloc
#undef realloc
#undef free

enum { QUERIES = 6, DOCS = 24, KINDS = 5, THREADS = 4, CUTS = 15 };
static const char *const NAMES[QUERIES] = {"q1", "q2", "10", "9", "q10", "Q"};

typedef struct {
    uint8_t query_text[64], doc_text[QUERIES * DOCS * 4];
    int64_t query_ends[QUERIES + 1], pair_offsets[QUERIES + 1], doc_ends[QUERIES * DOCS + 1];
} pairs;

static void fill(pairs *p) {
    int64_t queries = 0, docs = 0;
    for (int q = 0; q < QUERIES; q++) {
        p->query_ends[q] = queries;
        p->pair_offsets[q] = (int64_t)q * DOCS;
        for (const char *c = NAMES[q]; *c; c++) p->query_text[queries++] = (uint8_t)*c;
        for (int d = 0; d < DOCS; d++) {
            char text[8];
            int length = snprintf(text, sizeof text, "D%d", d);
            p->doc_ends[q * DOCS + d] = docs;
            memcpy(p->doc_text + docs, text, (size_t)length);
            docs += length;
        }
    }
    p->query_ends[QUERIES] = queries;
    p->pair_offsets[QUERIES] = QUERIES * DOCS;
    p->doc_ends[QUERIES * DOCS] = docs;
}

static judged *prepared(const pairs *p) {
    return rs_judged_new(QUERIES, p->query_text, p->query_ends, p->pair_offsets, p->doc_text, p->doc_ends, 42);
}

static result *scan(int kind, const judged *j, const uint8_t *data, int64_t size) {
    switch (kind) {
    case 0: return rs_scan(j, data, size, 0, 0);
    case 1: return rs_scan(j, data, size, 1, 1);
    case 2: return rs_rows(data, size, 7, 0);
    case 3: return rs_rows(data, size, 7, 1);
    default: return rs_pairs(data, size, 7);
    }
}

static long scans;

/* Scan so many bytes of a file, of which there is not one more in memory. */
static void exactly(const judged *j, const uint8_t *whole, int64_t size) {
    uint8_t *data = malloc(size ? (size_t)size : 1);
    assert(data);
    memcpy(data, whole, (size_t)size);
    for (int kind = 0; kind < KINDS; kind++) {
        result *r = scan(kind, j, data, size);
        assert(r && (r->status == OK || r->status == REFUSED));
        rs_free(r);
        scans++;
    }
    for (int64_t from = 0; from <= size; from += 1 + size / 50) {
        int64_t at = rs_cut(data, size, from);
        assert(at == -1 || (at > 0 && at < size && data[at - 1] == '\n'));
    }
    free(data);
}

static void without_memory(const pairs *p, const judged *j, const uint8_t *data, int64_t size) {
    for (int kind = -1; kind < KINDS; kind++) {
        for (long n = 0; n < 100000; n++) {
            long before = live;
            failed = 0;
            until_failure = n;
            if (kind < 0) {
                judged *made = prepared(p);
                until_failure = -1;
                assert((made == NULL) == failed);
                rs_judged_free(made);
            } else {
                result *r = scan(kind, j, data, size);
                until_failure = -1;
                assert(!failed || !r || r->status == NO_MEMORY);
                rs_free(r);
            }
            assert(live == before);
            if (!failed) break;
            scans++;
        }
    }
}

static uint8_t *contents(const char *name, int64_t *size) {
    FILE *stream = fopen(name, "rb");
    assert(stream);
    fseek(stream, 0, SEEK_END);
    *size = ftell(stream);
    rewind(stream);
    uint8_t *data = malloc((size_t)*size + 1);
    assert(data && fread(data, 1, (size_t)*size, stream) == (size_t)*size);
    fclose(stream);
    return data;
}

static struct {
    const judged *judgments;
    char **names;
    int count;
} shared;

static void *in_thread(void *unused) {
    (void)unused;
    for (int i = 0; i < shared.count; i++) {
        int64_t size;
        uint8_t *data = contents(shared.names[i], &size);
        for (int kind = 0; kind < KINDS; kind++) rs_free(scan(kind, shared.judgments, data, size));
        free(data);
    }
    return NULL;
}

int main(int count, char **names) {
    pairs *p = calloc(1, sizeof *p);
    assert(p);
    fill(p);
    judged *j = prepared(p);
    assert(j);
    if (count > 1 && strcmp(names[1], "-t") == 0) {
        pthread_t threads[THREADS];
        shared.judgments = j;
        shared.names = names + 2;
        shared.count = count - 2;
        for (int i = 0; i < THREADS; i++) pthread_create(threads + i, NULL, in_thread, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        count = 0;
    }
    for (int i = 1; i < count; i++) {
        int64_t size;
        uint8_t *data = contents(names[i], &size);
        exactly(j, data, size);
        int64_t step = size < 120 ? 1 : size / CUTS;
        for (int64_t cut = 0; cut < size; cut += step) exactly(j, data, cut);
        without_memory(p, j, data, size);
        free(data);
    }
    rs_judged_free(j);
    assert(live == 0);
    free(p);
    printf("%d files, %ld scans\n", count ? count - 1 : shared.count, scans);
    return 0;
}
