/* Makes names as fast as it can: usage: names DIRECTORY PROCESSES NAMES. Each process has a directory of its own; every tenth name is
 * not UTF-8. Prints the CPU time of the processes in seconds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]))
        return 2;
    int processes = atoi(argv[2]), names = atoi(argv[3]) / processes;
    for (int process = 0; process < processes; process++)
        if (fork() == 0) {
            char name[32];
            snprintf(name, sizeof name, "d%d", process);
            if ((mkdir(name, 0777) && access(name, W_OK)) || chdir(name))
                _exit(1);
            for (int number = 0; number < names; number++) {
                snprintf(name, sizeof name, number % 10 ? "name-%d" : "caf\xe9-%d", number);
                int file = open(name, O_CREAT | O_WRONLY | O_EXCL, 0666);
                if (file < 0)
                    _exit(1);
                close(file);
            }
            _exit(0);
        }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    printf("%.3f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return failed != 0;
}
