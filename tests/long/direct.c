/* Preloaded into fsx by scripts/long conformance: opens the file that DIRECT_FILE names with O_DIRECT, and reads and writes it
 * by buffers of the alignment that this takes. The calls go to the kernel by their numbers, so that nothing has to be
 * looked up in the C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALIGNMENT = 4096, DESCRIPTORS = 1024 };
static char is_direct[DESCRIPTORS];

static int opened(const char *path, int flags, unsigned mode) {
    const char *wanted = getenv("DIRECT_FILE");
    int direct = wanted && strcmp(path, wanted) == 0;
    int fd = syscall(SYS_openat, AT_FDCWD, path, direct ? flags | O_DIRECT : flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS)
        is_direct[fd] = direct;
    return fd;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = flags & O_CREAT ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

static ssize_t moved(long number, int fd, void *data, size_t size, off64_t offset) {
    int writes = number == SYS_pwrite64;
    int direct = fd >= 0 && fd < DESCRIPTORS && is_direct[fd];
    if (!direct || (uintptr_t)data % ALIGNMENT == 0)
        return syscall(number, fd, data, size, offset);
    void *aligned;
    if (posix_memalign(&aligned, ALIGNMENT, size ? size : 1)) {
        errno = ENOMEM;
        return -1;
    }
    if (writes)
        memcpy(aligned, data, size);
    ssize_t done = syscall(number, fd, aligned, size, offset);
    int saved = errno;
    if (!writes && done > 0)
        memcpy(data, aligned, done);
    free(aligned);
    errno = saved;
    return done;
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset) {
    return moved(SYS_pread64, fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return moved(SYS_pwrite64, fd, (void *)data, size, offset);
}
