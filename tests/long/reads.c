/* Opens, reads, writes, closes and looks at 200 files and lists their directory: usage: reads DIRECTORY ROUNDS. Prints its CPU time in
 * seconds. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[1]))
        return 2;
    char name[32], block[4096] = {0};
    for (int round = 0; round < atoi(argv[2]); round++) {
        for (int number = 0; number < 200; number++) {
            snprintf(name, sizeof name, "file-%d", number);
            int file = open(name, O_CREAT | O_RDWR, 0666);
            for (int times = 0; times < 4; times++)
                if (pwrite(file, block, sizeof block, 0) < 0 || pread(file, block, sizeof block, 0) < 0)
                    return 1;
            struct stat stat_of_it;
            if (close(file) || stat(name, &stat_of_it))
                return 1;
        }
        DIR *listing = opendir(".");
        while (readdir(listing))
            ;
        closedir(listing);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.3f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
