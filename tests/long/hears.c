/* Reads of all new names on a directory's filesystem as a guard does, and does nothing with them: usage: hears DIRECTORY. Prints a
 * line once it hears; runs until it is killed. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

static char events[1 << 18];

int main(int argc, char **argv)
{
    unsigned long long mask = FAN_CREATE | FAN_RENAME | FAN_ONDIR;
    int group = fanotify_init(FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DIR_FID | FAN_REPORT_NAME, O_RDONLY);
    if (argc != 2 || group < 0 || fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, AT_FDCWD, argv[1]))
        return 2;
    puts("hears");
    fflush(stdout);
    for (struct pollfd ready = {.fd = group, .events = POLLIN}; poll(&ready, 1, -1) >= 0; usleep(3000))
        while (read(group, events, sizeof events) > (ssize_t)sizeof events / 2)
            ;
    return 1;
}
