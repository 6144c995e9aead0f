/* Makes the n-th call of a kind fail: loaded before the C library, so that it sees the calls of
 * Python, of NumPy and of Rust alike. Calls count only where the file is below a given folder.
 *
 * arm(folder, kind, n, mode, error, for_good, failures) begins to count. `failures` is memory shared
 * with the process that asked for it, which learns how many calls failed even from one that died.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, SYNC, RENAME, MKDIR, UNLINK, KINDS, ANY = KINDS };
enum mode { FAIL, SHORT, KILL };

static char root[PATH_MAX];
static size_t root_length;
static int armed_kind = -1, armed_mode, armed_error, armed_for_good;
static long armed_n;
static atomic_long counts[KINDS + 1];
static atomic_long *failures;

void arm(const char *folder, int kind, long n, int mode, int error, int for_good,
         atomic_long *shared) {
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    for (int each = 0; each <= KINDS; each++) counts[each] = 0;
    failures = shared;
    armed_n = n;
    armed_mode = mode;
    armed_error = error;
    armed_for_good = for_good;
    armed_kind = kind;
}

static int below_root(const char *path) {
    return strncmp(path, root, root_length) == 0 &&
           (path[root_length] == '/' || path[root_length] == 0);
}

static int watched_handle(int handle) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below_root(path);
}

static int watched_path(int folder, const char *path) {
    char parent[PATH_MAX];
    if (path[0] == '/') return below_root(path);
    if (folder == AT_FDCWD) return getcwd(parent, sizeof parent) && below_root(parent);
    return watched_handle(folder);
}

/* Tells whether a call goes wrong: 0 for "as asked", 1 for "fails", 2 for "does half". */
static int goes_wrong(int kind) {
    long total = atomic_fetch_add(&counts[ANY], 1) + 1;
    long own = atomic_fetch_add(&counts[kind], 1) + 1;
    if (armed_kind != ANY && armed_kind != kind) return 0;
    long number = armed_kind == ANY ? total : own;
    if (number != armed_n && !(armed_for_good && number > armed_n)) return 0;
    atomic_fetch_add(failures, 1);
    if (armed_mode == KILL) kill(getpid(), SIGKILL);
    if (armed_mode == SHORT) return 2;
    errno = armed_error;
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define AT_PATH(kind, folder, path) (armed_kind >= 0 && watched_path(folder, path) && goes_wrong(kind) == 1)
#define AT_HANDLE(kind, handle) (armed_kind >= 0 && watched_handle(handle) ? goes_wrong(kind) : 0)

#define MODE_OF(flags)                                        \
    mode_t mode = 0;                                          \
    if (__OPEN_NEEDS_MODE(flags)) {                           \
        va_list rest; va_start(rest, flags);                  \
        mode = va_arg(rest, mode_t); va_end(rest);            \
    }

int open(const char *path, int flags, ...) {
    REAL(open); MODE_OF(flags)
    return AT_PATH(OPEN, AT_FDCWD, path) ? -1 : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    REAL(open64); MODE_OF(flags)
    return AT_PATH(OPEN, AT_FDCWD, path) ? -1 : real(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    REAL(openat); MODE_OF(flags)
    return AT_PATH(OPEN, folder, path) ? -1 : real(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    REAL(openat64); MODE_OF(flags)
    return AT_PATH(OPEN, folder, path) ? -1 : real(folder, path, flags, mode);
}

#define HALF(size) ((size) > 1 ? (size) / 2 : (size))

ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    int wrong = AT_HANDLE(WRITE, handle);
    return wrong == 1 ? -1 : real(handle, data, wrong ? HALF(size) : size);
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    int wrong = AT_HANDLE(WRITE, handle);
    return wrong == 1 ? -1 : real(handle, data, wrong ? HALF(size) : size, at);
}
ssize_t writev(int handle, const struct iovec *parts, int count) {
    REAL(writev);
    int wrong = AT_HANDLE(WRITE, handle);
    return wrong == 1 ? -1 : real(handle, parts, wrong && count > 1 ? count / 2 : count);
}
ssize_t read(int handle, void *data, size_t size) {
    REAL(read);
    int wrong = AT_HANDLE(READ, handle);
    return wrong == 1 ? -1 : real(handle, data, wrong ? HALF(size) : size);
}
int fsync(int handle) {
    REAL(fsync);
    return AT_HANDLE(SYNC, handle) == 1 ? -1 : real(handle);
}
int fdatasync(int handle) {
    REAL(fdatasync);
    return AT_HANDLE(SYNC, handle) == 1 ? -1 : real(handle);
}
int rename(const char *from, const char *to) {
    REAL(rename);
    return AT_PATH(RENAME, AT_FDCWD, to) ? -1 : real(from, to);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    REAL(renameat);
    return AT_PATH(RENAME, to_folder, to) ? -1 : real(from_folder, from, to_folder, to);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return AT_PATH(MKDIR, AT_FDCWD, path) ? -1 : real(path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(mkdirat);
    return AT_PATH(MKDIR, folder, path) ? -1 : real(folder, path, mode);
}
int unlink(const char *path) {
    REAL(unlink);
    return AT_PATH(UNLINK, AT_FDCWD, path) ? -1 : real(path);
}
int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    return AT_PATH(UNLINK, folder, path) ? -1 : real(folder, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir);
    return AT_PATH(UNLINK, AT_FDCWD, path) ? -1 : real(path);
}
